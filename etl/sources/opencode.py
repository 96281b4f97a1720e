"""opencode: the sessions of its home, in a database or in many files, and exported ones."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from etl.document import Claim, Document, SourceFile, handle
from etl.lines import Lines, RawLine, parse
from etl.sources.opencode_session import HARNESS, Session
from sjduck import unrolled
from sjduck.opencode import DATABASE, database_sizes, is_piece
from sjduck.settings import Source

_EXPORT = re.compile(r"ses_[0-9A-Za-z]+\.json")
# Milliseconds; a later one than this is no time.
_LAST_MS = 2**42


# -- which files ---------------------------------------------------------------------------


def claims(source: Source, root: str, path: str) -> Claim | Literal["piece"] | None:
    """Say what a path under opencode's home is."""
    match path.split("/"):
        case ["storage", "session", "share", _]:
            return None  # what the first versions kept there are secrets
        case ["storage", "session" | "message" | "part", _, name] if is_piece(name):
            return "piece"
        case [name] if name == DATABASE:
            return "piece"
    return None


def session_claim(
    source: Source, root: str, path: str, rest: list[str], *, host: str | None
) -> Claim | None:
    """Say what a path under one project's folder of a scrubjay tree is.

    Other programs write JSON there too: an export is known by the session id in its name.
    """
    if len(rest) != 1 or not _EXPORT.fullmatch(rest[0]):
        return None
    return _claim(source, root, path, "opencode", rest[0].removesuffix(".json"), host)


def gather(
    source: Source, root: str, pieces: Iterable[tuple[str, SourceFile]]
) -> Iterator[tuple[Claim, SourceFile]]:
    """Yield the sessions that the pieces make; raises OSError where the database can't be read."""
    files = [(path.split("/"), seen) for path, seen in pieces]
    stored = [(parts, seen) for parts, seen in files if len(parts) > 1]
    for session_id, path, seen in _stored_sessions(stored):
        yield _claim(source, root, path, "opencode-storage", session_id, source.host), seen
    if len(stored) < len(files):
        for row in database_sizes(root):
            session_id, updated = str(row["session_id"]), row["time_updated"]
            is_time = isinstance(updated, int) and 0 <= updated < _LAST_MS
            seen = SourceFile(int(row["bytes"] or 0), updated * 1_000_000 if is_time else 0)
            path = f"{DATABASE}/{session_id}"
            yield _claim(source, root, path, "opencode-db", session_id, source.host), seen


def _stored_sessions(
    pieces: list[tuple[list[str], SourceFile]],
) -> Iterator[tuple[str, str, SourceFile]]:
    """Yield each session of the storage tree: its id, its path, and what its pieces amount to.

    Parts of a message that is not there belong to nothing: opencode leaves them when it takes
    a message back.
    """
    paths: dict[str, str] = {}
    sessions: dict[str, str] = {}
    for (_, kind, folder, name), _seen in pieces:
        if kind == "session":
            paths[name.removesuffix(".json")] = f"storage/session/{folder}/{name}"
        elif kind == "message":
            sessions[name.removesuffix(".json")] = folder
            paths.setdefault(folder, f"storage/message/{folder}")
    sizes = dict.fromkeys(paths, SourceFile(0, 0))
    for (_, kind, folder, name), seen in pieces:
        stem = name.removesuffix(".json")
        session_id = {"session": stem, "message": folder}.get(kind) or sessions.get(folder)
        if session_id is not None:
            size, newest = sizes[session_id]
            sizes[session_id] = SourceFile(size + seen.size, max(newest, seen.mtime_ns))
    for session_id, path in paths.items():
        yield session_id, path, sizes[session_id]


def _claim(
    source: Source, root: str, path: str, format: str, session_id: str, host: str | None
) -> Claim:
    return Claim(
        source.name, source.kind, root, path, format, "transcript", host, HARNESS,
        session_id=session_id, sid=handle(session_id),
    )  # fmt: skip


# -- what is in them -----------------------------------------------------------------------


def flatten(document: Document, lines: Lines) -> None:
    """Flatten an export."""
    text = lines.text()
    records = unrolled.of_document("opencode", text)
    if records is not None:
        _take(document, records)
        return
    found, rejects = parse(RawLine(1, 0, text.encode()))
    for offset, reason, sample in rejects:
        document.reject(None, offset, reason, sample)
    if found:
        document.reject(None, None, "not an opencode export", text)


def flatten_gathered(document: Document) -> None:
    """Flatten a session that lies in several files or in the database."""
    claim = document.claim
    _take(document, unrolled.records(claim.format, claim.root, claim.path) or ())


def _take(document: Document, records: Iterable[Any]) -> None:
    session = Session(document)
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            sample = record if isinstance(record, str) else repr(record)
            document.reject(number, None, "not a JSON object", sample)
            continue
        try:
            session.take(record, number)
        except RecursionError:
            document.reject(number, None, "nested too deeply")
    session.finish()
