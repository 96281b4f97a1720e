"""Sorted and paged listings of what the archive holds."""

from typing import Any

from sjduck.archive import Row, View, question
from sjduck.bounds import Answer, bound, page, short
from sjduck.errors import UsageError
from sjduck.periods import local, period
from sjduck.refs import path_of, source_path
from sjduck.settings import check_timezone
from sjduck.spending import prepare
from sjduck.sqlfiles import sql

TYPES = ("transcript", "subagent", "plan", "memory", "note", "log", "file")
FIELDS = ("compact", "full")
MAX_CHARS = 12_000
_TIES = {
    "documents": "dated_at desc nulls last, document",
    "log": "dated_at desc nulls last, session_id, host",
}
_PROMPT_CHARACTERS = 300
_MOST_FIELDS = 20
_MOST = 2**31 - 1
_ORDERS = {
    "date": "dated_at {} nulls last",
    "size": "bytes {} nulls last",
    "turns": "turns {} nulls last",
    "host": "lower(host) {} nulls last, host {}",
    "project": "lower(project) {} nulls last, project {}",
    "topic": "lower(topic) {} nulls last, topic {}",
    "cost": "cost_usd {} nulls last",
}
SORTS = tuple(_ORDERS)


@question
def list_documents(
    view: View,
    *,
    type: str | None = None,
    host: str | None = None,
    project: str | None = None,
    harness: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | None = None,
    limit: int = 20,
    offset: int = 0,
    sort: str = "date",
    order: str = "desc",
    fields: str = "compact",
    include_sidechains: bool = False,
    max_chars: int | None = None,
) -> Answer:
    """Return the documents that pass the filters, newest first unless sorted otherwise.

    `since` and `until` are inclusive local days of `tz` or ISO instants. An unknown `sort`
    falls back to date. Raises UsageError for an unknown type, order, fields or zone.
    """
    _check("type", type, (None, *TYPES))
    _check("order", order, ("asc", "desc"))
    _check("fields", fields, FIELDS)
    max_chars = bound(max_chars, MAX_CHARS, "SJMCP_LIST_MAX_CHARS")
    tz = check_timezone(tz or view.timezone)
    sort = sort if sort in _ORDERS and not (sort == "cost" and type == "log") else "date"
    span = period(since, until, tz)
    values: Row = {
        "host": host,
        "project": project,
        "harness": harness,
        "since_at": span.since_at,
        "until_at": span.until_at,
        "tz": tz,
    }
    relation = "log" if type == "log" else "documents"
    if relation == "documents":
        values["type"] = type
        values["include_sidechains"] = include_sidechains or type == "subagent"
    offset = min(max(offset, 0), _MOST)
    ordered = f"{_ORDERS[sort].format(order, order)}, {_TIES[relation]}"
    limits = {"limit": min(max(limit, 1), _MOST), "offset": offset}
    query = sql(f"listing/{relation}")
    if sort == "cost":
        prepare(view)
        query = f"select * from ({query}) left join ({sql('listing/costs')}) using (document)"
    total, rows = _page_of(view, query, ordered, limits, values)
    shape = _log_row if relation == "log" else document_row
    if relation == "documents":
        rows = _whole(view, rows, tz)
    items = (
        shape(row, tz=tz, with_type=type is None, sort=sort, full=fields == "full") for row in rows
    )
    return page(
        {},
        items,
        name="items",
        total=total,
        offset=offset,
        max_chars=max_chars,
        tail={"sort": f"{sort} {order}", "tz": tz},
    )


def _page_of(
    view: View, query: str, ordered: str, limits: dict[str, int], values: Row
) -> tuple[int, list[Row]]:
    """Return how many rows a SELECT has, and one page of them."""
    rows = view.rows(
        f"select *, count(*) over () as total from ({query}) "
        f"order by {ordered} limit $limit offset $offset",
        **limits,
        **values,
    )
    if rows:
        return rows[0]["total"], rows
    counted = view.row(f"select count(*) as total from ({query})", **values)
    return (counted or {"total": 0})["total"], []


