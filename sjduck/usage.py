"""What was used and what it cost, grouped: by day, model, project, session, …"""

from datetime import datetime, timedelta
from typing import Any

from sjduck.archive import Row, View, question
from sjduck.bounds import Answer, bound, page, short
from sjduck.errors import UsageError
from sjduck.periods import Period, local, period
from sjduck.prices import table_version
from sjduck.settings import Prices, check_timezone
from sjduck.snapshots import utc_now
from sjduck.spending import WINDOW, prepare, spent
from sjduck.sqlfiles import sql

MAX_CHARS = 12_000
COSTS = ("computed", "recorded")
_MOST = 2**31 - 1
_QUARTER = timedelta(minutes=15)
_TOPIC_CHARACTERS = 120
_NAMED_UNPRICED = 10
_NAME_CHARACTERS = 120
# Group → what a row of `usage/asked` belongs to. Those of time go newest first.
_TIMES = {
    "hour": "strftime(local_at, '%Y-%m-%d %H:00')",
    "day": "local_at::date::varchar",
    "week": "date_trunc('week', local_at)::date::varchar",
    "month": "strftime(local_at, '%Y-%m')",
    "block": "block",
}
_GROUPS = {
    **_TIMES,
    "model": "model",
    "project": "project",
    "host": "host",
    "harness": "harness",
    "session": "session",
    "tool": "tool",
}
GROUPS = tuple(_GROUPS)
_TOKENS = (
    "input_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "cache_read_tokens",
    "output_tokens",
    "reasoning_tokens",
)
# Reasoning is among the output.
_TOTAL = " + ".join(name for name in _TOKENS if name != "reasoning_tokens")
_SUMS = ", ".join(
    (
        "sum(calls)::bigint as calls",
        *(f"sum({name})::bigint as {name}" for name in _TOKENS),
        f"sum({_TOTAL})::bigint as total_tokens",
        "sum({amount}) as cost",
        "sum({lacking})::bigint as unpriced_calls",
        "min(first_at) as first_at",
        "max(last_at) as last_at",
    )
)
_MEASURES = {"calls": "calls", "tokens": "total_tokens", "cost": "cost"}
SORTS = (*_MEASURES, *GROUPS)


@question
def usage(
    view: View,
    *,
    by: str = "day",
    since: str | None = None,
    until: str | None = None,
    host: str | None = None,
    project: str | None = None,
    harness: str | None = None,
    model: str | None = None,
    tz: str | None = None,
    cost: str = "computed",
    sort: str | None = None,
    order: str | None = None,
    limit: int = 30,
    offset: int = 0,
    max_chars: int | None = None,
) -> Answer:
    """Return tokens, calls and US dollars by the groups that `by` lists, with totals over all.

    `since` and `until` are inclusive local days of `tz` or ISO instants; undated calls drop out
    when either is given. `model` and `project` are case-insensitive substrings. An unknown
    `sort` falls back to the default: newest first by time, else what cost most. Raises
    UsageError for an unknown group, cost, order or zone.
    """
    groups = _groups(by)
    _check("cost", cost, COSTS)
    _check("order", order or "desc", ("asc", "desc"))
    max_chars = bound(max_chars, MAX_CHARS)
    tz = check_timezone(tz or view.timezone)
    sort = sort if sort in (*_MEASURES, *groups) else _sort_of(groups)
    order = order or ("asc" if sort in _GROUPS and sort not in _TIMES else "desc")
    offset = min(max(offset, 0), _MOST)
    prepare(view)
    filters = {"host": host, "project": project, "harness": harness, "model": model, "tz": tz}
    asked = _Asked(view, cost, filters, period(since, until, tz))
    rows = asked.rows(groups, sort, order, min(max(limit, 1), _MOST), offset)
    total = rows[0]["groups"] if rows else asked.count(groups) if offset else 0
    sessions = _sessions(view, rows) if "session" in groups else {}
    head = {"by": ",".join(groups)}
    if "tool" in groups:
        head["note"] = "a call counts for each tool that it used: groups overlap, totals do not"
    return page(
        head,
        (_row(row, groups, tz, sessions) for row in rows),
        name="rows",
        total=total,
        offset=offset,
        max_chars=max_chars,
        tail={
            "totals": asked.totals(),
            **asked.unpriced(),
            "sort": f"{sort} {order}",
            "tz": tz,
            "cost": cost,
            "prices": _prices(view.prices),
        },
    )


