"""The readable: a document as Markdown lines, laid out once and read by any slice.

`Layout` gives each block its turn and lines while a document is taken in; `numbered_lines`
writes the same lines from stored blocks. Both go by `shown_text`, so they cannot differ.
"""

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import NamedTuple

import orjson

HEADER_LINES = 4
TITLE_CHARACTERS = 80
NO_PROMPT = "(no prompt)"
# A prompt may be megabytes; nearly always its title is in this much of it.
_TITLE_PREFIX = 1_000
_HEADINGS = {"user": "## User", "assistant": "## Assistant"}
_WHITE_SPACE = re.compile(r"\s+")


class Block(NamedTuple):
    """One stored block that the readable shows, as `sql/reading/blocks.sql` returns it."""

    seq: int
    turn: int | None
    line_start: int
    line_end: int
    role: str | None
    kind: str
    signal: str
    tool_name: str | None
    is_error: bool | None
    text: str


def title(prompt: str | None) -> str:
    """Return the readable's title: the first prompt on one line, at most 80 characters."""
    prompt = prompt or NO_PROMPT
    folded = _WHITE_SPACE.sub(" ", prompt[:_TITLE_PREFIX])
    if len(folded) < TITLE_CHARACTERS:
        folded = _WHITE_SPACE.sub(" ", prompt)
    return folded[:TITLE_CHARACTERS].replace("\0", "")


def is_shown_user_text(text: str) -> bool:
    """Tell whether text sent in the user's name is shown: no envelope, no caveat, not blank."""
    return not text.startswith(("<", "Caveat")) and not text.isspace() and text != ""


def _tool_use_text(name: str | None, tool_input: str) -> str:
    """Return how a tool's call is shown: its command verbatim, else its input as JSON."""
    command = _command(tool_input)
    fence = _fence("json", tool_input) if command is None else _fence("bash", command)
    return f"**→ {name}**\n\n{fence}"


def _command(tool_input: str) -> str | None:
    if '"command"' not in tool_input:
        return None
    try:
        value = orjson.loads(tool_input)
    except orjson.JSONDecodeError:
        return None
    command = value.get("command") if isinstance(value, dict) else None
    return command if isinstance(command, str) else None


def shown_text(
    kind: str, text: str, *, tool_name: str | None = None, is_error: bool | None = None
) -> str:
    """Return a stored block as the readable shows it, NULs left out."""
    if kind == "tool_use":
        text = _tool_use_text(tool_name, text)
    elif kind == "tool_result":
        text = f"**⎿ {'error' if is_error else 'output'}:**\n\n{_fence('text', text)}"
    return text.replace("\0", "")


def _fence(language: str, text: str) -> str:
    end = "" if text.endswith("\n") else "\n"
    return f"```{language}\n{text}{end}```"


class Layout:
    """Places the blocks of one transcript, in order: a turn and a range of lines for each."""

    def __init__(self) -> None:
        self.turn = 0
        self._role: str | None = None
        self._last_line = HEADER_LINES
        self._bytes = 0
        self._body = blake2b(digest_size=8)

    def place(self, role: str, shown: str) -> tuple[int, int, int]:
        """Place the next shown text of `role` and return its turn, first and last line."""
        if role != self._role:
            between = "\n" if self.turn else ""
            before = f"{between}{_HEADINGS[role]}\n\n"
            first = self._last_line + 3
            self.turn += 1
            self._role = role
        else:
            before = "\n\n"
            first = self._last_line + 2
        self._last_line = first + shown.count("\n")
        for written in (before.encode(), shown.encode()):
            self._bytes += len(written)
            self._body.update(written)
        return self.turn, first, self._last_line

    @property
    def lines(self) -> int:
        """Lines of the readable so far."""
        return self._last_line

    def size_and_hash(self, first_shown_prompt: str | None) -> tuple[int, int]:
        """Return the whole readable's bytes and its 64-bit hash."""
        head = "\n".join(header(first_shown_prompt, self.turn)) + "\n"
        tail = b"\n" if self.turn else b""
        body = self._body.copy()
        body.update(tail)
        return len(head.encode()) + self._bytes + len(tail), _signed(head, body.digest())


def markdown_hash(text: str) -> int:
    """Return the hash that `Layout` gives to a readable of the same text."""
    head, lines = "", text.split("\n", HEADER_LINES)
    if len(lines) > HEADER_LINES:
        head, text = "\n".join(lines[:HEADER_LINES]) + "\n", lines[HEADER_LINES]
    return _signed(head, blake2b(text.encode(), digest_size=8).digest())


def _signed(head: str, body: bytes) -> int:
    whole = blake2b(head.encode() + body, digest_size=8).digest()
    return int.from_bytes(whole, "little", signed=True)


def header(first_shown_prompt: str | None, turns: int) -> list[str]:
    """Return the four lines that every readable of a transcript begins with."""
    return [f"# {title(first_shown_prompt if turns else None)}", "", f"_{turns} turns_", ""]


class Piece(NamedTuple):
    """Consecutive lines of a readable, and the block they are of (None: a heading)."""

    first: int
    text: str
    block: Block | None


class Line(NamedTuple):
    """One line of a readable and the block it is of (None: a heading or a separator)."""

    number: int
    text: str
    block: Block | None


def pieces(blocks: Iterable[Block]) -> Iterator[Piece]:
    """Write consecutive shown blocks, the headings of their turns between them.

    Begins with the first block's heading where that block opens its turn, as it does unless
    an earlier block of the same turn is among `blocks`.
    """
    turn: int | None = 0
    for block in blocks:
        if block.kind != "markdown" and block.turn != turn:
            yield Piece(block.line_start - 2, _HEADINGS[block.role or "assistant"], None)
            turn = block.turn
        shown = shown_text(
            block.kind, block.text, tool_name=block.tool_name, is_error=block.is_error
        )
        yield Piece(block.line_start, shown, block)


def numbered_lines(blocks: Iterable[Block]) -> Iterator[Line]:
    """Write the lines of consecutive shown blocks, headings and separators included."""
    for piece in pieces(blocks):
        block = piece.block
        if block is None:
            yield Line(piece.first, piece.text, None)
            continue
        if block.kind != "markdown":
            yield Line(piece.first - 1, "", None)
        lines = piece.text.split("\n")[: block.line_end - block.line_start + 1]
        for number, text in enumerate(lines, piece.first):
            yield Line(number, text, block)
