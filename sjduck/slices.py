"""Slices of a document: `lines="670:24001-700"`, `turns="5-10"`, and cutting at a cap."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from sjduck.errors import UsageError

_LINES = re.compile(r"\s*(\d+)(?::(\d+))?\s*(?:(-)\s*(\d+)?)?\s*")
_TURNS = re.compile(r"\s*(\d+)\s*(?:(-)\s*(\d+)?)?\s*")
END = 2**31 - 1


class Span(NamedTuple):
    """A range of lines, from a character (1-based) of the first line on."""

    first: int
    last: int
    character: int = 1


class Cut(NamedTuple):
    """What fits of a slice, and where the rest begins (None: nothing is left)."""

    content: str
    last: int
    rest: tuple[int, int] | None


def parse_lines(text: str) -> Span:
    """Return the range that `670`, `670-700`, `670-` or `670:24001-700` names."""
    match = _LINES.fullmatch(text)
    first = int(match[1]) if match else 0
    if not match or first < 1:
        raise UsageError(f"can't take lines={text!r}; write lines=670-700")
    last = int(match[4]) if match[4] else END if match[3] else first
    return Span(first, min(last, END), max(int(match[2] or 1), 1))


def parse_turns(text: str) -> tuple[int, int]:
    """Return the turns that `5`, `5-10` or `5-` names."""
    match = _TURNS.fullmatch(text)
    first = int(match[1]) if match else 0
    if not match or first < 1:
        raise UsageError(f"can't take turns={text!r}; write turns=5-10")
    last = int(match[3]) if match[3] else END if match[2] else first
    return first, min(last, END)


def cut(lines: Iterable[tuple[int, str]], span: Span, max_chars: int) -> Cut:
    """Gather numbered lines until `max_chars` (0: no bound) is full.

    Each line ends with a newline in the content. A line that is longer than what is left is
    cut inside only where it is the first; else the cut is at the end of the line before.
    """
    pieces: list[str] = []
    left = max_chars if max_chars > 0 else None
    last = span.first - 1
    for number, text in lines:
        start = span.character if number == span.first else 1
        piece = text[start - 1 :] + "\n"
        if left is not None and len(piece) > left:
            if pieces:
                return Cut("".join(pieces), last, (number, start))
            room = max(left, 1)
            if room < len(piece):
                return Cut(piece[:room], number, (number, start + room))
        pieces.append(piece)
        last = number
        left = None if left is None else left - len(piece)
    return Cut("".join(pieces), last, None)


def line_ref(first: int, character: int, last: int) -> str:
    """Return how a range of lines is asked for."""
    start = f"{first}:{character}" if character > 1 else f"{first}"
    return f"{start}-{last}"
