"""What was spent, resolved once a snapshot: each response counted once, with its price."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from threading import RLock
from typing import TYPE_CHECKING, Any

from sjduck.archive import keep_rows
from sjduck.prices import UNITS, Request, rates
from sjduck.sqlfiles import sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    import duckdb

    from sjduck.archive import View
    from sjduck.settings import OwnPrice

WINDOW = timedelta(hours=5)
_RATE_COLUMNS = {
    "kind": "ubigint",
    "priced_as": "varchar",
    "source": "varchar",
    "since": "timestamp",
    "until": "timestamp",
    "from_minute": "integer",
    "to_minute": "integer",
    "over_tokens": "bigint",
    "upto_tokens": "bigint",
    **dict.fromkeys(UNITS, "bigint"),
}
_WINDOW_COLUMNS = {"harness": "varchar", "hour_at": "timestamp", "starts_at": "timestamp"}
_VIEWS = ("sessions", "costs", "prices")
_lock = RLock()


def prepare(view: View) -> None:
    """Resolve the snapshot's calls, once a connection.

    Afterwards there are the tables of `sql/spending`, `spent`, `rates`, `usage_windows` and the
    views `sessions`, `costs` and `prices`.
    """
    connection = view.connection
    with _lock:
        if _is_prepared(connection):
            return
        for name in ("call_documents", "places", "kinds", "logged", "counted"):
            _keep(connection, name, sql(f"spending/{name}"))
        _keep_rates(connection, view.prices.own)
        _keep(connection, "priced", sql("spending/priced"))
        for name in ("logged", "counted"):
            connection.execute(f"drop table {name}")
        _keep(connection, "spent", spent("usage/whole"), since_at=None, until_at=None)
        _keep(connection, "families", sql("spending/families"))
        _keep_windows(connection)
        _keep(connection, "session_usage", sql("spending/session_usage"))
        for name in _VIEWS:
            connection.execute(f"create or replace view {name} as {sql(f'views/{name}')}")


def spent(responses: str) -> str:
    """Return the SELECT that sums up the responses of another one, a file's name."""
    return f"with asked as ({sql(responses)}) {sql('usage/spent')}"


def _is_prepared(connection: duckdb.DuckDBPyConnection) -> bool:
    query = "select 1 from duckdb_views() where view_name = ?"
    return connection.execute(query, [_VIEWS[-1]]).fetchone() is not None


def _keep(connection: duckdb.DuckDBPyConnection, name: str, query: str, **values: Any) -> None:
    connection.execute(f"create or replace table {name} as {query}", values)


def _keep_rates(connection: duckdb.DuckDBPyConnection, own: Sequence[OwnPrice]) -> None:
    kinds = connection.execute(
        "select kind, model, provider, service_tier, speed from kinds"
    ).fetchall()
    numbers = {Request(*request): kind for kind, *request in kinds}
    rows = [
        tuple({**asdict(rate), "kind": numbers[rate.request]}[name] for name in _RATE_COLUMNS)
        for rate in rates(numbers, own)
    ]
    keep_rows(connection, "rates", _RATE_COLUMNS, rows, create="create or replace table")


def _keep_windows(connection: duckdb.DuckDBPyConnection) -> None:
    hours = connection.execute(sql("spending/hours")).fetchall()
    keep_rows(
        connection,
        "usage_windows",
        _WINDOW_COLUMNS,
        list(windows(hours)),
        create="create or replace table",
    )


def windows(hours: Iterable[tuple[str, datetime]]) -> Iterator[tuple[str, datetime, datetime]]:
    """Yield for each hour of use of a harness, in order, when its 5-hour window begins.

    A window begins with the UTC hour of its first call; the next one after 5 hours.
    """
    current: str | None = None
    starts_at: datetime | None = None
    for harness, hour_at in hours:
        if starts_at is None or harness != current or hour_at - starts_at >= WINDOW:
            current, starts_at = harness, hour_at
        yield harness, hour_at, starts_at
