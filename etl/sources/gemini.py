"""Gemini CLI: the session files of its home, one JSON document each or line by line."""

import re
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from etl.document import Claim, Document, LineFacts, as_json, handle, hash64, instant
from etl.fields import count, items_of, object_of, text_of
from etl.lines import Lines, RawLine, parse
from etl.sources import prompts
from etl.sources.gemini_parts import (
    attachments,
    parts_of,
    result_text,
    split,
    text_in,
    thought_text,
)
from etl.tables import CallRow
from sjduck import unrolled
from sjduck.settings import Source

HARNESS = "gemini"
MAX_SIDECAR_BYTES = 4096
_NAME = re.compile(r"session-(?P<start>\d{4}-\d\d-\d\dT\d\d-\d\d)-(?P<sid>.+)\.jsonl?")
_SUFFIXES = (".json", ".jsonl")
_SUMMARY = "<state_snapshot>"
_NUDGE = "System: Please continue."
_IS_ERROR = {"success": False, "error": True, "cancelled": True}


# -- which files ---------------------------------------------------------------------------


def claims(source: Source, root: str, path: str) -> Claim | None:
    """Say what a path under a Gemini CLI home is."""
    match path.split("/"):
        case ["tmp", _, "chats", name] if named := _NAME.fullmatch(name):
            return Claim(
                source.name, source.kind, root, path, "gemini", "transcript", source.host, HARNESS,
                sid=handle(named["sid"]),
            )  # fmt: skip
        case ["tmp", _, "chats", parent, name] if name.endswith(_SUFFIXES) and name[0] != ".":
            agent = name.rpartition(".")[0]
            return Claim(
                source.name, source.kind, root, path, "gemini", "subagent", source.host, HARNESS,
                session_id=agent, sid=handle(agent), parent_session_id=parent, agent_id=agent,
            )  # fmt: skip
    return None


# -- what is in them -----------------------------------------------------------------------


def flatten(document: Document, lines: Lines) -> None:
    """Flatten a session file."""
    session = _Session(document)
    for number, record in _records(document, lines):
        session.take(record, number)
    session.finish()


def _records(document: Document, lines: Lines) -> Iterator[tuple[int, Any]]:
    """Yield the records of a file with their places, whichever of the two shapes it has."""
    raw = list(lines)
    whole = b"".join(line.raw for line in raw)
    records = unrolled.of_document("gemini", whole.decode("utf-8", "replace"))
    if records is not None:
        yield from enumerate(records, 1)
        return
    parsed = [(line, *parse(line)) for line in raw]
    if not any(found for _, found, _ in parsed):
        line = RawLine(1, 0, whole)
        parsed = [(line, *parse(line))]
    for line, found, rejects in parsed:
        for reject in rejects:
            document.reject(line.number, *reject)
        for record in found:
            yield line.number, record


