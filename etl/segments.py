"""Write a segment: one Parquet file a table for one host and year, sorted by document."""

import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from etl.files import Modes, make_folder, sync_folder
from etl.tables import schema
from sjduck.snapshots import Segment, TableFile, folder_of

# Small enough that one document is read without unpacking megabytes of its neighbours, large
# enough to compress; measured on real sessions.
ROW_GROUP_BYTES = 1024 * 1024
ROW_GROUP_ROWS = 50_000
_PLAIN_COLUMNS = frozenset({"text", "uuid", "seq", "line_start", "line_end", "call_key"})


class SegmentWriter:
    """Takes batches of one host and year in the order of documents; `close` gives the segment."""

    def __init__(self, root: Path, modes: Modes, name: str, host: str | None, year: int) -> None:
        self.name = name
        self._root = root
        self._modes = modes
        self._host = host
        self._year = year
        self._tables: dict[str, _TableWriter] = {}
        self._range: list[Any] = []

    def add(self, table: str, batch: pa.RecordBatch) -> None:
        """Append the rows of one table."""
        if batch.num_rows == 0:
            return
        if table not in self._tables:
            path = f"{folder_of(table, self._host, self._year)}/{self.name}.parquet"
            make_folder((self._root / path).parent, self._root, self._modes)
            self._tables[table] = _TableWriter(self._root, path, table, self._modes)
        self._tables[table].add(batch)
        if table == "documents":
            for column in ("started_at", "ended_at"):
                self._range += filter(None, pc.min_max(batch.column(column)).as_py().values())

    def close(self) -> Segment:
        """Finish the files and return the segment they make."""
        files = {table: writer.close() for table, writer in sorted(self._tables.items())}
        return Segment(
            name=self.name,
            host=self._host,
            year=self._year,
            tables=files,
            first_at=min(self._range).isoformat() if self._range else None,
            last_at=max(self._range).isoformat() if self._range else None,
        )


class _TableWriter:
    """One Parquet file in the making; gathers batches into row groups."""

    def __init__(self, root: Path, path: str, table: str, modes: Modes) -> None:
        self._path = path
        self._file = _HashedFile(root / path, modes.file)
        self._folder = (root / path).parent
        fields = schema(table)
        plain = [field.name for field in fields if field.name in _PLAIN_COLUMNS]
        self._writer = pq.ParquetWriter(
            pa.PythonFile(self._file, mode="w"),
            fields,
            compression="zstd",
            compression_level=3,
            use_dictionary=[_leaf(field) for field in fields if field.name not in plain],
            write_statistics=[_leaf(field) for field in fields if field.name != "text"],
            data_page_size=16 * 1024,
            store_schema=False,
        )
        self._schema = fields
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0
        self._gathered = 0
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        for start, count in _bounded(batch):
            piece = batch.slice(start, count)
            self._batches.append(piece)
            self._bytes += piece.nbytes
            self._gathered += count
            if self._bytes >= ROW_GROUP_BYTES or self._gathered >= ROW_GROUP_ROWS:
                self._flush()

    def close(self) -> TableFile:
        self._flush()
        self._writer.close()
        size, digest = self._file.finish()
        sync_folder(self._folder)
        return TableFile(self._path, self._rows, size, digest)

    def _flush(self) -> None:
        if self._batches:
            table = pa.Table.from_batches(self._batches, self._schema)
            self._writer.write_table(table, row_group_size=max(table.num_rows, 1))
            self._rows += table.num_rows
        self._batches, self._bytes, self._gathered = [], 0, 0


class _HashedFile:
    """A file that knows the digest of what was written to it."""

    def __init__(self, path: Path, mode: int) -> None:
        self._file: BinaryIO = path.open("xb")
        os.fchmod(self._file.fileno(), mode)
        self._digest = sha256()
        self.closed = False

    def write(self, content: Any) -> int:
        """Write and digest `content`."""
        self._digest.update(content)
        return self._file.write(content)

    def tell(self) -> int:
        """Return how much was written."""
        return self._file.tell()

    def flush(self) -> None:
        """Pass on what is buffered."""
        self._file.flush()

    def finish(self) -> tuple[int, str]:
        """Make the file durable; return its size and SHA-256."""
        self._file.flush()
        size = self._file.tell()
        os.fsync(self._file.fileno())
        self._file.close()
        return size, self._digest.hexdigest()

    def close(self) -> None:
        """Leave the file open for `finish`: the Parquet writer closes before that."""


def _leaf(field: pa.Field) -> str:
    """Return the name that Parquet gives the values of a column."""
    if pa.types.is_list(field.type):
        return f"{field.name}.list.element"
    if pa.types.is_map(field.type):
        return f"{field.name}.key_value.key"
    return str(field.name)


def _bounded(batch: pa.RecordBatch) -> Iterable[tuple[int, int]]:
    """Cut a batch into ranges of about one row group each."""
    pieces = max(1, -(-batch.nbytes // ROW_GROUP_BYTES))
    size = max(1, -(-batch.num_rows // pieces))
    for start in range(0, batch.num_rows, size):
        yield start, min(size, batch.num_rows - start)
