"""Which documents need an index, and which index files are folded into the new one."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from pathlib import Path

from etl.parts import Part
from etl.state import State
from sjduck.snapshots import IndexFile, Segment

MAX_FILES = 8
# An index file of this many times the bytes that are new makes room for the next ones too.
_LARGE = 4
# Bytes of source files that one index file is made from, as long as there may be another one: the
# words of a run are held in memory, and so much of them keeps a run within 1.5 GB.
GROUP_BYTES = 1_500_000_000


def plan(
    root: Path, state: State, indexes: Iterable[IndexFile]
) -> tuple[list[IndexFile], set[int]]:
    """Return the index files to keep, and the documents that a new one has to hold."""
    there = [index for index in indexes if _size(root / index.path) == index.bytes]
    alive = [index for index in there if index.live_documents > 0]
    new = _unindexed(state, alive)
    keep = kept(alive, is_adding=bool(new), mostly_dead=state.mostly_dead())
    documents = _unindexed(state, keep)
    # Else one session that grows would have large ones indexed again by every run.
    if len(keep) == MAX_FILES - 1 and _bytes(state, documents) > _LARGE * _bytes(state, new):
        keep = keep[:-1]
        documents = _unindexed(state, keep)
    return keep, documents


def kept(
    indexes: Iterable[IndexFile], *, is_adding: bool, mostly_dead: Collection[str] = ()
) -> list[IndexFile]:
    """Return the index files to keep: none mostly dead, none too many beside a new one.

    The smallest go first: their documents are few to index again. `mostly_dead` are paths of
    those that are more than half dead by bytes.
    """
    files = sorted(indexes, key=lambda index: (-index.bytes, index.path))
    alive = [
        index
        for index in files
        if 2 * len(index.dead) <= index.documents and index.path not in mostly_dead
    ]
    is_adding = is_adding or len(alive) < len(files) or len(files) > MAX_FILES
    return alive[: MAX_FILES - 1] if is_adding else alive[:MAX_FILES]


def groups(state: State, documents: set[int], *, room: int) -> list[set[int]]:
    """Return the documents of each new index file, at most `room` files."""
    sizes = sorted(
        (taken.segment, taken.document, max(taken.size, 0))
        for taken in state.files.values()
        if taken.document in documents
    )
    whole = sum(size for _, _, size in sizes)
    count = max(1, min(room, -(-whole // GROUP_BYTES)))
    grouped: list[set[int]] = [set() for _ in range(count)]
    before = 0
    for _, document, size in sizes:
        grouped[min(before * count // max(whole, 1), count - 1)].add(document)
        before += size
    return [group for group in grouped if group]


def _unindexed(state: State, indexes: Iterable[IndexFile]) -> set[int]:
    paths = {index.path for index in indexes}
    return {
        taken.document
        for taken in state.files.values()
        if taken.segment and taken.index not in paths
    }


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


def _bytes(state: State, documents: set[int]) -> int:
    """Return the bytes of the source files of some documents."""
    return sum(max(t.size, 0) for t in state.files.values() if t.document in documents)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
