"""Keep every answer within its budget, and make it say what it left out."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from sjduck.errors import UsageError

MAX_REPLY_BYTES = 75_000
MAX_FIELD_CHARACTERS = 2_000
# Room for what is added to an answer once it is known how much fits.
PAGING_CHARACTERS = 240
Answer = dict[str, Any]


def compact(answer: Any) -> str:
    """Return an answer as one line of JSON."""
    return orjson.dumps(answer, default=str).decode()


def bound(asked: int | None, default: int, variable: str = "") -> int:
    """Return the bound in force: as asked for, else from the environment, else the default.

    Raises UsageError for one that is no whole number or below 0.
    """
    written = os.environ.get(variable, "").strip()
    if asked is None and written:
        if not (written.isascii() and written.isdecimal()):
            raise UsageError(f"can't take {variable}={written!r}; write a number of characters")
        return int(written)
    if asked is not None and asked < 0:
        raise UsageError(f"can't take max_chars={asked}; write 0 for no bound, or more")
    return default if asked is None else asked


class Budget:
    """What an answer may still take: characters as asked for, and bytes as sent.

    `max_chars` 0 asks for no bound; more than a reply may have is lowered to that.
    """

    def __init__(self, max_chars: int) -> None:
        self._is_bounded = max_chars > 0
        self._characters = min(max_chars, MAX_REPLY_BYTES)
        self._bytes = MAX_REPLY_BYTES
        self.was_lowered = max_chars > MAX_REPLY_BYTES

    def spend(self, text: str) -> None:
        """Take room for what is given whatever room there is."""
        self._characters -= len(text)
        self._bytes -= _size(text)

    def take(self, text: str) -> bool:
        """Take room for `text`; take none and return False where there is too little."""
        fits = len(text) <= self._characters and _size(text) <= self._bytes
        if fits or not self._is_bounded:
            self.spend(text)
        return fits or not self._is_bounded


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


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
    shown, said = fit({**head, **tail}, rows, max_chars)
    answer: Answer = {**head, "total": total, "offset": offset, "shown": len(shown), name: shown}
    answer.update(tail)
    following = offset + len(shown)
    if total > following:
        answer["next_offset"] = following
        answer["more"] = f"{total - following} more: repeat with offset={following}"
    return {**answer, **said}


def fit(
    frame: Mapping[str, Any], rows: Iterable[Mapping[str, Any]], max_chars: int
) -> tuple[list[Mapping[str, Any]], Answer]:
    """Return as many rows as fit beside `frame`, one at least, and what is to be said of it."""
    budget = Budget(max_chars)
    budget.spend(compact(frame) + " " * PAGING_CHARACTERS)
    shown: list[Mapping[str, Any]] = []
    said: Answer = {}
    for row in rows:
        if not budget.take(compact(row) + ","):
            said["capped"] = True
            if shown:
                break
            row = {key: short(value, MAX_FIELD_CHARACTERS) for key, value in row.items()}
            budget.spend(compact(row) + ",")
        shown.append(row)
    if budget.was_lowered:
        said["note"] = lowered_note()
    return shown, said


def lowered_note() -> str:
    """Say that a bound was lowered to what one reply may have."""
    return f"max_chars lowered to {MAX_REPLY_BYTES}; 0 asks for no bound"


def short(value: Any, characters: int) -> Any:
    """Return a value, a text cut where it is longer than `characters`."""
    if isinstance(value, str) and len(value) > characters:
        return value[: characters - 1] + "…"
    return value
