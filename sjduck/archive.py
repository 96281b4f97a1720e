"""A snapshot as a DuckDB connection: its tables and views, refreshed when a newer one appears."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from datetime import datetime
from functools import update_wrapper
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

import orjson

from sjduck.errors import ArchiveUnusable, SjduckError, Stopped
from sjduck.redaction import Redaction
from sjduck.settings import STANDARD_MODEL, TABLE_PRICES, Prices, Semantic
from sjduck.snapshots import TABLES, Manifest, Segment, Snapshot, latest_key, read_snapshot
from sjduck.sqlfiles import dictionary, sql

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

Row = dict[str, Any]
Answer = TypeVar("Answer")
Parameters = ParamSpec("Parameters")
_ATTEMPTS = 5
_SETTINGS = (
    "set global autoinstall_known_extensions = false",
    "set global autoload_known_extensions = false",
    # Every file of an archive is written once, so what is cached of it never goes stale.
    "set global parquet_metadata_cache = true",
    "set global validate_external_file_cache = 'NO_VALIDATION'",
)


class Running(Protocol):
    """What answers a question: a connection, or a process."""

    def interrupt(self) -> None:
        """End what runs."""


class Stop:
    """Ends a question from another thread: its query is interrupted, its next one is refused."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: Running | None = None
        self._is_asked = False

    def now(self) -> None:
        """End the question that runs, if one does, and every later one."""
        with self._lock:
            self._is_asked = True
            if self._running is not None:
                self._running.interrupt()

    def check(self) -> None:
        """Raise Stopped where the question is to end."""
        if self._is_asked:
            raise Stopped("stopped: it took too long, or nobody waits for it")

    @contextmanager
    def watch(self, running: Running) -> Iterator[None]:
        """Let `now` interrupt a query; raises Stopped where it came before."""
        with self._lock:
            self.check()
            self._running = running
        try:
            yield
        finally:
            with self._lock:
                self._running = None


# What may end the questions that are asked in this context; a context of its own for each call.
STOP: ContextVar[Stop | None] = ContextVar("stop", default=None)


class View:
    """One snapshot, for the time of one question.

    `kept` is what questions keep of the snapshot in memory, for those that follow.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        cursor: duckdb.DuckDBPyConnection,
        timezone: str,
        prices: Prices = TABLE_PRICES,
        semantic: Semantic = STANDARD_MODEL,
        kept: dict[str, Any] | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.timezone = timezone
        self.prices = prices
        self.semantic = semantic
        self.kept = {} if kept is None else kept
        self.is_doubtful = False
        self.redaction = Redaction(None, snapshot)
        self._cursor = cursor
        self._stop = STOP.get() or Stop()

    def rows(self, query: str, **values: Any) -> list[Row]:
        """Return all rows of one SELECT; `values` fill its `$name`s."""
        with self._stop.watch(self._cursor):
            result = self._cursor.execute(query, _bound(values))
            names = [column[0] for column in result.description]
            rows = result.fetchall()
        return self.redaction.shown([dict(zip(names, row, strict=True)) for row in rows])

    def arrays(self, query: str, **values: Any) -> dict[str, NDArray[Any]]:
        """Return the columns of one SELECT of numbers alone: nothing of them is masked."""
        with self._stop.watch(self._cursor):
            return self._cursor.execute(query, _bound(values)).fetchnumpy()

    def rows_of_each(self, query: str, each: Sequence[Row], **shared: Any) -> list[Row]:
        """Return the rows that one SELECT has for each set of values, asked at once.

        Far faster than one after the other where each reads a file of its own.
        """
        parts, values = [], dict(shared)
        for number, own in enumerate(each):
            part = query
            for name, value in own.items():
                part = re.sub(rf"\${name}\b", f"${name}_{number}", part)
                values[f"{name}_{number}"] = value
            parts.append(f"({part})")
        return self.rows(" union all ".join(parts), **values) if parts else []

    def row(self, query: str, **values: Any) -> Row | None:
        """Return the first row of one SELECT, or None."""
        rows = self.rows(query, **values)
        return rows[0] if rows else None

    def table(self, name: str, query: str, **values: Any) -> int:
        """Keep what one SELECT finds as a table of this question's own; return how many rows."""
        with self._stop.watch(self._cursor):
            made = f"create or replace temp table {name} as {query}"
            (rows,) = self._cursor.execute(made, _bound(values)).fetchone() or (0,)
        return int(rows)

    def keep(self, name: str, query: str, **values: Any) -> None:
        """Keep what one SELECT finds as a table for every question of the snapshot."""
        with self._stop.watch(self._cursor):
            self._cursor.execute(f"create or replace table {name} as {query}", _bound(values))

    def define(self, name: str, query: str) -> None:
        """Let a name stand for one SELECT without values, for this question alone."""
        with self._stop.watch(self._cursor):
            self._cursor.execute(f"create or replace temp view {name} as {query}")

    def add(self, name: str, query: str, **values: Any) -> None:
        """Add what one SELECT finds to a table of this question's own."""
        with self._stop.watch(self._cursor):
            self._cursor.execute(f"insert into {name} {query}", _bound(values))

    def table_of(self, name: str, columns: dict[str, str], rows: Sequence[Row]) -> None:
        """Keep rows as a table of this question's own; `columns` gives their DuckDB types."""
        with self._stop.watch(self._cursor):
            values = [tuple(row[column] for column in columns) for row in rows]
            keep_rows(self._cursor, name, columns, values, create="create or replace temp table")

    @property
    def is_locked(self) -> bool:
        """Whether no setting can be changed here."""
        (found,) = self.rows("select current_setting('lock_configuration') as is_locked")
        return bool(found["is_locked"])

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The connection of this question."""
        return self._cursor

    def on(self, cursor: duckdb.DuckDBPyConnection) -> View:
        """Return the same snapshot for another question, on a cursor of its own."""
        other = copy(self)
        other._cursor = cursor
        other._stop = STOP.get() or Stop()
        return other

    def apart(self, connection: duckdb.DuckDBPyConnection) -> View:
        """Return the same snapshot on another database, where entries have other numbers."""
        other = self.on(connection)
        other.kept = {}
        return other

    def file_of(self, table: str, document: Row) -> str | None:
        """Return the Parquet file that holds a document's rows of one table."""
        found = self.snapshot.segments[document["segment"]].tables.get(table)
        return str(self.snapshot.root / found.path) if found else None


