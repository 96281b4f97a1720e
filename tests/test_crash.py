"""Runs that are killed, run at once, or are read meanwhile: always a whole snapshot."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from sjduck.archive import Archive, View
from sjduck.errors import SjduckError
from sjduck.listing import list_documents
from sjduck.reading import get
from sjduck.snapshots import read_snapshot
from tests.trees import stored_rows, write_session

PATIENCE_S = 60.0
KILLS = 8
RUNS = 5
READERS = 4


def start(archive: Path, home: Path, writer: str = "tester") -> subprocess.Popen[bytes]:
    """Start a run of its own process group."""
    command = [sys.executable, "-m", "etl", "--archive", str(archive), "--source", f"claude={home}"]
    return subprocess.Popen(
        command,
        env={**os.environ, "SJDUCK_WRITER": writer},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def finish(run: subprocess.Popen[bytes]) -> None:
    """Wait for a run that must succeed."""
    said, _ = run.communicate()

    assert run.returncode == 0, said.decode()


def is_whole(view: View) -> bool:
    """Tell whether every document that has turns has its blocks, and each stands once."""
    row = view.row(
        "select count(*) as documents, count(distinct session_id) as sessions, "
        "count(*) filter (turns > 0) = (select count(distinct document) from blocks) as complete "
        "from documents"
    )
    return row is not None and row["complete"] and row["documents"] == row["sessions"]


def test_a_run_killed_at_any_moment_leaves_a_whole_snapshot(tmp_path: Path, root: Path) -> None:
    home = tmp_path / "claude"
    chance = random.Random(7)
    kills = 0
    for step in range(KILLS):
        for number in range(4 * step, 4 * step + 4):
            write_session(home, number, [f"prompt {n}" for n in range(40)], day=1 + step)
        write_session(home, 2 * step, ["rewritten", *[f"prompt {n}" for n in range(50)]])
        run = start(root, home)
        try:
            run.communicate(timeout=chance.uniform(0.2, 1.5))
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            run.communicate()
            kills += 1
        assert Archive(root, timezone="UTC").ask(is_whole)
    finish(start(root, home))
    finish(start(tmp_path / "undisturbed", home))

    undisturbed = stored_rows(Archive(tmp_path / "undisturbed", timezone="UTC"))
    assert stored_rows(Archive(root, timezone="UTC")) == undisturbed
    assert len(undisturbed["documents"]) == 4 * KILLS
    named = {
        file.path for segment in read_snapshot(root).segments for file in segment.tables.values()
    }
    assert {str(path.relative_to(root)) for path in root.glob("*/host=*/*/*.parquet")} >= named


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no list of processes here")
def test_a_run_that_is_killed_takes_its_processes_with_it(tmp_path: Path, root: Path) -> None:
    home = tmp_path / "claude"
    for number in range(6):
        write_session(home, number, [f"prompt {n} " * 40 for n in range(3_000)])
    run = start(root, home)
    deadline = time.monotonic() + PATIENCE_S
    while len(processes_of(run.pid)) < 4:
        assert time.monotonic() < deadline
        assert run.poll() is None
    run.kill()
    # The last of them closes what they all write to.
    run.communicate(timeout=PATIENCE_S)

    assert run.returncode == -signal.SIGKILL


def processes_of(group: int) -> list[int]:
    """Return the processes of a process group."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.getpgid(int(folder.name)) == group:
                found.append(int(folder.name))
    return found


def read_until(stop: threading.Event, root: Path, wrong: list[str]) -> None:
    """List and read the archive again and again; note what is wrong."""
    archive = Archive(root, timezone="UTC")
    while not stop.is_set():
        try:
            answer = list_documents(archive, limit=100, max_chars=0)
            paths = [item["path"] for item in answer["items"]]
            if len(paths) != len(set(paths)) or not archive.ask(is_whole):
                wrong.append(f"not whole: {paths}")
            if "error" in get(archive, random.choice(paths)):
                wrong.append("not readable")
        except SjduckError as error:
            wrong.append(str(error))


def test_writers_runs_and_readers_at_once_see_each_session_once(tmp_path: Path, root: Path) -> None:
    homes = [tmp_path / "one", tmp_path / "two"]
    write_session(homes[0], 0, ["first"])
    write_session(homes[1], 0, ["first"])
    finish(start(root, homes[0]))
    wrong: list[str] = []
    stop = threading.Event()

    readers = [
        threading.Thread(target=read_until, args=(stop, root, wrong)) for _ in range(READERS)
    ]
    for reader in readers:
        reader.start()
    for step in range(RUNS):
        for number in range(3 * step, 3 * step + 5):
            prompts = [f"prompt {n}" for n in range(number + 1)]
            write_session(homes[number % 2], number, prompts)
            write_session(homes[0], number, [*prompts, "more"])
        runs = [start(root, homes[0]), start(root, homes[0]), start(root, homes[1], "other")]
        for run in runs:
            finish(run)
    stop.set()
    for reader in readers:
        reader.join()

    assert wrong == []
    rows = stored_rows(Archive(root, timezone="UTC"))["documents"]
    assert len(rows) == 3 * (RUNS - 1) + 5


def test_a_question_starts_over_when_a_file_is_gone(
    tmp_path: Path, root: Path, fill: Callable[..., object]
) -> None:
    home = tmp_path / "claude"
    write_session(home, 1, ["one"])
    fill(f"claude={home}")
    old = [*root.glob("blocks/*/*/*.parquet")]
    archive = Archive(root, timezone="UTC")
    tries = 0

    def count(view: View) -> int:
        nonlocal tries
        tries += 1
        if tries == 1:
            write_session(home, 1, ["one", "two"])
            fill(f"claude={home}")
            for file in old:
                file.unlink()
        return len(view.rows("select text from blocks where role = 'user'"))

    assert archive.ask(count) == 2
    assert tries == 2


def test_a_file_that_becomes_a_pipe_is_a_reject(
    tmp_path: Path, archive: Archive, fill: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    from etl import discover as module

    home = tmp_path / "claude"
    file = write_session(home, 1, ["one"])
    found = module.discover

    def then_a_pipe(source: object) -> object:
        files = found(source)  # type: ignore[arg-type]
        file.unlink()
        os.mkfifo(file)
        return files

    monkeypatch.setattr("etl.pipeline.discover", then_a_pipe)
    fill(f"claude={home}")

    rejects = archive.ask(lambda view: view.rows("select reason from rejects"))
    assert rejects == [{"reason": "unreadable: no regular file any more"}]
