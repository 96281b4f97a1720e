"""Walk a source's tree and find the files that it claims."""

import errno
import os
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from etl.document import Claim, SourceFile
from etl.sources import GATHER, KINDS, Pieces
from sjduck.confine import FOLDERS, allowed_roots, is_within
from sjduck.settings import Source


@dataclass(slots=True)
class Found:
    """What one source's tree holds at this moment."""

    source: Source
    files: list[tuple[Claim, SourceFile]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    unclaimed: int = 0

    def complete_folders(self) -> set[tuple[str, str]]:
        """Return the folders right below the root, with the source's name, that were read whole.

        What is missing of these is gone. An unmounted tree is often an empty folder, or a link
        to nothing: where nothing was found, nothing is gone.
        """
        if self.failures:
            return set()
        return {(self.source.name, top_folder(claim.path)) for claim, _ in self.files}


def top_folder(path: str) -> str:
    """Return the first part of a path under a root."""
    return path.split("/", 1)[0]


def discover(source: Source) -> Found:
    """Return the files that `source` claims, sorted by path; reads no file."""
    found = Found(source)
    root = os.path.realpath(source.path)
    claims = KINDS[source.kind]
    pieces: Pieces = []
    walk = _Walk(found, allowed_roots(root, source.kind))
    for path, status in walk.below(root, FOLDERS.get(source.kind)):
        claim = claims(source, root, path)
        seen = SourceFile(status.st_size, status.st_mtime_ns)
        if claim is None:
            found.unclaimed += 1
        elif claim == "piece":
            pieces.append((path, seen))
        else:
            found.files.append((claim, seen))
    if pieces:
        try:
            # One by one: what was found before a failure is kept.
            for gathered in GATHER[source.kind](source, root, pieces):
                found.files.append(gathered)
        except OSError as error:
            found.failures.append(f"{root}: {error.strerror}")
    found.files.sort(key=lambda file: file[0].path)
    return found


class _Walk:
    """One walk over a tree: each folder and file once, whatever links lead to it."""

    def __init__(self, found: Found, roots: list[str]) -> None:
        self._found = found
        self._roots = roots
        self._seen: set[tuple[int, int]] = set()

    def below(
        self, root: str, only: tuple[str, ...] | None
    ) -> Iterator[tuple[str, os.stat_result]]:
        """Yield each regular file as its path under `root`, with its status.

        Links come last, so that what they lead to has its own path where it has one.
        """
        folders = [("", root)]
        links: list[tuple[str, os.DirEntry[str]]] = []
        with suppress(OSError):
            self._note(os.stat(root))
        while folders or links:
            if folders:
                path, folder = folders.pop()
                entries = self._entries(folder, only if not path else None)
                links += [(path, entry) for entry in reversed(entries) if entry.is_symlink()]
                entries = [entry for entry in entries if not entry.is_symlink()]
            else:
                path, link = links.pop()
                entries = [link]
            for entry in entries:
                status = self._status(entry, is_top=not path)
                name = f"{path}/{entry.name}" if path else entry.name
                if status is None:
                    continue
                if stat.S_ISDIR(status.st_mode):
                    folders.append((name, entry.path))
                else:
                    yield name, status

    def _entries(self, folder: str, only: tuple[str, ...] | None) -> list[os.DirEntry[str]]:
        """Return a folder's entries, sorted by name; of a root's only those that matter."""
        try:
            with os.scandir(folder) as scanned:
                entries = sorted(scanned, key=lambda entry: entry.name)
        except FileNotFoundError:
            self._found.failures.append(f"{folder}: gone while it was read")
        except OSError as error:
            self._found.failures.append(f"{folder}: {error.strerror}")
        else:
            return [entry for entry in entries if only is None or entry.name in only]
        return []

    def _status(self, entry: os.DirEntry[str], *, is_top: bool) -> os.stat_result | None:
        """Return the status of a folder or regular file not met before, links resolved."""
        skipped = self._found.skipped
        if not _is_text(entry.name):
            skipped["name that is no UTF-8"] += 1
            return None
        try:
            if entry.is_symlink() and not is_within(entry.path, self._roots):
                skipped["link that leads outside the source"] += 1
                return None
            status = entry.stat()
        except FileNotFoundError:
            if is_top and entry.is_symlink():
                self._found.failures.append(f"{entry.path}: a link to nothing")
                return None
            skipped["link to nothing" if entry.is_symlink() else "vanished"] += 1
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                skipped["link loop"] += 1
            else:
                self._found.failures.append(f"{entry.path}: {error.strerror}")
            return None
        if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
            skipped["device, socket or pipe"] += 1
            return None
        is_known = self._note(status)
        if is_known and (entry.is_symlink() or _is_hard_linked(status)):
            skipped["met before through a link"] += 1
            return None
        return status

    def _note(self, status: os.stat_result) -> bool:
        """Remember a folder or file; tell whether it was met before."""
        identity = status.st_dev, status.st_ino
        if identity in self._seen:
            return True
        self._seen.add(identity)
        return False


def _is_hard_linked(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_nlink > 1


def _is_text(name: str) -> bool:
    """Tell whether a name can be written down: bytes that are no UTF-8 can't."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
