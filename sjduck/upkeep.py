"""Prune, vacuum and repair: asked of the etl, which alone writes an archive."""

import re
from pathlib import Path
from typing import Any

from sjduck.bounds import Answer
from sjduck.errors import UsageError
from sjduck.filling import ask_etl
from sjduck.listing import TYPES
from sjduck.localcopy import drop_copies
from sjduck.periods import as_of_moment, period
from sjduck.snapshots import read_snapshot

_AGE = re.compile(r"\d{1,6}[hdw]")


def prune(
    archive: Path,
    *,
    tz: str,
    before: str | None = None,
    older_than: str | None = None,
    host: str | None = None,
    project: str | None = None,
    harness: str | None = None,
    type: str | None = None,
    sids: tuple[str, ...] = (),
    with_catalogue: bool = False,
    is_dry: bool = True,
    is_heard: bool = False,
) -> Answer:
    """Return what a prune takes, or, where it is not `is_dry`, took.

    `before` is a local day of `tz` or an ISO instant, `older_than` an age such as 90d; what was
    used since stays. Raises UsageError where nothing narrows it down.
    """
    if type not in (None, *TYPES):
        raise UsageError(f"unknown type {type!r}; one of: {', '.join(TYPES)}")
    request: dict[str, Any] = {
        "do": "prune",
        "archive": str(archive),
        "tz": tz,
        "is_quiet": not is_heard,
        "before_at": _before_at(before, older_than, tz),
        "host": host,
        "project": project,
        "harness": harness,
        "type": type,
        "sids": sids,
        "with_catalogue": with_catalogue,
        "is_dry": is_dry,
    }
    held = set() if is_dry else _copied_digests(archive)
    answer = ask_etl(request, is_heard=is_heard)
    if not is_dry:
        drop_copies(held - _copied_digests(archive))
    return answer


def _copied_digests(archive: Path) -> set[str]:
    """Return the checksums of live index files and vectors, by which local copies are named."""
    manifests = read_snapshot(archive).manifests
    digests = {index.sha256 for manifest in manifests for index in manifest.indexes}
    return digests | {file.sha256 for manifest in manifests for file in manifest.vectors}


def forget(
    archive: Path,
    *,
    sids: tuple[str, ...] = (),
    is_all: bool = False,
    is_dry: bool = True,
    is_heard: bool = False,
) -> Answer:
    """Return what is let back, or would be: sessions that the next run takes in again."""
    request: dict[str, Any] = {
        "do": "forget",
        "archive": str(archive),
        "is_quiet": not is_heard,
        "sids": sids,
        "is_all": is_all,
        "is_dry": is_dry,
    }
    return ask_etl(request, is_heard=is_heard)


def vacuum(archive: Path, *, drop_history: bool = False, is_heard: bool = False) -> Answer:
    """Merge and sweep now; return what it freed."""
    request: dict[str, Any] = {
        "do": "vacuum",
        "archive": str(archive),
        "is_quiet": not is_heard,
        "drop_history": drop_history,
    }
    return ask_etl(request, is_heard=is_heard)


def repair(archive: Path, *, is_heard: bool = False) -> Answer:
    """Do without this machine's damaged files; return what was taken in anew, kept and lost."""
    request: dict[str, Any] = {
        "do": "repair",
        "archive": str(archive),
        "is_quiet": not is_heard,
    }
    return ask_etl(request, is_heard=is_heard)


def _before_at(before: str | None, older_than: str | None, tz: str) -> str | None:
    """Return the earlier of two edges as an ISO instant in UTC, without zone."""
    edges = []
    if before:
        edges.append(period(before, None, tz).since_at)
    if older_than:
        if not _AGE.fullmatch(older_than):
            raise UsageError(f"can't read older-than={older_than!r}; write 90d, 12w or 48h")
        edges.append(as_of_moment(older_than, tz).replace(tzinfo=None))
    return min(edge for edge in edges if edge).isoformat() if edges else None
