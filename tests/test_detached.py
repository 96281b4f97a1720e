"""Runs that nobody waits for: beside a server, at a session's end, or where a disk is away."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from etl.files import Modes
from etl.lock import writer_lock
from sjduck.archive import Archive
from sjduck.errors import ArchiveUnusable
from sjduck.snapshots import manifest_folder, read_snapshot
from tests.conftest import Fill
from tests.test_serving import COMMAND, Wire
from tests.trees import session_id, write_session
from tests.watchers import CHECKOUT, PATIENCE_S, Process, append, has


def test_a_server_that_watches_answers_from_what_has_just_come(
    home: Path, root: Path, archive: Archive
) -> None:
    file = write_session(home / ".claude", 1, ["one"])
    wire = Wire([*COMMAND, "--archive", str(root), "--watch"])
    try:
        wire.shake_hands()
        deadline = time.monotonic() + PATIENCE_S
        for text in ("one", "appended"):
            if text == "appended":
                append(file, text)
            while not has(archive, text):
                assert time.monotonic() < deadline
                time.sleep(0.05)
        arguments = {
            "name": "sj_search_within",
            "arguments": {"ref": session_id(1)[:8], "query": text},
        }
        answer = wire.ask("tools/call", arguments)
        code, narrated = wire.leave()
    finally:
        wire.process.kill()
        wire.process.wait()
        assert wire.process.stdout is not None
        wire.process.stdout.close()

    assert answer["result"]["structuredContent"]["matches"] == 1
    # Its stderr is at its end: the watcher has left as well.
    assert (code, narrated) == (0, "")


def test_a_killed_server_leaves_no_watcher_behind(home: Path, root: Path) -> None:
    write_session(home / ".claude", 1, ["one"])
    process = Process([*COMMAND, "--archive", str(root), "--watch"])
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not read_snapshot(root).manifests:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.end(signal.SIGKILL)

        assert process.line(stream=2) is None
    finally:
        process.close()


def hook() -> str:
    """Return the command of the SessionEnd hook as it is documented."""
    settings = json.loads((CHECKOUT / "docs" / "units" / "settings.json").read_text())
    command: str = settings["hooks"]["SessionEnd"][0]["hooks"][0]["command"]
    return command


def test_the_hook_at_a_sessions_end_returns_at_once_and_the_session_is_taken_in(
    tmp_path: Path, home: Path, root: Path, archive: Archive
) -> None:
    script = tmp_path / "bin" / "sjduck"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\nfrom sjduck.cli import main\nmain()\n")
    script.chmod(0o755)
    write_session(home / ".claude", 1, ["one"])
    environment = {
        **os.environ,
        "PATH": f"{script.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(CHECKOUT),
        "SJDUCK_ARCHIVE": str(root),
    }
    manifest_folder(root, "tester").mkdir(parents=True)
    with writer_lock(root, "tester", Modes(0o600, 0o700), wait_s=PATIENCE_S):
        # Another run is on, and several sessions end: one run waits for it, the others leave.
        ran = [
            subprocess.run(
                ["sh", "-c", hook()],
                env=environment,
                input=json.dumps({"hook_event_name": "SessionEnd", "reason": "exit"}),
                capture_output=True,
                text=True,
                check=False,
                timeout=PATIENCE_S,
                cwd=tmp_path,
            )
            for _ in range(3)
        ]
        write_session(home / ".claude", 2, ["ended while the run waited"])
    deadline = time.monotonic() + PATIENCE_S
    while not has(archive, "ended while the run waited"):
        assert time.monotonic() < deadline
        time.sleep(0.05)

    assert [(done.returncode, done.stdout, done.stderr) for done in ran] == [(0, "", "")] * 3
    assert [m.generation for m in read_snapshot(root).manifests] == [1]


def test_a_disk_that_is_not_mounted_is_not_taken_for_an_empty_archive(
    tmp_path: Path, root: Path, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session(tmp_path / "claude", 1, ["one"])
    mounted = {str(root.parent), "/"}
    monkeypatch.setattr(os.path, "ismount", lambda path: str(path) in mounted)
    fill(f"claude={tmp_path}/claude")
    mounted.remove(str(root.parent))
    root.rename(tmp_path / "with the disk")

    with pytest.raises(
        ArchiveUnusable, match=f"lay on a disk at {root.parent}, where nothing is mounted"
    ):
        fill(f"claude={tmp_path}/claude")
    assert not root.exists()
    mounted.add(str(root.parent))
    fill(f"claude={tmp_path}/claude")
