"""Start the etl as a process of its own, and the first fill of an archive in the background."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from sjduck.settings import Source

_PACKAGES = Path(__file__).parent.parent


def run_etl(arguments: Sequence[str], *, stdout_too: bool) -> int:
    """Run etl to its end; return its exit code."""
    stdout = None if stdout_too else sys.stderr
    return subprocess.run(
        _command(arguments), env=_environment(), stdout=stdout, check=False
    ).returncode


class Filling:
    """The first fill of an archive: not begun, on, or why it ended without one."""

    def __init__(self, archive: Path, sources: Sequence[Source]) -> None:
        self._archive = archive
        self._sources = sources
        self._lock = Lock()
        self._is_on = False
        self._failure = ""

    def begin(self) -> bool:
        """Start it where it is not on; tell whether there is a source to fill from."""
        if not any(source.path.is_dir() for source in self._sources):
            return False
        with self._lock:
            if not self._is_on:
                self._is_on = True
                Thread(target=self._fill, name="sjduck filling", daemon=True).start()
        return True

    def answer(self) -> dict[str, Any]:
        """Return why there is no answer yet, and what to do; starts over where it failed."""
        with self._lock:
            failure, self._failure = self._failure, ""
        if not self.begin():
            return self._answer("no archive, and no source to fill one from", self._what_is_lacking)
        if failure:
            return self._answer(f"the archive could not be filled: {failure}", "trying once more")
        return self._answer(
            "the archive is being filled",
            "the first fill reads about 30 MB of sessions a second; ask again in a minute",
        )

    def _fill(self) -> None:
        failure = ""
        # A file and no pipe, a session of its own: it ends its work also where the server is gone.
        with tempfile.TemporaryFile() as stderr:
            try:
                code = subprocess.run(
                    _command(["--archive", str(self._archive), "--quiet"]),
                    env=_environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    start_new_session=True,
                    check=False,
                ).returncode
            except OSError as error:
                failure = f"can't start etl: {error.strerror}"
            else:
                if code:
                    stderr.seek(0)
                    failure = _last_line(stderr.read()) or f"etl ended with {code}"
        with self._lock:
            self._is_on = False
            self._failure = failure

    @property
    def _what_is_lacking(self) -> str:
        if self._sources:
            return "none of its sources is there; check that they are mounted"
        return "no sessions found on this machine; run 'sjduck etl --source KIND=PATH'"

    def _answer(self, error: str, hint: str) -> dict[str, Any]:
        sources = [
            {"kind": s.kind, "path": str(s.path), "is_reachable": s.path.is_dir()}
            for s in self._sources
        ]
        return {"error": error, "hint": hint, "archive": str(self._archive), "sources": sources}


def _last_line(text: bytes) -> str:
    return text.decode("utf-8", "replace").strip().split("\n")[-1].removeprefix("sjduck: ")


def _command(arguments: Sequence[str]) -> list[str]:
    # -P: the folder that we are called in may hold an `etl` of its own.
    return [sys.executable, "-P", "-m", "etl", *arguments]


def _environment() -> dict[str, str]:
    """Return ours, with a path on which the process finds the packages that we were read from."""
    paths = [str(_PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
