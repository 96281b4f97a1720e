"""Flatten claimed files into batches of rows, in a worker process or in this one."""

import errno
import os
import stat
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from threading import Thread

import pyarrow as pa

from etl.document import Claim, Document, SourceFile
from etl.lines import Lines
from etl.masking import Masking
from etl.sources import FORMATS, GATHERED
from etl.tables import Row, to_batch

BATCH_BYTES = 4 * 1024 * 1024
SPILL_CHARACTERS = 8 * 1024 * 1024
ROW_CHARACTERS = 200
POOL_BYTES = 8 * 1024 * 1024


@dataclass(slots=True)
class Flattened:
    """What became of one file."""

    claim: Claim
    source: SourceFile
    document: int
    year: int | None
    digest: str
    cost_s: float
    taken_ns: int
    rejected: Counter[str]
    unknown: Counter[str]
    failure: str | None = None


@dataclass(slots=True)
class Part:
    """Rows of one table and year, as Arrow stream: in memory, or in a file of the scratch."""

    table: str
    year: int
    stream: bytes | str

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        if isinstance(self.stream, bytes):
            yield from pa.ipc.open_stream(self.stream)
        else:
            with pa.memory_map(self.stream) as file:
                yield from pa.ipc.open_stream(file)

    def drop(self) -> None:
        """Remove the file, where there is one."""
        if isinstance(self.stream, str):
            os.unlink(self.stream)


@dataclass(slots=True)
class Batch:
    """A few files flattened, in the order they were given.

    `masked`: document → in how many places of it a secret was masked; `kinds`: of which kinds.
    """

    files: list[Flattened] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    masked: dict[int, int] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)


Task = Sequence[tuple[Claim, SourceFile, bool]]


def tasks(files: Iterable[tuple[Claim, SourceFile, bool]]) -> Iterator[Task]:
    """Group files, in order, into tasks of a few megabytes of one host; a large file is alone."""
    group: list[tuple[Claim, SourceFile, bool]] = []
    size = 0
    for file in files:
        apart = group and (size + file[1].size > BATCH_BYTES or group[-1][0].host != file[0].host)
        if apart:
            yield group
            group, size = [], 0
        group.append(file)
        size += file[1].size
    if group:
        yield group


def flatten_all(
    work: list[Task], scratch: Path, *, workers: int, is_masking: bool = False
) -> Iterator[Batch]:
    """Yield the batches of `work` in its order, flattened on `workers` processes.

    Little work is done here: a pool takes longer to start.
    """
    size = sum(source.size for task in work for _, source, _ in task)
    if workers <= 1 or len(work) == 1 or size < POOL_BYTES:
        for number, task in enumerate(work):
            yield flatten_task(task, str(scratch / str(number)), is_masking=is_masking)
        return
    context = get_context("forkserver")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent) as pool:
        waiting: list[Future[Batch]] = []
        for number, task in enumerate(work):
            spill = str(scratch / str(number))
            waiting.append(pool.submit(flatten_task, task, spill, is_masking=is_masking))
            if len(waiting) > 2 * workers:
                yield waiting.pop(0).result()
        while waiting:
            yield waiting.pop(0).result()


def _end_with_parent() -> None:
    """Let this process end when the run that started it is killed: its queue never ends."""
    parent = parent_process()
    if parent is not None:
        Thread(target=_wait_for, args=(parent.sentinel,), daemon=True).start()


