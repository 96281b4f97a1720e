"""Codex: the files of its home, and its session files of every generation.

A record is wrapped (`{timestamp, type, payload}`), or, up to the summer of 2025, a bare item after
a header line; the first versions wrote one JSON document, `{session, items}`. Words stand in most
files twice, as events (what the user was shown) and as items (what the model is sent): the first
of the two is taken. Tools are taken from items alone.
"""

import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from etl.document import Claim, Document, handle
from etl.lines import Lines, RawLine, parse
from etl.sources import history
from etl.sources.codex_session import HARNESS, Session
from etl.sources.codex_words import announced
from sjduck.jsontext import line_of
from sjduck.settings import Source
from sjduck.unrolled import of_document

FORMAT = "codex"
_FOLDERS = ("sessions", "archived_sessions")
_SESSION_ID = re.compile(r"(?:^|-)([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$", re.IGNORECASE)
_DAY = re.compile(r"\d{4}/\d{2}/\d{2}/")
# By then the user has spoken, and it is seen whether the version announces that.
_HEAD_RECORDS = 100
_PADDING = b"\xef\xbb\xbf\0 \t\r\n"


# -- which files ---------------------------------------------------------------------------


def claims(source: Source, root: str, path: str) -> Claim | None:
    """Say what a path under the home is."""
    match path.split("/"):
        case [folder, *_, name] if folder in _FOLDERS:
            return _claim(source, root, path, name, source.host)
        case ["history.jsonl"]:
            return Claim(
                source.name, source.kind, root, path, "codex-history", "log", source.host, HARNESS
            )
    return None


def session_claim(
    source: Source, root: str, path: str, rest: list[str], *, host: str | None
) -> Claim | None:
    """Say what a path under one project's folder of a scrubjay tree is."""
    *folders, name = rest
    is_place = not folders or _DAY.fullmatch("/".join((*folders, "")))
    if not is_place or not name.startswith("rollout-"):
        return None
    return _claim(source, root, path, name, host)


def _claim(source: Source, root: str, path: str, name: str, host: str | None) -> Claim | None:
    stem, _, extension = name.rpartition(".")
    if not stem or extension not in ("jsonl", "json"):
        return None
    session_id = _session_id(stem)
    return Claim(
        source.name, source.kind, root, path, FORMAT, "transcript", host, HARNESS,
        session_id=session_id, sid=handle(session_id) if session_id else None,
    )  # fmt: skip


def _session_id(stem: str) -> str | None:
    match = _SESSION_ID.search(stem)
    return match.group(1) if match else None


# -- what is in them -----------------------------------------------------------------------


flatten_history = history.flatten


def flatten(document: Document, lines: Lines) -> None:
    """Flatten a session file of any generation."""
    records = _records(document, lines)
    head = list(islice(records, _HEAD_RECORDS))
    session = Session(
        document, _session_id(document.claim.stem), announces=any(map(_is_typed, head))
    )
    for number, record in chain(head, records):
        try:
            session.take(record, number)
        except RecursionError:
            document.reject(number, None, "nested too deeply")
    session.finish()


def _is_typed(numbered: tuple[int, dict[str, Any]]) -> bool:
    words = announced(numbered[1])
    return words is not None and words.role == "user"


def _records(document: Document, lines: Lines) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the records with their lines; those of one JSON document with their places."""
    rest = iter(lines)
    first = next(rest, None)
    if first is None:
        return
    read = [first]
    if _begins_document(first):
        read += rest
        whole = b"".join(line.raw for line in read).decode("utf-8", "replace")
        objects = of_document(FORMAT, whole)
        if objects is not None:
            yield from _objects(document, objects)
            return
    for line in chain(read, rest):
        records, rejects = parse(line)
        for offset, reason, sample in rejects:
            document.reject(line.number, offset, reason, sample)
        for record in records:
            yield line.number, record


def _begins_document(line: RawLine) -> bool:
    """Tell whether a first line is that of a document, on several lines or on one."""
    raw = line.raw.strip(_PADDING)
    return raw == b"{" or (b'"items"' in raw and b'"payload"' not in raw)


def _objects(document: Document, objects: Iterator[Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    for place, value in enumerate(objects, 1):
        if isinstance(value, dict):
            yield place, value
        else:
            document.reject(place, None, "not a JSON object", line_of(value))
