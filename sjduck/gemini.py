"""Gemini CLI's older session files: one JSON document as the records that newer ones have."""

from collections.abc import Iterator
from typing import Any


def chat_records(value: Any) -> Iterator[Any] | None:
    """Return what a session's document says of itself, then its messages; None if it is none."""
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        return _chat(value)
    return None


def _chat(value: dict[str, Any]) -> Iterator[Any]:
    yield {name: entry for name, entry in value.items() if name != "messages"}
    yield from value["messages"]
