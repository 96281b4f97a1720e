"""Small source trees that tests grow, change and take away."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sjduck.archive import Archive

Row = dict[str, Any]


def session_id(number: int) -> str:
    """Return a session id that is the same in every run."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"session {number}"))


def lines(
    session: str, prompts: list[str], *, day: int = 1, cwd: str = "/home/ann/shop"
) -> Iterator[Row]:
    """Yield the records of a session: each prompt answered with one tool call."""
    for number, prompt in enumerate(prompts):
        at = f"2026-03-{day:02d}T10:{number % 60:02d}"
        shared = {"sessionId": session, "cwd": cwd, "version": "2.1.0", "gitBranch": "main"}
        yield {
            **shared,
            "type": "user",
            "uuid": f"{session}-u{number}",
            "timestamp": f"{at}:00.000Z",
            "message": {"role": "user", "content": prompt},
        }
        yield {
            **shared,
            "type": "assistant",
            "uuid": f"{session}-a{number}",
            "timestamp": f"{at}:05.000Z",
            "message": {
                "id": f"msg_{session}_{number}",
                "role": "assistant",
                "model": "claude-sonnet-4-5-20250929",
                "content": [
                    {"type": "text", "text": f"Looking into: {prompt}"},
                    {
                        "type": "tool_use",
                        "id": f"t{number}",
                        "name": "Bash",
                        "input": {"command": f"grep -rn {number} ."},
                    },
                ],
                "usage": {"input_tokens": 10 + number, "output_tokens": 20 + number},
            },
        }
        yield {
            **shared,
            "type": "user",
            "uuid": f"{session}-r{number}",
            "timestamp": f"{at}:09.000Z",
            "message": {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"{prompt}!\n"}
                ],
            },
        }


def write_session(home: Path, number: int, prompts: list[str], **options: Any) -> Path:
    """Write a session into a Claude Code home; return its file."""
    session = session_id(number)
    file = home / "projects" / "-home-ann-shop" / f"{session}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    records = lines(session, prompts, **options)
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


def stored_rows(archive: Archive) -> dict[str, list[tuple[Any, ...]]]:
    """Return every row that readers can see, table by table, in a total order."""

    def ask(table: str) -> list[tuple[Any, ...]]:
        query = f"select * from {table} order by all"
        return archive.ask(lambda view: [tuple(row.values()) for row in view.rows(query)])

    without_places = "(select * exclude (segment) from documents)"
    return {
        "documents": ask(without_places),
        "blocks": ask("blocks"),
        "calls": ask("calls"),
        "catalogue": ask("catalogue"),
        "rejects": ask("rejects"),
    }