def _groups(by: str) -> list[str]:
    groups = list(dict.fromkeys(part.strip() for part in by.split(",") if part.strip()))
    unknown = [group for group in groups if group not in _GROUPS]
    if unknown or not groups:
        what = f"unknown group {unknown[0]!r}" if unknown else "by names no group"
        raise UsageError(f"{what}; a comma list of: {', '.join(GROUPS)}")
    if "block" in groups and "harness" not in groups:
        groups.insert(groups.index("block") + 1, "harness")
    return groups


def _check(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"unknown {name} {value!r}; one of: {', '.join(allowed)}")


def _sort_of(groups: list[str]) -> str:
    return groups[0] if groups[0] in _TIMES else "cost"


def _prices(prices: Prices) -> Row:
    own = {"own": len(prices.own)} if prices.own else {}
    note = {"note": prices.note} if prices.note else {}
    return {"table": table_version(), "currency": "USD", **own, **note}


# -- what was asked for --------------------------------------------------------------------


class _Asked:
    """What was used within the filters of one question."""

    def __init__(self, view: View, cost: str, filters: Row, span: Period) -> None:
        self._view = view
        self._filters = filters
        self._span = span
        self._sums = _SUMS.format(
            amount="cost" if cost == "computed" else "recorded_cost",
            lacking="unpriced_calls" if cost == "computed" else "unrecorded_calls",
        )
        self._lacking = "unpriced_calls" if cost == "computed" else "unrecorded_calls"
        self._whole = responses(view, "usage/whole", "spent_asked", span)
        self._of_tools: tuple[str, Row] | None = None

    def rows(self, groups: list[str], sort: str, order: str, limit: int, offset: int) -> list[Row]:
        """Return one page of the groups, each with how many there are."""
        named = ", ".join(f"{_GROUPS[group]} as {group}" for group in groups)
        ordered = ", ".join(
            (
                f"{_MEASURES.get(sort, sort)} {order} nulls last",
                *(f"{g} nulls last" for g in groups),
            )
        )
        return self._select(
            f"select {named}, {self._sums}, count(*) over () as groups from asked "
            f"group by {', '.join(groups)} order by {ordered} limit $limit offset $offset",
            groups,
            limit=limit,
            offset=offset,
        )

    def count(self, groups: list[str]) -> int:
        """Return how many groups there are."""
        named = ", ".join(f"{_GROUPS[group]} as {group}" for group in groups)
        counted = self._select(
            f"select count(*) as n from (select distinct {named} from asked)", groups
        )
        return int(counted[0]["n"])

    def totals(self) -> Row:
        """Return the sums over everything that was asked for, each call once."""
        (row,) = self._select(f"select {self._sums} from asked")
        return _measured(row)

    def unpriced(self) -> Row:
        """Return the kinds of request without a price, those with most calls first."""
        rows = self._select(
            "select model, provider, service_tier, speed, "
            f"sum({self._lacking})::bigint as calls from asked "
            f"group by all having sum({self._lacking}) > 0 "
            "order by calls desc, model, provider, service_tier, speed"
        )
        named = [
            {
                name: short(value, _NAME_CHARACTERS)
                for name, value in row.items()
                if name == "model" or value is not None
            }
            for row in rows[:_NAMED_UNPRICED]
        ]
        more = len(rows) - len(named)
        said = {"unpriced": named} if named else {}
        return {**said, "more_unpriced_models": more} if more else said

    def _select(self, query: str, groups: list[str] | None = None, **values: Any) -> list[Row]:
        """Return the rows of a SELECT from `asked`."""
        if groups and "tool" in groups:
            if self._of_tools is None:
                self._of_tools = responses(self._view, "usage/tools", "spent_by_tool", self._span)
            chosen, own = self._of_tools
        else:
            chosen, own = self._whole
        relation = f"with chosen as ({chosen}), asked as ({sql('usage/asked')}) {query}"
        return self._view.rows(relation, **self._filters, **own, **values)


