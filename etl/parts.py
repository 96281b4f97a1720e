"""Read the rows of some documents out of the segments that hold them."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sjduck.snapshots import Segment

_ROWS_AT_ONCE = 4_096


class Part(NamedTuple):
    """Some documents, and the segment that they lie in."""

    segment: Segment
    documents: frozenset[int]


def tables(
    root: Path,
    parts: Sequence[Part],
    table: str,
    names: Sequence[str],
    *,
    shown: bool = False,
    said: bool = False,
) -> Iterator[pa.Table]:
    """Yield the columns `names` of one table, a few thousand rows at a time, in order.

    `shown` keeps the blocks that the readable shows, `said` those worth ranking by: no tool
    output, no replay.
    """
    extra = ["signal", "is_replay"] if said else []
    for part in parts:
        file = part.segment.tables.get(table)
        if file is None:
            continue
        wanted = pa.array(sorted(part.documents), pa.int64())
        with pq.ParquetFile(root / file.path) as parquet:
            batches = parquet.iter_batches(
                batch_size=_ROWS_AT_ONCE,
                row_groups=_row_groups(parquet, sorted(part.documents)),
                columns=list(dict.fromkeys(["document", *names, *extra])),
            )
            for batch in batches:
                mask = pc.is_in(batch.column("document"), wanted)
                if shown:
                    mask = pc.and_(mask, pc.is_valid(batch.column("line_start")))
                if said:
                    mask = pc.and_(mask, pc.not_equal(batch.column("signal"), "low"))
                    mask = pc.and_not(mask, batch.column("is_replay"))
                rows = batch.filter(mask)
                if rows.num_rows:
                    yield pa.Table.from_batches([rows]).select(list(names))


def columns(table: pa.Table) -> list[list[Any]]:
    """Return the columns of a table as lists."""
    return [column.to_pylist() for column in table.columns]


def _row_groups(parquet: pq.ParquetFile, wanted: list[int]) -> list[int]:
    """Return the row groups that may hold a wanted document."""
    column = parquet.schema_arrow.get_field_index("document")
    groups = []
    for group in range(parquet.num_row_groups):
        statistics = parquet.metadata.row_group(group).column(column).statistics
        at = bisect_left(wanted, statistics.min)
        if at < len(wanted) and wanted[at] <= statistics.max:
            groups.append(group)
    return groups
