"""GitHub Copilot CLI: the session files of its home, one event a line."""

import re
from typing import Any

import orjson

from etl.document import Claim, Document, LineFacts, handle, instant
from etl.fields import items_of, object_of, text_of
from etl.lines import Lines, parse
from etl.sources import prompts
from etl.sources.copilot_calls import Calls
from sjduck.settings import Source

HARNESS = "copilot"
_EVENTS = "events.jsonl"
# What older versions, and the IDE that runs the CLI, put below what was typed.
_ADDED = re.compile(
    r"^[ \t]*<(?:current_datetime|reminder|system_reminder|attachments)>", re.MULTILINE
)
_NOTICES = frozenset(
    {"abort", "session.error", "session.info", "session.warning", "system.notification"}
)
_NOT_CONVERSATION = frozenset(
    {
        "assistant.turn_end", "assistant.turn_start", "hook.end", "hook.start",
        "permission.completed", "permission.requested", "result",
        "session.background_tasks_changed", "session.compaction_start",
        "session.mcp_server_status_changed", "session.mcp_servers_loaded",
        "session.mode_changed", "session.permissions_changed", "session.task_complete",
        "session.tools_updated", "session.truncation", "session.usage_checkpoint",
        "subagent.completed", "subagent.started", "system.message",
        "tool.execution_partial_result",
    }
)  # fmt: skip


# -- which files ---------------------------------------------------------------------------


