"""Watching: changes are taken in as they come, by one process at a time; nothing else wakes it."""

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from watchfiles import Change

from etl import changes
from etl.changes import Changes, Place
from etl.files import Modes
from etl.lock import writer_lock
from sjduck.archive import Archive
from sjduck.errors import UsageError
from sjduck.settings import Settings, Source, load
from sjduck.snapshots import manifest_folder, read_snapshot
from tests.storage import Storage
from tests.test_mounts import dead as dead
from tests.trees import session_id, write_session
from tests.watchers import (
    CHECKOUT,
    PATIENCE_S,
    SILENCE_S,
    SJDUCK,
    Inside,
    Start,
    append,
    has,
    watched,
)
from tests.watchers import hasty as hasty
from tests.watchers import start as start

# -- what wakes it -------------------------------------------------------------------------


def test_an_append_a_new_session_and_a_deletion_are_taken_in(
    tmp_path: Path, archive: Archive, start: Start
) -> None:
    home = tmp_path / "claude"
    file = write_session(home, 1, ["one"])
    process = start(f"--source=claude={home}")
    first = process.report()
    append(file, "appended")
    second = process.report()
    deep = home / "projects" / "-new-project" / f"{session_id(2)}.jsonl"
    write_session(tmp_path / "aside", 2, ["in a new folder"])
    deep.parent.mkdir()
    (tmp_path / "aside" / "projects" / "-home-ann-shop" / deep.name).rename(deep)
    third = process.report()
    deep.unlink()
    write_session(home, 3, ["another"])
    rest = [process.report()]
    while not sum(report["gone"] for report in rest):
        rest.append(process.report())

    assert (first["new"], second["changed"], third["new"]) == (1, 1, 1)
    assert has(archive, "appended")
    assert has(archive, "in a new folder")
    assert process.end() == 0


def test_by_polling_changes_are_taken_in_without_events(
    tmp_path: Path, archive: Archive, start: Start
) -> None:
    file = write_session(tmp_path / "claude", 1, ["one"])
    process = start(f"--source=claude={tmp_path}/claude", "--poll", "1")
    process.report()
    append(file, "appended")
    process.report()

    assert has(archive, "appended")


def test_an_archive_inside_a_source_never_wakes_its_watcher(tmp_path: Path, start: Start) -> None:
    storage = Storage(tmp_path)
    inside = storage.tree / "sjduck"
    file = storage.session("atlas", session_id(1), ["one"])
    for poll in ([], ["--poll", "1"]):
        process = start(f"--source=scrubjay={storage.tree}", *poll, archive=inside)
        process.line()
        append(file, "appended")
        process.report()

        assert process.line(within_s=SILENCE_S) is None
        assert process.end() == 0


@pytest.mark.parametrize(
    ("kind", "path", "wakes"),
    [
        ("claude", "projects/-x/0f0e.jsonl", True),
        ("claude", "projects/-x", True),
        ("claude", "history.jsonl", True),
        ("claude", "projects/-x/0f0e/tool-results/a.txt", False),
        ("claude", "settings.json", False),
        ("claude", "todos/a.json", False),
        ("claude", ".credentials.json", False),
        ("opencode", "opencode.db", True),
        ("opencode", "opencode.db-wal", True),
        ("opencode", "log/today.log", False),
        ("scrubjay", "atlas/-x/0f0e.jsonl", True),
        ("scrubjay", "atlas/-x/0f0e/tool-results/a.txt", False),
    ],
)
def test_only_what_may_be_a_session_wakes_it(
    tmp_path: Path, kind: str, path: str, *, wakes: bool
) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix:
        file.write_text("x")
    else:
        file.mkdir()
    place = Place.of(Source(kind, tmp_path, "testhost", "it"))

    assert place.holds(Change.modified, str(file)) is wakes
    assert not place.holds(Change.modified, f"{tmp_path} too/{path}")
    assert place.holds(Change.deleted, str(tmp_path))


def test_without_events_left_to_have_it_looks_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> Iterator[set[tuple[Change, str]]]:
        raise OSError("OS file watch limit reached. about ['…']")

    monkeypatch.setattr(changes, "watch", refused)
    monkeypatch.setattr(changes, "POLL_S", 0.05)
    file = write_session(tmp_path / "claude", 1, ["one"])
    told: list[frozenset[str]] = []
    said: list[str] = []
    followed = Changes(tmp_path / "archive", told.append, said.append)
    followed.follow(load(sources=[f"claude={tmp_path}/claude"]).sources)
    deadline = time.monotonic() + PATIENCE_S
    while not told and time.monotonic() < deadline:
        append(file, "more")
        time.sleep(0.05)
    followed.close()

    assert told
    assert set(said) == {
        "no events (OS file watch limit reached); looking every 0.05 seconds instead"
    }


