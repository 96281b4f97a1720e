"""Embedding beside a watcher: a process of its own, which goes on while runs come and go."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress

from sjduck.semantic.place import lack
from sjduck.settings import Settings

# To start one takes a second or two of the processor's time: not after every line of a session.
_REST_S = 60.0
_REST_AFTER_FAILURE_S = 3_600.0
_LEAVE_S = 5.0


class Embedder:
    """Has what is new embedded, by at most one process; `say` is told why it could not be."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._process: subprocess.Popen[bytes] | None = None
        self._is_wanted = False
        self._at = 0.0

    def want(self) -> None:
        """Note that there may be something to embed."""
        self._is_wanted = True

    def look(self, settings: Settings, now: float) -> None:
        """Start a process where there is something to do and time for it; see how one ended."""
        if self._process is not None:
            code = self._process.poll()
            if code is None:
                return
            self._process = None
            self._at = now + (_REST_AFTER_FAILURE_S if code else _REST_S)
            if code:
                self._say(
                    f"embedding ended with {code}; run 'sjduck etl --semantic' to see why, tried "
                    "again in an hour"
                )
        is_able = settings.semantic.auto and lack(settings.semantic) is None
        if self._is_wanted and now >= self._at and is_able:
            self._is_wanted = False
            self._start(settings)

    def end(self) -> None:
        """End the process: what it has not published is embedded again by the next one."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LEAVE_S)

    def _start(self, settings: Settings) -> None:
        arguments = ["--embed-only", "--quiet", f"--archive={settings.archive}"]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "etl", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            self._say(f"can't start embedding: {error.strerror}")
