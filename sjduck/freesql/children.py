"""Processes that run statements: started where one is needed, one of them kept for the next."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from threading import Lock, Timer
from time import monotonic
from typing import Any

from sjduck.errors import SjduckError, Stopped
from sjduck.filling import package_environment
from sjduck.freesql.channel import Ended, receive, send
from sjduck.freesql.setup import Setup

# One that nobody asked for so long gives its memory back.
_IDLE_S = 300.0


class Child:
    """A process that answers statements on one snapshot; killed when one takes too long."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self._why: SjduckError | None = None
        # -P: the folder that we are called in may hold an `sjduck` of its own.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "sjduck.freesql.child"],
            env=package_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        with suppress(Ended):
            send(self._input, pickle.dumps(setup))

    @property
    def _input(self) -> Any:
        return self._process.stdin

    @property
    def _output(self) -> Any:
        return self._process.stdout

    def ask(self, request: dict[str, Any]) -> Iterator[Any]:
        """Yield the messages that answer a request; raises SjduckError for an error.

        Only what is waited for counts as time.
        """
        left = self.setup.limits.seconds
        try:
            send(self._input, request)
            while True:
                began = monotonic()
                message = self._next(left)
                left -= monotonic() - began
                yield message
                if isinstance(message, dict) and message.keys() & {"end", "error", "gone", "needs"}:
                    return
        except Ended:
            raise self._why or SjduckError(
                "the statement ended its process: too much memory, or DuckDB failed; "
                "write it in another way"
            ) from None

    def _next(self, seconds: float) -> Any:
        if not self.setup.limits.seconds:
            return receive(self._output)
        timer = Timer(max(seconds, 0), self._overdue)
        timer.daemon = True
        timer.start()
        try:
            return receive(self._output)
        finally:
            timer.cancel()

    def _overdue(self) -> None:
        seconds = self.setup.limits.seconds
        within = "1 second" if seconds == 1 else f"{seconds:g} seconds"
        self._why = SjduckError(f"no answer within {within}; filter more, or sum up over less")
        self.kill()

    def interrupt(self) -> None:
        """End the statement that runs, from another thread."""
        self._why = Stopped("stopped: it took too long, or nobody waits for it")
        self.kill()

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def close(self) -> None:
        """End the process and wait until it is gone."""
        self.kill()
        for pipe in (self._input, self._output):
            with suppress(OSError):
                pipe.close()
        self._process.wait()

    @property
    def is_alive(self) -> bool:
        """Whether the process is there."""
        return self._process.poll() is None


class Children:
    """Keeps one process ready: the next statement on its snapshot needs no start."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: Child | None = None
        self._timer: Timer | None = None

    def take(self, setup: Setup) -> Child:
        """Return the process that is ready where it is for the same snapshot, else a new one."""
        child = self._swapped(None)
        if child is not None:
            if child.is_alive and _is_same(child.setup, setup):
                return child
            child.close()
        return Child(setup)

    def keep(self, child: Child) -> None:
        """Keep a process that has answered, for a while."""
        left = self._swapped(child)
        if left is not None:
            left.close()

    def close(self) -> None:
        """End what is kept."""
        left = self._swapped(None)
        if left is not None:
            left.close()

    def _swapped(self, child: Child | None) -> Child | None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if child is not None:
                self._timer = Timer(_IDLE_S, self.close)
                self._timer.daemon = True
                self._timer.start()
            self._idle, left = child, self._idle
            return left


def _is_same(one: Setup, other: Setup) -> bool:
    """Tell whether two processes would answer alike; what is made there may differ."""
    return replace(one, needs=other.needs) == other
