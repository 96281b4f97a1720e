"""Runs over sources that change: what is new, changed, touched, gone and back."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from etl import manifests
from etl.document import Document
from etl.lines import Lines
from etl.pipeline import run
from etl.state import read_state
from sjduck.archive import Archive, View
from sjduck.errors import ArchiveUnusable, NewerFormat, NothingToRead
from sjduck.recall import recall
from sjduck.settings import load
from sjduck.snapshots import manifest_folder, manifest_name, read_snapshot
from tests.conftest import Fill, Quiet
from tests.trees import session_id, stored_rows, write_session

OLD = 1_700_000_000


def age(file: Path) -> None:
    """Date a file long ago, so that a look is enough to trust it."""
    os.utime(file, (OLD, OLD))


def titles(archive: Archive) -> dict[str, str | None]:
    """Return each document's stem and when its source went."""
    query = "select stem, source_gone_at::varchar as gone from documents order by stem"
    return {row["stem"]: row["gone"] for row in archive.ask(lambda view: view.rows(query))}


def order_of_blocks(view: View) -> list[tuple[int, int]]:
    """Return the blocks in the order that their file has them."""
    return [tuple(row.values()) for row in view.rows("select document, seq from blocks")]


def test_a_second_run_over_the_same_files_publishes_nothing(
    tmp_path: Path, root: Path, fill: Fill
) -> None:
    for number in range(3):
        age(write_session(tmp_path / "claude", number, ["one", "two"]))

    first = fill(f"claude={tmp_path}/claude")
    second = fill(f"claude={tmp_path}/claude")

    assert (first.new, first.generation) == (3, 1)
    assert (second.new, second.changed, second.unchanged, second.generation) == (0, 0, 3, 1)
    assert [m.generation for m in read_snapshot(root).manifests] == [1]


def test_the_same_sources_give_the_same_rows_in_the_same_order(tmp_path: Path, fill: Fill) -> None:
    for number in range(8):
        write_session(tmp_path / "claude", number, [f"prompt {n}" for n in range(number + 1)])

    rows = []
    for name in ("a", "b"):
        fill(f"claude={tmp_path}/claude", archive=tmp_path / name)
        opened = Archive(tmp_path / name, timezone="UTC")
        rows.append(stored_rows(opened))
        assert opened.ask(order_of_blocks) == sorted(opened.ask(order_of_blocks))

    assert rows[0] == rows[1]
    assert len(rows[0]["documents"]) == 8


def test_a_changed_file_replaces_its_older_rows(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["one"])
    write_session(tmp_path / "claude", 2, ["other"])
    fill(f"claude={tmp_path}/claude")
    write_session(tmp_path / "claude", 1, ["one", "two", "three"])

    report = fill(f"claude={tmp_path}/claude")
    prompts = archive.ask(
        lambda view: view.rows("select text from blocks where role = 'user' order by text")
    )

    assert (report.new, report.changed, report.unchanged) == (0, 1, 1)
    assert [row["text"] for row in prompts] == ["one", "other", "three", "two"]


def test_a_touched_file_is_not_taken_in_again(tmp_path: Path, root: Path, fill: Fill) -> None:
    file = write_session(tmp_path / "claude", 1, ["one"])
    age(file)
    fill(f"claude={tmp_path}/claude")
    os.utime(file, (OLD + 60, OLD + 60))

    report = fill(f"claude={tmp_path}/claude")
    state = read_state(root, read_snapshot(root).manifests[0])

    assert (report.changed, report.generation) == (0, 1)
    assert state is not None
    assert [taken.mtime_ns for taken in state.files.values()] == [(OLD + 60) * 10**9]


def test_a_rewrite_of_the_same_size_is_seen(tmp_path: Path, archive: Archive, fill: Fill) -> None:
    file = write_session(tmp_path / "claude", 1, ["apple"])
    age(file)
    fill(f"claude={tmp_path}/claude")
    file.write_text(file.read_text().replace("apple", "grape"))

    report = fill(f"claude={tmp_path}/claude")
    prompts = archive.ask(lambda view: view.rows("select first_prompt as p from documents"))

    assert report.changed == 1
    assert prompts == [{"p": "grape"}]


