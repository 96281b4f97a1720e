"""What a Codex session says twice, and which words in the user's name are the user's."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from etl.fields import items_of, object_of, text_of

# Tags that the harness writes have two words, as a rule; a person may write <div>.
_ENVELOPE = re.compile(
    r"# AGENTS\.md instructions|Continue working toward the active thread goal"
    r"|<(?:[a-z]+[-_]|permissions |/?image\b|skill>|plugin>|INSTRUCTIONS>)"
)
# What an editor puts before the user's own words ends with this heading.
_REQUEST = re.compile(r"^## My request for Codex:[ \t]*\r?\n?", re.MULTILINE)
_BEFORE_REQUEST = ("#", "<", "This block is automatically supplied")
# What another agent sent has this head.
_PAYLOAD = re.compile(r"Message Type: .*?\nPayload:\n", re.DOTALL)
_KINDS_OF_CONTEXT = ("environment_context", "user_instructions")
_CWD = re.compile(r"<cwd>([^<\n]+)</cwd>")


class Piece(NamedTuple):
    """A part of a text in the user's name: the user's own words, or who else's."""

    text: str
    is_own: bool
    signal: str = "high"


def pieces_of(text: str, *, is_typed: bool = False) -> Iterator[Piece]:
    """Yield what the harness put around the user's words, and the words.

    Text that is known to be typed is no envelope, whatever it looks like.
    """
    match = _REQUEST.search(text) if text.lstrip().startswith(_BEFORE_REQUEST) else None
    if match:
        yield Piece(text[: match.start()].rstrip(), is_own=False, signal="low")
        yield Piece(text[match.end() :].strip("\r\n"), is_own=True)
    elif not is_typed and _ENVELOPE.match(text):
        yield injected(text)
    else:
        yield Piece(text, is_own=True)


def injected(text: str) -> Piece:
    """Return text that the harness put in the user's name."""
    is_command = text.startswith("<user_shell_command>")
    return Piece(text, is_own=False, signal="medium" if is_command else "low")


def task_of(text: str) -> Iterator[Piece]:
    """Yield the head of what another agent sent, and the task."""
    end = match.end() if (match := _PAYLOAD.match(text)) else 0
    yield Piece(text[:end], is_own=False, signal="low")
    yield Piece(text[end:], is_own=True)


def working_folder(text: str) -> str | None:
    """Return the folder that a text about the environment names: old versions only say it here."""
    match = _CWD.search(text) if text.startswith("<environment_context>") else None
    return match.group(1).strip() if match else None


class Announced(NamedTuple):
    """Words that an event says, which as a rule an item says too."""

    role: str
    text: str


def announced(record: dict[str, Any]) -> Announced | None:
    """Return the words of an event; None where a record is none, or has none."""
    if record.get("type") != "event_msg":
        return None
    payload = object_of(record.get("payload"))
    match payload.get("type"):
        # Some versions announced what they put there themselves too.
        case "user_message" if payload.get("kind") not in _KINDS_OF_CONTEXT:
            return Announced("user", text_of(payload.get("message")))
        case "agent_message":
            return Announced("assistant", text_of(payload.get("message")))
        case "agent_reasoning" | "agent_reasoning_raw_content":
            return Announced("thinking", text_of(payload.get("text")))
        case "item_completed":
            return _completed(object_of(payload.get("item")))
    return None


def _completed(item: dict[str, Any]) -> Announced | None:
    """Return the words of what newer versions write instead."""
    role = {"UserMessage": "user", "AgentMessage": "assistant"}.get(text_of(item.get("type")))
    parts = [object_of(part) for part in items_of(item.get("content"))]
    return Announced(role, "".join(text_of(part.get("text")) for part in parts)) if role else None


class Once:
    """Keeps what is said as an event and as an item from being taken twice: the first is taken."""

    def __init__(self) -> None:
        self._waiting: Counter[tuple[str, bool, int]] = Counter()
        self._last_event: dict[str, str] = {}

    def is_second(self, role: str, text: str, *, is_event: bool) -> bool:
        """Tell whether the other of the two was there before; if not, expect it."""
        text = text.strip()
        event = self._last_event.get(role)
        if self._met(role, text, was_event=not is_event):
            return True
        # An item may go on where its event ends, with notes on sources that nobody is shown.
        if (
            not is_event
            and event
            and text.startswith(event)
            and self._met(role, event, was_event=True)
        ):
            return True
        self._waiting[role, is_event, hash(text)] += 1
        if is_event:
            self._last_event[role] = text
        return False

    def _met(self, role: str, text: str, *, was_event: bool) -> bool:
        key = role, was_event, hash(text)
        if key not in self._waiting:
            return False
        self._waiting[key] -= 1
        if not self._waiting[key]:
            del self._waiting[key]
        return True
