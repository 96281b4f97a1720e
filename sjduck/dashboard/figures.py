"""What the dashboard shows: every chart's rows, summed up by the rules of `sjduck usage`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from threading import RLock
from typing import TYPE_CHECKING

from sjduck.archive import Row, View, question
from sjduck.periods import Period, period
from sjduck.prices import table_version
from sjduck.settings import check_timezone
from sjduck.spending import prepare
from sjduck.sqlfiles import sql
from sjduck.usage import is_of_quarters, responses
from sjduck.views import publish

if TYPE_CHECKING:
    from collections.abc import Sequence

SPLITS = ("model", "project", "host", "harness")
GRAINS = ("hour", "day", "week", "month")
# Series that have a colour of their own; the rest is drawn as one.
MAX_SERIES = 7
MAX_POINTS = 5_000
_MAX_PERIODS = MAX_POINTS // (MAX_SERIES + 1)
# Up to so many periods of one length are easy to read side by side.
_EASY_PERIODS = {"hour": 72, "day": 190, "week": 260}
_MAX_NAMES = 500
_MAX_ROWS = 100
_MAX_BLOCKS = 150
_lock = RLock()


@dataclass(frozen=True, slots=True)
class Filters:
    """What a dashboard is narrowed to: as in `sjduck usage`, and lists of exact names.

    An empty list lets all pass; `""` in one stands for what has no name.
    """

    since: str | None = None
    until: str | None = None
    host: str | None = None
    project: str | None = None
    harness: str | None = None
    model: str | None = None
    tz: str | None = None
    hosts: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    harnesses: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    def span(self, tz: str) -> Period:
        """Return the period as instants; raises UsageError for one that can't be taken."""
        return period(self.since, self.until, tz)


@dataclass(frozen=True, slots=True)
class Figures:
    """The rows of every chart; `local_ms` is local time in milliseconds, as if it were UTC.

    `rankings` and `over_time` are by what they are split by. A series of NULL is all that is not
    shown by its name.
    """

    tz: str
    grain: str
    prices: str
    note: str | None
    totals: Row
    unpriced: list[Row]
    rankings: dict[str, list[Row]]
    over_time: dict[str, list[Row]]
    cache: list[Row]
    activity: list[Row]
    blocks: list[Row]
    sessions: list[Row]
    tools: list[Row]


@question
def choices(view: View) -> dict[str, list[str]]:
    """Return the models, projects, hosts and harnesses of the archive, the dearest first."""
    prepare(view)
    found: dict[str, list[str]] = {by: [] for by in SPLITS}
    for row in view.rows(sql("dashboard/choices"), limit=_MAX_NAMES):
        found[row["split"]].append(row["name"])
    return found


@question
def figures(view: View, filters: Filters, *, grain: str | None = None) -> Figures:
    """Return what was used within the filters, in periods of `grain` or a length that fits.

    A grain that would make more than MAX_POINTS points becomes a coarser one. Raises UsageError
    for a period or a zone that can't be taken.
    """
    tz = check_timezone(filters.tz or view.timezone)
    span = filters.span(tz)
    _keep_shown(view, filters, span, tz)
    (totals,) = view.rows(sql("dashboard/totals"))
    grain = _grain(view, grain)
    rankings = {by: view.rows(sql("dashboard/ranking"), by=by, limit=_MAX_ROWS) for by in SPLITS}
    return Figures(
        tz=tz,
        grain=grain,
        prices=table_version(),
        note=view.prices.note,
        totals=totals,
        unpriced=view.rows(sql("dashboard/unpriced")),
        rankings=rankings,
        over_time={by: _over_time(view, by, grain, rankings[by]) for by in SPLITS},
        cache=view.rows(sql("dashboard/cache"), grain=grain),
        activity=view.rows(sql("dashboard/activity")),
        blocks=view.rows(sql("dashboard/blocks"), tz=tz, limit=_MAX_BLOCKS),
        sessions=view.rows(sql("dashboard/sessions"), limit=_MAX_ROWS),
        tools=_tools(view, filters, span),
    )


def _keep_shown(view: View, filters: Filters, span: Period, tz: str) -> None:
    """Leave what passes the filters in `shown`, with what the cache did for it."""
    prepare(view)
    _keep_cached(view, span)
    chosen, own = responses(view, "usage/whole", "spent_asked", span)
    view.table(
        "shown",
        f"with chosen as ({chosen}), asked as ({sql('usage/asked')}) {sql('dashboard/shown')}",
        **_values(filters),
        **own,
        tz=tz,
    )


def _values(filters: Filters) -> Row:
    """Return the filters as values of a SELECT, without the period."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(filters).items()
        if name not in ("since", "until", "tz")
    }


def _keep_cached(view: View, span: Period) -> None:
    """Leave what the cache did in `cache_asked`, by quarters of an hour of the period."""
    if not is_of_quarters(span):
        view.table("cache_asked", sql("dashboard/cached"), **span._asdict())
        return
    _keep_once(view, "cached", since_at=None, until_at=None)
    view.table("cache_asked", "select * from cached")


def _keep_once(view: View, name: str, **values: None) -> None:
    """Resolve a relation once a connection."""
    with _lock:
        if not view.rows("select 1 from duckdb_tables() where table_name = $name", name=name):
            view.connection.execute(f"create table {name} as {sql(f'dashboard/{name}')}", values)


def _grain(view: View, asked: str | None) -> str:
    """Return the grain that was asked for, else one that is easy to read, where its points fit."""
    (counts,) = view.rows(sql("dashboard/grains"))
    finest = GRAINS.index(asked) if asked in GRAINS else 0
    for grain in GRAINS[finest:-1]:
        is_easy = asked in GRAINS or (counts[f"span_{grain}"] or 0) < _EASY_PERIODS[grain]
        if is_easy and counts[grain] <= _MAX_PERIODS:
            return grain
    return GRAINS[-1]


def _over_time(view: View, by: str, grain: str, ranking: Sequence[Row]) -> list[Row]:
    kept = [row["series"] for row in ranking[:MAX_SERIES]]
    return view.rows(sql("dashboard/over_time"), by=by, grain=grain, kept=kept)


def _tools(view: View, filters: Filters, span: Period) -> list[Row]:
    publish(view, {"tool_calls"})
    _keep_once(view, "tool_uses")
    return view.rows(sql("dashboard/tools"), **_values(filters), **span._asdict(), limit=_MAX_ROWS)
