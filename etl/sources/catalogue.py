"""The session catalogue: one row a session in an append-only log."""

import re
from datetime import datetime

from etl.document import Document, handle
from etl.lines import Lines
from etl.tables import CatalogueRow

# A row is some hundred characters; in a longer line the pattern would look for long.
MAX_ROW_CHARACTERS = 10_000
_ROW = re.compile(
    r"^(?P<time>\d{4}-\d{2}-\d{2} \d{2}:\d{2}) \| (?P<host>[^|]*) \| (?P<cwd>.*?) \| "
    r'"(?P<topic>.*)" \| session=(?P<session>[^\s|]+)(?P<rest> \| .*)?$'
)
_STRAY_PROMPT = re.compile(r"^(?:[❯>]\s*)+")
_KNOWN = frozenset({"harness", "model", "turns", "size"})


def flatten(document: Document, lines: Lines) -> None:
    """Flatten a catalogue log; a line that is no row is kept as a reject."""
    count = size = 0
    for line in lines:
        count, size = line.number, line.offset + len(line.raw)
        text = line.raw.decode("utf-8", "replace").strip("\ufeff\0\r\n ")
        if not text:
            continue
        row = parse_row(document.id, line.number, text)
        if row is None:
            document.reject(line.number, line.offset, "not a catalogue row", text)
        else:
            document.catalogue(row)
    document.set_readable(turns=0, lines=count, size=size, digest=0)


def parse_row(document: int, number: int, text: str) -> CatalogueRow | None:
    """Return one line of the log as a row, or None where it is none."""
    match = _ROW.match(text) if len(text) <= MAX_ROW_CHARACTERS else None
    if match is None:
        return None
    try:
        logged = datetime.strptime(match["time"], "%Y-%m-%d %H:%M")
    except ValueError:
        return None
    written = [part.partition("=") for part in (match["rest"] or "").split(" | ")]
    fields = {name.strip(): value.strip() for name, _, value in written if name.strip()}
    return CatalogueRow(
        document=document,
        line=number,
        host=match["host"].strip() or None,
        session_id=match["session"],
        sid=handle(match["session"]),
        logged_local=int((logged - datetime(1970, 1, 1)).total_seconds()) * 1_000_000,
        logged_at=None,
        cwd=match["cwd"] or None,
        topic=_topic(match["topic"]),
        harness=fields.get("harness") or None,
        model=fields.get("model") or None,
        turns=_whole(fields.get("turns"), 2**31),
        bytes=_whole(fields.get("size"), 2**63),
        extra=sorted((name, value) for name, value in fields.items() if name not in _KNOWN),
    )


def _topic(written: str) -> str | None:
    topic = _STRAY_PROMPT.sub("", written.replace('\\"', '"')).strip()
    return None if topic in ("", "(no text)") else topic


def _whole(text: str | None, below: int) -> int | None:
    is_whole = text is not None and re.fullmatch(r"[0-9]{1,18}", text) is not None
    return int(text) if text and is_whole and int(text) < below else None
