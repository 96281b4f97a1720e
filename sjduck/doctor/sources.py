"""Whether the sources can be read, and whether runs are often enough for them."""

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from sjduck.confine import FOLDERS
from sjduck.doctor.findings import Finding
from sjduck.errors import SjduckError
from sjduck.mounts import resolved, silent
from sjduck.opencode import DATABASE
from sjduck.settings import Settings, Source
from sjduck.snapshots import Manifest, read_snapshot, utc_now
from sjduck.sqlitefile import opened
from sjduck.status import last_run

# Claude Code's own, where its settings name none.
CLEANUP_DAYS = 30
_FUTURE_S = 24 * 3600
_NO_SOURCE = "name one: sjduck etl --source KIND=PATH, or [[source]] in the configuration"


def source_findings(settings: Settings) -> list[Finding]:
    """Return what is to be said of each source, and of there being none."""
    if not settings.sources:
        return [Finding("warning", "no sessions found on this machine", "", _NO_SOURCE)]
    manifests = _manifests(settings)
    away = silent(source.path for source in settings.sources)
    findings = [
        finding
        for source in settings.sources
        for finding in _of_source(source, manifests, settings, away.get(source.path))
    ]
    if all(source.path in away or not source.path.is_dir() for source in settings.sources):
        where = ", ".join(str(source.path) for source in settings.sources)
        findings.append(
            Finding("serious", "no source can be read: nothing is taken in", where, "mount them")
        )
    return findings


def _manifests(settings: Settings) -> tuple[Manifest, ...]:
    # What is wrong with the archive is found where that is looked at.
    if silent([settings.archive]):
        return ()
    with suppress(SjduckError):
        return read_snapshot(settings.archive).manifests
    return ()


def _of_source(
    source: Source, manifests: Iterable[Manifest], settings: Settings, silence: str | None
) -> Iterator[Finding]:
    named = f"{source.kind} source"
    where = str(source.path)
    place = {"kind": source.kind, "root": resolved(source.path)}
    writers = [m.writer for m in manifests if place in m.sources.values()]
    if silence:
        yield Finding("serious", f"{named} {silence}", where, "see to the server or the network")
        return
    if not source.path.is_dir():
        what = "is no folder" if source.path.exists() else "is not there"
        remedy = "mount it; nothing of it counts as gone meanwhile" if writers else "check the path"
        yield Finding("warning", f"{named} {what}", where, remedy)
        return
    yield from _of_folder(source)
    if not writers:
        yield Finding("info", f"{named} is not taken in yet", where, "run 'sjduck etl'")
    if source.kind == "claude":
        yield from _of_cleanup(source, writers, settings)
    if source.kind == "opencode" and (source.path / DATABASE).exists():
        yield from _of_database(source.path / DATABASE)


def _of_folder(source: Source) -> Iterator[Finding]:
    """Look at the names that matter below a root, and at what of them can't be read."""
    where = str(source.path)
    try:
        present = sorted(os.listdir(source.path))
    except OSError as error:
        remedy = "let this user read it"
        what = f"{source.kind} source can't be read: {error.strerror}"
        yield Finding("serious", what, where, remedy)
        return
    known = FOLDERS.get(source.kind)
    wanted = [name for name in present if not known or name in known]
    if not wanted:
        holds = f"none of {', '.join(known)}" if known else "nothing"
        yield Finding(
            "warning",
            f"{source.kind} source holds {holds}",
            where,
            "an unmounted disk looks like that; nothing of it counts as gone",
        )
        return
    unreadable, future = _walked(source.path, wanted)
    if unreadable:
        what = f"{len(unreadable):,} files or folders of the {source.kind} source can't be read"
        yield Finding("warning", what, unreadable[0], "let this user read them")
    if future:
        what = f"{len(future):,} files of the {source.kind} source are from the future"
        yield Finding("warning", what, future[0], "set the clock of the machine that wrote them")


def _walked(root: Path, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return which files and folders can't be read, and which are from the future."""
    unreadable: list[str] = []
    future: list[str] = []
    latest = time.time() + _FUTURE_S

    def note(error: OSError) -> None:
        unreadable.append(str(error.filename))

    places = [root / name for name in names]
    files = [str(place) for place in places if place.is_file()]
    for place in places:
        for folder, _, below in os.walk(place, onerror=note) if place.is_dir() else ():
            files += [os.path.join(folder, file) for file in sorted(below)]
    for file in files:
        with suppress(OSError):
            if not os.access(file, os.R_OK):
                unreadable.append(file)
            elif os.stat(file).st_mtime > latest:
                future.append(file)
    return unreadable, future


def _of_cleanup(source: Source, writers: list[str], settings: Settings) -> Iterator[Finding]:
    """Compare how soon Claude Code deletes sessions with when they were taken in last."""
    file = source.path / "settings.json"
    days, problem = _cleanup_days(file)
    if problem:
        yield Finding("warning", problem, str(file), "correct it: Claude Code reads it, too")
    if days == 0:
        yield Finding(
            "warning",
            "Claude Code keeps no transcripts: cleanupPeriodDays is 0",
            str(file),
            "set it to the days that a transcript is to stay, such as 365",
        )
        return
    runs = [run for writer in writers if (run := _last_run(settings.archive, writer))]
    if not runs:
        return
    age = utc_now() - max(runs)
    if age > timedelta(days=days / 2):
        yield Finding(
            "warning",
            f"the last run is {age.days:,} days ago, and Claude Code deletes transcripts after "
            f"{days:g} days (cleanupPeriodDays)",
            str(file),
            "run 'sjduck etl' now and from a timer, or raise cleanupPeriodDays",
        )


def _cleanup_days(file: Path) -> tuple[float, str | None]:
    """Return the days in force, and what is wrong with the settings."""
    try:
        written: Any = orjson.loads(file.read_bytes())
    except FileNotFoundError:
        return CLEANUP_DAYS, None
    except OSError as error:
        return CLEANUP_DAYS, f"Claude Code's settings can't be read: {error.strerror}"
    except orjson.JSONDecodeError:
        return CLEANUP_DAYS, "Claude Code's settings are no JSON"
    days = written.get("cleanupPeriodDays") if isinstance(written, dict) else None
    if days is None:
        return CLEANUP_DAYS, None
    if isinstance(days, bool) or not isinstance(days, int | float) or days < 0:
        return CLEANUP_DAYS, "cleanupPeriodDays is no number of days"
    return days, None


def _last_run(root: Path, writer: str) -> datetime | None:
    with suppress(KeyError, TypeError, ValueError):
        return datetime.fromisoformat(last_run(root, writer)["started_at"])
    return None


def _of_database(file: Path) -> Iterator[Finding]:
    try:
        with opened(str(file), {"session": frozenset({"id"})}) as database:
            next(database.rows("select id from session"), None)
    except OSError as error:
        yield Finding(
            "warning",
            f"opencode.db: {error.strerror or error}",
            str(file),
            "start opencode once, so that it sets it right; what was taken in stays",
        )
