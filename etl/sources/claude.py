"""Claude Code: the files of its home, and its session files of every version."""

import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from etl.document import (
    PROMPT_CHARACTERS,
    Claim,
    Document,
    Facts,
    LineFacts,
    as_json,
    handle,
    instant,
)
from etl.fields import text_of
from etl.lines import Lines, parse
from etl.sources.claude_calls import Calls
from sjduck.readable import is_shown_user_text
from sjduck.settings import Source

HARNESS = "claude"
# Tags that harnesses write begin with two words; a person may write <div>.
_ENVELOPE = re.compile(r"<[a-z]+[-_]|Caveat:")
_INTERRUPTED = "[Request interrupted"
_ATTACHED = ("image", "document")
MAX_SIDECAR_BYTES = 1024 * 1024
_NOT_CONVERSATION = frozenset(
    {
        "progress", "attachment", "queue-operation", "file-history-snapshot",
        "file-history-delta", "permission-mode", "mode", "bridge-session", "cost-state",
        "atis-latch", "summary", "ai-title", "custom-title", "agent-name", "pr-link",
        "last-prompt", "worktree-state", "frame-link", "fork-context-ref", "agent-setting",
    }
)  # fmt: skip


# -- which files ---------------------------------------------------------------------------


def claims(source: Source, root: str, path: str) -> Claim | None:
    """Say what a path under a Claude Code home is."""
    parts = path.split("/")
    match parts:
        case ["projects", _, *rest] if rest:
            return session_claim(source, root, path, rest, host=source.host)
        case ["plans", name] if name.endswith(".md"):
            return Claim(
                source.name, source.kind, root, path, "markdown", "plan", source.host, HARNESS
            )
        case ["history.jsonl"]:
            return Claim(
                source.name, source.kind, root, path, "history", "log", source.host, HARNESS
            )
    return None


def session_claim(
    source: Source, root: str, path: str, rest: list[str], *, host: str | None
) -> Claim | None:
    """Say what a path under one project's folder is; `rest` is the path from there."""
    name = rest[-1]
    if len(rest) == 2 and rest[0] == "memory" and name.endswith(".md"):
        return Claim(source.name, source.kind, root, path, "markdown", "memory", None, owner=host)
    if not name.endswith(".jsonl") or name == ".jsonl":
        return None
    stem = name.removesuffix(".jsonl")
    nested = "subagents" in rest[:-1]
    if name.startswith("agent-") and (nested or len(rest) == 1):
        parent = rest[rest.index("subagents") - 1] if nested and rest[0] != "subagents" else None
        return Claim(
            source.name, source.kind, root, path, "claude", "subagent", host, HARNESS,
            session_id=stem, sid=handle(stem), parent_session_id=parent,
            agent_id=stem.removeprefix("agent-"),
        )  # fmt: skip
    if len(rest) == 1:
        return Claim(
            source.name, source.kind, root, path, "claude", "transcript", host, HARNESS,
            session_id=stem, sid=handle(stem),
        )  # fmt: skip
    return None


# -- what is in them -----------------------------------------------------------------------


def flatten(document: Document, lines: Lines) -> None:
    """Flatten a session file, line by line."""
    session = _Session(document)
    for line in lines:
        records, rejects = parse(line)
        for offset, reason, sample in rejects:
            document.reject(line.number, offset, reason, sample)
        for record in records:
            try:
                session.take(record, line.number)
            except RecursionError:
                document.reject(line.number, line.offset, "nested too deeply")
    session.finish()


