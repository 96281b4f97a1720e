"""Start the etl as a process of its own, and the first fill of an archive in the background."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock, Thread
from typing import Any, NoReturn

import orjson

from sjduck.errors import NothingToRead, SjduckError, UsageError
from sjduck.mounts import folders
from sjduck.settings import Source

_PACKAGES = Path(__file__).parent.parent
_FAILURES = {error.exit_code: error for error in (UsageError, NothingToRead)}


def run_etl(arguments: Sequence[str], *, stdout_too: bool) -> int:
    """Run etl to its end; return its exit code."""
    stdout = None if stdout_too else sys.stderr
    return subprocess.run(
        _command(arguments), env=package_environment(), stdout=stdout, check=False
    ).returncode


def become_etl(arguments: Sequence[str]) -> NoReturn:
    """Go on as etl: the same process where the system can, so that signals reach it."""
    if os.name == "posix":
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os.execve(sys.executable, _command(arguments), package_environment())
    raise SystemExit(run_etl(arguments, stdout_too=True))


def start_watching(archive: Path, *, poll_s: float | None) -> "subprocess.Popen[bytes]":
    """Start a watcher of the sources that ends with this process, however that ends."""
    poll = [] if poll_s is None else [f"--poll={poll_s:g}"]
    # It reads stdin, which nobody writes to, until we are gone.
    return subprocess.Popen(
        _command([f"--archive={archive}", "--watch", "--with-parent", "--quiet", *poll]),
        env=package_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


def start_reindex(archive: Path) -> None:
    """Have the search index made anew by a run that outlives this process."""
    done = subprocess.run(
        _command([f"--archive={archive}", "--reindex", "--detach", "--quiet"]),
        env=package_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        raise SjduckError(_last_line(done.stderr) or f"etl ended with {done.returncode}")


def ask_etl(request: Mapping[str, Any], *, is_heard: bool) -> dict[str, Any]:
    """Have etl do one request in a process of its own; return its answer.

    `is_heard`: what it says on stderr meanwhile is shown. Raises what it says where it fails.
    """
    done = subprocess.run(
        _command(["--request"]),
        env=package_environment(),
        input=orjson.dumps(request),
        stdout=subprocess.PIPE,
        stderr=None if is_heard else subprocess.PIPE,
        check=False,
    )
    try:
        answer: dict[str, Any] = orjson.loads(done.stdout)
    except orjson.JSONDecodeError as error:
        reason = _last_line(done.stderr or b"") or f"it ended with {done.returncode}"
        raise SjduckError(f"etl failed: {reason}") from error
    if "failed" in answer:
        raise _FAILURES.get(answer["exit_code"], SjduckError)(answer["failed"])
    return answer


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
        if not folders(source.path for source in self._sources):
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
                    env=package_environment(),
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
        there = folders(source.path for source in self._sources)
        sources = [
            {"kind": s.kind, "path": str(s.path), "is_reachable": s.path in there}
            for s in self._sources
        ]
        return {"error": error, "hint": hint, "archive": str(self._archive), "sources": sources}


def _last_line(text: bytes) -> str:
    return text.decode("utf-8", "replace").strip().split("\n")[-1].removeprefix("sjduck: ")


def _command(arguments: Sequence[str]) -> list[str]:
    # -P: the folder that we are called in may hold an `etl` of its own.
    return [sys.executable, "-P", "-m", "etl", *arguments]


def package_environment() -> dict[str, str]:
    """Return ours, with a path on which the process finds the packages that we were read from."""
    paths = [str(_PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
