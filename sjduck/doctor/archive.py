"""Whether an archive is whole: its manifests, files, modes, index, and what they say together."""

from __future__ import annotations

import os
import socket
import stat
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from sjduck import __version__
from sjduck.archive import Archive
from sjduck.doctor.findings import Finding
from sjduck.errors import ArchiveUnusable, NewerFormat, SjduckError
from sjduck.fulltext import load_extension
from sjduck.index import prepare
from sjduck.integrity import Damage, damages_of, unnamed_files
from sjduck.mounts import silent
from sjduck.settings import Settings
from sjduck.snapshots import (
    TABLES,
    VECTORS,
    Manifest,
    generations,
    manifest_folder,
    newest_manifest,
    read_snapshot,
    utc_now,
    writers,
)
from sjduck.sqlfiles import sql

if TYPE_CHECKING:
    from sjduck.archive import View

_FIX = "run 'sjduck doctor --fix' on the machine of this writer"
_AHEAD = timedelta(minutes=5)
_LONG_AGO = timedelta(days=30)
_LONGEST_RUN_S = 24 * 3600
_SHOWN = 5
# Who else may read what its owner's alone is: of the group's bits those that the root has.
_OTHERS, _GROUP = 0o007, 0o070


def archive_findings(settings: Settings, *, with_checksums: bool) -> list[Finding]:
    """Return what is to be said of the archive."""
    root = settings.archive
    if silence := silent([root]).get(root):
        return [Finding("serious", f"the archive {silence}", str(root), "see to the server")]
    try:
        known = writers(root)
        damaged = [d for w in known for d in damages_of(root, w, with_checksums=with_checksums)]
        if not known:
            return [Finding("info", "never filled", str(root), "run 'sjduck etl'")]
        findings = [_of_damage(damage) for damage in damaged]
        for writer in known:
            findings += _of_writer(root, writer)
        findings += _of_modes(root)
        is_torn = any(damage.path.startswith("manifests/") for damage in damaged)
        findings += _of_leftovers(root, is_torn=is_torn)
        if not any(damage.is_live for damage in damaged):
            findings += _of_content(settings)
    except NewerFormat as error:
        return [Finding("serious", str(error), str(root), "install the newest sjduck here")]
    except ArchiveUnusable as error:
        return [Finding("serious", str(error), str(root), "let this user read it, or name another")]
    return findings


def _of_damage(damage: Damage) -> Finding:
    if not damage.is_live:
        return Finding(
            "warning",
            f"a file of older snapshots {damage.what}",
            damage.path,
            f"{_FIX}, or wait: they go within a week",
        )
    return Finding("serious", f"{_noun(damage.path)} {damage.what}", damage.path, _FIX)


def _noun(path: str) -> str:
    if path.startswith("manifests/"):
        return "manifest, so that what it alone named is not shown,"
    if path.startswith("index/"):
        return "index file, so that recall and search lack its documents,"
    if path.startswith(f"{VECTORS}/"):
        return "file of vectors, so that recall lacks the meaning of its passages,"
    return "data file"


# -- writers -------------------------------------------------------------------------------


def _of_writer(root: Path, writer: str) -> Iterator[Finding]:
    folder = manifest_folder(root, writer)
    manifest = newest_manifest(root, writer)
    where = f"manifests/{writer}"
    if manifest is None:
        if generations(root, writer):
            what = "no manifest of this writer is whole: nothing of it is shown"
            yield Finding("serious", what, where, _FIX)
        return
    ahead = manifest.created_at - utc_now()
    if ahead > _AHEAD:
        yield Finding(
            "warning",
            f"the newest snapshot is {_span(ahead)} in the future",
            f"{where} on {manifest.host}",
            "set the clock of that machine, or of this one; --as-of goes by it",
        )
    if _release(manifest.sjduck) > _release(__version__):
        what = f"written by sjduck {manifest.sjduck}, this one is {__version__}"
        yield Finding("info", what, where, "upgrade, so that all machines have one version")
    if not (folder / manifest.state).is_file():
        yield Finding(
            "warning",
            "what this writer remembers of its sources is lost",
            f"{where}/{manifest.state}",
            "nothing to do: its next run takes everything in once more",
        )
    yield from _of_runs(root, manifest)


def _of_runs(root: Path, manifest: Manifest) -> Iterator[Finding]:
    folder = manifest_folder(root, manifest.writer)
    where = f"manifests/{manifest.writer} on {manifest.host}"
    if (folder / "running").exists() and not _is_at_work(folder):
        yield Finding("info", "its last run was killed", where, "its next run finishes the job")
    pruned = read_snapshot(root).pruned
    if manifest.honoured != pruned.digest:
        yield Finding(
            "info",
            "it has not run since something was pruned, which its files may still hold (not shown)",
            where,
            "run 'sjduck etl' there",
        )
    try:
        seen = (folder / "last-run").stat().st_mtime
    except OSError:
        seen = manifest.created_at.timestamp()
    idle = timedelta(seconds=utc_now().timestamp() - seen)
    if idle > _LONG_AGO:
        yield Finding("info", f"its last run is {_span(idle)} ago", where, "run 'sjduck etl' there")


