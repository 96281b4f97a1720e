"""What the archive holds, from where, as of when, and what it knows that it lacks."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from sjduck import __version__
from sjduck.archive import Row, View, question
from sjduck.bounds import Answer, page
from sjduck.errors import UsageError
from sjduck.periods import local
from sjduck.settings import Source
from sjduck.snapshots import Manifest, history, manifest_folder
from sjduck.sqlfiles import dictionary, sql

DETAILS = ("summary", "hosts", "coverage", "schema")
MAX_CHARS = 12_000


@question
def status(
    view: View,
    *,
    sources: tuple[Source, ...],
    detail: str = "summary",
    tz: str | None = None,
    max_chars: int = MAX_CHARS,
) -> Answer:
    """Return the state of the archive: a summary, or the rows of one detail."""
    if detail not in DETAILS:
        raise UsageError(f"unknown detail {detail!r}; one of: {', '.join(DETAILS)}")
    tz = tz or view.timezone
    head = {"archive": str(view.snapshot.root), "detail": detail, "tz": tz}
    if detail == "schema":
        rows = [
            {"table": table.name, "column": c.name, "type": c.type, "about": c.about}
            for table in dictionary().values()
            for c in table.columns
        ]
    elif detail == "coverage":
        rows = view.rows(sql("listing/lacking"), tz=tz)
    elif detail == "hosts":
        rows = _hosts(view, tz)
    else:
        return {**head, **_summary(view, sources, tz)}
    return page(head, rows, name="rows", total=len(rows), offset=0, max_chars=max_chars)


def snapshots(root: Path, tz: str) -> list[Row]:
    """Return the generations that are kept, newest first."""
    return [
        {
            "created": _local(manifest.created_at.replace(tzinfo=None), tz),
            "created_at": manifest.created_at.isoformat(timespec="seconds"),
            "writer": manifest.writer,
            "generation": manifest.generation,
            "host": manifest.host,
            "segments": len(manifest.segments),
            "documents": sum(segment.live_documents for segment in manifest.segments),
            "bytes": sum(segment.bytes for segment in manifest.segments),
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
    return {
        "bytes": sum(segment.bytes for segment in view.snapshot.segments),
        "documents": types,
        "source_gone": gone,
        "lacking": len(view.rows(sql("listing/lacking"), tz=tz)),
        "rejects": {row["reason"]: row["rejects"] for row in view.rows(sql("listing/rejects"))},
        "writers": [_writer(view, manifest, tz) for manifest in manifests],
        "sources": [
            {"kind": s.kind, "path": str(s.path), "is_reachable": s.path.is_dir()} for s in sources
        ],
        "sjduck": __version__,
    }


def _writer(view: View, manifest: Manifest, tz: str) -> Row:
    run = last_run(view.snapshot.root, manifest.writer)
    return {
        "writer": manifest.writer,
        "host": manifest.host,
        "generation": manifest.generation,
        "published": _local(manifest.created_at.replace(tzinfo=None), tz),
        "last_run": run.get("started_at"),
        "seconds": run.get("seconds"),
        "segments": len(manifest.segments),
        "filled_from": [f"{s['kind']} {s['root']}" for s in manifest.sources.values()],
    }


def last_run(root: Path, writer: str) -> dict[str, Any]:
    """Return the report of a writer's last run, empty where it left none."""
    with suppress(OSError, orjson.JSONDecodeError):
        report = orjson.loads((manifest_folder(root, writer) / "last-run").read_bytes())
        if isinstance(report, dict):
            return report
    return {}


def _hosts(view: View, tz: str) -> list[Row]:
    hosts: dict[str | None, Row] = {}
    for row in view.rows(sql("listing/counts")):
        host = hosts.setdefault(
            row["host"], {"host": row["host"], "documents": {}, "bytes": 0, "newest": None}
        )
        host["documents"][row["type"]] = row["documents"]
        host["bytes"] += row["bytes"]
        host["newest"] = max(filter(None, (host["newest"], row["newest_at"])), default=None)
    lacking: dict[str | None, int] = {}
    for row in view.rows(sql("listing/lacking"), tz=tz):
        lacking[row["host"]] = lacking.get(row["host"], 0) + 1
        hosts.setdefault(
            row["host"], {"host": row["host"], "documents": {}, "bytes": 0, "newest": None}
        )
    return [
        {**host, "newest": _local(host["newest"], tz), "lacking": lacking.get(name, 0)}
        for name, host in sorted(hosts.items(), key=lambda item: item[0] or "~")
    ]


def _local(moment: Any, tz: str) -> str | None:
    there = local(moment, tz)
    return f"{there:%Y-%m-%d %H:%M}" if there else None
