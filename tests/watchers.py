"""Watchers that tests start: as a process whose lines are read, or in a thread of the test."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from etl import watch as watching
from etl.report import Report
from etl.watch import Watcher
from sjduck.archive import Archive
from sjduck.settings import Settings

CHECKOUT = Path(__file__).parent.parent
SJDUCK = [sys.executable, "-c", "from sjduck.cli import main; main()"]
PATIENCE_S = 60.0
# As long as it takes to be sure that nothing comes: longer than a rest.
SILENCE_S = 2.5


class Process:
    """A process whose lines are read as they come."""

    def __init__(self, command: list[str], **environment: str) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=CHECKOUT,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._got = {1: b"", 2: b""}

    def line(self, *, stream: int = 1, within_s: float = PATIENCE_S) -> str | None:
        """Return the next line of stdout (1) or stderr (2), None where none comes in time."""
        pipe = {1: self.process.stdout, 2: self.process.stderr}[stream]
        assert pipe is not None
        deadline = time.monotonic() + within_s
        while b"\n" not in self._got[stream]:
            ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
            got = os.read(pipe.fileno(), 1 << 16) if ready else b""
            if not got:
                return None
            self._got[stream] += got
        line, self._got[stream] = self._got[stream].split(b"\n", 1)
        return line.decode()

    def report(self) -> dict[str, Any]:
        """Return the next run's report that took something in."""
        while (line := self.line()) is not None:
            report: dict[str, Any] = json.loads(line)
            if report["new"] or report["changed"] or report["gone"]:
                return report
        raise AssertionError(f"no run: {self.line(stream=2, within_s=0)}")

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal; return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def close(self) -> None:
        """Kill it where it still runs."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


Start = Callable[..., Process]


@pytest.fixture
def start(root: Path) -> Iterator[Start]:
    """Return a function that starts `sjduck etl --watch` with more arguments."""
    started: list[Process] = []

    def begin(*arguments: str, archive: Path = root, **environment: str) -> Process:
        command = [*SJDUCK, "etl", "--archive", str(archive), "--watch", "--json", *arguments]
        started.append(Process(command, **environment))
        return started[-1]

    yield begin
    for process in started:
        process.close()


class Inside:
    """A watcher in a thread of the test, and what it said and did."""

    def __init__(self, read: Callable[[], Settings], writer: str = "tester") -> None:
        self.said: list[str] = []
        self.reports: list[Report] = []
        self.watcher = Watcher(
            read, writer, poll_s=None, say=self.said.append, show=self.reports.append
        )
        self._thread = Thread(target=self.watcher.run)

    def wait(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so."""
        deadline = time.monotonic() + PATIENCE_S
        while not is_so():
            assert time.monotonic() < deadline, (self.said, self.reports)
            time.sleep(0.02)

    def begin(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def end(self) -> None:
        """Stop, and wait for the end."""
        self.watcher.stop()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()


@contextmanager
def watched(read: Callable[[], Settings], writer: str = "tester") -> Iterator[Inside]:
    """Watch in a thread for the time of a test."""
    inside = Inside(read, writer)
    inside.begin()
    try:
        yield inside
    finally:
        inside.end()


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a watcher look, try again and rest in fractions of a second."""
    monkeypatch.setattr(watching, "_LOOK_S", 0.1)
    monkeypatch.setattr(watching, "_RETRY_S", 0.2)
    monkeypatch.setattr(watching, "_MOST_RETRY_S", 0.5)
    monkeypatch.setattr(watching, "_LEAST_REST_S", 0.05)
    monkeypatch.setattr(watching, "_TURN_S", 0.1)
    monkeypatch.setattr(watching, "_FINISH_S", 0.2)


def append(file: Path, prompt: str) -> None:
    """Append a prompt to a session."""
    record = {"type": "user", "message": {"role": "user", "content": prompt}}
    with file.open("a") as session:
        session.write(json.dumps({**record, "timestamp": "2026-03-01T11:00:00.000Z"}) + "\n")


def has(archive: Archive, text: str) -> bool:
    """Tell whether readers can see a block with this text."""
    query = "select 1 from blocks where text = $text"
    return bool(archive.ask(lambda view: view.rows(query, text=text)))