class Archive:
    """An archive opened for reading: the newest snapshot, or the one of a past moment.

    Safe to share among threads; each question sees one whole snapshot.
    """

    def __init__(
        self,
        root: Path,
        *,
        timezone: str,
        as_of: datetime | None = None,
        prices: Prices = TABLE_PRICES,
        semantic: Semantic = STANDARD_MODEL,
        redact: str | None = None,
    ) -> None:
        self.root = root
        self.timezone = timezone
        self.as_of = as_of
        self.prices = prices
        self.semantic = semantic
        self.redact = redact
        self._kept: dict[str, Any] = {}
        self._lock = RLock()
        self._key: tuple[tuple[str, int], ...] | None = None
        self._snapshot = Snapshot(root, ())
        self._redaction = Redaction(redact, self._snapshot)
        self._connection: duckdb.DuckDBPyConnection | None = None
        # After a file could not be read, the next connection trusts none unchecked.
        self._is_doubtful = False

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that answers; looks for a newer one first."""
        return self.ask(lambda view: view.snapshot)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever taken in."""
        return not read_snapshot(self.root, as_of=self.as_of).manifests

    def ask(self, question: Callable[[View], Answer]) -> Answer:
        """Return what `question` finds on the newest snapshot.

        A file that a newer snapshot has replaced meanwhile makes it start over on that one.
        Raises SjduckError for what DuckDB can't do.
        """
        import duckdb

        for attempt in range(_ATTEMPTS):
            try:
                with self._view() as view:
                    return question(view)
            except duckdb.IOException as error:
                self.close()
                self._is_doubtful = True
                if attempt == _ATTEMPTS - 1:
                    raise _as_ours(error) from error
            except duckdb.Error as error:
                if isinstance(error, duckdb.FatalException | duckdb.InternalException):
                    # The connection is of no use any more: the next question opens another.
                    self.close()
                raise _as_ours(error) from error
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Give back the connection."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            self._key = None

    @contextmanager
    def _view(self) -> Iterator[View]:
        with self._lock:
            self._refresh()
            assert self._connection is not None
            view = View(
                self._snapshot,
                self._connection.cursor(),
                self.timezone,
                self.prices,
                self.semantic,
                self._kept,
            )
            view.is_doubtful = self._is_doubtful
            view.redaction = self._redaction
        try:
            yield view
        finally:
            view._cursor.close()

    def _refresh(self) -> None:
        """Open the newest snapshot where it is not the open one."""
        key = latest_key(self.root)
        if self._connection is not None and key == self._key:
            return
        if not key and self._snapshot.manifests:
            raise ArchiveUnusable(
                f"the archive {self.root} is gone: it had a snapshot before; check that its disk "
                "or share is there, or run 'sjduck etl' to make one anew"
            )
        snapshot = read_snapshot(self.root, as_of=self.as_of)
        shown = self._snapshot
        if self._connection is None or (snapshot.key, snapshot.pruned) != (shown.key, shown.pruned):
            # Cursors of the older connection keep it alive until they are done.
            self._redaction = Redaction(self.redact, snapshot)
            self._snapshot = snapshot
            self._connection = connect(snapshot, self._redaction)
            self._kept = {}
        # A generation that is not whole yet has its name already: it is looked at again.
        self._key = key if self.as_of is not None or key == snapshot.key else None


