"""Walk a source's tree and find the files that it claims."""

import os
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from etl.document import Claim, SourceFile
from etl.sources import KINDS
from sjduck.confine import allowed_roots, is_within
from sjduck.settings import Source


@dataclass(slots=True)
class Found:
    """What one source's tree holds at this moment."""

    source: Source
    files: list[tuple[Claim, SourceFile]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    unclaimed: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether the whole tree was read, so that what is missing is gone.

        An unmounted tree is often an empty folder: an empty one tells nothing.
        """
        return not self.failures and bool(self.files)


def discover(source: Source) -> Found:
    """Return the files that `source` claims, sorted by path; reads no file."""
    found = Found(source)
    root = os.path.realpath(source.path)
    kind = KINDS[source.kind]
    walk = _Walk(found, allowed_roots(root))
    for path, status in walk.below(root, kind.folders):
        claim = kind.claims(source, root, path)
        if claim is None:
            found.unclaimed += 1
        else:
            found.files.append((claim, SourceFile(status.st_size, status.st_mtime_ns)))
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
        """Yield each regular file as its path under `root`, with its status."""
        pending = [("", root)]
        while pending:
            path, folder = pending.pop()
            for entry in self._entries(folder):
                if not path and only is not None and entry.name not in only:
                    continue
                name = f"{path}/{entry.name}" if path else entry.name
                status = self._status(entry)
                if status is None:
                    continue
                if stat.S_ISDIR(status.st_mode):
                    pending.append((name, entry.path))
                else:
                    yield name, status

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except FileNotFoundError:
            self._found.failures.append(f"{folder}: gone while it was read")
        except OSError as error:
            self._found.failures.append(f"{folder}: {error.strerror}")
        return []

    def _status(self, entry: os.DirEntry[str]) -> os.stat_result | None:
        """Return the status of a folder or regular file not met before, links resolved."""
        try:
            if entry.is_symlink() and not is_within(entry.path, self._roots):
                self._found.skipped["link that leads outside the source"] += 1
                return None
            status = entry.stat()
        except FileNotFoundError:
            self._found.skipped["link to nothing" if entry.is_symlink() else "vanished"] += 1
            return None
        except OSError as error:
            if entry.is_symlink():
                self._found.skipped["link loop"] += 1
            else:
                self._found.failures.append(f"{entry.path}: {error.strerror}")
            return None
        if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
            self._found.skipped["device, socket or pipe"] += 1
            return None
        if entry.is_symlink() or stat.S_ISDIR(status.st_mode) or status.st_nlink > 1:
            identity = status.st_dev, status.st_ino
            if identity in self._seen:
                self._found.skipped["met before through a link"] += 1
                return None
            self._seen.add(identity)
        return status
