"""Prune: set tombstones for what is to go, and take it out of this writer's files at once.

The tombstones are published first: from then on no reader shows what they keep away, and any run
of any writer takes it out of that writer's own files. So a prune that is killed is finished by
the next run.
"""

import os
import secrets
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from etl import manifests
from etl.files import Modes
from etl.pipeline import Upkeep, run_locked, writing
from etl.purge import Search
from etl.report import Progress
from etl.selection import Filters, Selection, means, named_by, select
from etl.state import State, write_state
from sjduck import __version__
from sjduck.archive import Archive, Row
from sjduck.errors import NothingToRead, UsageError
from sjduck.pruned import Key, Pruned, Tombstone, Tombstones
from sjduck.settings import Settings
from sjduck.snapshots import Manifest, newest_manifest, read_snapshot, utc_now

Answer = dict[str, Any]
_TICK = timedelta(microseconds=1)


def prune(
    settings: Settings, writer: str, progress: Progress, filters: Filters, *, is_dry: bool
) -> Answer:
    """Return what a prune takes, or took: documents, their writers, entries of catalogues.

    Raises UsageError where nothing narrows it down.
    """
    if filters.is_empty:
        raise UsageError("name what to prune: --before, --older-than, --sid, --project, --host, …")
    if not read_snapshot(settings.archive).manifests:
        raise NothingToRead(f"no snapshot in {settings.archive}; run 'sjduck etl' to make one")
    if is_dry:
        return _answer(settings, writer, _selected(settings, filters), filters, is_dry=True)
    with writing(settings.archive, writer, progress) as modes:
        selection = _selected(settings, filters)
        answer = _answer(settings, writer, selection, filters, is_dry=False)
        if not selection.keys:
            return answer
        stones = _stones(settings.archive, selection.keys, with_catalogue=filters.with_catalogue)
        _publish(settings, writer, modes, stones)
        # Without sources: it takes out, and takes nothing in.
        report = run_locked(replace(settings, sources=()), writer, modes, progress, Upkeep())
    kept = _quarantined(settings.archive)
    return {
        **answer,
        "generation": report.generation,
        "freed": report.freed,
        **({"quarantined": kept} if kept else {}),
        "warnings": report.warnings,
    }


def forget(
    settings: Settings,
    writer: str,
    progress: Progress,
    *,
    sids: Iterable[str],
    is_all: bool,
    is_dry: bool,
) -> Answer:
    """Return the tombstones that are lifted, or would be: those of some sessions, or all."""
    refs = tuple(sids)
    if not is_dry and not (refs or is_all):
        raise UsageError("name what to let back: --sid, or --all")
    if is_dry:
        lifted = _named(settings.archive, refs)
    else:
        with writing(settings.archive, writer, progress) as modes:
            lifted = _named(settings.archive, refs)
            now = utc_now()
            ends = {
                key: Tombstone(max(now, stone.at + _TICK), is_lifted=True)
                for key, stone in lifted.items()
            }
            if ends:
                _publish(settings, writer, modes, ends)
    rows = [
        {"kind": key.kind, "id": key.id, "host": key.host, "since": stone.at.isoformat()}
        for key, stone in sorted(lifted.items(), key=lambda item: (item[1].at, str(item[0])))
    ]
    return {
        "archive": str(settings.archive),
        "is_dry": is_dry,
        "total": len(rows),
        "tombstones": rows,
    }


def _named(root: Path, refs: tuple[str, ...]) -> dict[Key, Tombstone]:
    """Return the tombstones that stand and that some refs mean; all where there are none."""
    return {
        key: stone
        for key, stone in _newest(root).items()
        if not stone.is_lifted and (not refs or any(named_by(ref, key) for ref in refs))
    }


def _selected(settings: Settings, filters: Filters) -> Selection:
    archive = Archive(settings.archive, timezone=settings.timezone, redact=settings.redact)
    try:
        return archive.ask(lambda view: select(view, filters, settings.timezone))
    finally:
        archive.close()


# -- tombstones ----------------------------------------------------------------------------


def _newest(root: Path) -> dict[Key, Tombstone]:
    """Return the newest tombstone of every key, lifted ones too."""
    newest: dict[Key, Tombstone] = {}
    for manifest in read_snapshot(root).manifests:
        for key, stone in manifest.tombstones.items():
            if key not in newest or stone.at > newest[key].at:
                newest[key] = stone
    return newest


def _stones(root: Path, keys: Iterable[Key], *, with_catalogue: bool) -> dict[Key, Tombstone]:
    """Return tombstones that are newer than any, also than those of a clock that is ahead."""
    known = _newest(root)
    now = utc_now()
    stones = {}
    for key in keys:
        before = known.get(key)
        at = max(now, before.at + _TICK) if before else now
        kept = before is not None and not before.is_lifted and before.with_catalogue
        stones[key] = Tombstone(at, with_catalogue=with_catalogue or kept)
    return stones


