"""Damaged files are moved aside, never deleted, once no manifest needs them where they were.

What is to be moved is written down first, so that a run that is killed before it has moved them
leaves that to the next one.
"""

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

import orjson

from etl.files import Modes, make_folder, write_whole
from sjduck.snapshots import manifest_folder

FOLDER = "quarantine"
_INTENT = "to-quarantine"


def intend(root: Path, writer: str, paths: Iterable[str], modes: Modes) -> None:
    """Write down which files are to be moved aside."""
    intent = manifest_folder(root, writer) / _INTENT
    write_whole(intent, orjson.dumps(sorted(paths)), modes.file)


def settle(root: Path, writer: str, modes: Modes, *, needed: Collection[str]) -> list[str]:
    """Move aside what was to be, but for what the newest manifest needs; return what was moved."""
    intent = manifest_folder(root, writer) / _INTENT
    try:
        paths = orjson.loads(intent.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return []
    moved = [path for path in paths if path not in needed and _move(root, path, modes)]
    intent.unlink(missing_ok=True)
    return moved


def _move(root: Path, path: str, modes: Modes) -> bool:
    target = root / FOLDER / path
    make_folder(target.parent, root, modes)
    try:
        os.replace(root / path, target)
    except FileNotFoundError:
        with suppress(OSError):
            target.parent.rmdir()
        return False
    return True
