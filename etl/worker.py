"""Runs in a process of their own, for the watcher: what one needs is given back after it.

The watcher keeps the process while there is something to do, since starting it takes longer
than most runs.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread

from etl.report import Report
from sjduck.errors import NothingToRead, SjduckError
from sjduck.settings import Settings

RUNS = "--runs"
_LEAVE_S = 1.0
# Answers and whatever else runs on the machine go first.
_NICE = 10


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run did not end well; `is_lack`: there is no source yet."""

    message: str
    is_lack: bool = False


class Worker:
    """Does one run at a time; `done` is called with what became of it, from another thread."""

    def __init__(self, done: Callable[[Report | Failure], None]) -> None:
        self._done = done
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: Thread | None = None

    def begin(self, settings: Settings, writer: str) -> None:
        """Begin a run."""
        try:
            self.warm()
        except OSError as error:
            self._done(Failure(f"can't start a run: {error.strerror}"))
            return
        self._thread = Thread(target=self._converse, args=(settings, writer), daemon=True)
        self._thread.start()

    def warm(self) -> None:
        """Start the process where there is none, so that it is ready for a run."""
        if self._process is not None and self._process.poll() is not None:
            self.end()
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "etl", RUNS],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )

    def end(self, wait_s: float = 0.0) -> None:
        """Let the process go; a run that does not end within `wait_s` is as if it never was."""
        process, self._process = self._process, None
        if process is None:
            return
        if self._thread is not None:
            self._thread.join(wait_s)
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_LEAVE_S)
        except subprocess.TimeoutExpired:
            # With it go the processes that it has started.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LEAVE_S)
        if self._thread is not None:
            self._thread.join(_LEAVE_S)
        process.stdout.close()

    def _converse(self, settings: Settings, writer: str) -> None:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        answer: Report | Failure
        try:
            pickle.dump((settings, writer), process.stdin)
            process.stdin.flush()
            answer = pickle.load(process.stdout)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            code = process.wait()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
            answer = Failure(f"a run ended before it was done ({how})")
        self._done(answer)


def main() -> int:
    """Do the runs that stdin asks for, until it ends."""
    with suppress(OSError):
        os.nice(_NICE)
    answers = os.fdopen(os.dup(1), "wb")
    # What a library prints must not come between the answers.
    os.dup2(2, 1)
    import etl.pipeline  # noqa: F401 - what a run needs, before it is asked for

    while True:
        try:
            settings, writer = pickle.load(sys.stdin.buffer)
        except (EOFError, pickle.UnpicklingError):
            return 0
        pickle.dump(_run(settings, writer), answers)
        answers.flush()


def _run(settings: Settings, writer: str) -> Report | Failure:
    from etl.pipeline import run

    try:
        return run(settings, writer, _Unseen(), paced=True)
    except NothingToRead as error:
        return Failure(str(error), is_lack=True)
    except SjduckError as error:
        return Failure(str(error))
    except OSError as error:
        return Failure(f"{error.filename or 'the archive'}: {error.strerror}")
    except Exception as error:  # noqa: BLE001 - the watcher lives on, whatever a run meets
        # Its message may quote a transcript.
        return Failure(f"a run failed unexpectedly ({type(error).__name__})")


class _Unseen:
    """Progress that nobody watches."""

    def waiting(self, message: str) -> None:
        """Take no notice."""

    def begin(self, files: int, size: int) -> None:
        """Take no notice."""

    def advance(self, files: int, size: int) -> None:
        """Take no notice."""