def _publish(
    settings: Settings, writer: str, modes: Modes, stones: Mapping[Key, Tombstone]
) -> None:
    """Publish a generation that differs from the newest in its tombstones alone."""
    root = settings.archive
    before = newest_manifest(root, writer)
    generation = manifests.next_generation(root, writer)
    if before is None:
        name = f"state-{generation:08d}-{secrets.token_hex(3)}"
        write_state(root, writer, name, State({}), modes.file)
        before = Manifest(writer, settings.host, 0, utc_now(), __version__, name, ())
    others = [m.tombstones for m in read_snapshot(root).manifests if m.writer != writer]
    manifest = replace(
        before,
        generation=generation,
        created_at=utc_now(),
        sjduck=__version__,
        tombstones=_needed({**before.tombstones, **stones}, others),
    )
    manifests.publish(root, manifest, modes)


def _needed(own: Tombstones, others: Iterable[Tombstones]) -> dict[Key, Tombstone]:
    """Leave out what is lifted and stands with no other writer."""
    elsewhere = {key for tombstones in others for key in tombstones}
    return {k: stone for k, stone in own.items() if not stone.is_lifted or k in elsewhere}


# -- the answer ----------------------------------------------------------------------------


def _answer(
    settings: Settings, writer: str, selection: Selection, filters: Filters, *, is_dry: bool
) -> Answer:
    documents = _documents(selection.copies)
    only_listed = [_entry(entry) for entry in selection.entries if not entry["is_here"]]
    found = [*selection.copies, *selection.entries]
    lacking = [ref for ref in filters.sids if not any(means(ref, row) for row in found)]
    pruned = Pruned(dict.fromkeys(selection.keys, filters.with_catalogue))
    return {
        "archive": str(settings.archive),
        "is_dry": is_dry,
        "total": len(documents) + len(only_listed),
        "sessions": sum(row["type"] == "transcript" for row in documents),
        "bytes": sum(row["bytes"] for row in documents),
        "catalogue_rows": sum(entry["entries"] for entry in selection.entries),
        "prompts": sum(entry["prompts"] for entry in selection.entries),
        "snapshots": _older_snapshots(settings.archive, writer, pruned),
        "writers": _writers(settings, writer, selection.copies),
        **({"not_found": lacking} if lacking else {}),
        "items": [*documents, *only_listed],
    }


def _entry(entry: Row) -> Row:
    return {
        "type": "log",
        "date": entry["dated_at"] and f"{entry['dated_at']:%Y-%m-%d}",
        **{name: entry[name] for name in ("host", "project", "topic", "sid", "session_id")},
        "bytes": 0,
    }


def _documents(copies: Iterable[Row]) -> list[Row]:
    """Return one row a document on a host, with all its copies."""
    groups: dict[tuple[str | None, str], list[Row]] = defaultdict(list)
    for copy in copies:
        groups[copy["host"], copy["identity"]].append(copy)
    return [_document(group) for group in groups.values()]


def _document(copies: list[Row]) -> Row:
    first = copies[0]
    return {
        "type": first["type"],
        "date": first["dated_at"] and f"{first['dated_at']:%Y-%m-%d}",
        "host": first["host"],
        "project": first["project"],
        "topic": first["topic"],
        "sid": first["sid"],
        "session_id": first["whole_id"],
        "document": str(first["document"]),
        "bytes": sum(copy["bytes"] for copy in copies),
        "copies": len(copies),
        "writers": sorted({copy["writer"] for copy in copies}),
    }


def _writers(settings: Settings, writer: str, copies: Iterable[Row]) -> list[Row]:
    """Return whose files hold what goes; others' do until their own next run."""
    held: dict[str, list[Row]] = defaultdict(list)
    for copy in copies:
        held[copy["writer"]].append(copy)
    hosts = {m.writer: m.host for m in read_snapshot(settings.archive).manifests}
    return [
        {
            "writer": name,
            "host": hosts.get(name),
            "is_this": name == writer,
            "copies": len(rows),
            "bytes": sum(row["bytes"] for row in rows),
        }
        for name, rows in sorted(held.items())
    ]


def _older_snapshots(root: Path, writer: str, pruned: Pruned) -> int:
    """Return how many older generations of this writer hold it, and go with it."""
    generations = manifests.whole(root, writer)
    search = Search(root, pruned, generations.values())
    return sum(search.is_in(m) for n, m in generations.items() if n != max(generations))


def _quarantined(root: Path) -> int:
    """Return how many damaged files lie aside, in which it may stand, too."""
    return sum(len(names) for _, _, names in os.walk(root / "quarantine"))
