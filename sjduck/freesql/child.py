"""The process that runs statements: it can be killed, and can do nothing but read one snapshot."""

from __future__ import annotations

import io
import os
import pickle
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, BinaryIO

import duckdb

from sjduck.archive import View, connect
from sjduck.errors import SjduckError, UsageError
from sjduck.freesql import gate, values
from sjduck.freesql.channel import Ended, receive, send
from sjduck.freesql.complaints import complaint, out_of_memory
from sjduck.freesql.setup import Setup
from sjduck.freesql.values import shown
from sjduck.redaction import Redaction
from sjduck.sqlfiles import published
from sjduck.views import COSTLY, publish

if TYPE_CHECKING:
    import pyarrow

Message = dict[str, Any]
_ROWS = 500
_ARROW_ROWS = 20_000
_MIB = 2**20
# What threads, Python and DuckDB's own structures take beside what DuckDB counts.
_SLACK = 512 * _MIB
_LONGEST_SECRET = 16_000
_NOT_MASKED = "secrets can't be masked beside such times in Parquet; take another format"
_KINDS: dict[str, type[duckdb.Error]] = {
    "IO Error": duckdb.IOException,
    "Out of Memory Error": duckdb.OutOfMemoryException,
}
_CUT_WORD = re.compile(r"[A-Za-z0-9_+/=-]{8,}\.{3}")


class Desk:
    """One snapshot, at which statements are taken one after the other."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._parser = duckdb.connect()
        self._redaction = Redaction(setup.redact, setup.snapshot)
        self._connection = connect(setup.snapshot, self._redaction)
        self._view = View(
            setup.snapshot, self._connection, setup.timezone, setup.prices, setup.semantic
        )
        self._view.redaction = self._redaction
        self._made: frozenset[str] | None = None
        self.is_spent = False

    def answer(self, request: Message) -> Iterator[Message | bytes]:
        """Yield what a statement answers: its columns, its rows, an end; or an error."""
        statement = None
        try:
            statement = self._checked(request["query"])
            if statement.described is not None:
                yield from _texts(*_schema(statement.described), as_arrow=request["as_arrow"])
                return
            needs = statement.names & COSTLY
            if self._made is not None and needs - self._made:
                yield {"needs": sorted(needs | self._made)}
                return
            if self._made is None:
                self._settle(needs | self._setup.needs)
                # What was made has names, too, that no CTE may have.
                statement = self._checked(request["query"])
            yield from self._run(statement, request)
        except SjduckError as error:
            yield self._failure(error)
        except (duckdb.IOException, duckdb.PermissionException):
            # A file whose folder is gone counts as one that was never allowed.
            self.is_spent = True
            yield {"gone": True}
        except (duckdb.OutOfMemoryException, MemoryError):
            self.is_spent = True
            yield self._failure(out_of_memory(self._setup.limits.memory_mb))
        except duckdb.Error as error:
            self.is_spent = isinstance(error, duckdb.InternalException | duckdb.FatalException)
            names = statement.names if statement else ()
            yield self._failure(complaint(error, self._said(error), names))

    def _checked(self, query: str) -> gate.Statement:
        names = "select view_name from duckdb_views() union select table_name from duckdb_tables()"
        relations = {name.lower() for (name,) in self._connection.execute(names).fetchall()}
        return gate.checked(query, self._parser, relations)

    def _said(self, error: duckdb.Error) -> str:
        """Return what DuckDB says, which may quote a value, with the secrets in it masked."""
        if not self._redaction.is_masking:
            return str(error)
        (found,) = self._redaction.shown([{"said": str(error)}])
        # Of a word that DuckDB has cut, no rule knows whether it is one.
        return _CUT_WORD.sub("…", found["said"])

    def _failure(self, error: SjduckError) -> Message:
        is_usage = isinstance(error, UsageError)
        return {"error": str(error), "is_usage": is_usage, "is_spent": self.is_spent}

    def _run(self, statement: gate.Statement, request: Message) -> Iterator[Message | bytes]:
        text, given, cut = statement.text, request["values"], request["cut"]
        if statement.explains:
            yield from self._explained(f"{statement.explains} {text}", request)
            return
        columns = values.described(self._connection, text, given)
        if request["as_arrow"]:
            yield from self._arrow(values.in_parquet(text, columns), request)
            return
        # Half a secret is one that no rule knows: a text is masked first, then cut.
        ahead = _LONGEST_SECRET if self._redaction.is_masking else 0
        fetched = None if cut is None else cut + ahead
        query = values.written(text, columns, request["limit"], fetched)
        cursor = self._connection.execute(query, given)
        yield {"columns": [c.name for c in columns], "types": [c.type for c in columns]}
        while rows := cursor.fetchmany(_ROWS):
            (found,) = self._redaction.shown([{"rows": rows}])
            yield {"rows": [shown(row, columns, cut) for row in found["rows"]]}
        yield {"end": True}

    def _explained(self, text: str, request: Message) -> Iterator[Message | bytes]:
        cursor = self._connection.execute(text, request["values"])
        columns = values.columns(cursor.description)
        (found,) = self._redaction.shown([{"rows": cursor.fetchall()}])
        rows = [shown(row, columns, request["cut"]) for row in found["rows"]]
        names = [column.name for column in columns]
        yield from _texts(names, rows, as_arrow=request["as_arrow"])

    def _arrow(self, rows: str, request: Message) -> Iterator[Message | bytes]:
        """Yield the rows as Arrow streams of their own, types as DuckDB exports them."""
        import pyarrow

        limit = "" if request["limit"] is None else f" limit {request['limit']}"
        cursor = self._connection.execute(f"{rows}{limit}", request["values"])
        reader = cursor.to_arrow_reader(_ARROW_ROWS)
        yield {"columns": reader.schema.names, "types": [str(t) for t in reader.schema.types]}
        # The first tells the types where there are no rows.
        first = pyarrow.RecordBatch.from_pylist([], reader.schema)
        for batch in chain([first], _batches(reader)):
            yield _stream(self._masked(batch))
        yield {"end": True}

    def _masked(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        """Return a batch with the secrets in its texts masked."""
        import pyarrow

        if not self._redaction.is_masking:
            return batch
        columns = []
        for column in batch.columns:
            if pyarrow.types.is_string(column.type) or pyarrow.types.is_nested(column.type):
                try:
                    texts = column.to_pylist()
                except (OverflowError, ValueError) as error:
                    raise UsageError(_NOT_MASKED) from error
                (found,) = self._redaction.shown([{"values": texts}])
                column = pyarrow.array(found["values"], column.type)
            columns.append(column)
        return pyarrow.RecordBatch.from_arrays(columns, schema=batch.schema)

    def _settle(self, needs: frozenset[str]) -> None:
        """Make what statements may name, then let nothing else be opened or changed."""
        publish(self._view, (published().keys() - COSTLY) | needs)
        self._lock()
        self._made = needs

    def _lock(self) -> None:
        memory = self._setup.limits.memory_mb * _MIB
        (used,) = self._connection.execute(
            "select sum(memory_usage_bytes)::bigint from duckdb_memory()"
        ).fetchone() or (0,)
        files = ", ".join("'" + file.replace("'", "''") + "'" for file in self._files())
        for setting in (
            f"memory_limit = '{(used + memory) // 1024}KiB'",
            "temp_directory = ''",
            "python_enable_replacements = false",
            "allow_community_extensions = false",
            f"allowed_paths = [{files}]",
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            self._connection.execute(f"set {setting}")
        _bound_memory(memory + _SLACK)

    def _files(self) -> Iterator[str]:
        snapshot = self._setup.snapshot
        for segment in snapshot.segments:
            yield from (str(snapshot.root / file.path) for file in segment.tables.values())


def main() -> None:
    """Answer statements from stdin on stdout until the one who asks is gone."""
    # What prints, prints elsewhere; an interrupt is for the one who asks.
    target = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source = sys.stdin.buffer
    with suppress(Ended):
        setup: Setup = pickle.loads(receive(source))
        requests: SimpleQueue[Message] = SimpleQueue()
        Thread(target=_listen, args=(source, requests), daemon=True).start()
        _serve(setup, requests, target)
    os._exit(0)


def _serve(setup: Setup, requests: SimpleQueue[Message], target: BinaryIO) -> None:
    try:
        desk = Desk(setup)
    except duckdb.IOException:
        send(target, {"gone": True})
        return
    while not desk.is_spent:
        request = requests.get()
        _bound_time(setup.limits.seconds)
        for message in desk.answer(request):
            send(target, message)
        _bound_time(0)


def _listen(source: BinaryIO, requests: SimpleQueue[Message]) -> None:
    """Pass on what is asked; end the process, whatever it does, when nobody asks any more."""
    with suppress(Ended):
        while True:
            requests.put(receive(source))
    os._exit(0)


def _bound_time(seconds: float) -> None:
    """Let the system end the process after so much work: also where no one is left to do so."""
    with suppress(AttributeError, ValueError):
        signal.setitimer(signal.ITIMER_PROF, 2 * seconds * (os.cpu_count() or 1))


def _bound_memory(more: int) -> None:
    """Let no more memory be taken than `more` bytes; DuckDB's own limit leaves long texts out."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/status", encoding="ascii") as status:
            taken = next(int(line.split()[1]) for line in status if line.startswith("VmData"))
        bound = taken * 1024 + more
        resource.setrlimit(resource.RLIMIT_DATA, (bound, bound))


