"""Keep every answer within its budget, and make it say what it left out."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

MAX_REPLY_BYTES = 75_000
MAX_FIELD_CHARACTERS = 2_000
# Room for what is added to an answer once it is known how much fits.
_PAGING_CHARACTERS = 160
Answer = dict[str, Any]


def compact(answer: Any) -> str:
    """Return an answer as one line of JSON."""
    return orjson.dumps(answer, default=str).decode()


class Budget:
    """What an answer may still take: characters as asked for, and bytes as sent.

    `max_chars` 0 asks for no bound; more than a reply may have is lowered to that.
    """

    def __init__(self, max_chars: int) -> None:
        self._bounded = max_chars > 0
        self.lowered = max_chars > MAX_REPLY_BYTES
        self._characters = min(max_chars, MAX_REPLY_BYTES)
        self._bytes = MAX_REPLY_BYTES

    def take(self, text: str) -> bool:
        """Take room for `text`; take none and return False where there is too little."""
        size = len(text) if text.isascii() else len(text.encode())
        if self._bounded and (len(text) > self._characters or size > self._bytes):
            return False
        self._characters -= len(text)
        self._bytes -= size
        return True


def page(
    head: Mapping[str, Any],
    rows: Iterable[Mapping[str, Any]],
    *,
    name: str,
    total: int,
    offset: int,
    max_chars: int,
    tail: Mapping[str, Any] | None = None,
) -> Answer:
    """Return `head`, as many of `rows` as fit under `name`, `tail`, and how to go on.

    `rows` are those from `offset` on, at most a page of them. One row at least is shown, its
    fields cut, so that paging always goes on.
    """
    tail = tail or {}
    budget = Budget(max_chars)
    budget.take(compact({**head, **tail}) + " " * _PAGING_CHARACTERS)
    shown: list[Mapping[str, Any]] = []
    capped = False
    for row in rows:
        if not budget.take(compact(row) + ","):
            capped = True
            if shown:
                break
            row = {key: _cut(value) for key, value in row.items()}
            budget.take(compact(row) + ",")
        shown.append(row)
    answer: Answer = {**head, "total": total, "offset": offset, "shown": len(shown), name: shown}
    answer.update(tail)
    following = offset + len(shown)
    if total > following:
        answer["next_offset"] = following
        answer["more"] = f"{total - following} more: repeat with offset={following}"
    if capped:
        answer["capped"] = True
    if budget.lowered:
        answer["note"] = lowered_note()
    return answer


def lowered_note() -> str:
    """Say that a bound was lowered to what one reply may have."""
    return f"max_chars lowered to {MAX_REPLY_BYTES}; 0 asks for no bound"


def _cut(value: Any) -> Any:
    if isinstance(value, str) and len(value) > MAX_FIELD_CHARACTERS:
        return value[: MAX_FIELD_CHARACTERS - 1] + "…"
    return value
