"""Repair: do without this writer's damaged files, and take in anew what was in them.

Damaged files are moved to `quarantine/`. Documents whose sources are there are taken in again,
of the others what is whole is kept, the index is built anew where it was damaged, and modes that
let others read are narrowed. What is lost is said.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from etl import manifests, quarantine
from etl.files import Modes
from etl.pipeline import Upkeep, run_locked, writing
from etl.recovery import damaged_manifests, recovered
from etl.report import Progress
from sjduck.integrity import Damage, damages_of
from sjduck.mounts import silent
from sjduck.settings import Settings
from sjduck.snapshots import Manifest, manifest_folder, writers

Answer = dict[str, Any]
_UNREADABLE = "can't be read"


def repair(settings: Settings, writer: str, progress: Progress) -> Answer:
    """Return what was damaged of this writer, what was done about it, and what is lost.

    Other writers' damaged files are only named: they are repaired on their machines.
    """
    root = settings.archive
    others = [d for name in writers(root) if name != writer for d in _of(root, name)]
    if not manifest_folder(root, writer).is_dir():
        return {**_answer(settings, writer, [], others), "warnings": []}
    away = silent(source.path for source in settings.sources)
    here = tuple(source for source in settings.sources if source.path not in away)
    with writing(root, writer, progress) as modes:
        torn = damaged_manifests(root, writer)
        if torn:
            _recover(settings, writer, torn, modes)
        progress.waiting("checking every file")
        found = list(_of(root, writer))
        # What can't be read now may be read later: a disk that is away is no damage.
        damaged = {d.path for d in found if not d.what.startswith(_UNREADABLE)}
        paths = _with_their_segments(damaged, manifests.whole(root, writer).values())
        quarantine.intend(root, writer, paths, modes)
        upkeep = Upkeep(damaged=frozenset(damaged))
        report = run_locked(replace(settings, sources=here), writer, modes, progress, upkeep)
        closed = _close(root, modes)
    listed = [{"path": path, "what": "is not whole"} for path in torn]
    return {
        **_answer(settings, writer, [*listed, *map(_row, found)], others),
        "generation": report.generation,
        "retaken": report.retaken,
        "kept": report.kept,
        "lost": report.lost,
        "quarantined": sorted({*report.quarantined, *torn}),
        "indexed": report.indexed,
        "closed": closed,
        "warnings": report.warnings,
    }


def _answer(
    settings: Settings, writer: str, damaged: list[dict[str, Any]], others: list[Damage]
) -> Answer:
    return {
        "archive": str(settings.archive),
        "writer": writer,
        "damaged": damaged,
        "others": [{**_row(damage), "writer": damage.writer} for damage in others],
    }


def _row(damage: Damage) -> dict[str, Any]:
    return {"path": damage.path, "what": damage.what}


def _of(root: Path, writer: str) -> Iterator[Damage]:
    return damages_of(root, writer, with_checksums=True)


def _recover(settings: Settings, writer: str, torn: Iterable[str], modes: Modes) -> None:
    """Publish a manifest made from the files, and move aside those that are damaged."""
    manifests.publish(settings.archive, recovered(settings, writer), modes)
    quarantine.intend(settings.archive, writer, torn, modes)
    quarantine.settle(settings.archive, writer, modes, needed=())


def _with_their_segments(damaged: set[str], generations: Iterable[Manifest]) -> set[str]:
    """Add the other files of damaged segments: what they hold goes with them."""
    paths = set(damaged)
    for manifest in generations:
        for segment in manifest.segments:
            files = {file.path for file in segment.tables.values()}
            if files & damaged:
                paths |= files
    return paths


def _close(root: Path, modes: Modes) -> int:
    """Narrow the modes of what is open to more people than the archive's folder; count it."""
    closed = 0
    for place, folders, files in os.walk(root):
        for names, asked in ((folders, modes.folder), (files, modes.file)):
            for name in names:
                closed += _narrow(os.path.join(place, name), asked)
    return closed


def _narrow(path: str, asked: int) -> bool:
    try:
        mode = os.lstat(path).st_mode
        extra = stat.S_IMODE(mode) & 0o077 & ~asked
        if stat.S_ISLNK(mode) or not extra:
            return False
        os.chmod(path, stat.S_IMODE(mode) & ~extra)
    except OSError:  # gone meanwhile, or another writer's
        return False
    return True
