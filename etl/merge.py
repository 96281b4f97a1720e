"""Merge segments: few files, each sorted by document, without what is dead."""

import heapq
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from etl.files import Modes
from etl.segments import SegmentWriter
from sjduck.snapshots import TABLES, Segment

MAX_SEGMENTS = 4
_ROWS_AT_ONCE = 4_096


def drop_dead(segments: list[Segment]) -> list[Segment]:
    """Leave out segments in which nothing lives."""
    return [segment for segment in segments if segment.live_documents > 0]


def merges(segments: list[Segment]) -> list[list[Segment]]:
    """Choose what to merge: the smallest of a host and year where they are too many, and a
    segment of which more than half is dead."""
    groups: dict[tuple[str | None, int], list[Segment]] = defaultdict(list)
    for segment in segments:
        groups[segment.host, segment.year].append(segment)
    chosen = []
    for group in groups.values():
        group.sort(key=lambda segment: (segment.bytes, segment.name))
        surplus = len(group) - MAX_SEGMENTS
        merging = group[: surplus + 1] if surplus > 0 else []
        merging += [s for s in group if s not in merging and _is_mostly_dead(s)]
        if merging:
            chosen.append(merging)
    return chosen


def merge(root: Path, modes: Modes, name: str, segments: list[Segment]) -> Segment:
    """Write one segment of all that lives in `segments`, which are of one host and year."""
    first = segments[0]
    writer = SegmentWriter(root, modes, name, first.host, first.year)
    for table in TABLES:
        streams = [
            _documents(root / segment.tables[table].path, segment.dead)
            for segment in segments
            if table in segment.tables
        ]
        for _, batch in heapq.merge(*streams, key=lambda piece: piece[0]):
            writer.add(table, batch)
    return writer.close()


def _is_mostly_dead(segment: Segment) -> bool:
    return 2 * len(segment.dead) > segment.tables["documents"].rows


def _documents(path: Path, dead: frozenset[int]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the rows of each live document of a file, in pieces."""
    buried = pa.array(sorted(dead), pa.int64())
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE):
            if dead:
                batch = batch.filter(pc.invert(pc.is_in(batch.column("document"), buried)))
            runs = pc.run_end_encode(batch.column("document"))
            start = 0
            for document, end in zip(
                runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True
            ):
                yield document, batch.slice(start, end - start)
                start = end