class _Session:
    """One session file while it is read: what earlier lines said matters to later ones."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.facts: Facts = document.facts
        self.is_subagent = document.claim.type == "subagent"
        self.calls = Calls(document.id, _name(document.claim), HARNESS)
        self.seen: set[int] = set()
        self.tools: dict[str, str] = {}
        self.cleared: str | None = None

    def take(self, record: dict[str, Any], number: int) -> None:
        """Take one record of the file."""
        type_ = _type_of(record)
        sent_at = instant(record.get("timestamp"))
        self.facts.saw(sent_at)
        self._note_origin(record)
        match type_:
            case "user" | "assistant":
                self._message(type_, record, number, sent_at)
            case "system":
                self._system(record, number, sent_at)
            case "attachment":
                self._attachment(record, number, sent_at)
            case "custom-title":
                self.facts.custom_title = text_of(record.get("customTitle")) or None
            case "ai-title":
                self.facts.ai_title = text_of(record.get("aiTitle")) or None
            case _ if type_ not in _NOT_CONVERSATION:
                self.document.count_unknown(type_)

    def finish(self) -> None:
        """Add the calls and what stands beside the file."""
        for row in self.calls.rows():
            self.document.call(row)
        if self.facts.slash_command is None:
            self.facts.slash_command = self.cleared
        if self.is_subagent:
            _read_agent_sidecar(self.document)

    def _note_origin(self, record: dict[str, Any]) -> None:
        facts = self.facts
        if facts.cwd is None:
            facts.cwd = text_of(record.get("cwd")) or None
        if facts.git_branch is None:
            facts.git_branch = text_of(record.get("gitBranch")) or None
        if facts.cli_version is None:
            facts.cli_version = text_of(record.get("version")) or None
        if facts.parent_session_id is None and self.is_subagent:
            facts.parent_session_id = text_of(record.get("sessionId")) or None

    def _line(self, record: dict[str, Any], number: int, sent_at: int | None) -> LineFacts:
        uuid = text_of(record.get("uuid")) or None
        replay = False
        if uuid is not None:
            key = hash(uuid)
            replay = key in self.seen
            self.seen.add(key)
        return LineFacts(
            number=number,
            sent_at=sent_at,
            cwd=text_of(record.get("cwd")) or None,
            uuid=uuid,
            is_meta=record.get("isMeta") is True,
            is_summary=record.get("isCompactSummary") is True,
            is_replay=replay,
            is_sidechain=self.is_subagent or record.get("isSidechain") is True,
        )

    def _message(self, role: str, record: dict[str, Any], number: int, sent_at: int | None) -> None:
        line = self._line(record, number, sent_at)
        message = record.get("message")
        if isinstance(message, str | list):
            message = {"content": message}
        elif message is None:
            self.document.count_unknown(f"{role} without a message")
            return
        elif not isinstance(message, dict):
            self.document.reject(number, None, "message is no object", repr(message))
            return
        if role == "assistant":
            line.message_id = text_of(message.get("id")) or None
            line.model = text_of(message.get("model")) or None
            if line.model and line.model != "<synthetic>":
                self.facts.models.setdefault(line.model)
            self.calls.log(record, message, line)
        for item in _content(message):
            self._item(role, item, line)
        if not message.get("content") and "0" in message:
            spread = "".join(str(message[key]) for key in _digit_keys(message))
            self.document.hidden(role, spread, line, kind="text", signal="low")
        elif "content" not in message:
            self.document.count_unknown(f"{role} message without content")

    def _item(self, role: str, item: Any, line: LineFacts) -> None:
        document = self.document
        if isinstance(item, str):
            self._words(role, item, line)
            return
        if not isinstance(item, dict):
            document.count_unknown(f"block {type(item).__name__}")
            return
        match item.get("type"):
            case "text":
                self._words(role, text_of(item.get("text")), line)
            case "thinking":
                thinking = text_of(item.get("thinking")) or text_of(item.get("text"))
                if thinking:
                    document.hidden(role, thinking, line, kind="thinking", signal="medium")
            case "redacted_thinking":
                pass
            case "tool_use" | "server_tool_use":
                name, use_id = text_of(item.get("name")), text_of(item.get("id"))
                self.tools[use_id] = name
                document.tool_use(name, use_id or None, item.get("input"), line)
            case "tool_result":
                self._result(item, line)
            case kind if kind in _ATTACHED:
                document.hidden(role, _attached(item), line, kind="image", signal="low")
            case kind:
                document.count_unknown(f"block {kind}")

    def _words(self, role: str, text: str, line: LineFacts) -> None:
        if role == "user" and not is_shown_user_text(text):
            self._envelope(text, line)
        elif text and not text.isspace():
            kind = "summary" if line.is_summary else "text"
            signal = "low" if line.is_meta and not line.is_summary else "high"
            self.document.text(role, text, line, kind=kind, signal=signal)
            if role == "user" and not line.is_meta and not line.is_summary:
                self._prompt(text, line)

    def _prompt(self, text: str, line: LineFacts) -> None:
        own = self.is_subagent or not line.is_sidechain
        if own and self.facts.first_prompt is None and not text.startswith(_INTERRUPTED):
            self.facts.first_prompt = text[:PROMPT_CHARACTERS]

    def _envelope(self, text: str, line: LineFacts) -> None:
        """Take text in the user's name that the readable leaves out."""
        if not text or text.isspace():
            return
        command = _command(text)
        own = not line.is_meta and not line.is_summary and _ENVELOPE.match(text) is None
        signal = "medium" if command else "high" if own else "low"
        self.document.hidden("user", text, line, kind="text", signal=signal)
        if command:
            self._command(command)
        elif own:
            self._prompt(text, line)

    def _command(self, command: str) -> None:
        if command.split()[0] == "/clear":
            self.cleared = self.cleared or command
        elif self.facts.slash_command is None:
            self.facts.slash_command = command

    def _result(self, item: dict[str, Any], line: LineFacts) -> None:
        use_id = text_of(item.get("tool_use_id"))
        content = item.get("content")
        error = item.get("is_error")
        self.document.tool_result(
            "\n".join(_result_texts(content)),
            line,
            name=self.tools.get(use_id),
            use_id=use_id or None,
            is_error=error if isinstance(error, bool) else None,
        )
        for part in content if isinstance(content, list) else []:
            if isinstance(part, dict) and part.get("type") in _ATTACHED:
                self.document.hidden("assistant", _attached(part), line, kind="image", signal="low")

    def _system(self, record: dict[str, Any], number: int, sent_at: int | None) -> None:
        text = text_of(record.get("content")) or _error_text(record.get("error"))
        if not text:
            return
        line = self._line(record, number, sent_at)
        is_summary = record.get("subtype") == "away_summary"
        kind, signal = ("summary", "high") if is_summary else ("text", "low")
        self.document.hidden("system", text, line, kind=kind, signal=signal)
        if command := _command(text):
            self._command(command)

    def _attachment(self, record: dict[str, Any], number: int, sent_at: int | None) -> None:
        attachment = record.get("attachment")
        if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
            return
        line = self._line(record, number, sent_at)
        for part in _content({"content": attachment.get("prompt")}):
            text = text_of(part.get("text")) if isinstance(part, dict) else text_of(part)
            if isinstance(part, dict) and part.get("type") in _ATTACHED:
                self.document.hidden("user", _attached(part), line, kind="image", signal="low")
            elif is_shown_user_text(text):
                self.document.hidden("user", text, line, kind="text", signal="high")
                self._prompt(text, line)
            else:
                self._envelope(text, line)


