"""What a writer remembers: what lives where, what is dead, what taking in a file cost."""

from pathlib import Path

from etl.indexing import MAX_FILES, plan
from etl.state import State, Taken, read_state, write_state
from sjduck.snapshots import IndexFile, Manifest, manifest_folder, utc_now

MB = 1_000_000


def taken(number: int, *, size: int, segment: str = "s", index: str = "") -> Taken:
    """Return a file that was taken in."""
    return Taken("claude", f"{number}.jsonl", number, segment, index, size, 0, "", 0, 0.0)


def state_of(*files: Taken) -> State:
    """Return the state of a writer that took in these files."""
    return State({(file.source, file.path): file for file in files})


def grow(state: State, file: Taken, *, size: int) -> None:
    """Let a file be taken in again."""
    state.bury(file)
    state.files[file.source, file.path] = taken(file.document, segment="new", size=size)


def test_one_large_document_among_many_makes_a_file_mostly_dead() -> None:
    large = taken(0, size=50 * MB, segment="s", index="i")
    small = [taken(n, size=MB, segment="s", index="i") for n in range(1, 30)]
    state = state_of(large, *small)
    before = state.mostly_dead()
    grow(state, large, size=51 * MB)

    assert before == frozenset()
    assert state.mostly_dead() == {"s", "i"}
    assert state.live_bytes() == {"s": 29 * MB, "i": 29 * MB, "new": 51 * MB, "": 51 * MB}


def test_what_is_dead_is_remembered_and_a_damaged_state_is_none(root: Path) -> None:
    state = state_of(taken(1, size=MB))
    grow(state, taken(1, size=MB), size=2 * MB)
    manifest_folder(root, "w").mkdir(parents=True)
    manifest = Manifest("w", "a", 1, utc_now(), "0.1.0", "state-1", ())
    write_state(root, "w", "state-1", state, 0o600)
    file = manifest_folder(root, "w") / "state-1"
    whole = file.read_bytes()

    assert read_state(root, manifest) == state
    for damage in (b"[]", b"{}", b'{"files":[{}],"dead_bytes":{}}', b'{"files":[],"dead_bytes":5}'):
        file.write_bytes(damage)
        assert read_state(root, manifest) is None, damage
    file.write_bytes(whole[:-1])
    assert read_state(root, manifest) is None


def test_what_a_run_cost_is_shared_among_its_files_by_their_bytes() -> None:
    files = [taken(1, size=3 * MB), taken(2, size=MB), taken(3, size=-1), taken(4, size=9 * MB)]
    state = state_of(*files)
    state.spent([(file.source, file.path) for file in files[:3]], 8.0)

    assert [file.cost_s for file in state.files.values()] == [6.0, 2.0, 0.0, 0.0]


def indexes(root: Path, sizes: list[int]) -> list[IndexFile]:
    """Write files that stand for index files of one document each."""
    made = []
    for number, size in enumerate(sizes):
        (root / f"i{number}").write_bytes(bytes(size))
        made.append(IndexFile(f"i{number}", 1, size, ""))
    return made


def test_a_session_that_grows_does_not_have_large_index_files_made_anew_each_time(
    tmp_path: Path,
) -> None:
    files = indexes(tmp_path, [800 - number for number in range(MAX_FILES)])
    held = [taken(n, size=50 * MB, index=f"i{n}") for n in range(MAX_FILES)]
    small = state_of(*held, taken(99, size=MB))
    large = state_of(*held, taken(99, size=40 * MB))

    kept_beside_small, small_documents = plan(tmp_path, small, files)
    kept_beside_large, large_documents = plan(tmp_path, large, files)

    assert (len(kept_beside_small), small_documents) == (MAX_FILES - 2, {6, 7, 99})
    assert (len(kept_beside_large), large_documents) == (MAX_FILES - 1, {7, 99})
