"""Merges: few segments, sorted by document, without the dead, and the same answers."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from etl.merge import MAX_SEGMENTS, merges
from sjduck.archive import Archive
from sjduck.snapshots import Segment, TableFile, read_snapshot
from tests.conftest import Fill
from tests.trees import stored_rows, write_session


def segment(name: str, size: int, *, rows: int = 10, dead: int = 0) -> Segment:
    """Return a segment of one file."""
    file = TableFile(f"documents/{name}", rows, size, "")
    return Segment(name, "a", 2026, {"documents": file}, dead=frozenset(range(dead)))


def names(chosen: list[list[Segment]]) -> list[list[str]]:
    """Return the names of chosen segments."""
    return [[segment.name for segment in group] for group in chosen]


def test_the_smallest_are_merged_where_there_are_too_many() -> None:
    segments = [segment(f"s{n}", size) for n, size in enumerate([900, 10, 500, 20, 700, 30])]

    assert names(merges(segments)) == [["s1", "s3", "s5"]]
    assert names(merges(segments[:MAX_SEGMENTS])) == []


def test_a_segment_that_is_mostly_dead_is_rewritten() -> None:
    segments = [segment("s0", 100, dead=6), segment("s1", 100, dead=5)]

    assert names(merges(segments)) == [["s0"]]


def test_where_a_large_one_has_to_be_merged_room_is_made_for_the_next_ones_too() -> None:
    sizes = [50_000, 40_000, 30_000, 20_000, 10]
    segments = [segment(f"s{n}", size) for n, size in enumerate(sizes)]

    assert names(merges(segments)) == [["s4", "s3", "s2"]]


def test_a_segment_that_is_mostly_dead_by_bytes_is_rewritten() -> None:
    segments = [segment("s0", 100, dead=1), segment("s1", 100, dead=1)]

    assert names(merges(segments, mostly_dead={"s1"})) == [["s1"]]


def test_years_of_growth_stay_few_segments_with_the_same_rows(
    tmp_path: Path, root: Path, archive: Archive, fill: Fill
) -> None:
    for number in range(12):
        write_session(tmp_path / "claude", number, ["one", "two"], day=1 + number)
        if number > 4:
            write_session(tmp_path / "claude", number - 4, ["one", "two", "three"])
        fill(f"claude={tmp_path}/claude")
    merged = stored_rows(archive)
    fill(f"claude={tmp_path}/claude", archive=tmp_path / "at-once")

    assert merged == stored_rows(Archive(tmp_path / "at-once", timezone="UTC"))
    assert len(read_snapshot(root).segments) <= MAX_SEGMENTS


@pytest.mark.parametrize("table", ["documents", "blocks", "calls"])
def test_every_file_is_sorted_by_document(
    tmp_path: Path, root: Path, fill: Fill, table: str
) -> None:
    for number in range(9):
        write_session(tmp_path / "claude", number, ["one", "two"])
        fill(f"claude={tmp_path}/claude")

    files = [segment.tables[table].path for segment in read_snapshot(root).segments]
    columns = [pq.read_table(root / file)["document"].to_pylist() for file in files]
    assert columns
    assert all(column == sorted(column) for column in columns)


def test_a_document_replaced_a_hundred_times_leaves_one_live_segment(
    tmp_path: Path, root: Path, fill: Fill
) -> None:
    for number in range(20):
        write_session(tmp_path / "claude", 1, [f"prompt {n}" for n in range(number + 1)])
        fill(f"claude={tmp_path}/claude")

    segments = read_snapshot(root).segments
    assert [(s.tables["documents"].rows, len(s.dead)) for s in segments] == [(1, 0)]