@pytest.mark.usefixtures("hasty")
def test_a_harness_that_is_installed_meanwhile_is_watched_too(
    home: Path, root: Path, archive: Archive
) -> None:
    with watched(lambda: load(archive=str(root))) as inside:
        inside.wait(lambda: bool(inside.said))
        file = write_session(home / ".claude", 1, ["one"])
        inside.wait(lambda: any(report.new for report in inside.reports))
        append(file, "appended")
        inside.wait(lambda: has(archive, "appended"))

    lack = "no sessions found on this machine; name a source with --source KIND=PATH"
    assert inside.said == [f"{lack}; waiting for a source"]


@pytest.mark.usefixtures("hasty")
def test_a_root_that_vanishes_is_said_once_and_watched_again_when_it_is_back(
    tmp_path: Path, home: Path, root: Path, archive: Archive
) -> None:
    write_session(home / ".claude", 1, ["stays"])
    (home / ".config" / "sjduck").mkdir(parents=True)
    config = home / ".config" / "sjduck" / "config.toml"
    config.write_text(f'[[source]]\nkind = "claude"\npath = "{tmp_path}/other"\n')
    file = write_session(tmp_path / "other", 2, ["two"])
    with watched(lambda: load(archive=str(root))) as inside:
        inside.wait(lambda: any(report.new == 2 for report in inside.reports))
        (tmp_path / "other").rename(tmp_path / "away")
        inside.wait(lambda: bool(inside.said))
        write_session(home / ".claude", 3, ["meanwhile"])
        inside.wait(lambda: has(archive, "meanwhile"))
        (tmp_path / "away").rename(tmp_path / "other")
        append(file, "back")
        inside.wait(lambda: has(archive, "back"))

    assert inside.said == [f"claude source {tmp_path}/other is not there"]
    assert all(report.gone == 0 for report in inside.reports)


@pytest.mark.usefixtures("hasty")
def test_settings_that_break_meanwhile_are_said_once_and_those_of_before_hold(
    home: Path, root: Path, archive: Archive
) -> None:
    file = write_session(home / ".claude", 1, ["one"])
    broken = False

    def read() -> Settings:
        if broken:
            raise UsageError("can't read config.toml: no TOML")
        return load(archive=str(root))

    with watched(read) as inside:
        inside.wait(lambda: bool(inside.reports))
        broken = True
        inside.wait(lambda: bool(inside.said))
        append(file, "appended")
        inside.wait(lambda: has(archive, "appended"))

    assert inside.said == ["can't read config.toml: no TOML; going on with the settings of before"]


@pytest.mark.usefixtures("hasty")
def test_another_archive_in_the_settings_is_for_the_next_start(
    tmp_path: Path, home: Path, root: Path, archive: Archive
) -> None:
    file = write_session(home / ".claude", 1, ["one"])
    places = [root]
    with watched(lambda: load(archive=str(places[-1]))) as inside:
        inside.wait(lambda: bool(inside.reports))
        places.append(tmp_path / "another")
        inside.wait(lambda: bool(inside.said))
        append(file, "appended")
        inside.wait(lambda: has(archive, "appended"))

    assert inside.said == [f"the archive is {tmp_path}/another now; start me again"]
    assert not (tmp_path / "another").exists()


# -- what ends it, and what does not -------------------------------------------------------


@pytest.mark.usefixtures("hasty")
def test_a_run_that_fails_is_said_and_tried_again(home: Path, root: Path, archive: Archive) -> None:
    write_session(home / ".claude", 1, ["one"])
    root.write_text("no folder")
    with watched(lambda: load(archive=str(root))) as inside:
        inside.wait(lambda: len(inside.said) > 1)
        root.unlink()
        inside.wait(lambda: bool(inside.reports))

    assert inside.said[:2] == [
        f"{root} is not a folder; name a folder as archive; trying again in {wait_s} seconds"
        for wait_s in ("0.2", "0.4")
    ]
    assert has(archive, "one")


@pytest.mark.usefixtures("hasty")
def test_a_run_that_is_killed_is_one_that_failed(home: Path, root: Path, archive: Archive) -> None:
    write_session(home / ".claude", 1, ["one"])
    modes = Modes(0o600, 0o700)
    manifest_folder(root, "tester").mkdir(parents=True)
    with watched(lambda: load(archive=str(root))) as inside:
        # It waits for the lock, in its own process.
        with writer_lock(root, "tester", modes, wait_s=PATIENCE_S):
            inside.wait(lambda: inside.watcher._worker._process is not None)
            assert inside.watcher._worker._process is not None
            inside.watcher._worker._process.kill()
            inside.wait(lambda: bool(inside.said))
        inside.wait(lambda: bool(inside.reports))

    assert inside.said[0].startswith("a run ended before it was done (killed by signal 9); trying")
    assert has(archive, "one")


