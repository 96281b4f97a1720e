"""Claude Code's `history.jsonl`: every prompt typed, which outlives the sessions."""

from typing import Any

from etl.document import Document, handle, instant
from etl.lines import Lines, parse
from etl.sources.claude import HARNESS
from etl.tables import CatalogueRow


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
    prompt = record.get("display")
    if not isinstance(prompt, str) or not prompt.strip():
        return None
    session_id = record.get("sessionId")
    session_id = session_id if isinstance(session_id, str) and session_id else None
    project = record.get("project")
    logged_at = instant(record.get("timestamp"))
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
        harness=HARNESS,
        model=None,
        turns=None,
        bytes=None,
        extra=[],
    )