def _whole(view: View, rows: list[Row], tz: str) -> list[Row]:
    """Return the documents of a page with everything that is shown of them, in its order."""
    if not rows:
        return []
    documents = [row["document"] for row in rows]
    shown = view.rows(sql("listing/shown"), documents=documents, tz=tz)
    by_document = {row["document"]: row for row in shown}
    return [{**by_document[row["document"]], "cost_usd": row.get("cost_usd")} for row in rows]


def human_size(size: int | None) -> str | None:
    """Return bytes as a person reads them: `512 B`, `34 kB`, `2.3 MB`."""
    if size is None:
        return None
    amount = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 999.5 or unit == "GB":
            break
        amount /= 1000
    digits = 0 if unit == "B" or amount >= 9.95 else 1
    return f"{amount:.{digits}f} {unit}"


def document_row(row: Row, *, tz: str, with_type: bool, sort: str, full: bool) -> Row:
    """Return a row of `listing/shown` as listings show it; `sort` adds what it went by."""
    item = {
        **({"type": row["type"]} if with_type or full else {}),
        "date": row["date"],
        "host": row["host"],
        "project": row["project"],
        "topic": short(row["topic"], _PROMPT_CHARACTERS),
        "sid": row["sid"],
        "path": path_of(row),
    }
    if sort == "turns" or full:
        item["turns"] = row["turns"]
    if sort == "size" or full:
        item["size"] = human_size(row["bytes"])
    if sort == "cost":
        item["cost_usd"] = None if row["cost_usd"] is None else round(row["cost_usd"], 6)
    if row["hosts"]:
        item["also_on"] = [host for host in row["hosts"] if host != row["host"]]
    if full:
        item |= _more(row, tz)
    return item


def _more(row: Row, tz: str) -> Row:
    return {
        "session_id": row["session_id"],
        "parent_session_id": row["parent_session_id"],
        "agent_type": row["agent_type"],
        "harness": row["harness"],
        "topic_source": row["topic_source"],
        "cwd": row["cwd"],
        "git_branch": row["git_branch"],
        "models": row["models"],
        "cli_version": row["cli_version"],
        "first_prompt": short(row["first_prompt"], _PROMPT_CHARACTERS),
        "started": _local_text(row["started_at"], tz),
        "ended": _local_text(row["ended_at"], tz),
        "lines": row["lines"],
        "source": source_path(row),
        "source_gone_at": row["source_gone_at"] and f"{row['source_gone_at']:%Y-%m-%dT%H:%M:%SZ}",
    }


def _log_row(row: Row, *, tz: str, with_type: bool, sort: str, full: bool) -> Row:
    item = {
        "date": row["date"],
        "time": row["time"],
        "host": row["host"],
        "project": row["project"],
        "topic": short(row["topic"], _PROMPT_CHARACTERS),
        "sid": row["sid"],
        "is_here": row["is_here"],
    }
    if sort == "turns" or full:
        item["turns"] = row["turns"]
    if sort == "size" or full:
        item["size"] = human_size(row["bytes"])
    if full:
        item |= {
            "session_id": row["session_id"],
            "harness": row["harness"],
            "model": row["model"],
            "cwd": row["cwd"],
            "entries": row["entries"],
            "extra": {
                name: short(value, _PROMPT_CHARACTERS)
                for name, value in list(row["extra"].items())[:_MOST_FIELDS]
            },
        }
    return item


def _local_text(moment: Any, tz: str) -> str | None:
    there = local(moment, tz)
    return f"{there:%Y-%m-%d %H:%M}" if there else None


def _check(name: str, value: str | None, allowed: tuple[str | None, ...]) -> None:
    if value not in allowed:
        known = ", ".join(filter(None, allowed))
        raise UsageError(f"unknown {name} {value!r}; one of: {known}")
