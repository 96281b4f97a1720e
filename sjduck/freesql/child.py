"""The process that runs statements: it can be killed, and can do nothing but read one snapshot."""

from __future__ import annotations

import io
import os
import pickle
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
from sjduck.index import prepare as prepare_index
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
_SEARCHED = frozenset({"recall", "search"})


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
                yield from _schema(statement.described)
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
        except duckdb.IOException:
            self.is_spent = True
            yield {"gone": True}
        except (duckdb.OutOfMemoryException, MemoryError):
            self.is_spent = True
            yield self._failure(out_of_memory(self._setup.limits.memory_mb))
        except duckdb.Error as error:
            self.is_spent = isinstance(error, duckdb.InternalException | duckdb.FatalException)
            yield self._failure(complaint(error, statement.names if statement else ()))

    def _checked(self, query: str) -> gate.Statement:
        names = "select view_name from duckdb_views() union select table_name from duckdb_tables()"
        relations = {name.lower() for (name,) in self._connection.execute(names).fetchall()}
        return gate.checked(query, self._parser, relations)

    def _failure(self, error: SjduckError) -> Message:
        is_usage = isinstance(error, UsageError)
        return {"error": str(error), "is_usage": is_usage, "is_spent": self.is_spent}

    def _run(self, statement: gate.Statement, request: Message) -> Iterator[Message | bytes]:
        text, given, cut = statement.text, request["values"], request["cut"]
        if statement.explains:
            cursor = self._connection.execute(f"{statement.explains} {text}", given)
            columns = values.columns(cursor.description)
        else:
            columns = values.described(self._connection, text, given)
            if request["as_arrow"]:
                yield from self._arrow(text, request)
                return
            query = values.written(text, columns, request["limit"], cut)
            cursor = self._connection.execute(query, given)
        yield {"columns": [c.name for c in columns], "types": [c.type for c in columns]}
        while rows := cursor.fetchmany(_ROWS):
            yield from self._redaction.shown([{"rows": [shown(row, columns, cut) for row in rows]}])
        yield {"end": True}

    def _arrow(self, text: str, request: Message) -> Iterator[Message | bytes]:
        """Yield the rows as Arrow streams of their own, types as DuckDB exports them."""
        import pyarrow

        limit = "" if request["limit"] is None else f" limit {request['limit']}"
        query = f"{gate.enclosed(text)}{limit}"
        reader = self._connection.execute(query, request["values"]).to_arrow_reader(_ARROW_ROWS)
        yield {"columns": reader.schema.names, "types": [str(t) for t in reader.schema.types]}
        # The first tells the types where there are no rows.
        for batch in chain([pyarrow.RecordBatch.from_pylist([], reader.schema)], reader):
            sink = io.BytesIO()
            with pyarrow.ipc.new_stream(sink, reader.schema) as stream:
                stream.write_batch(self._masked(batch))
            yield sink.getvalue()
        yield {"end": True}

    def _masked(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        """Return a batch with the secrets in its texts masked."""
        import pyarrow

        if not self._redaction.is_masking:
            return batch
        columns = []
        for column in batch.columns:
            if pyarrow.types.is_string(column.type) or pyarrow.types.is_nested(column.type):
                (found,) = self._redaction.shown([{"values": column.to_pylist()}])
                column = pyarrow.array(found["values"], column.type)
            columns.append(column)
        return pyarrow.RecordBatch.from_arrays(columns, schema=batch.schema)

    def _settle(self, needs: frozenset[str]) -> None:
        """Make what statements may name, then let nothing else be opened or changed."""
        publish(self._view, (published().keys() - COSTLY) | needs)
        if needs & _SEARCHED:
            prepare_index(self._view)
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


def _schema(name: str) -> Iterator[Message]:
    """Yield what a view has, or which views there are, as the dictionary describes them."""
    if name:
        rows = [list(column) for column in published()[name].columns]
        yield {"columns": ["column", "type", "about"], "types": ["VARCHAR"] * 3}
    else:
        rows = [[table.name, table.about] for table in published().values()]
        yield {"columns": ["name", "about"], "types": ["VARCHAR"] * 2}
    yield {"rows": rows}
    yield {"end": True}


if __name__ == "__main__":
    main()
