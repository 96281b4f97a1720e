"""A writer's manifest from its files, where one that may have named them is damaged."""

import re
import secrets
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import file_digest
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from etl import manifests
from etl.naming import named, place_of
from sjduck import __version__
from sjduck.pruned import Key, Tombstone, from_body
from sjduck.settings import Settings
from sjduck.snapshots import (
    TABLES,
    Manifest,
    Segment,
    TableFile,
    manifest_name,
    newest_manifest,
    utc_now,
)

_NAME = re.compile(r"-(\d{8})-[0-9a-f]+-(\d+)$")


def damaged_manifests(root: Path, writer: str) -> list[str]:
    """Return the manifests of a writer that are not whole."""
    torn = manifests.torn(root, writer)
    return [f"manifests/{writer}/{manifest_name(number)}" for number in torn]


def recovered(settings: Settings, writer: str) -> Manifest:
    """Return the next generation of a writer: its newest whole one, and the files beside it.

    Of a document that lies in several segments the copy in the newest lives.
    """
    root = settings.archive
    before = newest_manifest(root, writer)
    generation = manifests.next_generation(root, writer)
    known = {segment.name for segment in before.segments} if before else set()
    segments = [*(before.segments if before else ()), *_unnamed(root, writer, known)]
    sources = named(settings.sources, before.sources if before else {})
    return Manifest(
        writer=writer,
        host=settings.host,
        generation=generation,
        created_at=utc_now(),
        sjduck=__version__,
        # There is none: it is told from the archive.
        state=f"state-{generation:08d}-{secrets.token_hex(3)}",
        segments=tuple(_with_the_newest_alive(root, segments)),
        gone=before.gone if before else {},
        sources={
            **(before.sources if before else {}),
            **{name: place_of(source) for name, source in sources.items()},
        },
        tombstones={**(before.tombstones if before else {}), **_tombstones(root, writer)},
        vectors=before.vectors if before else (),
    )


def _unnamed(root: Path, writer: str, known: set[str]) -> list[Segment]:
    """Return the segments that lie there whole, beside those that are known."""
    files: dict[str, dict[str, Path]] = defaultdict(dict)
    for table in TABLES:
        for file in (root / table).glob(f"host=*/year=*/{writer}-*.parquet"):
            if file.stem not in known and _NAME.search(file.stem):
                files[file.stem][table] = file
    found = (_segment(root, name, tables) for name, tables in sorted(files.items()))
    return [segment for segment in found if segment is not None]


def _segment(root: Path, name: str, files: Mapping[str, Path]) -> Segment | None:
    """Return what some files make; None where one of them can't be read."""
    try:
        rows = {table: pq.read_metadata(file).num_rows for table, file in files.items()}
        columns = ["host", "started_at", "ended_at"]
        documents = pq.read_table(files["documents"], columns=columns).to_pylist()
        tables = {
            table: TableFile(
                file.relative_to(root).as_posix(), rows[table], file.stat().st_size, _digest(file)
            )
            for table, file in files.items()
        }
    except (OSError, KeyError, pa.ArrowException):
        return None
    instants = [row[name] for row in documents for name in columns[1:] if row[name]]
    return Segment(
        name=name,
        host=documents[0]["host"] if documents else None,
        year=int(files["documents"].parent.name.removeprefix("year=")),
        tables=tables,
        first_at=min(instants).isoformat() if instants else None,
        last_at=max(instants).isoformat() if instants else None,
    )


def _with_the_newest_alive(root: Path, segments: list[Segment]) -> list[Segment]:
    seen: set[int] = set()
    settled = []
    for segment in sorted(segments, key=lambda s: _age(s.name), reverse=True):
        path = root / segment.tables["documents"].path
        try:
            documents = set(pq.read_table(path, columns=["document"])["document"].to_pylist())
        except (OSError, pa.ArrowException):
            settled.append(segment)
            continue
        dead = segment.dead | (documents & seen)
        seen |= documents - segment.dead
        if documents - dead:
            settled.append(replace(segment, dead=frozenset(dead)))
    return settled


def _age(name: str) -> tuple[int, int]:
    """Return what orders segments by when they were written."""
    match = _NAME.search(name)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


def _tombstones(root: Path, writer: str) -> dict[Key, Tombstone]:
    """Return the tombstones that a damaged manifest still shows: rather one too many."""
    found: dict[Key, Tombstone] = {}
    for path in damaged_manifests(root, writer):
        with suppress(OSError, orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            body: Any = orjson.loads((root / path).read_bytes())
            found |= from_body(body["manifest"]["tombstones"])
    return found
