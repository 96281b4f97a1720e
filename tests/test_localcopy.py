"""Copies of index files for archives on network file systems."""

import os
from hashlib import sha256
from pathlib import Path

import pytest

from sjduck import localcopy
from sjduck.archive import Archive
from sjduck.localcopy import local_place
from sjduck.recall import recall
from sjduck.snapshots import IndexFile, read_snapshot
from tests.conftest import Fill
from tests.trees import write_session


def index_file(root: Path, content: bytes) -> IndexFile:
    """Write a file that stands for an index."""
    digest = sha256(content).hexdigest()
    (root / f"{digest[:8]}.duckdb").write_bytes(content)
    return IndexFile(f"{digest[:8]}.duckdb", 1, len(content), digest)


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every path lie on a network file system."""
    monkeypatch.setattr(localcopy, "is_remote", lambda path: True)


@pytest.mark.usefixtures("remote")
def test_a_file_is_copied_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    index = index_file(tmp_path, b"one")
    first = local_place(tmp_path, index)
    (tmp_path / index.path).unlink()

    assert local_place(tmp_path, index) == first
    assert first.read_bytes() == b"one"
    assert first.stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("remote")
def test_the_copies_used_longest_ago_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(localcopy, "MAX_BYTES", 10)
    copies = [local_place(tmp_path, index_file(tmp_path, bytes([n]) * 4)) for n in range(2)]
    os.utime(copies[0], (2_000_000_000, 2_000_000_000))
    abandoned = copies[0].parent / ".left"
    abandoned.write_bytes(b"half")
    os.utime(abandoned, (1_000_000_000, 1_000_000_000))

    newest = local_place(tmp_path, index_file(tmp_path, b"new!"))

    assert [copy.exists() for copy in (copies[0], copies[1], newest)] == [True, False, True]
    assert not abandoned.exists()


@pytest.mark.usefixtures("remote")
def test_recall_answers_from_the_copies(
    tmp_path: Path, root: Path, archive: Archive, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["a backup to the nas"])
    fill(f"claude={tmp_path}/claude")
    before = recall(archive, "backup")
    archive.close()
    (root / read_snapshot(root).manifests[0].indexes[0].path).unlink()

    assert recall(archive, "backup") == before
    assert before["total"] == 1