def _is_at_work(folder: Path) -> bool:
    """Tell whether the run that holds a writer's lock lives, as far as it can be told from here."""
    try:
        holder = orjson.loads((folder / "holder").read_bytes())
        if holder["host"] != socket.gethostname():
            return time.time() - (folder / "running").stat().st_mtime < _LONGEST_RUN_S
        os.kill(holder["pid"], 0)
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
        return False
    return True


def _release(text: str) -> list[int]:
    return [int(part) for part in text.split(".") if part.isdecimal()]


def _span(span: timedelta) -> str:
    hours = span.total_seconds() / 3600
    if hours >= 48:
        return f"{hours / 24:,.0f} days"
    return f"{hours:.0f} hours" if hours >= 2 else f"{hours * 60:.0f} minutes"


# -- files ---------------------------------------------------------------------------------


def _of_modes(root: Path) -> Iterator[Finding]:
    """Find what more people may read or write than the root's group bits ask for."""
    try:
        asked = stat.S_IMODE(root.stat().st_mode)
        open_to = [path for path in _paths(root) if _is_too_open(path, asked)]
    except OSError as error:
        what = f"the archive can't be read: {error.strerror}"
        yield Finding("serious", what, str(root), "let this user read it")
        return
    if asked & _OTHERS:
        yield Finding(
            "warning",
            "everybody on this machine may open the archive's folder",
            str(root),
            f"run 'chmod o= {root}'",
        )
    if open_to:
        yield Finding(
            "warning",
            f"{len(open_to):,} files or folders are open to others than the archive's folder is",
            _first(open_to, root),
            "run 'sjduck doctor --fix', or chmod them",
        )
    if not os.access(root, os.W_OK):
        what = "this user can't write to the archive: it can be read, not filled from here"
        yield Finding("info", what, str(root), "")


def _paths(root: Path) -> Iterator[str]:
    for place, folders, files in os.walk(root):
        for name in sorted(folders + files):
            yield os.path.join(place, name)


def _is_too_open(path: str, asked: int) -> bool:
    try:
        mode = stat.S_IMODE(os.lstat(path).st_mode)
    except FileNotFoundError:  # swept meanwhile
        return False
    return bool(mode & (_OTHERS | _GROUP) & ~(asked & _GROUP)) and not os.path.islink(path)


def _first(paths: list[str], root: Path) -> str:
    shown = ", ".join(os.path.relpath(path, root) for path in paths[:_SHOWN])
    return f"{shown}, …" if len(paths) > _SHOWN else shown


def _of_leftovers(root: Path, *, is_torn: bool) -> Iterator[Finding]:
    # Where a manifest is torn they are its own, rather.
    unnamed = [] if is_torn else list(unnamed_files(root, (*TABLES, "index", VECTORS)))
    if unnamed:
        size = sum(size for _, size in unnamed) / 1e6
        yield Finding(
            "info",
            f"{len(unnamed):,} files ({size:,.1f} MB) that no manifest names: a killed run's, or "
            "of one that is on",
            _first([str(root / path) for path, _ in unnamed], root),
            "run 'sjduck vacuum' on the machine of their writer",
        )
    aside = sum(len(names) for _, _, names in os.walk(root / "quarantine"))
    if aside:
        what = f"{aside:,} damaged files lie aside"
        yield Finding("info", what, "quarantine", "delete them once you miss nothing")


# -- what the files say together -----------------------------------------------------------


def _of_content(settings: Settings) -> list[Finding]:
    archive = Archive(settings.archive, timezone=settings.timezone)
    try:
        return archive.ask(lambda view: [*_of_rows(view), *_of_index(view)])
    except SjduckError as error:
        return [Finding("serious", str(error), str(settings.archive), _FIX)]
    finally:
        archive.close()


def _of_rows(view: View) -> Iterator[Finding]:
    (row,) = view.rows(sql("doctor/rows"), now=utc_now().replace(tzinfo=None))
    if row["without_text"]:
        what = f"{row['without_text']:,} documents have turns and no text"
        yield Finding("serious", what, "blocks", _FIX)
    if row["gone"]:
        yield Finding(
            "info",
            f"{row['gone']:,} documents are only here: their sources are gone",
            str(view.snapshot.root),
            "keep a backup of the archive",
        )
    if row["from_the_future"]:
        what = f"{row['from_the_future']:,} sessions begin in the future"
        yield Finding("warning", what, "documents", "set the clock of their machines")
    lacking = Counter(r["host"] or "?" for r in view.rows(sql("listing/lacking"), tz=view.timezone))
    if lacking:
        hosts = ", ".join(f"{count:,} of {host}" for host, count in lacking.most_common(_SHOWN))
        yield Finding(
            "info",
            f"{lacking.total():,} sessions that a catalogue knows are not here: {hosts}",
            "catalogue",
            "run 'sjduck etl' on those machines; 'sjduck status --detail coverage' lists them",
        )


def _of_index(view: View) -> Iterator[Finding]:
    import duckdb

    try:
        load_extension(view.connection)
    except (SjduckError, duckdb.Error):  # which is looked at on its own
        return
    prepare(view)
    for row in view.rows("select warning from index_warnings"):
        yield Finding("serious", row["warning"], "index", _FIX)
    (row,) = view.rows(sql("doctor/unindexed"))
    if row["documents"]:
        yield Finding(
            "warning",
            f"{row['documents']:,} documents are not in the search index",
            "index",
            "run 'sjduck etl', which tries again",
        )