@pytest.mark.usefixtures("hasty")
def test_a_process_that_can_not_be_started_is_a_run_that_failed(
    home: Path, root: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    write_session(home / ".claude", 1, ["one"])
    with monkeypatch.context() as patch:
        patch.setattr("etl.worker.subprocess.Popen", full)
        inside = Inside(lambda: load(archive=str(root)))
        inside.begin()
        inside.wait(lambda: bool(inside.said))
    inside.wait(lambda: bool(inside.reports))
    inside.end()

    assert inside.said[0] == (
        "can't start a run: Resource temporarily unavailable; trying again in 0.2 seconds"
    )
    assert has(archive, "one")


@pytest.mark.usefixtures("hasty")
def test_told_to_stop_it_abandons_a_run_that_goes_on(home: Path, root: Path) -> None:
    write_session(home / ".claude", 1, ["one"])
    manifest_folder(root, "tester").mkdir(parents=True)
    with writer_lock(root, "tester", Modes(0o600, 0o700), wait_s=PATIENCE_S):
        with watched(lambda: load(archive=str(root))) as inside:
            inside.wait(lambda: inside.watcher._worker._process is not None)
            process = inside.watcher._worker._process
        assert process is not None
        assert process.wait(PATIENCE_S) is not None

    assert read_snapshot(root).manifests == ()
    assert inside.reports == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_leaves_no_process_behind(
    tmp_path: Path, start: Start, number: int
) -> None:
    write_session(tmp_path / "claude", 1, ["one"])
    process = start(f"--source=claude={tmp_path}/claude")
    process.report()

    assert process.end(number) == 0
    # The last process that has it closes it.
    assert process.line(stream=2) is None
    assert process.line() is None


def test_killed_it_leaves_no_process_behind(tmp_path: Path, start: Start) -> None:
    write_session(tmp_path / "claude", 1, ["one"])
    process = start(f"--source=claude={tmp_path}/claude")
    process.report()

    assert process.end(signal.SIGKILL) == -signal.SIGKILL
    assert process.line(stream=2) is None


@pytest.mark.usefixtures("hasty")
def test_of_two_watchers_one_watches_and_the_other_takes_over(
    home: Path, root: Path, archive: Archive
) -> None:
    file = write_session(home / ".claude", 1, ["one"])
    with watched(lambda: load(archive=str(root))) as second_to_end:
        second_to_end.wait(lambda: bool(second_to_end.reports))
        waiting = Inside(lambda: load(archive=str(root)))
        waiting.begin()
        waiting.wait(lambda: bool(waiting.said))
        append(file, "appended")
        second_to_end.wait(lambda: has(archive, "appended"))
        assert waiting.reports == []
    waiting.wait(lambda: bool(waiting.reports))
    append(file, "taken over")
    waiting.wait(lambda: has(archive, "taken over"))
    waiting.end()

    assert waiting.said == ["another process watches for this writer; waiting for it to end"]


@pytest.mark.usefixtures("hasty")
def test_one_that_waits_for_another_stops_when_it_is_told_to(home: Path, root: Path) -> None:
    write_session(home / ".claude", 1, ["one"])
    with watched(lambda: load(archive=str(root))) as watching:
        watching.wait(lambda: bool(watching.reports))
        with watched(lambda: load(archive=str(root))) as waiting:
            waiting.wait(lambda: bool(waiting.said))

    assert waiting.reports == []


@pytest.mark.usefixtures("hasty")
def test_watchers_of_two_writers_do_not_wait_for_one_another(home: Path, root: Path) -> None:
    write_session(home / ".claude", 1, ["one"])
    with (
        watched(lambda: load(archive=str(root))) as one,
        watched(lambda: load(archive=str(root)), "other") as other,
    ):
        one.wait(lambda: bool(one.reports))
        other.wait(lambda: bool(other.reports))

    assert one.said == other.said == []


def test_a_dead_archive_is_said_and_does_not_hold_the_watcher(
    dead: Path, tmp_path: Path, start: Start
) -> None:
    write_session(tmp_path / "claude", 1, ["one"])
    process = start(f"--source=claude={tmp_path}/claude", archive=dead / "sjduck")
    said = process.line(stream=2)

    assert said == (
        f"sjduck: the archive {dead}/sjduck does not answer: fuse.sshfs on {dead} is silent; "
        "check that its server and network are up; trying again in 5 seconds"
    )
    assert process.end() == 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--watch", "--reindex"], "--watch goes without --reindex and --detach"),
        (["--watch", "--detach"], "--watch goes without --reindex and --detach"),
        (["--poll", "5"], "--poll goes with --watch"),
        (["--watch", "--poll", "0"], "0.0 is not in the range x>=1"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments: list[str], complaint: str) -> None:
    ran = subprocess.run(
        [*SJDUCK, "etl", *arguments], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )

    assert ran.returncode == 2
    assert complaint in ran.stderr
    assert ran.stderr.count("\n") == 1
