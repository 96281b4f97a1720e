"""Generations: whole or absent, thinned with age, and what none names is swept."""

import errno
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from etl import manifests
from etl.files import Modes, publish_once
from etl.lock import LockHeld, writer_lock
from etl.manifests import LostRace, kept, publish
from sjduck.archive import Archive
from sjduck.snapshots import (
    Manifest,
    folder_of,
    manifest_folder,
    manifest_name,
    newest_manifest,
    read_manifest,
)
from tests.conftest import Fill
from tests.trees import write_session

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
MODES = Modes(0o600, 0o700)


def manifest(generation: int, host: str = "a") -> Manifest:
    """Return an empty generation."""
    return Manifest(
        "w", host, generation, NOW, "0.1.0", "state", (), (), {1: "2026-03-01T00:00:00+00:00"}
    )


def test_a_manifest_reads_back_as_it_was_written(root: Path) -> None:
    manifest_folder(root, "w").mkdir(parents=True)

    publish(root, manifest(1), MODES)

    assert read_manifest(root, "w", 1) == manifest(1)


@pytest.mark.parametrize("damage", [b"", b"{", b'{"manifest":{}}', b"[]", b'{"sha256":"x"}'])
def test_a_damaged_manifest_leaves_the_one_before_in_force(root: Path, damage: bytes) -> None:
    manifest_folder(root, "w").mkdir(parents=True)
    publish(root, manifest(1), MODES)
    (manifest_folder(root, "w") / manifest_name(2)).write_bytes(damage)

    newest = newest_manifest(root, "w")

    assert newest == manifest(1)
    assert manifests.next_generation(root, "w") == 3


def test_a_changed_byte_fails_the_checksum(root: Path) -> None:
    manifest_folder(root, "w").mkdir(parents=True)
    publish(root, manifest(1), MODES)
    file = manifest_folder(root, "w") / manifest_name(1)
    file.write_bytes(file.read_bytes().replace(b'"host":"a"', b'"host":"b"'))

    assert read_manifest(root, "w", 1) is None


def test_publishing_the_same_twice_is_a_win_and_another_a_loss(root: Path) -> None:
    manifest_folder(root, "w").mkdir(parents=True)
    publish(root, manifest(1), MODES)

    publish(root, manifest(1), MODES)

    with pytest.raises(LostRace):
        publish(root, manifest(1, host="b"), MODES)


def test_without_links_a_file_is_created_exclusively(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    file = tmp_path / "1.json"

    outcomes = [publish_once(file, content, 0o600) for content in (b"a", b"a", b"b")]

    assert outcomes == [True, True, False]
    assert file.read_bytes() == b"a"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["1.json"]


def test_history_is_whole_for_an_hour_hourly_for_a_day_daily_for_a_week() -> None:
    minutes = [1, 30, 59, 61, 70, 150, 1430, 1500, 1600, 3000, 9000, 20000, 30000]
    created = [
        (len(minutes) - n, NOW - timedelta(minutes=minute)) for n, minute in enumerate(minutes)
    ]
    ages = {generation: minute for (generation, _), minute in zip(created, minutes, strict=True)}

    keep = sorted(ages[generation] for generation in kept(created, NOW))

    assert keep == [1, 30, 59, 61, 150, 1430, 1500, 3000, 9000]


def test_the_newest_generation_is_kept_whatever_its_age() -> None:
    assert kept([(1, NOW - timedelta(days=400)), (2, NOW - timedelta(days=300))], NOW) == {2}
    assert kept([], NOW) == set()


def test_a_host_that_looks_like_a_path_or_like_shared_has_a_folder_of_its_own() -> None:
    folders = [folder_of("blocks", host, 2026) for host in (None, "_shared", "a/b", "..", "a b")]

    assert folders == [
        "blocks/host=_shared/year=2026",
        "blocks/host=%5Fshared/year=2026",
        "blocks/host=a%2Fb/year=2026",
        "blocks/host=../year=2026",
        "blocks/host=a b/year=2026",
    ]


def test_files_that_no_kept_generation_names_are_swept(
    tmp_path: Path, root: Path, archive: Archive, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session(tmp_path / "claude", 1, ["one"])
    fill(f"claude={tmp_path}/claude")
    old = set(root.rglob("*.parquet"))
    monkeypatch.setattr(manifests, "_WHOLE", timedelta(seconds=-1))
    monkeypatch.setattr(manifests, "_HOURLY", timedelta(seconds=-1))
    monkeypatch.setattr(manifests, "_DAILY", timedelta(seconds=-1))
    write_session(tmp_path / "claude", 1, ["one", "two"])

    fill(f"claude={tmp_path}/claude")

    assert not old & set(root.rglob("*.parquet"))
    assert archive.ask(lambda view: view.rows("select turns from documents")) == [{"turns": 4}]


def test_what_a_killed_run_left_is_swept_by_the_next(
    tmp_path: Path, root: Path, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["one"])
    fill(f"claude={tmp_path}/claude")
    left = root / "blocks" / "host=ghost" / "year=2026" / "tester-00000009-1.parquet"
    others = left.with_name("other-00000009-1.parquet")
    left.parent.mkdir(parents=True)
    aside = manifest_folder(root, "tester") / ".00000009.json.4711"
    index = root / "index" / "tester" / "tester-00000009.duckdb"
    for file in (left, others, aside, index):
        file.write_bytes(b"PAR1")
    (manifest_folder(root, "tester") / "running").touch()

    fill(f"claude={tmp_path}/claude")

    assert [file.exists() for file in (left, aside, index, others)] == [False, False, False, True]
    assert not (manifest_folder(root, "tester") / "running").exists()


def test_a_second_run_says_who_holds_the_lock(root: Path) -> None:
    manifest_folder(root, "w").mkdir(parents=True)

    with (
        writer_lock(root, "w", MODES, wait_s=0),
        pytest.raises(LockHeld, match=f"process {os.getpid()} on .* is filling"),
        writer_lock(root, "w", MODES, wait_s=0),
    ):
        pass
