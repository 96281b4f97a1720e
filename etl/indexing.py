"""Which documents need an index, and which index files are folded into the new one."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from etl.parts import Part
from etl.state import State
from sjduck.snapshots import IndexFile, Segment

MAX_FILES = 8


def plan(
    root: Path, state: State, indexes: Iterable[IndexFile]
) -> tuple[list[IndexFile], set[int]]:
    """Return the index files to keep, and the documents that a new one has to hold."""
    there = [index for index in indexes if _size(root / index.path) == index.bytes]
    alive = [index for index in there if index.live_documents > 0]
    keep = kept(alive, is_adding=bool(_unindexed(state, alive)))
    return keep, _unindexed(state, keep)


def kept(indexes: Iterable[IndexFile], *, is_adding: bool) -> list[IndexFile]:
    """Return the index files to keep: none mostly dead, none too many beside a new one.

    The smallest go first: their documents are few to index again.
    """
    files = sorted(indexes, key=lambda index: (-index.bytes, index.path))
    alive = [index for index in files if 2 * len(index.dead) <= index.documents]
    is_adding = is_adding or len(alive) < len(files) or len(files) > MAX_FILES
    return alive[: MAX_FILES - 1] if is_adding else alive[:MAX_FILES]


def _unindexed(state: State, indexes: Iterable[IndexFile]) -> set[int]:
    paths = {index.path for index in indexes}
    return {taken.document for taken in state.files.values() if taken.index not in paths}


def parts(state: State, segments: Iterable[Segment], documents: set[int]) -> list[Part]:
    """Return where the documents to index lie."""
    places: dict[str, set[int]] = defaultdict(set)
    for taken in state.files.values():
        if taken.document in documents:
            places[taken.segment].add(taken.document)
    return [
        Part(segment, frozenset(places[segment.name]))
        for segment in segments
        if places[segment.name]
    ]


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
