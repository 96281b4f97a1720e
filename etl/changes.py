"""Tell when something in the sources has changed: by the system's events, else by looking."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

from watchfiles import Change, watch

from etl.discover import discover
from etl.sources import KINDS
from sjduck.confine import FOLDERS
from sjduck.mounts import folders, has_events, resolved, silent
from sjduck.settings import Source

POLL_S = 60.0
# Events are told when nothing more has come for this long, or have come for that long.
_STEP_MS = 150
_GATHER_MS = 1_500
# Events can be missed: a full queue, a file made in a new folder before that is watched.
_BACKSTOP_S = 600.0


class Place(NamedTuple):
    """A source's root, and what below it matters (all where None)."""

    source: Source
    root: str
    names: tuple[str, ...] | None

    @classmethod
    def of(cls, source: Source) -> "Place":
        """Return the place of a source."""
        return cls(source, resolved(source.path), FOLDERS.get(source.kind))

    def flat(self) -> list[str]:
        """Return the folders that matter by themselves, without what is below them."""
        return [] if self.names is None else [self.root]

    def deep(self) -> list[str]:
        """Return the folders in which everything matters."""
        below = [os.path.join(self.root, name) for name in self.names or ()]
        return [self.root] if self.names is None else [p for p in below if os.path.isdir(p)]

    def holds(self, change: Change, path: str) -> bool:
        """Tell whether a change of a path may be one of a session or document."""
        if path == self.root:
            return change is Change.deleted
        if not path.startswith(self.root + os.sep):
            return False
        name = path[len(self.root) + 1 :]
        top = name.split(os.sep, 1)[0]
        # A database's log lies beside it: `opencode.db-wal`.
        if self.names is not None and not any(
            top == known or top.startswith(f"{known}-") for known in self.names
        ):
            return False
        is_claimed = KINDS[self.source.kind](self.source, self.root, name) is not None
        return is_claimed or top == name or not os.path.isfile(path)


class Changes:
    """Calls `notify` whenever something in the sources may have changed, from its own threads.

    It is told which paths have, as far as that is known.

    What the archive itself does is no change, even where it lies inside a source. Where a file
    system has no events, or `poll_s` is given, the sources are looked at so often instead.
    """

    def __init__(
        self,
        archive: Path,
        notify: Callable[[frozenset[str]], None],
        say: Callable[[str], None],
        *,
        poll_s: float | None = None,
    ) -> None:
        self._archive = resolved(archive)
        self._notify = notify
        self._say = say
        self._poll_s = poll_s
        self._watched: object = None
        self._stop = Event()

    def follow(self, sources: Sequence[Source]) -> bool:
        """Watch these sources from now on; tell whether they, or their folders, are others now."""
        there = folders(source.path for source in sources)
        places = [Place.of(source) for source in sources if source.path in there]
        with_events = [p for p in places if not self._poll_s and has_events(Path(p.root))]
        others = [place for place in places if place not in with_events]
        watched = others, with_events, [_identities(place) for place in with_events]
        if watched == self._watched:
            return False
        self.close()
        self._watched = watched
        self._stop = Event()
        self._listen(with_events)
        self._look(others, self._poll_s or POLL_S)
        self._look(with_events, _BACKSTOP_S)
        return True

    def close(self) -> None:
        """Watch nothing any more."""
        self._stop.set()
        self._watched = None

    def _listen(self, places: Sequence[Place]) -> None:
        """Wait for events below the places."""
        flat = sorted({path for place in places for path in place.flat()})
        deep = sorted({path for place in places for path in place.deep()})
        for paths, recursive in ((flat, False), (deep, True)):
            if paths:
                _start(partial(self._listening, places, paths, self._stop, recursive=recursive))

    def _listening(
        self, places: Sequence[Place], paths: Sequence[str], stop: Event, *, recursive: bool
    ) -> None:
        try:
            for changes in watch(
                *paths,
                watch_filter=partial(self._concerns, places),
                debounce=_GATHER_MS,
                step=_STEP_MS,
                stop_event=stop,
                rust_timeout=0,
                raise_interrupt=False,
                force_polling=False,
                recursive=recursive,
                ignore_permission_denied=True,
            ):
                self._notify(frozenset(path for _, path in changes))
        except FileNotFoundError:
            # Gone before it was watched: the next `follow` looks anew.
            self._watched = None
        except (OSError, RuntimeError) as error:
            reason = str(error).split(".", 1)[0][:100]
            self._say(f"no events ({reason}); looking every {POLL_S:g} seconds instead")
            self._looking(places, POLL_S, stop)

    def _concerns(self, places: Sequence[Place], change: Change, path: str) -> bool:
        if path == self._archive or path.startswith(self._archive + os.sep):
            return False
        return any(place.holds(change, path) for place in places)

    def _look(self, places: Sequence[Place], every_s: float) -> None:
        """Look at the places every so often."""
        if places:
            _start(partial(self._looking, places, every_s, self._stop))

    def _looking(self, places: Sequence[Place], every_s: float, stop: Event) -> None:
        seen = [_contents(place) for place in places]
        while not stop.wait(every_s):
            for number, place in enumerate(places):
                contents = _contents(place)
                if contents is not None and contents != seen[number]:
                    seen[number] = contents
                    self._notify(frozenset())


def _start(watching: Callable[[], None]) -> None:
    Thread(target=watching, name="sjduck changes", daemon=True).start()


def _contents(place: Place) -> int | None:
    """Return a number that another state of a source does not have; None where it is silent."""
    if silent([place.source.path]):
        return None
    files = discover(place.source).files
    return hash(tuple((claim.path, seen.size, seen.mtime_ns) for claim, seen in files))


def _identities(place: Place) -> list[tuple[str, int, int]]:
    """Return which folders a place has now: one that was replaced is another."""
    return [
        (path, status.st_dev, status.st_ino)
        for path in (*place.flat(), *place.deep())
        if (status := _status(path)) is not None
    ]


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None
