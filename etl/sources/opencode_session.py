"""One opencode session: its own record, then each message with the parts that follow it."""

import re
from dataclasses import replace
from typing import Any

from etl.document import PROMPT_CHARACTERS, Document, LineFacts, as_json, handle, instant
from etl.fields import items_of, object_of, text_of
from etl.sources.opencode_calls import Response
from sjduck.jsontext import value_of
from sjduck.readable import is_shown_user_text

HARNESS = "opencode"
# Until opencode has made a title: "New session - 2026-01-14T18:36:15.570Z".
_NO_TITLE = re.compile(r"\w+ session - \d{4}-\d\d-\d\dT[\d:.]+Z")
_WITHOUT_WORDS = ("step-start", "step-finish", "snapshot", "patch", "agent", "compaction")

Record = dict[str, Any]


class Session:
    """A session while it is read."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.facts = document.facts
        self.created_at: int | None = None
        self.role: str | None = None
        self.line = LineFacts(number=0)
        self.response: Response | None = None

    def take(self, record: Record, number: int) -> None:
        """Take a session, a message or a part."""
        if "role" in record:
            self._message(record, number)
        elif "type" in record:
            self._part(record, number)
        elif number == 1:
            self._session(record)
        else:
            self.document.count_unknown("record that is no message or part")

    def finish(self) -> None:
        """Add what the last message asked of the model."""
        if self.response is not None:
            for row in self.response.calls(self.document.id, HARNESS):
                self._note_model(row.model)
                self.document.call(row)
        self.response = None

    # -- the session and its messages -------------------------------------------------------

    def _session(self, record: Record) -> None:
        facts = self.facts
        if session_id := text_of(record.get("id")):
            facts.session_id, facts.sid = session_id, handle(session_id)
        if parent := text_of(record.get("parentID")):
            facts.type, facts.parent_session_id = "subagent", parent
            facts.agent_type = text_of(record.get("agent")) or None
        title = text_of(record.get("title"))
        facts.ai_title = None if _NO_TITLE.fullmatch(title) else title or None
        facts.cwd = text_of(record.get("directory")) or None
        facts.cli_version = text_of(record.get("version")) or None
        self.created_at = instant(object_of(record.get("time")).get("created"))
        facts.saw(self.created_at)

    def _message(self, record: Record, number: int) -> None:
        self.finish()
        role = record.get("role")
        self.role = role if role in ("user", "assistant") else None
        self.line = self._line(record, number)
        if self.role == "assistant":
            self._answer(record)
        elif self.role is None:
            self.document.count_unknown(f"message of {role}")

    def _line(self, record: Record, number: int) -> LineFacts:
        facts = self.facts
        time = object_of(record.get("time"))
        sent_at = instant(time.get("created"))
        facts.saw(sent_at)
        facts.saw(instant(time.get("completed")))
        cwd = text_of(object_of(record.get("path")).get("cwd")) or facts.cwd
        facts.cwd = facts.cwd or cwd
        is_child = facts.type == "subagent"
        if is_child and facts.agent_type is None:
            facts.agent_type = text_of(record.get("agent")) or text_of(record.get("mode")) or None
        message_id = text_of(record.get("id")) or None
        return LineFacts(
            number=number,
            sent_at=sent_at,
            cwd=cwd,
            uuid=message_id,
            message_id=message_id,
            is_sidechain=is_child,
        )

    def _answer(self, record: Record) -> None:
        line = self.line
        line.model = text_of(record.get("modelID")) or None
        line.is_summary = record.get("summary") is True
        if not record.get("error"):
            self._note_model(line.model)
        session_id = text_of(record.get("sessionID")) or self.facts.session_id
        self.response = Response(record, line, None if self._is_copied() else session_id)
        self._error(record.get("error"), line)

    def _note_model(self, model: str | None) -> None:
        if model is not None:
            self.facts.models.setdefault(model)

    def _is_copied(self) -> bool:
        """Tell whether a message is older than its session, as in a fork of another one."""
        sent_at, created_at = self.line.sent_at, self.created_at
        return sent_at is not None and created_at is not None and sent_at < created_at

    # -- the parts of a message -------------------------------------------------------------

    def _part(self, record: Record, number: int) -> None:
        if self.role is None:
            self.document.count_unknown("part without a message")
            return
        time = object_of(record.get("time"))
        line = replace(self.line, number=number, uuid=text_of(record.get("id")) or None)
        line.sent_at = instant(time.get("start")) or instant(time.get("created")) or line.sent_at
        self._spoken(self.role, record, line)

    def _spoken(self, role: str, part: Record, line: LineFacts) -> None:
        """Take a part by its kind."""
        match part.get("type"):
            case "text":
                self._words(role, part, line)
            case "reasoning":
                if (thought := text_of(part.get("text"))).strip():
                    self.document.hidden(role, thought, line, kind="thinking", signal="medium")
            case "tool":
                self._tool(part, line)
            case "file":
                self.document.hidden(role, _file(part), line, kind="image", signal="low")
            case "subtask":
                self._subtask(part, line)
            case "retry":
                self._error(part.get("error"), line)
            case "step-finish" if self.response is not None:
                self.response.stepped(part)
            case kind if kind not in _WITHOUT_WORDS:
                self.document.count_unknown(f"part {kind}")

    def _words(self, role: str, part: Record, line: LineFacts) -> None:
        """Take text; what opencode wrote in the user's name is marked so, and not shown."""
        text = text_of(part.get("text"))
        line.is_meta = part.get("synthetic") is True or part.get("ignored") is True
        is_prompt = role == "user" and not line.is_meta
        if not text.strip():
            return
        if line.is_summary:
            self.document.text(role, text, line, kind="summary", signal="high")
        elif line.is_meta:
            self.document.hidden(role, text, line, kind="text", signal="low")
        elif is_prompt and not is_shown_user_text(text):
            self.document.hidden(role, text, line, kind="text", signal="high")
        else:
            self.document.text(role, text, line, kind="text", signal="high")
        if is_prompt and self.facts.first_prompt is None:
            self.facts.first_prompt = text[:PROMPT_CHARACTERS]

    def _tool(self, part: Record, line: LineFacts) -> None:
        state = object_of(part.get("state"))
        time = object_of(state.get("time"))
        name, use_id = text_of(part.get("tool")), text_of(part.get("callID")) or None
        started = replace(line, sent_at=instant(time.get("start")) or line.sent_at)
        ended = replace(line, sent_at=instant(time.get("end")) or started.sent_at)
        self.facts.saw(ended.sent_at)
        self.document.tool_use(name, use_id, _input(state), started)
        if self.response is not None:
            self.response.used(name)
        is_error = state.get("status") == "error"
        result = state.get("error" if is_error else "output")
        if result is not None or is_error:
            text = result if isinstance(result, str) else as_json(result)
            self.document.tool_result(text, ended, name=name, use_id=use_id, is_error=is_error)
        for file in items_of(state.get("attachments")):
            self.document.hidden("assistant", _file(file), ended, kind="image", signal="low")

    def _subtask(self, part: Record, line: LineFacts) -> None:
        """Take a command of the user's that a subagent works on."""
        if (command := text_of(part.get("command"))) and self.facts.slash_command is None:
            self.facts.slash_command = f"/{command}"
        if (prompt := text_of(part.get("prompt"))).strip():
            self.document.hidden("user", prompt, line, kind="text", signal="medium")

    def _error(self, error: Any, line: LineFacts) -> None:
        said = object_of(error)
        message = text_of(object_of(said.get("data")).get("message")) or text_of(
            said.get("message")
        )
        text = ": ".join(filter(None, [text_of(said.get("name")), message])) or text_of(error)
        if text:
            self.document.hidden("system", text, line, kind="text", signal="low")


def _input(state: Record) -> Any:
    """Return a tool's input: of a call that was cut short the text as far as it came."""
    value = state.get("input") or state.get("raw") or {}
    if isinstance(value, str):
        try:
            return value_of(value)
        except ValueError:
            return value
    return value


def _file(part: Any) -> str:
    """Return what is told of an attached file: its kind, and its name or size."""
    record = object_of(part)
    url = text_of(record.get("url"))
    said = [text_of(record.get("mime")) or "file", text_of(record.get("filename"))]
    if url.startswith("data:"):
        said.append(f"{len(url.partition(',')[2]) * 3 // 4} bytes")
    elif url.startswith("file:") and not said[1]:
        said[1] = url
    return ", ".join(filter(None, said))
