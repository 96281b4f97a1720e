"""The raw files of a source's tree, opened where no link leads away from it; and a tar of them."""

import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import IO, BinaryIO

from sjduck.confine import allowed_roots, is_within

_PIECE_BYTES = 1 << 20
_READ = (
    os.O_RDONLY
    # A pipe must not hold the process until somebody writes into it.
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True, slots=True)
class Place:
    """A tree that documents came from, as the archive names it."""

    kind: str
    root: str

    @property
    def digest(self) -> str:
        """Eight characters that tell it from the others."""
        named = f"{self.kind}\0{self.root}".encode("utf-8", "surrogatepass")
        return sha256(named).hexdigest()[:8]

    def open(self, path: str) -> BinaryIO | None:
        """Return a regular file of the tree, opened; None where there is none.

        A link leads away from the tree, but for its root and what lies right below: a home is
        often one, and so is a folder of it on another disk.
        """
        try:
            descriptor = os.open(os.path.join(self.root, path), _READ)
        except OSError:
            return None
        # Looked at once it is open: what a name leads to may change, an open file does not.
        status = os.fstat(descriptor)
        place = self._place_of(path)
        if stat.S_ISREG(status.st_mode) and place is not None and _is_same(status, place):
            return os.fdopen(descriptor, "rb")
        os.close(descriptor)
        return None

    def folder(self, path: str) -> str | None:
        """Return where a folder of the tree lies; None where there is none."""
        place = self._place_of(path)
        return place if place is not None and os.path.isdir(place) else None

    def _place_of(self, path: str) -> str | None:
        """Return where a path of the tree lies, None where a link below its top leads there."""
        first, *rest = path.split("/")
        place = os.path.join(os.path.realpath(os.path.join(self.root, first)), *rest)
        is_straight = os.path.realpath(place) == place
        return (
            place if is_straight and is_within(place, allowed_roots(self.root, self.kind)) else None
        )


def _is_same(status: os.stat_result, place: str) -> bool:
    try:
        return os.path.samestat(status, os.lstat(place))
    except OSError:
        return False


def count_lines(file: IO[bytes]) -> int:
    """Return how many lines a file ends."""
    return sum(piece.count(b"\n") for piece in iter(lambda: file.read(_PIECE_BYTES), b""))


def send(out: IO[bytes], name: str, place: Place, path: str) -> int:
    """Write a file or folder as a tar, under a name; return how many files became shorter.

    Raises FileNotFoundError, before anything is written, where neither is there.
    """
    shortened = 0
    with tarfile.open(
        fileobj=out, mode="w|", format=tarfile.GNU_FORMAT, encoding="utf-8",
        errors="surrogateescape", bufsize=_PIECE_BYTES,
    ) as tar:  # fmt: skip
        for below, file in _members(place, path):
            member = tarfile.TarInfo(name + below)
            if file is None:
                member.type, member.mode = tarfile.DIRTYPE, 0o700
                tar.addfile(member)
                continue
            with file:
                status = os.fstat(file.fileno())
                member.size, member.mode = status.st_size, 0o600
                member.mtime = int(status.st_mtime)
                steady = _Steady(file)
                tar.addfile(member, steady)
                shortened += steady.is_short
    return shortened


def _members(place: Place, path: str) -> Iterator[tuple[str, BinaryIO | None]]:
    """Yield what is in a file or folder, by its path from there: folders as None, files opened.

    Links, pipes and devices are left out.
    """
    if place.folder(path) is None:
        file = place.open(path)
        if file is None:
            raise FileNotFoundError(path)
        yield "", file
        return
    folders = [""]
    while folders:
        below = folders.pop()
        yield below, None
        within = []
        for entry in _entries(place, path + below):
            if entry.is_dir(follow_symlinks=False):
                within.append(f"{below}/{entry.name}")
            elif file := place.open(f"{path}{below}/{entry.name}"):
                yield f"{below}/{entry.name}", file
        folders += reversed(within)


def _entries(place: Place, path: str) -> list[os.DirEntry[str]]:
    folder = place.folder(path)
    try:
        with os.scandir(folder or "") as scanned:
            return sorted(scanned, key=lambda entry: entry.name)
    except OSError:
        return []


class _Steady:
    """A file of the size it had when it was opened: longer it is cut, shorter it ends in NULs."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.is_short = False

    def read(self, size: int = -1, /) -> bytes:
        """Return exactly so many bytes."""
        got = self._file.read(size)
        if len(got) < size:
            self.is_short = True
            got += bytes(size - len(got))
        return got
