"""Publish generations, keep their history thin, and sweep the files that none names."""

import os
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path

from etl.files import Modes, publish_once
from sjduck.errors import SjduckError
from sjduck.snapshots import (
    TABLES,
    VECTORS,
    Manifest,
    generations,
    manifest_folder,
    manifest_name,
    read_manifest,
)

_WHOLE = timedelta(hours=1)
_HOURLY = timedelta(days=1)
_DAILY = timedelta(days=7)


class LostRace(SjduckError):
    """Another run of this writer published the generation first."""


def publish(root: Path, manifest: Manifest, modes: Modes) -> None:
    """Make `manifest` the writer's newest; raises LostRace where its number is taken."""
    path = manifest_folder(root, manifest.writer) / manifest_name(manifest.generation)
    if not publish_once(path, manifest.dumps(), modes.file):
        raise LostRace(
            f"another run of this writer published first in {root}; run 'sjduck etl' again"
        )


def next_generation(root: Path, writer: str) -> int:
    """Return the number after the greatest that has a file, whole or not."""
    numbers = generations(root, writer)
    return numbers[-1] + 1 if numbers else 1


def kept(created: Iterable[tuple[int, datetime]], now: datetime) -> set[int]:
    """Return the generations to keep: all of an hour, one an hour of a day, one a day of a week.

    The newest stays whatever its age.
    """
    chosen: dict[tuple[str, object], int] = {}
    newest_first = sorted(created, reverse=True)
    for generation, at in newest_first:
        age = now - at
        if age <= _WHOLE:
            chosen["generation", generation] = generation
        elif age <= _HOURLY:
            chosen.setdefault(("hour", (at.date(), at.hour)), generation)
        elif age <= _DAILY:
            chosen.setdefault(("day", at.date()), generation)
    return set(chosen.values()) | {newest_first[0][0]} if newest_first else set()


def whole(root: Path, writer: str) -> dict[int, Manifest]:
    """Return every generation of a writer that is whole."""
    return {
        number: manifest
        for number in generations(root, writer)
        if (manifest := read_manifest(root, writer, number))
    }


def affordable(generations: Iterable[Manifest]) -> set[int]:
    """Return the generations that hold no more of what is superseded than was written since.

    A session that grows all day would be kept in every state that it had. The newest and the
    one before it, which questions may be reading, are among them.
    """
    newest_first = sorted(generations, key=lambda m: m.generation, reverse=True)
    live = _sizes(newest_first[0]) if newest_first else {}
    chosen: set[int] = set()
    held: dict[str, int] = {}
    for place, manifest in enumerate(newest_first):
        files = _sizes(manifest)
        superseded = held | {path: size for path, size in files.items() if path not in live}
        since = sum(size for path, size in live.items() if path not in files)
        if place < 2 or sum(superseded.values()) <= since:
            chosen.add(manifest.generation)
            held = superseded
    return chosen


def thin(
    root: Path,
    writer: str,
    now: datetime,
    *,
    drop: Callable[[Manifest], bool] | None = None,
    sparing: bool = False,
) -> list[Path]:
    """Remove the generations that are not kept; return the files that no kept one names.

    `drop` tells of a generation that is not kept whatever its age, the newest excepted; `sparing`
    keeps only what is affordable.
    """
    manifests = whole(root, writer)
    newest = max(manifests, default=0)
    keep = {
        number
        for number in kept(((number, m.created_at) for number, m in manifests.items()), now)
        if number == newest or drop is None or not drop(manifests[number])
    }
    if sparing:
        keep = affordable(manifests[number] for number in keep)
    used = {path for number in keep for path in _paths(manifests[number])}
    dropped: set[str] = set()
    for number, manifest in manifests.items():
        if number not in keep:
            (manifest_folder(root, writer) / manifest_name(number)).unlink(missing_ok=True)
            dropped |= _paths(manifest)
    return [root / path for path in sorted(dropped - used)]


def torn(root: Path, writer: str) -> list[int]:
    """Return the generations whose manifest is there and not whole."""
    return [n for n in generations(root, writer) if read_manifest(root, writer, n) is None]


def orphans(root: Path, writer: str) -> list[Path]:
    """Return this writer's files that no manifest names: a killed run left them.

    What a manifest that is not whole may name is not among them.
    """
    if torn(root, writer):
        return sorted(manifest_folder(root, writer).glob(".*"))
    used = {path for manifest in whole(root, writer).values() for path in _paths(manifest)}
    files = [
        file
        for table in TABLES
        for file in sorted((root / table).glob(f"host=*/year=*/{writer}-*.parquet"))
    ]
    files += sorted((root / "index" / writer).glob("*.duckdb*"))
    files += sorted((root / VECTORS / writer).glob("*.parquet"))
    files += sorted(manifest_folder(root, writer).glob(".*"))
    return [file for file in files if file.relative_to(root).as_posix() not in used]


def sweep(root: Path, files: Iterable[Path]) -> int:
    """Delete files, and the folders that are empty without them; return their bytes."""
    freed = 0
    for file in files:
        try:
            freed += file.stat().st_size
            file.unlink()
        except FileNotFoundError:
            continue
        for folder in (file.parent, file.parent.parent):
            try:
                os.rmdir(folder)
            except OSError:
                break
    return freed


def _paths(manifest: Manifest) -> set[str]:
    return set(_sizes(manifest))


def _sizes(manifest: Manifest) -> dict[str, int]:
    """Return the bytes of each file that a generation names."""
    tables = [file for segment in manifest.segments for file in segment.tables.values()]
    sizes = {file.path: file.bytes for file in tables}
    sizes |= {index.path: index.bytes for index in manifest.indexes}
    return sizes | {file.path: file.bytes for file in manifest.vectors}