def test_a_rewrite_within_the_clocks_grain_is_seen(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    file = write_session(tmp_path / "claude", 1, ["apple"])
    fill(f"claude={tmp_path}/claude")
    status = file.stat()
    file.write_text(file.read_text().replace("apple", "grape"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))

    fill(f"claude={tmp_path}/claude")
    prompts = archive.ask(lambda view: view.rows("select first_prompt as p from documents"))

    assert prompts == [{"p": "grape"}]


def test_a_document_stays_when_its_source_goes_and_is_undated_when_it_returns(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["kept"])
    gone = write_session(tmp_path / "claude", 2, ["deleted"])
    fill(f"claude={tmp_path}/claude")
    content = gone.read_bytes()
    gone.unlink()

    report = fill(f"claude={tmp_path}/claude")
    after = titles(archive)
    gone.write_bytes(content)
    back = fill(f"claude={tmp_path}/claude")

    assert report.gone == 1
    assert after[session_id(1)] is None
    assert after[session_id(2)] is not None
    assert (back.returned, back.gone) == (1, 0)
    assert set(titles(archive).values()) == {None}


@pytest.mark.parametrize("state", ["missing", "empty"])
def test_an_unmounted_source_makes_nothing_gone(
    tmp_path: Path, archive: Archive, fill: Fill, state: str
) -> None:
    write_session(tmp_path / "claude", 1, ["kept"])
    write_session(tmp_path / "other", 2, ["elsewhere"])
    sources = (f"claude={tmp_path}/claude", f"claude={tmp_path}/other")
    fill(*sources)
    away = tmp_path / "away"
    (tmp_path / "claude").rename(away)
    if state == "empty":
        (tmp_path / "claude").mkdir()
        report = fill(*sources)
    else:
        report = fill(sources[1])

    assert report.gone == 0
    assert set(titles(archive).values()) == {None}
    assert len(titles(archive)) == 2


def test_sources_of_one_kind_keep_their_names_whichever_a_run_has(
    tmp_path: Path, archive: Archive, fill: Fill
) -> None:
    for number, home in enumerate("abc"):
        write_session(tmp_path / home, number, [f"of {home}"])
    for homes in ("ab", "b", "cb", "ca", "a"):
        report = fill(*(f"claude={tmp_path}/{home}" for home in homes))

        assert (report.changed, report.gone) == (0, 0)
    assert len(titles(archive)) == 3


def test_no_readable_source_is_an_error(tmp_path: Path, fill: Fill) -> None:
    with pytest.raises(NothingToRead, match="no sessions found"):
        fill()


def test_what_needs_no_source_goes_on_without_one(tmp_path: Path, root: Path, fill: Fill) -> None:
    write_session(tmp_path / "claude", 1, ["one"])
    fill(f"claude={tmp_path}/claude")
    settings = load(archive=str(root))

    report = run(settings, "tester", Quiet(), reindex=True, needs_sources=False)

    assert (report.indexed, report.gone) == (1, 0)
    assert [warning[:17] for warning in report.warnings] == ["no sessions found"]
    with pytest.raises(NothingToRead, match="no sessions found"):
        run(settings, "another", Quiet(), reindex=True, needs_sources=False)


def test_an_archive_path_that_is_a_file_is_one_clear_error(
    tmp_path: Path, root: Path, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["one"])
    root.write_text("not a folder")

    with pytest.raises(ArchiveUnusable, match="is not a folder"):
        fill(f"claude={tmp_path}/claude")


def test_a_newer_format_is_left_alone(tmp_path: Path, root: Path, fill: Fill) -> None:
    write_session(tmp_path / "claude", 1, ["one"])
    fill(f"claude={tmp_path}/claude")
    manifest = manifest_folder(root, "tester") / manifest_name(1)
    manifest.write_bytes(manifest.read_bytes().replace(b'"format":1', b'"format":2'))
    before = sorted(root.rglob("*"))

    with pytest.raises(NewerFormat, match="upgrade sjduck"):
        fill(f"claude={tmp_path}/claude")

    assert sorted(root.rglob("*")) == before


def test_a_lost_state_costs_a_refill_and_no_row_twice(
    tmp_path: Path, root: Path, archive: Archive, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["one"])
    write_session(tmp_path / "claude", 2, ["two"])
    fill(f"claude={tmp_path}/claude")
    before = stored_rows(archive)
    (manifest_folder(root, "tester") / read_snapshot(root).manifests[0].state).write_bytes(b"torn")

    report = fill(f"claude={tmp_path}/claude")

    assert report.new + report.changed == 2
    assert stored_rows(archive) == before
    stored = archive.ask(lambda view: view.rows("select count(*) as n from stored_documents"))
    assert stored == [{"n": 2}]


def test_files_are_the_owners_alone_under_any_umask(tmp_path: Path, root: Path, fill: Fill) -> None:
    write_session(tmp_path / "claude", 1, ["one"])
    os.umask(0)

    fill(f"claude={tmp_path}/claude")
    modes = {path.is_dir(): path.stat().st_mode & 0o7777 for path in [root, *root.rglob("*")]}

    assert modes == {True: 0o700, False: 0o600}


def test_files_follow_a_root_that_is_open_to_its_group(
    tmp_path: Path, root: Path, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["one"])
    root.mkdir()
    root.chmod(0o2770)

    fill(f"claude={tmp_path}/claude")
    modes = {path.is_dir(): path.stat().st_mode & 0o7777 for path in root.rglob("*")}

    assert modes == {True: 0o2770, False: 0o660}


def test_a_large_document_is_put_aside_while_it_is_read(
    tmp_path: Path, archive: Archive, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session(tmp_path / "claude", 1, ["small"])
    write_session(tmp_path / "claude", 2, [f"prompt {n}" for n in range(100)])
    write_session(tmp_path / "claude", 3, ["small too"])

    fill(f"claude={tmp_path}/claude", archive=tmp_path / "plain")
    monkeypatch.setattr("etl.flatten.SPILL_CHARACTERS", 2_000)
    fill(f"claude={tmp_path}/claude")

    plain = stored_rows(Archive(tmp_path / "plain", timezone="UTC"))
    assert stored_rows(archive) == plain


def test_one_bad_file_is_a_reject_and_the_run_goes_on(
    tmp_path: Path, archive: Archive, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session(tmp_path / "claude", 1, ["good"])
    bad = write_session(tmp_path / "claude", 2, ["bad"])
    bad.unlink()
    bad.symlink_to("/proc/self/mem")
    (tmp_path / "claude" / "projects" / "-x").mkdir()
    unreadable = tmp_path / "claude" / "projects" / "-x" / f"{session_id(3)}.jsonl"
    unreadable.write_text("{}\n")

    def refuse(document: Document, lines: Lines) -> None:
        if document.claim.path == f"projects/-x/{session_id(3)}.jsonl":
            raise PermissionError(13, "Permission denied")
        flatten(document, lines)

    from etl.sources import FORMATS

    flatten = FORMATS["claude"]
    monkeypatch.setitem(FORMATS, "claude", refuse)
    report = fill(f"claude={tmp_path}/claude")
    rejects = archive.ask(lambda view: view.rows("select reason from rejects"))
    types = archive.ask(lambda view: view.rows("select type from documents order by type"))

    assert rejects == [{"reason": "unreadable: Permission denied"}]
    assert [row["type"] for row in types] == ["file", "transcript"]
    assert report.skipped == {"link that leads outside the source": 1}


def test_a_file_that_can_no_longer_be_read_keeps_its_rows_and_is_tried_again(
    tmp_path: Path, archive: Archive, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session(tmp_path / "claude", 1, ["first"])
    fill(f"claude={tmp_path}/claude")
    write_session(tmp_path / "claude", 1, ["first", "second"])
    from etl.sources import FORMATS

    flatten = FORMATS["claude"]

    def refuse(document: object, lines: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setitem(FORMATS, "claude", refuse)
    failed = fill(f"claude={tmp_path}/claude")
    kept = archive.ask(lambda view: view.rows("select turns from documents"))
    monkeypatch.setitem(FORMATS, "claude", flatten)
    fill(f"claude={tmp_path}/claude")
    taken = archive.ask(lambda view: view.rows("select turns from documents"))

    assert "Input/output error" in failed.warnings[0]
    assert kept == [{"turns": 2}]
    assert taken == [{"turns": 4}]


def test_a_report_is_json_whatever_was_counted(tmp_path: Path, fill: Fill) -> None:
    file = write_session(tmp_path / "claude", 1, ["one"])
    file.write_text(file.read_text() + '{"type":"never-seen"}\nno record\n')

    report = fill(f"claude={tmp_path}/claude")

    counted = json.loads(report.dumps())
    assert counted["rejected"] == {"not JSON": 1}
    assert len(counted["unknown"]) == 1


def test_a_lost_state_does_not_double_the_index(
    tmp_path: Path, root: Path, archive: Archive, fill: Fill
) -> None:
    write_session(tmp_path / "claude", 1, ["a backup"])
    write_session(tmp_path / "claude", 2, ["another backup"])
    fill(f"claude={tmp_path}/claude")
    before = recall(archive, "backup")
    (manifest_folder(root, "tester") / read_snapshot(root).manifests[0].state).unlink()

    fill(f"claude={tmp_path}/claude")
    (manifest,) = read_snapshot(root).manifests

    assert recall(archive, "backup") == before
    assert sum(index.live_documents for index in manifest.indexes) == 2


def test_an_index_that_can_not_be_built_leaves_the_one_that_is_there(
    tmp_path: Path, root: Path, archive: Archive, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session(tmp_path / "claude", 1, ["a backup"])
    fill(f"claude={tmp_path}/claude")
    write_session(tmp_path / "claude", 2, ["another backup"])

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("etl.pipeline.build_index", full)
        report = fill(f"claude={tmp_path}/claude")
    found = recall(archive, "backup")["total"]
    fill(f"claude={tmp_path}/claude")

    assert "No space left" in report.warnings[0]
    assert found == 1
    assert recall(archive, "backup")["total"] == 2


def test_a_run_that_lost_the_race_starts_over_and_touches_nothing_of_the_winners(
    tmp_path: Path, root: Path, archive: Archive, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the lock does not hold, two runs of one writer may publish the same generation."""
    write_session(tmp_path / "claude", 1, ["first"])
    write_session(tmp_path / "other", 2, ["second"])
    publish = manifests.publish
    others: list[int] = []

    def after_another(*given: Any) -> None:
        if not others:
            others.append(1)
            with monkeypatch.context() as patch:
                patch.setattr("etl.pipeline.writer_lock", no_lock)
                fill(f"claude={tmp_path}/other")
        publish(*given)

    monkeypatch.setattr("etl.pipeline.manifests.publish", after_another)
    fill(f"claude={tmp_path}/claude")

    assert len(titles(archive)) == 2
    assert recall(archive, "second")["total"] == 1
    for segment in read_snapshot(root).segments:
        for file in segment.tables.values():
            assert sha256((root / file.path).read_bytes()).hexdigest() == file.sha256


@contextmanager
def no_lock(*_: object, **__: object) -> Iterator[None]:
    """Hold no lock."""
    yield


@pytest.mark.parametrize("away", ["a link to nothing", "an empty folder"])
def test_sessions_on_a_disk_that_is_away_are_not_gone(
    tmp_path: Path, archive: Archive, fill: Fill, away: str
) -> None:
    write_session(tmp_path / "disk", 1, ["kept"])
    home = tmp_path / "claude"
    (home / "plans").mkdir(parents=True)
    (home / "plans" / "a.md").write_text("# a plan\n")
    (home / "projects").symlink_to(tmp_path / "disk" / "projects")
    fill(f"claude={home}")
    (tmp_path / "disk" / "projects").rename(tmp_path / "elsewhere")
    if away == "an empty folder":
        (tmp_path / "disk" / "projects").mkdir()

    report = fill(f"claude={home}")

    assert report.gone == 0
    assert set(titles(archive).values()) == {None}
