"""The vectors of a snapshot that one model made, in memory, and what of it is near to a question.

A vector is as many bytes as it has dimensions: a million of 384 are 384 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from sjduck.localcopy import local_place
from sjduck.snapshots import VectorFile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# As many as stay in the processor's cache, and too few for the library to start threads, which wait
# for one another wherever a core is busy: a million took 60 ms so, and up to 5 s with 4,096.
_ROWS_AT_ONCE = 1_024
_lock = Lock()
_read: dict[tuple[Path, VectorFile], Vectors] = {}


@dataclass(frozen=True, slots=True)
class Vectors:
    """The rows of one file, by content: bytes that are to be multiplied by a scale."""

    contents: NDArray[np.int64]
    scales: NDArray[np.float32]
    bytes: NDArray[np.int8]

    def cosines(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return how near each row is to a vector of length 1, from -1 to 1."""
        import numpy as np

        found = np.empty(len(self.scales), np.float32)
        widened = np.empty((_ROWS_AT_ONCE, len(query)), np.float32)
        for start in range(0, len(found), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            rows = widened[: len(found[part])]
            np.copyto(rows, self.bytes[part], casting="unsafe")
            np.dot(rows, query, out=found[part])
        found *= self.scales
        return found

    def rows_of(self, contents: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the row of each content, -1 where there is none."""
        import numpy as np

        if len(self.contents) == 0:
            return np.full(len(contents), -1)
        rows = np.searchsorted(self.contents, contents)
        rows[rows == len(self.contents)] = 0
        rows[self.contents[rows] != contents] = -1
        return rows


def load(root: Path, files: Sequence[VectorFile]) -> tuple[list[Vectors], str]:
    """Return what some files hold, and why one of them can't be read, empty where all can.

    Those of the snapshot before that are still named stay.
    """
    from pyarrow import ArrowException

    why = ""
    with _lock:
        for known in _read.keys() - {(root, file) for file in files}:
            del _read[known]
        for file in files:
            try:
                if (root, file) not in _read:
                    _read[root, file] = _vectors(local_place(root, file))
            except (OSError, ArrowException) as error:
                why = getattr(error, "strerror", None) or str(error).split("\n", 1)[0]
        return [_read[root, file] for file in files if (root, file) in _read], why


def _vectors(path: Path) -> Vectors:
    import numpy as np
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as parquet:
        count = parquet.metadata.num_rows
        dimension = parquet.schema_arrow.field("vector").type.byte_width
        contents, scales = np.empty(count, np.int64), np.empty(count, np.float32)
        vectors = np.empty((count, dimension), np.int8)
        start = 0
        # One after the other, so that no more than a group is held beside what it is copied to.
        for group in range(parquet.num_row_groups):
            rows = parquet.read_row_group(group, use_threads=False).combine_chunks()
            part = slice(start, start + rows.num_rows)
            contents[part] = rows.column("content").to_numpy()
            scales[part] = rows.column("scale").to_numpy()
            values = rows.column("vector").chunk(0)
            raw = np.frombuffer(values.buffers()[1], np.int8)[values.offset * dimension :]
            vectors[part] = raw[: len(values) * dimension].reshape(-1, dimension)
            start += rows.num_rows
    return Vectors(contents, scales, vectors)
