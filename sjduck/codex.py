"""Codex's first session files: one JSON document as the records that newer ones have as lines."""

from collections.abc import Iterator
from typing import Any


def rollout_records(value: Any) -> Iterator[Any] | None:
    """Return the header and the items of a session's document; None for anything else."""
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        return _rollout(value)
    return None


def _rollout(value: dict[str, Any]) -> Iterator[Any]:
    if "session" in value:
        yield value["session"]
    yield from value["items"]
