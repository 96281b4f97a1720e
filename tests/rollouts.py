"""Records of Codex session files as tests write them, and what becomes of them."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from tests.flattened import Flat, Row, flatten_file

START = datetime(2026, 5, 2, 8, 0, tzinfo=UTC)


def rollout(folder: Path, *records: Any, name: str = "session.jsonl") -> Flat:
    """Return the rows of a session of these records: bytes as they are, lists opened."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(_line(record) + b"\n" for record in opened(records)))
    return flatten_file(path, "codex")


def opened(records: Any) -> list[Any]:
    """Return records in lists of lists as one list."""
    lists = ([record] if not isinstance(record, list) else opened(record) for record in records)
    return [record for some in lists for record in some]


def _line(record: Any) -> bytes:
    return record if isinstance(record, bytes) else orjson.dumps(record)


def record(type_: str, payload: Any, *, at: float = 0) -> Row:
    """Return a record; `at` is its second after the start."""
    moment = START + timedelta(seconds=at)
    return {"timestamp": moment.isoformat(), "type": type_, "payload": payload}


def header(id_: str, *, at: float = 0, **fields: Any) -> Row:
    """Return a session's header."""
    created = (START + timedelta(seconds=at)).isoformat()
    return record("session_meta", {"id": id_, "timestamp": created, **fields}, at=at)


def event(type_: str, *, at: float = 0, **fields: Any) -> Row:
    """Return an event."""
    return record("event_msg", {"type": type_, **fields}, at=at)


def item(type_: str, *, at: float = 0, **fields: Any) -> Row:
    """Return an item."""
    return record("response_item", {"type": type_, **fields}, at=at)


def message(role: str, *texts: str, at: float = 0) -> Row:
    """Return an item that says something."""
    content = [{"type": "input_text", "text": text} for text in texts]
    return item("message", role=role, content=content, at=at)


def typed(text: str, *, at: float = 0) -> list[Row]:
    """Return what a prompt leaves: the item, then the event."""
    return [message("user", text, at=at), event("user_message", message=text, at=at)]


def answered(text: str, *, at: float = 0) -> list[Row]:
    """Return what an answer leaves: the event, then the item."""
    return [event("agent_message", message=text, at=at), message("assistant", text, at=at)]


def turn(turn_id: str | None = None, *, at: float = 0, **fields: Any) -> list[Row]:
    """Return what begins a turn."""
    known = {"turn_id": turn_id} if turn_id else {}
    context = {"model": "gpt-5.5", **known, **fields}
    return [event("task_started", at=at, **known), record("turn_context", context, at=at)]


def tool(name: str, arguments: Any, output: Any = None, *, at: float = 0) -> list[Row]:
    """Return a tool's call and its result."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    use_id = f"call_{name}"
    return [
        item("function_call", name=name, arguments=text, call_id=use_id, at=at),
        item("function_call_output", call_id=use_id, output=output, at=at),
    ]


def tokens(input: Any, output: Any, cached: Any = 0, reasoning: Any = 0, **more: Any) -> Row:
    """Return token counts as Codex logs them."""
    return {
        "input_tokens": input,
        "cached_input_tokens": cached,
        "output_tokens": output,
        "reasoning_output_tokens": reasoning,
        "total_tokens": input + output if isinstance(input, int) else input,
        **more,
    }


def counted(total: Any, last: Any = None, *, at: float = 0) -> Row:
    """Return an event with counts; without `last`, only totals."""
    info = {"total_token_usage": total, **({"last_token_usage": last} if last else {})}
    return event("token_count", info=info, at=at)


def id_at(at: float, tail: int = 0) -> str:
    """Return an id as Codex makes them, which holds the second it was made at."""
    made = f"{int((START.timestamp() + at) * 1_000):012x}"
    return f"{made[:8]}-{made[8:]}-7000-8000-{tail:012x}"