def _wait_for(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


def flatten_task(task: Task, spill: str, *, is_masking: bool = False) -> Batch:
    """Flatten the files of one task; `spill` is where a large one may put rows aside."""
    batch = Batch()
    masking = Masking() if is_masking else None
    rows = _Rows(spill, masking)
    for claim, source, is_known in task:
        rows.begin()
        flattened = _flatten_file(claim, source, rows, is_known=is_known)
        if flattened is not None:
            batch.files.append(flattened)
    batch.parts = rows.parts()
    if masking is not None:
        batch.masked, batch.kinds = masking.places, masking.kinds
    return batch


def _flatten_file(
    claim: Claim, source: SourceFile, rows: "_Rows", *, is_known: bool
) -> Flattened | None:
    started = time.perf_counter()
    taken_ns = time.time_ns()
    try:
        if claim.format in GATHERED:
            document = Document(claim, source, rows)
            GATHERED[claim.format](document)
            year = _finish(document, rows)
            return Flattened(
                claim, source, document.id, year, "",
                time.perf_counter() - started, taken_ns, document.rejected, document.unknown,
            )  # fmt: skip
        with open(claim.file, "rb", buffering=1024 * 1024, opener=_open_at_once) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "no regular file any more")
            source = SourceFile(status.st_size, status.st_mtime_ns)
            document = Document(claim, source, rows)
            lines = Lines(file)
            FORMATS[claim.format](document, lines)
            year = _finish(document, rows)
            return Flattened(
                claim, source, document.id, year, lines.digest(),
                time.perf_counter() - started, taken_ns, document.rejected, document.unknown,
            )  # fmt: skip
    except FileNotFoundError:
        rows.discard()
        return None
    except Exception as error:  # noqa: BLE001 - one file must never end the run
        rows.discard()
        failure = _failure(error)
        unread = SourceFile(-1, source.mtime_ns)
        document = Document(claim, unread, rows)
        if is_known:
            return Flattened(
                claim, unread, document.id, None, "", 0.0, taken_ns, Counter(), Counter(), failure
            )
        document.reject(None, None, failure)
        year = document.finish(type="file")
        rows.end(year)
        return Flattened(
            claim, unread, document.id, year, "", 0.0, taken_ns,
            document.rejected, document.unknown, failure,
        )  # fmt: skip


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting: one that has become a pipe would wait for a writer."""
    return os.open(path, flags | os.O_NONBLOCK)


def _finish(document: Document, rows: "_Rows") -> int:
    only_rejects = bool(document.rejected) and not rows.holds_anything
    year = document.finish(type="file" if only_rejects else None)
    rows.end(year)
    return year


def _failure(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"unreadable: {error.strerror}"
    return f"can't be flattened: {type(error).__name__}"


class _Rows:
    """The rows of a task by year and table; the blocks of a large document go to a file."""

    def __init__(self, spill: str, masking: Masking | None) -> None:
        self._spill = spill
        self._masking = masking
        self._years: dict[tuple[int, str], list[Row]] = {}
        self._current: dict[str, list[Row]] = {}
        self._parts: list[Part] = []
        self._weight = 0
        self._stream: pa.RecordBatchStreamWriter | None = None
        self._spills = 0
        self.holds_anything = False

    def begin(self) -> None:
        """Begin a document."""
        self._current = {}
        self._weight = 0
        self.holds_anything = False

    def add(self, table: str, row: Row, weight: int) -> None:
        """Take one row of the current document."""
        self._current.setdefault(table, []).append(row)
        self._weight += weight + ROW_CHARACTERS
        self.holds_anything |= table != "rejects"
        if self._weight >= SPILL_CHARACTERS:
            self._put_aside()

    def end(self, year: int) -> None:
        """End the document: its rows belong to `year`."""
        if self._stream is not None:
            self._put_aside()
            self._stream.close()
            self._stream = None
            self._parts = self.parts()
            self._years = {}
            self._parts.append(Part("blocks", year, self._spill_path()))
            self._spills += 1
        for table, rows in self._current.items():
            self._years.setdefault((year, table), []).extend(rows)
        self._current = {}

    def discard(self) -> None:
        """Forget the current document's rows."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
            os.unlink(self._spill_path())
        self.begin()

    def parts(self) -> list[Part]:
        """Return everything that was taken, as Arrow streams."""
        return self._parts + [
            Part(table, year, _stream(self._batch(table, rows)))
            for (year, table), rows in self._years.items()
        ]

    def _spill_path(self) -> str:
        return f"{self._spill}-{self._spills}.arrow"

    def _put_aside(self) -> None:
        rows = self._current.pop("blocks", [])
        if rows:
            batch = self._batch("blocks", rows)
            if self._stream is None:
                self._stream = pa.ipc.new_stream(self._spill_path(), batch.schema)
            self._stream.write_batch(batch)
        self._weight = 0

    def _batch(self, table: str, rows: list[Row]) -> pa.RecordBatch:
        batch = to_batch(table, rows)
        return self._masking.passing(table, batch) if self._masking else batch


def _stream(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())
