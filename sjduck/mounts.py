"""File systems that another machine holds: which paths lie on one, and whether it answers.

Who touches one that is dead waits in the kernel, where no signal reaches. So nothing here does,
but a child that can be left behind.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import NamedTuple

WAIT_S = 6.0
# How long an answer, or silence, is taken for granted.
_FRESH_S = 3.0
_MAX_LINKS = 40
_REMOTE = frozenset(
    {
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "afs", "ceph", "fuse.rclone",
        "afpfs", "webdav",
    }
)  # fmt: skip
# Changes that the other side makes are no events here.
_SHARED = frozenset({"vboxsf", "virtiofs", "prl_fs"})
_MOUNTS = Path("/proc/self/mountinfo")
# What no cache answers, and no disk has to wake up for.
_ASK = "import os, sys; os.statvfs(sys.argv[1])"
# File system → when it was asked last, and whether it was silent.
_verdicts: dict[str, tuple[float, bool]] = {}
# File system → a child that hangs in it and can't be ended.
_stuck: dict[str, subprocess.Popen[bytes]] = {}


class Mount(NamedTuple):
    """Where a file system is mounted, and of which kind it is."""

    place: str
    kind: str

    @property
    def may_hang(self) -> bool:
        """Whether another process or machine has to answer for it."""
        return self.kind in _REMOTE or self.kind == "autofs" or self.kind.startswith("fuse.")


def is_remote(path: Path) -> bool:
    """Tell whether a path lies on a network file system, as far as the machine says."""
    mount = _settled(path)[1]
    return mount is not None and mount.kind in _REMOTE


def has_events(path: Path) -> bool:
    """Tell whether every change below a path is an event on this machine."""
    mount = _settled(path)[1]
    return mount is None or not (mount.may_hang or mount.kind in _SHARED)


def resolved(path: Path) -> str:
    """Return the real path, without touching a file system that may hang."""
    return _settled(path)[0]


def folders(paths: Iterable[Path]) -> set[Path]:
    """Return those paths that are folders; what lies on a silent file system is none."""
    named = set(paths)
    return {path for path in named - set(silent(named)) if os.path.isdir(path)}


def silent(paths: Iterable[Path]) -> dict[Path, str]:
    """Return the paths whose file system does not answer within WAIT_S, with what it is."""
    mounts = {path: mount for path in paths if (mount := _settled(path)[1]) and mount.may_hang}
    now = time.monotonic()
    keys = {_key(mount, path) for path, mount in mounts.items()}
    _ask({key for key in keys if key not in _verdicts or now - _verdicts[key][0] > _FRESH_S})
    return {
        path: f"does not answer: {mount.kind} on {mount.place} is silent"
        for path, mount in mounts.items()
        if _verdicts[_key(mount, path)][1]
    }


def watch_over(path: Path, leave: Callable[[str], None]) -> None:
    """Have `leave` called, from another thread, when the file system of a path falls silent.

    Who waits for it in the kernel can't be reached; what is local is not watched over.
    """
    mount = _settled(path)[1]
    if mount is not None and mount.may_hang:
        Thread(target=_watching, args=(path, leave), name="sjduck mounts", daemon=True).start()


def _watching(path: Path, leave: Callable[[str], None]) -> None:
    while True:
        time.sleep(_FRESH_S)
        if why := silent([path]).get(path):
            leave(why)
            return


def _key(mount: Mount, path: Path) -> str:
    # What an automounter is asked for decides which server has to answer.
    return str(path) if mount.kind == "autofs" else mount.place


def _ask(wanted: set[str]) -> None:
    """Touch each file system in a child of its own; note which ones don't answer."""
    children = {key: _asking(key) for key in wanted}
    deadline = time.monotonic() + WAIT_S
    for key, child in children.items():
        is_silent = False
        try:
            if child is not None:
                # One that hangs since an earlier time has had its time.
                is_old = _stuck.pop(key, None) is child
                child.wait(0 if is_old else max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            is_silent = True
            _leave(key, child)
        _verdicts[key] = time.monotonic(), is_silent


def _asking(key: str) -> subprocess.Popen[bytes] | None:
    stuck = _stuck.get(key)
    if stuck is not None and stuck.poll() is None:
        return stuck
    with suppress(OSError):
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _ASK, key],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
        )
    return None


def _leave(key: str, child: "subprocess.Popen[bytes] | None") -> None:
    """End a child that hangs; remember one that can't be ended, so that they don't pile up."""
    if child is not None:
        child.kill()
        try:
            child.wait(0.2)
        except subprocess.TimeoutExpired:
            _stuck[key] = child


def _settled(path: Path) -> tuple[str, Mount | None]:
    """Return a path and its mount; links are followed as far as that touches nothing remote."""
    mounts = list(_mounts())
    real, links = "/", 0
    pending = os.path.abspath(path).split("/")[::-1]
    while pending:
        name = pending.pop()
        step = os.path.normpath(os.path.join(real, name))
        mount = _innermost(mounts, step)
        if mount is not None and mount.may_hang:
            return os.path.normpath(os.path.join(step, *pending[::-1])), mount
        try:
            target = os.readlink(step)
        except (OSError, ValueError):  # no link, or no name that a file can have
            real = step
            continue
        links += 1
        if links > _MAX_LINKS:
            break
        pending += target.split("/")[::-1]
        if target.startswith("/"):
            real = "/"
    return real, _innermost(mounts, real)


def _innermost(mounts: Iterable[Mount], path: str) -> Mount | None:
    best: Mount | None = None
    for mount in mounts:
        inside = path == mount.place or path.startswith(mount.place.rstrip("/") + "/")
        # Of two in one place, the later hides the earlier.
        if inside and (best is None or len(mount.place) >= len(best.place)):
            best = mount
    return best


def _mounts() -> Iterator[Mount]:
    try:
        listed = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return
    for line in listed.splitlines():
        before, _, after = line.partition(" - ")
        place = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), before.split(" ")[4])
        yield Mount(place, after.split(" ")[0])
