"""A writer's lock: one run at a time, and a second one can say who holds it."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson
from filelock import FileLock, Timeout

from etl.files import Modes, write_whole
from sjduck.errors import SjduckError
from sjduck.snapshots import manifest_folder, utc_now


class LockHeld(SjduckError):
    """Another run of this writer is at work."""


@contextmanager
def writer_lock(root: Path, writer: str, modes: Modes, *, wait_s: float) -> Iterator[None]:
    """Hold the writer's lock; raises LockHeld, naming the holder, after `wait_s` seconds."""
    folder = manifest_folder(root, writer)
    lock = FileLock(folder / "lock", mode=modes.file)
    holder = folder / "holder"
    try:
        lock.acquire(timeout=wait_s)
    except Timeout as error:
        raise LockHeld(f"{_who(holder)} is filling {root}; wait for it or stop it") from error
    try:
        me = {"pid": os.getpid(), "host": socket.gethostname(), "since": utc_now().isoformat()}
        write_whole(holder, orjson.dumps(me), modes.file)
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def _who(holder: Path) -> str:
    with suppress(OSError, orjson.JSONDecodeError, KeyError):
        held = orjson.loads(holder.read_bytes())
        return f"process {held['pid']} on {held['host']} (since {held['since'][:19]} UTC)"
    return "another run"