def _schema(name: str) -> tuple[list[str], list[list[str]]]:
    """Return what a view has, or which views there are, as the dictionary describes them."""
    if name:
        columns = [list(column) for column in published()[name].columns]
        return ["column", "type", "about"], columns
    return ["name", "about"], [[table.name, table.about] for table in published().values()]


def _texts(
    columns: list[str], rows: list[list[str]], *, as_arrow: bool
) -> Iterator[Message | bytes]:
    """Yield the messages of an answer that consists of texts."""
    yield {"columns": columns, "types": ["VARCHAR"] * len(columns)}
    if as_arrow:
        import pyarrow

        batch = pyarrow.RecordBatch.from_pylist(
            [dict(zip(columns, row, strict=True)) for row in rows],
            pyarrow.schema([(name, pyarrow.string()) for name in columns]),
        )
        yield _stream(batch)
    else:
        yield {"rows": rows}
    yield {"end": True}


def _batches(reader: pyarrow.RecordBatchReader) -> Iterator[pyarrow.RecordBatch]:
    """Yield the batches of a reader; raises duckdb.Error for what DuckDB says meanwhile."""
    try:
        yield from reader
    except OSError as error:
        # Arrow passes on the text alone.
        kind = next((k for text, k in _KINDS.items() if str(error).startswith(text)), duckdb.Error)
        raise kind(str(error)) from error


def _stream(batch: pyarrow.RecordBatch) -> bytes:
    """Return a batch as an Arrow stream of its own."""
    import pyarrow

    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return sink.getvalue()


if __name__ == "__main__":
    main()
