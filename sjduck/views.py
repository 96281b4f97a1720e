"""What SQL sees on a connection: views and macros, made where a question names them."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING

from sjduck import macros, spending
from sjduck.index import prepare
from sjduck.sqlfiles import published, sql

if TYPE_CHECKING:
    from collections.abc import Collection

    from sjduck.archive import View

# These show what `spending.prepare` resolves, which takes a second at a million calls.
_OF_SPENDING = frozenset({"sessions", "costs", "prices", "daily_usage"})
_MADE_HERE = ("turns", "messages", "tool_calls", "files_touched", "daily_usage")
_SEARCHED = frozenset({"recall", "search"})
# What takes time to make is made where it is named.
COSTLY = _OF_SPENDING | macros.NAMES
_lock = RLock()


def publish(view: View, names: Collection[str] | None = None) -> None:
    """Make the views and macros that `names` lists, all where None, on a question's connection.

    Their `date` is a day of the view's zone: the TimeZone of its connection is set to that.
    """
    wanted = published().keys() | macros.NAMES if names is None else set(names)
    view.connection.execute("set TimeZone = $tz", {"tz": view.timezone})
    if _OF_SPENDING.intersection(wanted):
        spending.prepare(view)
    with _lock:
        there = {row["view_name"] for row in view.rows("select view_name from duckdb_views()")}
        for name in _MADE_HERE:
            if name in wanted and name not in there:
                view.connection.execute(f"create view {name} as {sql(f'views/{name}')}")
        if macros.NAMES.intersection(wanted):
            macros.add_macros(view)
    if _SEARCHED.intersection(wanted):
        # Not in the middle of a statement: a free one opens no file then.
        prepare(view)
