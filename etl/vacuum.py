"""Vacuum: merge and sweep now what runs would, by and by."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from etl.pipeline import Upkeep, run_locked, writing
from etl.report import Progress
from sjduck.errors import NothingToRead
from sjduck.settings import Settings
from sjduck.snapshots import TABLES, VECTORS, read_snapshot


def vacuum(
    settings: Settings, writer: str, progress: Progress, *, drop_history: bool
) -> dict[str, Any]:
    """Merge each host and year into one segment, the index into one file, and sweep the rest.

    Returns bytes on the disk before and after, what was deleted, and what is there for the
    older snapshots alone; `drop_history` drops those of this writer.
    """
    if not read_snapshot(settings.archive).manifests:
        raise NothingToRead(f"no snapshot in {settings.archive}; run 'sjduck etl' to make one")
    with writing(settings.archive, writer, progress) as modes:
        before = _bytes(settings.archive)
        upkeep = Upkeep(merge_all=True, drop_history=drop_history)
        report = run_locked(replace(settings, sources=()), writer, modes, progress, upkeep)
        after = _bytes(settings.archive)
    return {
        "archive": str(settings.archive),
        "generation": report.generation,
        "merged": report.merged,
        "indexed": report.indexed,
        "freed": report.freed,
        "bytes_before": before,
        "bytes_after": after,
        "bytes_of_history": after - read_snapshot(settings.archive).total_bytes,
        "warnings": report.warnings,
    }


def _bytes(root: Path) -> int:
    """Return the bytes of all segments, index files and vectors that lie there."""
    return sum(size for name in (*TABLES, "index", VECTORS) for size in _sizes(root / name))


def _sizes(folder: Path) -> Iterator[int]:
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                yield os.stat(os.path.join(place, name)).st_size
            except FileNotFoundError:  # another writer's run has swept it
                continue