class _Session:
    """One session file while it is read: later lines may write a message anew."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.facts = document.facts
        self.header: dict[str, Any] = {}
        self.messages: dict[str, tuple[int, dict[str, Any]]] = {}
        self.answered: set[str] = set()

    def take(self, record: Any, number: int) -> None:
        """Take one record of the file."""
        if not isinstance(record, dict):
            self.document.count_unknown(f"record {type(record).__name__}")
        elif "$set" in record:
            changes = object_of(record["$set"])
            self._add(changes.pop("messages", None), number)
            self._note(changes)
        elif "type" in record:
            self.messages[self._key_of(record)] = number, record
        elif "sessionId" in record or "projectHash" in record:
            self._note(record)
        elif "$rewindTo" not in record:
            self.document.count_unknown("record without a type")

    def finish(self) -> None:
        """Write the messages in the order they were begun, each as its last line has it."""
        self._identify()
        for number, record in self.messages.values():
            try:
                self._message(record, number)
            except RecursionError:
                self.document.reject(number, None, "nested too deeply")

    def _note(self, header: dict[str, Any]) -> None:
        self.header |= {name: value for name, value in header.items() if value is not None}

    def _add(self, messages: Any, number: int) -> None:
        """Take a list that stands for all messages: of those known it may have cut the output."""
        for record in items_of(messages):
            if isinstance(record, dict):
                self.messages.setdefault(self._key_of(record), (number, record))
            else:
                self.document.count_unknown(f"message {type(record).__name__}")

    def _key_of(self, record: dict[str, Any]) -> str:
        return text_of(record.get("id")) or f"message {len(self.messages)}"

    def _identify(self) -> None:
        """Say whose session it is: what the file says goes before what its name says."""
        facts, claim = self.facts, self.document.claim
        logged = text_of(self.header.get("sessionId"))
        if self.header.get("kind") == "subagent" and claim.type != "subagent":
            self._identify_subagent(logged)
        elif logged and claim.type != "subagent":
            facts.session_id = logged
            facts.sid = handle(logged)
            self._identify_piece(logged)
        elif facts.session_id is None:
            facts.session_id = claim.stem
        facts.cwd = _first_text(self.header.get("directories")) or _project_root(claim)
        facts.ai_title = text_of(self.header.get("summary")) or None
        facts.saw(instant(self.header.get("startTime")))

    def _identify_piece(self, logged: str) -> None:
        """Tell the pieces of a session apart.

        Until lines were written, each `/clear` and each subagent began another document under
        the same id. The lines that a document was turned into say no kind.
        """
        path = self.document.claim.path
        named = _NAME.fullmatch(path.rpartition("/")[2])
        if named and (path.endswith(".json") or "kind" not in self.header):
            self.facts.session_id = f"{logged}@{named['start']}"
            # So that the id that Gemini shows still finds them.
            self.facts.agent_id = logged

    def _identify_subagent(self, logged: str) -> None:
        """Name a subagent that was logged under its parent's id by its first message."""
        facts = self.facts
        facts.type = "subagent"
        ids = (text_of(record.get("id")) for _, record in self.messages.values())
        facts.session_id = facts.agent_id = next(ids, "") or self.document.claim.stem
        facts.sid = handle(facts.session_id)
        facts.parent_session_id = logged or None

    def _message(self, record: dict[str, Any], number: int) -> None:
        message_id = text_of(record.get("id")) or None
        line = LineFacts(
            number=number,
            sent_at=instant(record.get("timestamp")),
            cwd=self.facts.cwd,
            uuid=message_id,
            is_sidechain="subagent" in (self.facts.type, self.document.claim.type),
        )
        self.facts.saw(line.sent_at)
        if "content" not in record and "parts" not in record:
            self.document.count_unknown("message without content")
        match record.get("type"):
            case "user":
                self._user(record, line)
            case "gemini" | "model":
                line.message_id = message_id
                line.model = text_of(record.get("model")) or None
                self._answer(record, line)
            case "info" | "error" | "warning":
                if text := text_in(_content(record)):
                    self.document.hidden("system", text, line, kind="text", signal="low")
            case other:
                self.document.count_unknown(f"message {other}")

    # -- the user's side ------------------------------------------------------------------

    def _user(self, record: dict[str, Any], line: LineFacts) -> None:
        """Show what was typed; what the harness put with it is kept, but not shown."""
        parts = _content(record)
        text = text_in(parts)
        typed, attached = split(text)
        own = text_in(parts_of(record.get("displayContent")))
        if own and own != typed:
            typed, attached = own, attached or text
        self._words(typed, line)
        prompts.add_envelope(self.document, attached, line)
        for part in parts:
            self._response(part, line)
            self._attached("user", part, line)

    def _words(self, text: str, line: LineFacts) -> None:
        if text.startswith(_SUMMARY):
            line = replace(line, is_summary=True)
            self.document.text("assistant", text, line, kind="summary", signal="high")
        elif text == _NUDGE:
            prompts.add_envelope(self.document, text, line)
        else:
            prompts.add(self.document, text, line)

    # -- the model's side -----------------------------------------------------------------

    def _answer(self, record: dict[str, Any], line: LineFacts) -> None:
        document, tool_calls = self.document, items_of(record.get("toolCalls"))
        if line.model:
            self.facts.models.setdefault(line.model)
        for thought in items_of(record.get("thoughts")):
            if text := thought_text(object_of(thought)):
                document.hidden("assistant", text, line, kind="thinking", signal="medium")
        names = [text_of(object_of(tool).get("name")) for tool in tool_calls]
        for part in _content(record):
            text = text_of(part.get("text"))
            if part.get("thought") is True and text:
                document.hidden("assistant", text, line, kind="thinking", signal="medium")
            elif text and not text.isspace():
                document.text("assistant", text, line, kind="text", signal="high")
            # The calls are logged apart too, with more.
            if not tool_calls and (call := object_of(part.get("functionCall"))):
                names.append(text_of(call.get("name")))
                self._use(call, line)
            self._attached("assistant", part, line)
        for tool in tool_calls:
            self._tool(object_of(tool), line)
        self._call(record, line, [name for name in names if name])

    def _use(self, tool: dict[str, Any], line: LineFacts) -> None:
        name, use_id = text_of(tool.get("name")), text_of(tool.get("id"))
        self.document.tool_use(name, use_id or None, tool.get("args"), line)

    def _tool(self, tool: dict[str, Any], line: LineFacts) -> None:
        """Add a tool's call and, unless it was never run, its result."""
        self._use(tool, line)
        parts = parts_of(tool.get("result"))
        text = "\n".join(filter(None, map(result_text, parts)))
        status = tool.get("status")
        is_error = _IS_ERROR.get(status) if isinstance(status, str) else None
        if not parts:
            shown = tool.get("resultDisplay")
            text = shown if isinstance(shown, str) else as_json(shown) if shown else ""
        if text or is_error is not None:
            self._result(text, tool, line, is_error=is_error)
        for part in parts:
            self._attached("assistant", part, line)

    def _response(self, part: dict[str, Any], line: LineFacts) -> None:
        """Add a tool's result that stands in the user's name, unless it is known."""
        response = object_of(part.get("functionResponse"))
        if response and text_of(response.get("id")) not in self.answered:
            has_failed = "error" in object_of(response.get("response"))
            self._result(result_text(part), response, line, is_error=has_failed)

    def _result(
        self, text: str, tool: dict[str, Any], line: LineFacts, *, is_error: bool | None
    ) -> None:
        use_id = text_of(tool.get("id"))
        if use_id:
            self.answered.add(use_id)
        name = text_of(tool.get("name")) or None
        self.document.tool_result(text, line, name=name, use_id=use_id or None, is_error=is_error)

    def _attached(self, role: str, part: dict[str, Any], line: LineFacts) -> None:
        for text in attachments(part):
            self.document.hidden(role, text, line, kind="image", signal="low")

    def _call(self, record: dict[str, Any], line: LineFacts, names: list[str]) -> None:
        """Add the response; input is logged with what was read from the cache."""
        tokens = record.get("tokens")
        if not isinstance(tokens, dict):
            return
        session_id = text_of(self.header.get("sessionId")) or self.facts.session_id
        cached, thoughts = count(tokens, "cached"), count(tokens, "thoughts")
        key = line.message_id or f"{line.sent_at} line {line.number}"
        self.document.call(
            CallRow(
                document=self.document.id,
                call_key=hash64(f"gemini {session_id} {key}"),
                session_id=self.facts.session_id,
                sent_at=line.sent_at,
                cwd=line.cwd,
                harness=HARNESS,
                model=line.model,
                message_id=line.message_id,
                input_tokens=max(count(tokens, "input") - cached, 0) + count(tokens, "tool"),
                cache_read_tokens=cached,
                output_tokens=count(tokens, "output") + thoughts,
                reasoning_tokens=thoughts if "thoughts" in tokens else None,
                tools=list(dict.fromkeys(names)),
                is_sidechain=line.is_sidechain,
            )
        )


def _content(record: dict[str, Any]) -> list[dict[str, Any]]:
    return parts_of(record.get("content") or record.get("parts"))


def _first_text(values: Any) -> str | None:
    return next((value for value in items_of(values) if isinstance(value, str) and value), None)


def _project_root(claim: Claim) -> str | None:
    """Return the folder that newer versions note beside a project's sessions, if any."""
    chats = next((path for path in Path(claim.file).parents if path.name == "chats"), None)
    if chats is None:
        return None
    try:
        path = chats.with_name(".project_root")
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_SIDECAR_BYTES:
            return None
        return path.read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None
