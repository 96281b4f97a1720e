"""Merge segments: few files, each sorted by document, without what is dead."""

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from etl.files import Modes
from etl.segments import SegmentWriter
from sjduck.snapshots import TABLES, Segment, folder_of

MAX_SEGMENTS = 4
# One this many times as large as those it is merged with makes room for the next ones too.
_LARGE = 4
_ROWS_AT_ONCE = 4_096

# Table and rows → those of the rows that stay.
Passing = Callable[[str, pa.RecordBatch], pa.RecordBatch]


def drop_dead(segments: list[Segment]) -> list[Segment]:
    """Leave out segments in which nothing lives."""
    return [segment for segment in segments if segment.live_documents > 0]


def merges(
    segments: list[Segment],
    *,
    whole: bool = False,
    mostly_dead: Collection[str] = (),
) -> list[list[Segment]]:
    """Choose what to merge: the smallest of a host and year where they are too many, and a
    segment of which more than half is dead.

    `whole`: until each host and year is one segment without anything dead; `mostly_dead` are
    names of segments that are more than half dead by bytes.
    """
    groups: dict[tuple[str | None, int], list[Segment]] = defaultdict(list)
    for segment in segments:
        groups[segment.host, segment.year].append(segment)
    chosen = []
    for group in groups.values():
        group.sort(key=lambda segment: (segment.bytes, segment.name))
        merging = _surplus(group, 1 if whole else MAX_SEGMENTS)
        merging += [
            segment
            for segment in group
            if segment not in merging
            and (segment.name in mostly_dead or _is_due(segment, whole=whole))
        ]
        if merging:
            chosen.append(merging)
    return chosen


def merge(
    root: Path,
    modes: Modes,
    name: str,
    segments: list[Segment],
    *,
    passing: Passing | None = None,
) -> Segment:
    """Write one segment of all that lives in `segments`, which are of one host and year.

    `passing` returns those of a table's rows that are to stay.
    """
    first = segments[0]
    writer = SegmentWriter(root, modes, name, first.host, first.year)
    for table in TABLES:
        streams = [
            _documents(root / segment.tables[table].path, segment.dead, table, passing)
            for segment in segments
            if table in segment.tables
        ]
        for _, batch in heapq.merge(*streams, key=lambda piece: piece[0]):
            writer.add(table, batch)
    rules = {segment.masked_by for segment in segments}
    return replace(
        writer.close(),
        masked_by=rules.pop() if len(rules) == 1 else "",
        masked={d: n for segment in segments for d, n in segment.live_masked.items()},
    )


def place_of_segment(root: Path, beside: Segment, name: str) -> list[Path]:
    """Return the files that a segment of that name may have, of the same host and year."""
    folders = [root / folder_of(table, beside.host, beside.year) for table in TABLES]
    return [folder / f"{name}.parquet" for folder in folders]


def _surplus(group: list[Segment], most: int) -> list[Segment]:
    """Return the smallest of a group, to become one, so that no more than `most` are left."""
    surplus = len(group) - most
    if surplus <= 0:
        return []
    merging = group[: surplus + 1]
    # Else one session that grows would have a large segment written again by every run.
    is_large = merging[-1].bytes > _LARGE * sum(segment.bytes for segment in merging[:-1])
    return group[: surplus + 2] if is_large else merging


def _is_due(segment: Segment, *, whole: bool) -> bool:
    if whole:
        return bool(segment.dead)
    return 2 * len(segment.dead) > segment.tables["documents"].rows


def _documents(
    path: Path, dead: frozenset[int], table: str, passing: Passing | None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the rows of each live document of a file, in pieces."""
    buried = pa.array(sorted(dead), pa.int64())
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE):
            if dead:
                batch = batch.filter(pc.invert(pc.is_in(batch.column("document"), buried)))
            if passing is not None:
                batch = passing(table, batch)
            runs = pc.run_end_encode(batch.column("document"))
            start = 0
            for document, end in zip(
                runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True
            ):
                yield document, batch.slice(start, end - start)
                start = end
