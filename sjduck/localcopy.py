"""Copies of index files in the user's cache, where the archive lies on a network file system.

Such systems lock badly and read slowly. An index file never changes, so a copy is never stale;
the least recently used go first.
"""

import os
import secrets
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import platformdirs

from sjduck.mounts import is_remote
from sjduck.snapshots import IndexFile

MAX_BYTES = 4 * 1024**3
# A copy in the making that is older was left by a killed process.
_ABANDONED_S = 3_600


def local_place(root: Path, index: IndexFile) -> Path:
    """Return where to read an index file: in place, or its local copy, made where missing."""
    path = root / index.path
    if not is_remote(path):
        return path
    folder = Path(platformdirs.user_cache_dir("sjduck")) / "index"
    copy = folder / f"{index.sha256}.duckdb"
    if copy.is_file() and copy.stat().st_size == index.bytes:
        os.utime(copy)
        return copy
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _make_room(folder, index.bytes)
    aside = folder / f".{index.sha256}.{secrets.token_hex(4)}"
    with path.open("rb") as source, aside.open("wb") as target:
        os.fchmod(target.fileno(), 0o600)
        shutil.copyfileobj(source, target, 1024 * 1024)
    os.replace(aside, copy)
    return copy


def drop_copies(digests: Iterable[str]) -> None:
    """Remove the local copies of index files that are no more."""
    folder = Path(platformdirs.user_cache_dir("sjduck")) / "index"
    for digest in digests:
        with suppress(OSError):
            (folder / f"{digest}.duckdb").unlink()


def _make_room(folder: Path, size: int) -> None:
    """Remove the copies that were used longest ago until `size` more fit."""
    for left in folder.glob(".*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED_S:
                left.unlink()
    copies = [(file.stat().st_mtime, file) for file in folder.glob("*.duckdb")]
    total = sum(file.stat().st_size for _, file in copies)
    for _, file in sorted(copies):
        if total + size <= MAX_BYTES:
            return
        with suppress(OSError):
            total -= file.stat().st_size
            file.unlink()