def claims(source: Source, root: str, path: str) -> Claim | None:
    """Say what a path under a Copilot CLI home is."""
    match path.split("/"):
        case ["session-state", session_id, name] if name == _EVENTS:
            pass
        case ["session-state", name] if name.endswith(".jsonl") and name != ".jsonl":
            session_id = name.removesuffix(".jsonl")
        case _:
            return None
    return Claim(
        source.name, source.kind, root, path, "copilot", "transcript", source.host, HARNESS,
        session_id=session_id, sid=handle(session_id), name=session_id,
    )  # fmt: skip


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
    """One session file while it is read: what earlier events said matters to later ones."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.facts = document.facts
        self.calls = Calls(document.id, document.facts.session_id, HARNESS)
        self.cwd: str | None = None
        self.model: str | None = None
        self.tools: dict[str, str] = {}
        self.thought = ""
        self.seen: set[str] = set()

    def take(self, record: dict[str, Any], number: int) -> None:
        """Take one event of the file."""
        type_, data = text_of(record.get("type")), object_of(record.get("data"))
        line = self._line(record, data, number)
        match type_.split(".")[0]:
            case _ if type_ in _NOTICES:
                self._notice(data, line)
            case _ if type_ in _NOT_CONVERSATION:
                pass
            case "session":
                self._session(type_, data, line)
            case "tool":
                self._tool(type_, data, line)
            case _:
                self._said(type_, data, line)

    def finish(self) -> None:
        """Add the calls."""
        for row in self.calls.rows():
            self.document.call(row)
            if row.model:
                self.facts.models.setdefault(row.model)

    def _line(self, record: dict[str, Any], data: dict[str, Any], number: int) -> LineFacts:
        uuid = text_of(record.get("id")) or None
        is_replay = uuid in self.seen
        if uuid:
            self.seen.add(uuid)
        line = LineFacts(
            number=number,
            sent_at=instant(record.get("timestamp")),
            cwd=self.cwd,
            uuid=uuid,
            is_replay=is_replay,
            is_sidechain=bool(
                text_of(data.get("parentToolCallId")) or text_of(record.get("agentId"))
            ),
        )
        self.facts.saw(line.sent_at)
        return line

    # -- the session ----------------------------------------------------------------------

    def _session(self, type_: str, data: dict[str, Any], line: LineFacts) -> None:
        match type_:
            case "session.start" | "session.resume":
                self._begin(data)
            case "session.context_changed":
                self._move(data)
            case "session.model_change":
                self._use_model(data.get("newModel"))
            case "session.auto_mode_resolved":
                self._use_model(data.get("chosenModel"))
            case "session.title_changed":
                self.facts.ai_title = text_of(data.get("title")) or self.facts.ai_title
            case "session.compaction_complete":
                self._compact(data, line)
            case "session.shutdown":
                if not line.is_replay:
                    self.calls.shut_down(object_of(data.get("modelMetrics")), line)
            case _:
                self.document.count_unknown(type_)

    def _begin(self, data: dict[str, Any]) -> None:
        self.calls.begin_run()
        if self.facts.cli_version is None:
            self.facts.cli_version = text_of(data.get("copilotVersion")) or None
        self.facts.saw(instant(data.get("startTime")))
        self._move(object_of(data.get("context")))
        self._use_model(data.get("selectedModel"))

    def _move(self, context: dict[str, Any]) -> None:
        facts = self.facts
        self.cwd = text_of(context.get("cwd")) or self.cwd
        facts.cwd = facts.cwd or self.cwd
        facts.git_branch = facts.git_branch or text_of(context.get("branch")) or None

    def _use_model(self, model: Any) -> None:
        """Note the model that answers from here on; `auto` is none."""
        if model := text_of(model):
            self.model = None if model == "auto" else model

    def _compact(self, data: dict[str, Any], line: LineFacts) -> None:
        line.model = self.model
        self.calls.compact(data, line)
        if summary := text_of(data.get("summaryContent")):
            line.is_summary = True
            self.document.text("assistant", summary, line, kind="summary", signal="high")

    def _notice(self, data: dict[str, Any], line: LineFacts) -> None:
        texts = (text_of(data.get(name)) for name in ("message", "content", "reason"))
        if text := next(filter(None, texts), ""):
            self.document.hidden("system", text, line, kind="text", signal="low")

    # -- what was said --------------------------------------------------------------------

    def _said(self, type_: str, data: dict[str, Any], line: LineFacts) -> None:
        match type_:
            case "user.message":
                self._user(data, line)
            case "assistant.message":
                self._answer(data, line)
            case "assistant.reasoning":
                self._think(data.get("content"), line)
            case "skill.invoked":
                prompts.add_envelope(self.document, text_of(data.get("content")), line)
            case _:
                self.document.count_unknown(type_ or "(no type)")

    def _user(self, data: dict[str, Any], line: LineFacts) -> None:
        document = self.document
        text, added = _split(text_of(data.get("content")))
        if not text:
            # The harness goes on by itself: there is only what it sent.
            prompts.add_envelope(document, text_of(data.get("transformedContent")), line)
        elif data.get("source") in (None, "", "user"):
            prompts.add(document, text, line, is_prompt=not line.is_sidechain)
        else:
            prompts.add_envelope(document, text, line)
        prompts.add_envelope(document, added, line)
        for attachment in items_of(data.get("attachments")):
            if text := _attachment(object_of(attachment)):
                document.hidden("user", text, line, kind="image", signal="low")

    def _answer(self, data: dict[str, Any], line: LineFacts) -> None:
        line.message_id = text_of(data.get("messageId")) or None
        line.model = text_of(data.get("model")) or self.model
        self._think(data.get("reasoningText"), line)
        text = text_of(data.get("content"))
        if text and not text.isspace():
            self.document.text("assistant", text, line, kind="text", signal="high")
        requests = [object_of(request) for request in items_of(data.get("toolRequests"))]
        tools = {
            text_of(request.get("toolCallId")): text_of(request.get("name")) for request in requests
        }
        for request in requests:
            self._use(request, text_of(request.get("name")), line)
        self.calls.log(data, line, tools)

    def _think(self, thinking: Any, line: LineFacts) -> None:
        """Add a thought, unless it was logged by itself before the message that has it too."""
        text = text_of(thinking)
        if text and text != self.thought:
            self.document.hidden("assistant", text, line, kind="thinking", signal="medium")
        self.thought = text

    # -- tools ----------------------------------------------------------------------------

    def _tool(self, type_: str, data: dict[str, Any], line: LineFacts) -> None:
        match type_:
            case "tool.execution_start" | "tool.user_requested":
                # Where a message asked for it, it is there already.
                if text_of(data.get("toolCallId")) not in self.tools:
                    self._use(data, text_of(data.get("toolName")), line)
            case "tool.execution_complete":
                self._result(data, line)
            case _:
                self.document.count_unknown(type_)

    def _use(self, request: dict[str, Any], name: str, line: LineFacts) -> None:
        use_id = text_of(request.get("toolCallId"))
        self.tools[use_id] = name
        self.document.tool_use(name, use_id or None, _arguments(request.get("arguments")), line)

    def _result(self, data: dict[str, Any], line: LineFacts) -> None:
        use_id, success = text_of(data.get("toolCallId")), data.get("success")
        self.calls.ran_tool(use_id, text_of(data.get("model")))
        said = text_of(object_of(data.get("result")).get("content"))
        self.document.tool_result(
            said or text_of(object_of(data.get("error")).get("message")),
            line,
            name=self.tools.get(use_id),
            use_id=use_id or None,
            is_error=not success if isinstance(success, bool) else None,
        )


# -- the shapes of its values --------------------------------------------------------------


def _split(content: str) -> tuple[str, str]:
    """Return what was typed, and what was put below it."""
    added = _ADDED.search(content)
    if added is None or added.start() == 0:
        return content, ""
    return content[: added.start()].rstrip(), content[added.start() :].strip()


def _arguments(value: Any) -> Any:
    """Return a tool's input as an object where it was logged as the text of one."""
    if not isinstance(value, str):
        return value
    try:
        parsed = orjson.loads(value)
    except orjson.JSONDecodeError:
        return value
    return parsed if isinstance(parsed, dict) else value


def _attachment(attachment: dict[str, Any]) -> str:
    names = (attachment.get(name) for name in ("path", "filePath", "url", "displayName"))
    place = next(filter(None, map(text_of, names)), "")
    head = ", ".join(filter(None, (text_of(attachment.get("type")), place)))
    return "\n".join(filter(None, (head, text_of(attachment.get("text")))))
