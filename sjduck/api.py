"""An archive in Python: every question as a method, and DuckDB for the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from sjduck import archive, bounds
from sjduck.answers import Answer, RowsOf
from sjduck.archive import View
from sjduck.context import context
from sjduck.errors import SjduckError, UsageError
from sjduck.listing import list_documents
from sjduck.reading import get
from sjduck.recall import recall
from sjduck.search import search
from sjduck.sqlfiles import published
from sjduck.usage import usage
from sjduck.views import COSTLY, publish
from sjduck.within import search_within

if TYPE_CHECKING:
    import duckdb

Parameters = ParamSpec("Parameters")


def _method(
    ask: Callable[Concatenate[archive.Archive, Parameters], bounds.Answer],
    rows_of: RowsOf | None = None,
) -> Callable[Concatenate[Archive, Parameters], Answer]:
    """Return a question as a method; without `max_chars` its answer has no bound."""

    def method(self: Archive, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        kwargs.setdefault("max_chars", 0)
        return Answer(ask(self, *args, **kwargs), rows_of)

    update_wrapper(method, ask)
    return method


class Archive(archive.Archive):
    """An archive opened for reading; safe to share among threads.

    The methods take the arguments of the tools `sj_recall`, `sj_search` and so on, and answer with
    the same fields. Rows are limited as there (`k`, `limit`); characters are not, unless
    `max_chars` asks for it.
    """

    recall = _method(recall, "results")
    search = _method(search, "hits")
    list = _method(list_documents, "items")
    get = _method(get)
    within = _method(search_within, "passages")
    context = _method(context, "blocks")
    usage = _method(usage, "rows")

    _sql: tuple[object, View] | None = None

    def sql(self, query: str, **values: Any) -> duckdb.DuckDBPyRelation:
        """Return the rows of one SELECT over the views and macros, as a DuckDB relation.

        `values` fill its `$name`s. A relation runs when it is looked at: `.pl()`, `.arrow()` and
        `.df()` turn it into a table, `.limit(10)` and the like build on it. Names of DataFrames
        are not looked up; `connection()` is for joining other data. Raises UsageError for what is
        no SELECT, duckdb.Error for what DuckDB can't do.
        """
        named = {name for name in COSTLY if re.search(rf"\b{name}\b", query, re.IGNORECASE)}
        connection = self._connection_of_sql(named)
        statements = connection.extract_statements(query)
        if [statement.type.name for statement in statements] != ["SELECT"]:
            raise UsageError("sql() takes one SELECT; connection() takes any statement")
        return connection.sql(query, params=values or None)

    def connection(self) -> duckdb.DuckDBPyConnection:
        """Return a DuckDB connection of your own that shows the newest snapshot.

        It has every view and macro of `sjduck sql`, and takes tables and files of yours besides.
        It is in memory: nothing that is done on it reaches the archive, and a later run of
        `sjduck etl` does not change what it shows. Raises SjduckError where the configuration
        asks for masked answers and the archive holds text that is not.
        """
        return self.ask(lambda view: _apart(view, None).connection)

    def _connection_of_sql(self, named: Collection[str]) -> duckdb.DuckDBPyConnection:
        """Return the connection that `sql` keeps for a snapshot, with the views it needs."""

        def prepared(view: View) -> duckdb.DuckDBPyConnection:
            key = view.snapshot.key, view.snapshot.pruned
            with self._lock:
                kept = self._sql
                if kept is None or kept[0] != key:
                    kept = key, _apart(view, published().keys() - COSTLY)
                    self._sql = kept
            # Each relation has its own: a connection answers one question at a time.
            own = kept[1].on(kept[1].connection.cursor())
            publish(own, named)
            return own.connection

        return self.ask(prepared)

    def __repr__(self) -> str:
        moment = f", as_of={self.as_of.isoformat()!r}" if self.as_of else ""
        return f"sjduck.open({str(self.root)!r}, timezone={self.timezone!r}{moment})"


def _apart(view: View, names: Collection[str] | None) -> View:
    """Return a view with a database of its own and what `names` lists, all where None."""
    if view.redaction.is_masking:
        raise SjduckError(
            "the configuration says redact, and this archive holds text that is not masked; run "
            "'sjduck etl' where it was written, or ask recall(), search() and get(), which mask"
        )
    own = view.apart(archive.connect(view.snapshot, view.redaction))
    publish(own, names)
    return own
