"""Markdown files: plans, memory, notes, and sessions that are archived as a readable only."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from etl.document import PROMPT_CHARACTERS, Document
from etl.lines import Lines
from sjduck.readable import HEADER_LINES, NO_PROMPT, markdown_hash

_HEADING = re.compile(r"^#[ \t]+(\S.*)$", re.MULTILINE)
_TURN_HEADINGS = {"## User": "user", "## Assistant": "assistant"}
_TOOL_MARK = re.compile(r"^\*\*(?:→ .*|⎿ (?:output|error):)\*\*$")
_TOOL_FENCE = re.compile(r"^```(?:bash|json|text)$")


def flatten(document: Document, lines: Lines) -> None:
    """Flatten a plan, a memory or a note: one block, the whole file."""
    text = lines.text().replace("\0", "")
    if heading := _HEADING.search(text):
        document.facts.custom_title = heading.group(1).rstrip()
    if document.claim.type == "note":
        document.facts.parent_session_id = document.claim.sid
    count = _count_lines(text)
    if count:
        document.markdown(None, text, (1, count), turn=None, signal="high")
    _set_readable(document, text, turns=0)


def flatten_readable(document: Document, lines: Lines) -> None:
    """Flatten a rendered session: its turns, what was said apart from what tools did."""
    text = lines.text().replace("\0", "")
    turns = 0
    for piece in _pieces(text.split("\n")) if text else ():
        document.markdown(
            piece.role, piece.text, (piece.first, piece.last), turn=piece.turn or None,
            signal=piece.signal,
        )  # fmt: skip
        turns = max(turns, piece.turn)
    first = text.split("\n", 1)[0].removeprefix("# ").rstrip()
    if first and first != NO_PROMPT:
        document.facts.first_prompt = first[:PROMPT_CHARACTERS]
    _set_readable(document, text, turns=turns)


class _Piece(NamedTuple):
    role: str | None
    turn: int
    signal: str
    first: int
    last: int
    text: str


def _pieces(lines: list[str]) -> Iterator[_Piece]:
    """Cut the lines at turns and at tool calls; together the pieces are the whole file."""
    last = len(lines) - (1 if lines[-1] == "" else 0)
    marks = list(_marks([line.removesuffix("\r") for line in lines]))
    for at, (start, role, turn, signal) in enumerate(marks):
        end = marks[at + 1][0] if at + 1 < len(marks) else len(lines)
        if start < end:
            text = "\n".join(lines[start:end])
            yield _Piece(role, turn, signal, start + 1, min(end, max(last, start + 1)), text)


def _marks(lines: list[str]) -> Iterator[tuple[int, str | None, int, str]]:
    role: str | None = None
    turn = 0
    in_tool = False
    yield 0, None, 0, "high"
    number = 0
    while number < len(lines):
        line = lines[number]
        if number >= HEADER_LINES and _is_turn(lines, number, role):
            role = _TURN_HEADINGS[line]
            turn += 1
            in_tool = False
            yield number, role, turn, "high"
        elif role == "assistant" and _is_tool(lines, number):
            yield number, role, turn, "low"
            in_tool = True
            number = _fence_end(lines, number + 2)
        elif in_tool and line:
            in_tool = False
            yield number, role, turn, "high"
        number += 1


def _is_turn(lines: list[str], number: int, role: str | None) -> bool:
    """Tell whether a turn begins: roles take turns, so another heading of one is its words."""
    is_blank = number + 1 < len(lines) and lines[number + 1] == ""
    return is_blank and _TURN_HEADINGS.get(lines[number], role) != role


def _is_tool(lines: list[str], number: int) -> bool:
    return (
        _TOOL_MARK.match(lines[number]) is not None
        and number + 2 < len(lines)
        and lines[number + 1] == ""
        and _TOOL_FENCE.match(lines[number + 2]) is not None
    )


def _fence_end(lines: list[str], opened: int) -> int:
    """Return the line that closes a tool's fence: the last one before the text goes on.

    A tool's output may hold fences of its own, so a closing line counts only where the next
    line is blank, begins the user's turn, or there is none.
    """
    for number in range(opened + 1, len(lines)):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if lines[number] == "```" and (
            following == "" or _is_turn(lines, number + 1, role="assistant")
        ):
            return number
    return len(lines) - 1


def _set_readable(document: Document, text: str, *, turns: int) -> None:
    document.set_readable(
        turns=turns, lines=_count_lines(text), size=len(text.encode()), digest=markdown_hash(text)
    )


def _count_lines(text: str) -> int:
    return text.count("\n") + (text != "" and not text.endswith("\n"))
