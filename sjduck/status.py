"""What the archive holds, from where, as of when, and what it knows that it lacks."""

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from sjduck import __version__
from sjduck.archive import Row, View, question
from sjduck.bounds import Answer, bound, page
from sjduck.errors import UsageError
from sjduck.mounts import folders, resolved
from sjduck.periods import local
from sjduck.semantic.coverage import coverage
from sjduck.settings import Source, check_timezone
from sjduck.snapshots import Manifest, history, manifest_folder
from sjduck.sqlfiles import functions, published, sql

DETAILS = ("summary", "hosts", "coverage", "schema")
MAX_CHARS = 12_000
MAX_LISTED = 20


@question
def status(
    view: View,
    *,
    sources: tuple[Source, ...],
    detail: str = "summary",
    tz: str | None = None,
    offset: int = 0,
    max_chars: int | None = None,
) -> Answer:
    """Return the state of the archive: a summary, or a page of the rows of one detail."""
    if detail not in DETAILS:
        raise UsageError(f"unknown detail {detail!r}; one of: {', '.join(DETAILS)}")
    max_chars = bound(max_chars, MAX_CHARS)
    tz = check_timezone(tz or view.timezone)
    head = {"archive": str(view.snapshot.root), "detail": detail, "tz": tz}
    if detail == "summary":
        return {**head, **_summary(view, sources, tz)}
    rows = {"hosts": _hosts, "coverage": _lacking, "schema": _schema}[detail](view, tz)
    offset = max(offset, 0)
    return page(
        head, rows[offset:], name="rows", total=len(rows), offset=offset, max_chars=max_chars
    )


def snapshots(root: Path, tz: str) -> list[Row]:
    """Return the generations that are kept, newest first."""
    return [
        {
            "created": f"{local(manifest.created_at.replace(tzinfo=None), tz):%Y-%m-%d %H:%M:%S}",
            "created_at": manifest.created_at.isoformat(),
            "writer": manifest.writer,
            "generation": manifest.generation,
            "host": manifest.host,
            "segments": len(manifest.segments),
            "documents": sum(segment.live_documents for segment in manifest.segments),
            "bytes": manifest.total_bytes,
            "sjduck": manifest.sjduck,
        }
        for manifest in history(root)
    ]


def _summary(view: View, sources: tuple[Source, ...], tz: str) -> Answer:
    types: dict[str, int] = {}
    gone = 0
    for row in view.rows(sql("listing/counts")):
        types[row["type"]] = types.get(row["type"], 0) + row["documents"]
        gone += row["source_gone"]
    manifests = view.snapshot.manifests
    rejects = {row["reason"]: row["rejects"] for row in view.rows(sql("listing/rejects"))}
    writers = [_writer(view, manifest, tz) for manifest in manifests]
    there = folders(source.path for source in sources)
    places = [_source(source, manifests, is_reachable=source.path in there) for source in sources]
    lists = {"rejects": rejects, "writers": writers, "sources": places}
    left_out = {
        name: len(rows) - MAX_LISTED for name, rows in lists.items() if len(rows) > MAX_LISTED
    }
    return {
        "bytes": view.snapshot.total_bytes,
        "index": _index(view),
        **({"semantic": semantic} if (semantic := coverage(view)) else {}),
        "documents": types,
        "source_gone": gone,
        "lacking": len(_lacking(view, tz)),
        "rejects": dict(list(rejects.items())[:MAX_LISTED]),
        **_masked(view),
        "writers": writers[:MAX_LISTED],
        "sources": places[:MAX_LISTED],
        **({"left_out": left_out} if left_out else {}),
        "sjduck": __version__,
    }


def _masked(view: View) -> Answer:
    """Return in how many places a secret is masked, where anything was looked through for them."""
    segments = view.snapshot.segments
    masked = [segment.live_masked for segment in segments]
    if not any(masked) and not any(segment.masked_by for segment in segments):
        return {}
    places = sum(sum(of_each.values()) for of_each in masked)
    left = sum(not segment.masked_by for segment in segments)
    counts = {"places": places, "documents": sum(map(len, masked)), "segments_left": left}
    return {"secrets_masked": counts}


def _index(view: View) -> Row:
    """Return what there is of the search index, and how many of its files are not whole."""
    files = [index for manifest in view.snapshot.manifests for index in manifest.indexes]
    damaged = 0
    for index in files:
        try:
            damaged += (view.snapshot.root / index.path).stat().st_size != index.bytes
        except OSError:
            damaged += 1
    return {"files": len(files), "bytes": sum(f.bytes for f in files), "damaged": damaged}


def _writer(view: View, manifest: Manifest, tz: str) -> Row:
    run = last_run(view.snapshot.root, manifest.writer)
    started = run.get("started_at")
    return {
        "writer": manifest.writer,
        "host": manifest.host,
        "generation": manifest.generation,
        "published": _local(manifest.created_at, tz),
        "last_run": _local(datetime.fromisoformat(started), tz) if started else None,
        "seconds": run.get("seconds"),
        "segments": len(manifest.segments),
        "filled_from": [f"{s['kind']} {s['root']}" for s in manifest.sources.values()][:MAX_LISTED],
    }


def last_run(root: Path, writer: str) -> dict[str, Any]:
    """Return the report of a writer's last run, empty where it left none."""
    with suppress(OSError, orjson.JSONDecodeError):
        report = orjson.loads((manifest_folder(root, writer) / "last-run").read_bytes())
        if isinstance(report, dict):
            return report
    return {}


def _source(source: Source, manifests: tuple[Manifest, ...], *, is_reachable: bool) -> Row:
    real = os.path.realpath(source.path) if is_reachable else resolved(source.path)
    place = {"kind": source.kind, "root": real}
    return {
        "kind": source.kind,
        "path": str(source.path),
        "is_reachable": is_reachable,
        "is_taken_in": any(place in manifest.sources.values() for manifest in manifests),
    }


def _hosts(view: View, tz: str) -> list[Row]:
    hosts: dict[str | None, Row] = {}

    def of(host: str | None) -> Row:
        new: Row = {"host": host, "documents": {}, "bytes": 0, "newest": None, "published": None}
        return hosts.setdefault(host, {**new, "lacking": 0})

    for row in view.rows(sql("listing/counts")):
        host = of(row["host"])
        host["documents"][row["type"]] = row["documents"]
        host["bytes"] += row["bytes"]
        host["newest"] = max(filter(None, (host["newest"], row["newest_at"])), default=None)
    for row in _lacking(view, tz):
        of(row["host"])["lacking"] += 1
    for manifest in view.snapshot.manifests:
        for name in {segment.host for segment in manifest.segments} & set(hosts):
            known = hosts[name]["published"] or manifest.created_at
            hosts[name]["published"] = max(known, manifest.created_at)
    return [
        {
            **host,
            "newest": _local(host["newest"], tz),
            "published": _local(host["published"], tz),
        }
        for _, host in sorted(hosts.items(), key=lambda item: (item[0] is None, item[0]))
    ]


def _lacking(view: View, tz: str) -> list[Row]:
    return view.rows(sql("listing/lacking"), tz=tz)


def _schema(view: View, tz: str) -> list[Row]:
    return [
        {"table": table.name, "column": column.name, "type": column.type, "about": column.about}
        for table in (*published().values(), *functions().values())
        for column in table.columns
    ]


def _local(moment: datetime | None, tz: str) -> str | None:
    there = local(moment and moment.replace(tzinfo=None), tz)
    return f"{there:%Y-%m-%d %H:%M}" if there else None
