"""A bakery's sessions on two machines: many days, models, projects and tools, some that fail."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Row = dict[str, Any]

MODELS = ("claude-opus-4-8", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001", "oven-9")
UNPRICED = "oven-9"
TOOLS = ("Bash", "Read", "Edit")
TOPICS = (
    "Why does the rye loaf collapse after an hour?",
    "Print the tray labels in the order of the ovens",
    "Move the flour orders to the new supplier's form",
)
FIRST = datetime(2026, 2, 2, 5, 40, tzinfo=UTC)


def write(
    root: Path,
    *,
    days: int = 40,
    projects: tuple[str, ...] = ("rye", "labels", "orders"),
    topics: tuple[str, ...] = TOPICS,
    models: tuple[str, ...] = MODELS,
) -> None:
    """Write a session a day into a scrubjay storage tree, by turns on both machines."""
    for number in range(days):
        host = ("heron", "wren")[number % 2]
        project = projects[number % len(projects)]
        session = f"{number:08x}-0000-4000-8000-000000000000"
        file = root / host / f"-home-mira-{number % len(projects)}" / f"{session}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        cwd = f"/home/mira/{project}"
        at = FIRST + timedelta(days=number, hours=number % 13)
        records = _session(session, cwd, at, topics[number % len(topics)], models, number)
        file.write_text("".join(json.dumps(record) + "\n" for record in records))


def _session(
    session: str, cwd: str, at: datetime, topic: str, models: tuple[str, ...], number: int
) -> Iterator[Row]:
    shared = {"sessionId": session, "cwd": cwd, "version": "2.1.0"}
    yield _line(shared, at, "user", f"{session}-p", {"content": topic})
    for step in range(3):
        tool = TOOLS[(number + step) % len(TOOLS)]
        use = f"toolu_{number}_{step}"
        yield _line(
            shared,
            at + timedelta(minutes=9 * step + 1),
            "assistant",
            f"{session}-a{step}",
            {
                "id": f"msg_{number}_{step}",
                "model": models[(number + step) % len(models)],
                "content": [
                    {"type": "text", "text": f"Step {step}: I look at the crumb of loaf {number}."},
                    {"type": "tool_use", "id": use, "name": tool, "input": {"command": "ls"}},
                ],
                "usage": {
                    "input_tokens": 100 + number,
                    "output_tokens": 40 + step,
                    "cache_read_input_tokens": 5_000 * step,
                    "cache_creation_input_tokens": 700,
                },
            },
        )
        result = {"type": "tool_result", "tool_use_id": use, "content": "flour, water, salt"}
        failed = {"is_error": True} if tool == "Bash" and number % 4 == 0 else {}
        yield _line(
            shared,
            at + timedelta(minutes=9 * step + 2),
            "user",
            f"{session}-r{step}",
            {"content": [result | failed]},
        )


def _line(shared: Row, at: datetime, role: str, uuid: str, message: Row) -> Row:
    return {
        **shared,
        "type": role,
        "uuid": uuid,
        "timestamp": f"{at:%Y-%m-%dT%H:%M:%S}Z",
        "message": {"role": role, **message},
    }