def responses(view: View, name: str, table: str, span: Period) -> tuple[str, Row]:
    """Return a SELECT of what the responses of `sql/<name>` spent in a period, with its values.

    Sums by the quarter of an hour are at hand: all local days begin with one. Others are kept
    in `table`. Needs `prepare`.
    """
    if name == "usage/whole" and is_of_quarters(span):
        return sql("usage/quarters"), span._asdict()
    view.table(table, spent(name), **span._asdict())
    return f"select * from {table}", {}


def is_of_quarters(span: Period) -> bool:
    """Tell whether a period begins and ends with a quarter of an hour."""
    return all(
        moment is None or (moment - datetime.min) % _QUARTER == timedelta(0) for moment in span
    )


# -- how it is shown -----------------------------------------------------------------------


def _sessions(view: View, rows: list[Row]) -> dict[int, Row]:
    documents = [row["session"] for row in rows if row["session"] is not None]
    found = view.rows(sql("usage/sessions"), documents=documents)
    return {row["document"]: row for row in found}


def _row(row: Row, groups: list[str], tz: str, sessions: dict[int, Row]) -> Row:
    shown: Row = {}
    for group in groups:
        if group == "session":
            session = sessions.get(row["session"], {})
            shown["sid"] = session.get("sid")
            if "host" not in groups:
                shown["host"] = session.get("host")
            shown["topic"] = short(session.get("topic"), _TOPIC_CHARACTERS)
        elif group == "block":
            shown |= _block(row, tz)
        else:
            shown[group] = row[group]
    shown |= _measured(row)
    if "block" in groups and row["block"] is not None:
        shown |= _pace(row)
    return shown


def _measured(row: Row) -> Row:
    measured = {name: row[name] or 0 for name in ("calls", *_TOKENS, "total_tokens")}
    return {
        **measured,
        "cost_usd": _dollars(row["cost"]),
        "unpriced_calls": row["unpriced_calls"] or 0,
    }


def _dollars(picodollars: int | None) -> float | None:
    return None if picodollars is None else round(picodollars / 10**12, 6)


def _block(row: Row, tz: str) -> Row:
    """Return when a 5-hour window begins and ends, in local time, and whether it goes on."""
    starts_at = row["block"]
    if starts_at is None:
        return {"block": None}
    # A clock may stand at the calendar's last day, after which there is none.
    ends_at = starts_at + min(WINDOW, datetime.max - starts_at)
    return {
        "block": f"{local(starts_at, tz):%Y-%m-%d %H:%M}",
        "ends": f"{local(ends_at, tz):%Y-%m-%d %H:%M}",
        "is_active": starts_at <= _now() < ends_at,
    }


def _pace(row: Row) -> Row:
    """Return how fast a window was used, from its first call to its last, and where that leads."""
    minutes = max((row["last_at"] - row["first_at"]) / timedelta(minutes=1), 1.0)
    tokens, cost = row["total_tokens"] or 0, row["cost"] or 0
    pace: Row = {
        "tokens_per_minute": round(tokens / minutes),
        "cost_per_hour_usd": _dollars(round(60 * cost / minutes)),
    }
    left = (row["block"] - _now() + WINDOW) / timedelta(minutes=1)
    if 0 < left <= WINDOW / timedelta(minutes=1):
        pace |= {
            "minutes_left": round(left),
            "projected_tokens": round(tokens + tokens / minutes * left),
            "projected_cost_usd": _dollars(round(cost + cost / minutes * left)),
        }
    return pace


def _now() -> datetime:
    return utc_now().replace(tzinfo=None)