def _name(claim: Claim) -> str:
    return f"{claim.parent_session_id or ''} {claim.session_id}"


def _command(text: str) -> str | None:
    """Return the slash command, with its arguments, that an envelope carries."""
    name = _between(text, "<command-name>", "</command-name>").removeprefix("/")
    if not name or "<" in name:
        return None
    arguments = _between(text, "<command-args>", "</command-args>")
    return f"/{name} {arguments}".rstrip()


def _between(text: str, opening: str, closing: str) -> str:
    _, _, after = text.partition(opening)
    inside, closed, _ = after.partition(closing)
    return inside.strip() if closed else ""


def _type_of(record: dict[str, Any]) -> str:
    type_ = record.get("type")
    if isinstance(type_, str):
        return type_
    message = record.get("message")
    role = message.get("role") if isinstance(message, dict) else None
    return role if role in ("user", "assistant") else "(no type)"


def _content(message: dict[str, Any]) -> list[Any]:
    content = message.get("content")
    if isinstance(content, list):
        return content
    if isinstance(content, dict):
        return [content]
    return [] if content is None or content == "" else [str(content)]


def _digit_keys(message: dict[str, Any]) -> list[str]:
    return sorted((key for key in message if key.isdecimal()), key=int)


def _result_texts(content: Any) -> Iterator[str]:
    match content:
        case None:
            return
        case str():
            yield content
        case list():
            for part in content:
                if isinstance(part, str):
                    yield part
                elif isinstance(part, dict) and part.get("type") == "text":
                    yield text_of(part.get("text"))
        case _:
            yield as_json(content)


def _attached(item: dict[str, Any]) -> str:
    source = item.get("source")
    if not isinstance(source, dict):
        return text_of(item.get("title")) or str(item.get("type"))
    data = text_of(source.get("data"))
    if source.get("type") == "text":
        return data
    size = len(data) * 3 // 4
    return f"{text_of(source.get('media_type')) or item.get('type')}, {size} bytes"


def _error_text(error: Any) -> str:
    if isinstance(error, dict):
        return text_of(error.get("formatted")) or text_of(error.get("message"))
    return text_of(error)


def _read_agent_sidecar(document: Document) -> None:
    """Take a subagent's type and task from the `.meta.json` beside its file, if any."""
    path = Path(document.claim.file).with_suffix(".meta.json")
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_SIDECAR_BYTES:
            return
        meta = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return
    if isinstance(meta, dict):
        document.facts.agent_type = text_of(meta.get("agentType")) or None
        document.facts.custom_title = text_of(meta.get("description")) or None