def question(
    answer: Callable[Concatenate[View, Parameters], Answer],
) -> Callable[Concatenate[Archive, Parameters], Answer]:
    """Let a function of one view be asked of an archive: all of it on one snapshot."""

    def asked(archive: Archive, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        return archive.ask(lambda view: answer(view, *args, **kwargs))

    update_wrapper(asked, answer)
    return asked


def _bound(values: Row) -> Row:
    """Return values, lists of numbers as texts for SQL to cast: DuckDB takes 10 µs a number."""
    return {
        name: str(value)
        if isinstance(value, list) and all(type(v) is int for v in value)
        else value
        for name, value in values.items()
    }


def _as_ours(error: duckdb.Error) -> SjduckError:
    first_line = str(error).split("\n", 1)[0]
    # What names a file of the archive is about that file.
    hint = "; run 'sjduck doctor'" if ".parquet" in first_line else ""
    return SjduckError(f"the archive can't answer: {first_line}{hint}")


def connect(snapshot: Snapshot, redaction: Redaction | None = None) -> duckdb.DuckDBPyConnection:
    """Return an in-memory connection that shows `snapshot` through its tables and views.

    What it resolves of texts is masked as `redaction` says.

    Raises duckdb.IOException where a file of it is gone.
    """
    import duckdb

    _settle_pandas()
    connection = duckdb.connect()
    for setting in _SETTINGS:
        connection.execute(setting)
    _show_no_progress(connection)
    _add_segments(connection, snapshot)
    for table in dictionary():
        connection.execute(f"create view stored_{table} as {_union(snapshot, table)}")
    # Where nothing was pruned, nothing is looked for.
    nothing = "select null::bigint as document, null::integer as segment where false"
    _materialise(connection, "pruned", sql("snapshot/pruned") if snapshot.pruned else nothing)
    _materialise(connection, "living", sql("snapshot/living"))
    connection.execute(f"create view living_catalogue as {_living('catalogue')}")
    shown = sql("snapshot/catalogue") if snapshot.pruned else "select * from living_catalogue"
    _materialise(connection, "catalogue", shown)
    connection.execute("drop view living_catalogue")
    if redaction is not None:
        redaction.settle(connection)
    _materialise(connection, "copies", sql("snapshot/copies"))
    _materialise(connection, "topics", sql("snapshot/topics"))
    _materialise(connection, "documents", sql("views/documents"))
    if redaction is not None:
        redaction.hide_readables(connection)
    for table in ("blocks", "calls", "rejects"):
        _materialise(connection, f"chosen_{table}", _places("documents", table))
        connection.execute(f"create view {table} as {_chosen(table)}")
    _materialise(connection, "live_calls", _places("living", "calls"))
    connection.execute("drop table living")
    return connection


def _show_no_progress(connection: duckdb.DuckDBPyConnection) -> None:
    """Switch the progress bar off where it is on: in Jupyter without widgets, setting it fails."""
    found = connection.execute("select current_setting('enable_progress_bar')").fetchone()
    if found and found[0]:
        connection.execute("set enable_progress_bar = false")


class _NoPandas:
    """Finds that there is no pandas, at once: DuckDB looks for it at every value that it binds."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Raise ModuleNotFoundError for pandas; leave other modules to the finders that follow."""
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name=name)


