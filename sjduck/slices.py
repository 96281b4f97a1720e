"""Slices of a document: `lines="670:24001-700"`, `turns="5-10"`, and cutting at a cap."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

import orjson

from sjduck.errors import UsageError

_LINES = re.compile(r"(\d+)(?::(\d+))?\s*(?:(-)\s*(\d+)?)?")
_TURNS = re.compile(r"(\d+)\s*(?:(-)\s*(\d+)?)?")
END = 2**31 - 1


class Span(NamedTuple):
    """A range of lines, from a character (1-based) of the first line on."""

    first: int
    last: int
    character: int = 1


class Cut(NamedTuple):
    """What fits of a slice, and the line and character where the rest begins (None: no rest)."""

    content: str
    rest: tuple[int, int] | None


def parse_lines(text: str) -> Span:
    """Return the range that `670`, `670-700`, `670-` or `670:24001-700` names."""
    match = _LINES.fullmatch(text.strip())
    if not match:
        raise UsageError(f"can't take lines={text!r}; write lines=670-700")
    first, last = _range(f"lines={text!r}", match[1], match[3], match[4])
    return Span(first, last, max(_number(match[2] or "1"), 1))


def parse_turns(text: str) -> tuple[int, int]:
    """Return the turns that `5`, `5-10` or `5-` names."""
    match = _TURNS.fullmatch(text.strip())
    if not match:
        raise UsageError(f"can't take turns={text!r}; write turns=5-10")
    return _range(f"turns={text!r}", match[1], match[2], match[3])


def _range(asked: str, first: str, dash: str | None, last: str | None) -> tuple[int, int]:
    begin = _number(first)
    end = _number(last) if last else END if dash else begin
    if begin < 1:
        raise UsageError(f"can't take {asked}; they are counted from 1")
    if end < begin:
        raise UsageError(f"can't take {asked}; it ends before it begins")
    return begin, end


def _number(digits: str) -> int:
    return min(int(digits[:12]), END)


def cut(lines: Iterable[tuple[int, str]], span: Span, max_chars: int, max_bytes: int) -> Cut:
    """Gather numbered lines until `max_chars` or `max_bytes` of JSON are full (0: no bound).

    Each line ends with a newline in the content. The cut is at a line's end, inside a line
    only where that alone is longer than everything that may be given; one character at least
    is given.
    """
    pieces: list[str] = []
    left_chars = max_chars or END
    left_bytes = max_bytes or END
    for number, text in lines:
        start = span.character if number == span.first else 1
        piece = (text + "\n")[start - 1 :]
        size = sent_bytes(piece)
        if len(piece) > left_chars or size > left_bytes:
            fits_alone = len(piece) <= (max_chars or END) and size <= (max_bytes or END)
            room = 0 if fits_alone else _room(piece, left_chars, left_bytes)
            if not pieces:
                room = max(room, 1)
            return Cut("".join([*pieces, piece[:room]]), (number, start + room))
        pieces.append(piece)
        left_chars -= len(piece)
        left_bytes -= size
    return Cut("".join(pieces), None)


def sent_bytes(text: str) -> int:
    """Return how many bytes a text takes in an answer as sent."""
    return len(orjson.dumps(text)) - 2


def _room(text: str, left_chars: int, left_bytes: int) -> int:
    """Return how many characters of a text fit."""
    lengths = range(min(len(text), left_chars) + 1)
    return bisect_right(lengths, left_bytes, key=lambda length: sent_bytes(text[:length])) - 1


def line_ref(first: int, character: int, last: int) -> str:
    """Return how a range of lines is asked for."""
    start = f"{first}:{character}" if character > 1 else f"{first}"
    return f"{start}-{last}"
