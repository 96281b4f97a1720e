"""Refs: a handle, a whole session id, an `sj://` URI or a path → one document, or why not."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from sjduck.archive import Row, View
from sjduck.bounds import Answer
from sjduck.mounts import resolved
from sjduck.sqlfiles import sql

_NOT_FOUND = "not found or outside the archive"
_URI = "sj://"
_SUFFIXES = (".md", ".json", ".jsonl", ".log")
MAX_CANDIDATES = 10


def uri(row: Mapping[str, Any]) -> str:
    """Return the URI of a document: `sj://<type>/<host>/<project>/<stem>` as its type has them."""
    type_ = "transcript" if row["type"] == "subagent" else row["type"]
    host, project = row["host"] or "-", row["project"] or "-"
    parts = {
        "transcript": (host, project),
        "memory": (project,),
        "note": (project,),
    }.get(type_, (host,))
    return _URI + "/".join(quote(part, safe="") for part in (type_, *parts, row["stem"]))


def path_of(row: Mapping[str, Any]) -> str:
    """Return where a document can be read: its archived readable, else its URI."""
    return row["readable_path"] or uri(row)


def source_path(row: Mapping[str, Any]) -> str:
    """Return where a document's source lay when it was taken in."""
    return f"{row['source_root']}/{row['source_path']}"


def resolve(view: View, ref: str) -> Row | Answer:
    """Return the document that `ref` names, or an answer that carries `error`.

    The document is the longest copy of its session; `also_on` lists the other hosts.
    """
    ref = ref.strip()
    candidates = _candidates(view, ref) if ref else []
    by_session: dict[str, list[Row]] = {}
    for row in candidates:
        by_session.setdefault(row["identity"], []).append(row)
    if len(by_session) > 1:
        return _ambiguous(ref, [copies[0] for copies in by_session.values()])
    if not by_session:
        return _pointer(view, ref) or {"error": _NOT_FOUND, "ref": ref}
    document = next(iter(by_session.values()))[0]
    others = [host for host in document["hosts"] or () if host != document["host"]]
    return {**document, "also_on": others}


def is_answer(found: Row | Answer) -> bool:
    """Tell an answer that carries `error` from a document."""
    return "error" in found


def _candidates(view: View, ref: str) -> list[Row]:
    if ref.startswith(_URI):
        return _by_uri(view, ref)
    if "/" in ref or "\\" in ref or ref.endswith(_SUFFIXES):
        return _by_path(view, ref)
    found = view.rows(sql("refs/by_id"), ref=ref, bare=ref.removeprefix("ses_"))
    return _closest(found)


def _by_path(view: View, ref: str) -> list[Row]:
    """Return the documents at a path as it is written, else at where it leads on this machine."""
    ref = ref.replace("\0", "")  # which no path can hold
    for path in (ref, resolved(Path(os.path.expanduser(ref)))):
        found = view.rows(sql("refs/by_path"), path=path.replace("\\", "/"))
        if found:
            return _closest(found)
    return []


def _closest(found: list[Row]) -> list[Row]:
    best = min((row["rank"] for row in found), default=0)
    return [row for row in found if row["rank"] == best]


def _by_uri(view: View, ref: str) -> list[Row]:
    parts = [unquote(part) for part in ref.removeprefix(_URI).split("/")]
    wanted: dict[str, str | None]
    match parts:
        case ["transcript", host, project, stem]:
            wanted = {"host": host, "project": project, "stem": stem}
        case ["memory" | "note", project, stem]:
            wanted = {"host": None, "project": project, "stem": stem}
        case ["plan" | "log" | "file", host, stem]:
            wanted = {"host": host, "project": None, "stem": stem}
        case _:
            return []
    return view.rows(sql("refs/by_uri"), type=parts[0], **wanted)


def _pointer(view: View, ref: str) -> Answer | None:
    """Point to the host of a session that only the catalogue knows."""
    bare = ref.removeprefix("ses_")
    known = view.rows(sql("refs/in_catalogue"), ref=ref, bare=bare, tz=view.timezone)
    if not known:
        return None
    row = known[0]
    if row["session_id"] != ref and any(r["session_id"] != row["session_id"] for r in known):
        keys = ("host", "date", "topic", "session_id")
        return _one_of(ref, [{key: r[key] for key in keys} for r in known])
    host = row["host"] or "the host it ran on"
    return {
        "error": "no transcript in this archive",
        "sid": row["sid"],
        "session_id": row["session_id"],
        "host": row["host"],
        "date": row["date"],
        "topic": row["topic"],
        "cwd": row["cwd"],
        "hint": f"look on {host}, or run 'sjduck etl' there",
    }


def _ambiguous(ref: str, firsts: list[Row]) -> Answer:
    uris = [uri(row) for row in firsts]
    keys = ("type", "host", "project", "topic", "session_id")
    candidates = [
        {
            **{key: row[key] for key in keys},
            "path": path_of(row) if uris.count(uri(row)) == 1 else source_path(row),
        }
        for row in firsts
    ]
    return _one_of(ref, candidates)


def _one_of(ref: str, candidates: list[Answer]) -> Answer:
    wanted = f"ambiguous: {len(candidates)} different documents; use a whole session id or path"
    return {"error": wanted, "ref": ref, "candidates": candidates[:MAX_CANDIDATES]}
