"""Take in changes as they come, until told to stop."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Literal

from filelock import FileLock

from etl.changes import Changes
from etl.embedder import Embedder
from etl.report import Report
from etl.single import WATCHING, claim
from etl.worker import Failure, Worker
from sjduck.errors import SjduckError
from sjduck.settings import Settings

# A run is followed by a rest this many times as long, longer where it found nothing.
_REST = 4
_REST_OF_NOTHING = 20
_LEAST_REST_S = 1.0
_RETRY_S = 5.0
_MOST_RETRY_S = 300.0
# How often to look for sources that have come or gone, and whether another still watches.
_LOOK_S = 30.0
_TURN_S = 2.0
_WORKER_IDLE_S = 60.0
# How long a run may go on after the watcher was told to stop.
_FINISH_S = 5.0

# What has changed (anything, where empty), how a run ended, or that it is time to stop.
Note = frozenset[str] | Report | Failure | Literal["stop"]


@dataclass(slots=True)
class Pace:
    """When the next run is due; `at` is None where there is nothing to do."""

    at: float | None = 0.0
    _rested_at: float = 0.0
    _failures: int = 0
    _resting: dict[str, float] = field(default_factory=dict)

    def changed(self, now: float, paths: frozenset[str] = frozenset()) -> None:
        """Note that there is something to take in: at once, unless all of it is to rest yet."""
        due = min((self._resting.get(path, now) for path in paths), default=now)
        due = max(now, due, self._rested_at)
        self.at = due if self.at is None else min(self.at, due)

    def ran(self, now: float, report: Report) -> None:
        """Note what a run did, and left for later."""
        self._failures = 0
        rest = _REST if report.has_taken else _REST_OF_NOTHING
        self._rested_at = now + max(_LEAST_REST_S, rest * report.seconds)
        self._resting = {path: at for path, at in self._resting.items() if at > now}
        self._resting |= {path: now + rest_s for path, rest_s in report.resting.items()}
        if report.rest_s is not None:
            self.at = max(self._rested_at, now + report.rest_s)

    def failed(self, now: float) -> float:
        """Note a run that failed; return in how many seconds to try again: each time later."""
        wait_s = min(_RETRY_S * 2.0 ** min(self._failures, 10), _MOST_RETRY_S)
        self._failures += 1
        self.at = self._rested_at = now + wait_s
        return wait_s

    def idles(self) -> None:
        """Note that nothing can be done until something changes."""
        self.at = None


class Watcher:
    """Runs whenever something in the sources changes, one run at a time."""

    def __init__(
        self,
        load: Callable[[], Settings],
        writer: str,
        *,
        poll_s: float | None,
        say: Callable[[str], None],
        show: Callable[[Report], None],
    ) -> None:
        self._load = load
        self._settings = load()
        self._writer = writer
        self._say_always = say
        self._show = show
        self._inbox: SimpleQueue[Note] = SimpleQueue()
        self._changes = Changes(self._settings.archive, self._inbox.put, say, poll_s=poll_s)
        self._worker = Worker(self._inbox.put)
        self._embedder = Embedder(say)
        self._pace = Pace()
        self._is_running = False
        self._changed_meanwhile: list[frozenset[str]] = []
        self._worked_at = 0.0
        self._said: dict[str, object] = {}

    def stop(self) -> None:
        """Let `run` return soon; safe to call from a signal's handler."""
        self._inbox.put("stop")

    def run(self) -> None:
        """Watch until `stop`; where another process watches for this writer, after that one."""
        turn = self._turn()
        if turn is None:
            return
        try:
            self._watch()
        finally:
            self._changes.close()
            self._embedder.end()
            self._worker.end(_FINISH_S if self._is_running else 0.0)
            turn.release()

    def _turn(self) -> FileLock | None:
        """Wait for the lock of those who watch; None where told to stop before."""
        while True:
            turn = claim(WATCHING, self._settings.archive, self._writer)
            if turn is not None:
                return turn
            self._say("turn", "another process watches for this writer; waiting for it to end")
            if self._next(_TURN_S) == "stop":
                return None

    def _watch(self) -> None:
        looked_at = self._look()
        while True:
            now = time.monotonic()
            if now - looked_at >= _LOOK_S:
                looked_at = self._look()
            if not self._is_running and self._pace.at is not None and self._pace.at <= now:
                self._begin()
            if not self._is_running and now - self._worked_at >= _WORKER_IDLE_S:
                self._worker.end()
            if not self._is_running:
                self._embedder.look(self._settings, now)
            waits = [looked_at + _LOOK_S - now]
            if not self._is_running and self._pace.at is not None:
                waits.append(self._pace.at - now)
            note = self._next(max(0.0, min(waits)))
            if note == "stop":
                return
            if isinstance(note, frozenset):
                self._note_change(note)
            elif note is not None:
                self._note_end(note)

    def _next(self, wait_s: float) -> Note | None:
        try:
            return self._inbox.get(timeout=wait_s)
        except Empty:
            return None

    def _look(self) -> float:
        """See which sources there are now: a harness may have come, a disk may have gone."""
        try:
            settings = self._load()
        except SjduckError as error:
            self._say("settings", f"{error}; going on with the settings of before")
        else:
            self._said.pop("settings", None)
            if settings.archive != self._settings.archive:
                # Who watches for which archive was settled at the start.
                self._say("archive", f"the archive is {settings.archive} now; start me again")
            self._settings = replace(settings, archive=self._settings.archive)
        if self._changes.follow(self._settings.sources):
            self._note_change(frozenset())
        return time.monotonic()

    def _begin(self) -> None:
        self._is_running = True
        self._changed_meanwhile.clear()
        self._pace.idles()
        self._worker.begin(self._settings, self._writer)

    def _note_change(self, paths: frozenset[str]) -> None:
        if self._is_running:
            # The run may have looked before.
            self._changed_meanwhile.append(paths)
            return
        with suppress(OSError):  # the run itself says it
            self._worker.warm()
        self._worked_at = time.monotonic()
        self._pace.changed(time.monotonic(), paths)

    def _note_end(self, outcome: Report | Failure) -> None:
        now = self._worked_at = time.monotonic()
        self._is_running = False
        if isinstance(outcome, Failure):
            self._note_failure(outcome, now)
        else:
            self._pace.ran(now, outcome)
            self._embedder.want()
            self._said.pop("failure", None)
            self._say("warnings", *outcome.warnings)
            self._show(outcome)
        for paths in self._changed_meanwhile:
            self._pace.changed(now, paths)

    def _note_failure(self, failure: Failure, now: float) -> None:
        if failure.is_lack:
            self._pace.idles()
            self._say("failure", f"{failure.message}; waiting for a source")
        else:
            wait_s = self._pace.failed(now)
            self._say_always(f"{failure.message}; trying again in {wait_s:g} seconds")

    def _say(self, topic: str, *lines: str) -> None:
        """Say something once, until there is something else to say about it."""
        if self._said.get(topic, ()) != lines:
            self._said[topic] = lines
            for line in lines:
                self._say_always(line)


def watch(
    load: Callable[[], Settings],
    writer: str,
    *,
    poll_s: float | None,
    with_parent: bool,
    say: Callable[[str], None],
    show: Callable[[Report], None],
) -> None:
    """Take in changes until SIGTERM or SIGINT comes, or, `with_parent`, stdin ends.

    A run that is on then ends within a few seconds or is as if it never was. `load` gives the
    settings, again and again; `say` is told what goes wrong, `show` what each run did.
    """
    watcher = Watcher(load, writer, poll_s=poll_s, say=say, show=show)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: watcher.stop())
    if with_parent:
        Thread(target=_wait_for_end, args=(watcher.stop,), daemon=True).start()
    watcher.run()


def _wait_for_end(stop: Callable[[], None]) -> None:
    while os.read(0, 1024):
        pass
    stop()
