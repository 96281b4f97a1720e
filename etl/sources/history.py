"""The `history.jsonl` of Claude Code and of Codex: every prompt typed, which outlives sessions."""

from typing import Any, NamedTuple

from etl.document import Document, handle, instant
from etl.lines import Lines, parse
from etl.tables import CatalogueRow


class _Names(NamedTuple):
    """What a harness calls the fields of a prompt."""

    prompt: str
    logged_at: str
    session_id: str
    project: str


_CLAUDE = _Names("display", "timestamp", "sessionId", "project")
_NAMES = {"codex": _Names("text", "ts", "session_id", "cwd")}


def flatten(document: Document, lines: Lines) -> None:
    """Flatten the history: one catalogue row a prompt."""
    count = size = 0
    for line in lines:
        count, size = line.number, line.offset + len(line.raw)
        records, rejects = parse(line)
        for offset, reason, sample in rejects:
            document.reject(line.number, offset, reason, sample)
        for record in records:
            row = _row(document, line.number, record)
            if row is None:
                document.count_unknown("history line without a prompt")
            else:
                document.catalogue(row)
    document.set_readable(turns=0, lines=count, size=size, digest=0)


def _row(document: Document, number: int, record: dict[str, Any]) -> CatalogueRow | None:
    harness = document.claim.harness
    names = _NAMES.get(harness or "", _CLAUDE)
    prompt = record.get(names.prompt)
    if not isinstance(prompt, str) or not prompt.strip():
        return None
    session_id = record.get(names.session_id)
    session_id = session_id if isinstance(session_id, str) and session_id else None
    project = record.get(names.project)
    logged_at = instant(record.get(names.logged_at))
    document.facts.saw(logged_at)
    return CatalogueRow(
        document=document.id,
        line=number,
        host=document.claim.host,
        session_id=session_id,
        sid=handle(session_id) if session_id else None,
        logged_local=None,
        logged_at=logged_at,
        cwd=project if isinstance(project, str) and project else None,
        topic=prompt,
        harness=harness,
        model=None,
        turns=None,
        bytes=None,
        extra=[],
    )
