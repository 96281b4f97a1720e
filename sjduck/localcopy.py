"""Copies of index files and vectors in the user's cache, for archives on a network file system.

Such systems lock badly and read slowly. These files never change, so a copy is never stale; the
least recently used go first.
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
from sjduck.snapshots import IndexFile, VectorFile

_SUFFIXES = (".duckdb", ".parquet")
MAX_BYTES = 4 * 1024**3
# A copy in the making that is older was left by a killed process.
_ABANDONED_S = 3_600


def local_place(root: Path, index: IndexFile | VectorFile) -> Path:
    """Return where to read a file: in place, or its local copy, made where missing."""
    path = root / index.path
    if not is_remote(path):
        return path
    folder = Path(platformdirs.user_cache_dir("sjduck")) / "index"
    copy = folder / f"{index.sha256}{path.suffix}"
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
    """Remove the local copies of files that are no more."""
    folder = Path(platformdirs.user_cache_dir("sjduck")) / "index"
    for digest in digests:
        for suffix in _SUFFIXES:
            with suppress(OSError):
                (folder / f"{digest}{suffix}").unlink()


def _make_room(folder: Path, size: int) -> None:
    """Remove the copies that were used longest ago until `size` more fit."""
    for left in folder.glob(".*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED_S:
                left.unlink()
    files = [file for suffix in _SUFFIXES for file in folder.glob(f"*{suffix}")]
    copies = [(file.stat().st_mtime, file) for file in files]
    total = sum(file.stat().st_size for _, file in copies)
    for _, file in sorted(copies):
        if total + size <= MAX_BYTES:
            return
        with suppress(OSError):
            total -= file.stat().st_size
            file.unlink()
