"""Single flight on this machine: one process watches for a writer, one waits for its next run."""

import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

from sjduck.errors import SjduckError

WATCHING = "watching"
_WAITING = "waiting"


def claim(role: str, root: Path, writer: str) -> FileLock | None:
    """Return the lock of a role in filling an archive; None where another process has it."""
    key = sha256(f"{writer}\0{root}".encode("utf-8", "surrogateescape")).hexdigest()[:16]
    # In the user's own folder: a lock on a network file system may not hold, or not answer.
    lock = FileLock(_folder() / f"{role}-{key}", mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    return lock


def turn(root: Path, writer: str) -> FileLock | None:
    """Return the lock of the run that comes next, to be released when it begins.

    None where another process will look at the sources anyway: one waits already, or watches.
    """
    watching = claim(WATCHING, root, writer)
    if watching is None:
        return None
    watching.release()
    return claim(_WAITING, root, writer)


def start_detached(arguments: Sequence[str]) -> None:
    """Start etl as a process that outlives this one; what it says is in a file of the user's."""
    with (_folder() / "detached.log").open("wb") as log:
        subprocess.Popen(
            [sys.executable, "-P", "-m", "etl", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )


def _folder() -> Path:
    folder = Path(platformdirs.user_state_dir("sjduck"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SjduckError(f"can't write {folder}: {error.strerror}") from error
    return folder