def _settle_pandas() -> None:
    """Look for pandas once; where there is none, a failed search costs as much as a question."""
    if "pandas" in sys.modules or any(finder is _NoPandas for finder in sys.meta_path):
        return
    if find_spec("pandas") is None:
        sys.meta_path.insert(0, _NoPandas)


def _materialise(connection: duckdb.DuckDBPyConnection, name: str, query: str) -> None:
    """Resolve a relation once a snapshot: questions then cost no more than a look-up."""
    connection.execute(f"create table {name} as {query}")


def _add_segments(connection: duckdb.DuckDBPyConnection, snapshot: Snapshot) -> None:
    """Tell the connection which files there are, what is dead in them and what is gone.

    `file_index` is a file's place among those of its table, as read_parquet counts them.
    """
    segments = snapshot.segments
    writers = [(n, m.writer) for n, (m, _) in enumerate(_owned(snapshot))]
    files = [
        (table, number, file_index)
        for table in TABLES
        for file_index, number in enumerate(n for n, s in enumerate(segments) if table in s.tables)
    ]
    dead = [(number, d) for number, segment in enumerate(segments) for d in segment.dead]
    gone = [(writer, d, datetime.fromisoformat(at)) for (writer, d), at in snapshot.gone.items()]
    keep_rows(connection, "segments", {"segment": "integer", "writer": "varchar"}, writers)
    columns = {"name": "varchar", "segment": "integer", "file_index": "integer"}
    keep_rows(connection, "files", columns, files)
    keep_rows(connection, "dead", {"segment": "integer", "document": "bigint"}, dead)
    columns = {"writer": "varchar", "document": "bigint", "gone_at": "timestamp"}
    keep_rows(connection, "gone", columns, gone)
    columns = {"kind": "varchar", "id": "varchar", "host": "varchar", "with_catalogue": "boolean"}
    stones = [(*key, with_catalogue) for key, with_catalogue in snapshot.pruned.keys.items()]
    keep_rows(connection, "tombstones", columns, stones)


def _owned(snapshot: Snapshot) -> Iterator[tuple[Manifest, Segment]]:
    for manifest in snapshot.manifests:
        for segment in manifest.segments:
            yield manifest, segment


def keep_rows(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    columns: dict[str, str],
    rows: Sequence[tuple[Any, ...]],
    *,
    create: str = "create table",
) -> None:
    """Make a table of rows by one JSON text: DuckDB takes long lists of values slowly."""
    values = [dict(zip(columns, row, strict=True)) for row in rows]
    connection.execute(
        f"{create} {name} as select unnest(from_json($rows, $shape), recursive := true)",
        {"rows": orjson.dumps(values).decode(), "shape": orjson.dumps([columns]).decode()},
    )


def _union(snapshot: Snapshot, table: str) -> str:
    """Return the SELECT of every row of a table that the snapshot's files hold, dead or alive."""
    files = [
        str(snapshot.root / segment.tables[table].path)
        for segment in snapshot.segments
        if table in segment.tables
    ]
    if not files:
        columns = ", ".join(f"null::{c.type} as {c.name}" for c in dictionary()[table].columns)
        return f"select {columns}, null::integer as file_index where false"
    listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    return (
        "select *, file_index::integer as file_index "
        f"from read_parquet([{listed}], hive_partitioning = false)"
    )


def _places(documents: str, table: str) -> str:
    """Return the SELECT of where the rows of documents lie in the files of a table."""
    files = f"(select segment, file_index from files where name = '{table}') as files"
    return f"select document, file_index from {documents} join {files} using (segment)"


def _chosen(table: str) -> str:
    """Return the SELECT of a table's rows that belong to the documents that are read."""
    return (
        f"select * exclude (file_index) from stored_{table} as rows "
        f"semi join chosen_{table} as chosen using (document, file_index)"
    )


def _living(table: str) -> str:
    """Return the SELECT of a table's rows that belong to live documents."""
    return (
        f"select * exclude (file_index) from stored_{table} as rows semi join "
        "(select document, file_index from living "
        f"join (select segment, file_index from files where name = '{table}') using (segment)) "
        "as placed using (document, file_index)"
    )
