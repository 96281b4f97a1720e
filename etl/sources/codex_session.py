"""One Codex session while it is read: whose it is, its turns, its counts."""

from typing import Any

from etl.document import Document, LineFacts, handle, instant
from etl.fields import object_of, text_of
from etl.sources.codex_calls import Calls
from etl.sources.codex_conversation import Conversation
from etl.sources.codex_forks import Lineage, header_id, spawned_as
from etl.sources.codex_words import announced
from etl.tables import CallRow

HARNESS = "codex"
_RECORDS_WITHOUT_WORDS = frozenset(
    {"inter_agent_communication_metadata", "token_usage_record", "world_state"}
)
# What they say of tools stands in items too; the rest is no conversation.
_EVENTS_WITHOUT_WORDS = frozenset(
    {
        "agent_reasoning_section_break", "collab_agent_interaction_end", "collab_agent_spawn_end",
        "collab_close_end", "collab_resume_end", "collab_waiting_end", "context_compacted",
        "dynamic_tool_call_request", "dynamic_tool_call_response", "entered_review_mode",
        "exec_command_begin", "exited_review_mode", "guardian_assessment",
        "image_generation_begin", "image_generation_end", "item_completed",
        "mcp_tool_call_begin", "mcp_tool_call_end", "patch_apply_begin", "sub_agent_activity",
        "thread_goal_updated", "thread_rolled_back", "undo_completed", "user_message",
        "view_image_tool_call", "web_search_begin", "web_search_end",
    }
)  # fmt: skip


class Session:
    """Takes the records of one file; what earlier ones said matters to later ones.

    `named` is the session's id as the file's name has it; `announces`: the file says in events
    what the user types.
    """

    def __init__(self, document: Document, named: str | None, *, announces: bool) -> None:
        self._document = document
        self._facts = document.facts
        self._named = named
        self._lineage = Lineage(named or document.claim.stem)
        self._calls = Calls(self._lineage)
        self._conversation = Conversation(document, self._lineage, self._calls, announces=announces)
        self._has_header = False
        self._cwd: str | None = None
        self._model: str | None = None
        self._provider: str | None = None
        self._service_tier: str | None = None

    def take(self, record: dict[str, Any], number: int) -> None:
        """Take one record of the file."""
        words = announced(record)
        is_told = self._conversation.settle(words)
        payload = record.get("payload")
        body = payload if isinstance(payload, dict) else record
        sent_at = instant(record.get("timestamp")) or instant(body.get("timestamp"))
        self._lineage.record(sent_at, record.get("ordinal"))
        if not self._lineage.is_copy:
            self._facts.saw(sent_at)
        line = LineFacts(
            number,
            sent_at,
            self._cwd or self._facts.cwd,
            model=self._model,
            is_sidechain=self._conversation.is_subagent,
        )
        self._calls.is_after_item = False if words else self._other(record, body, line)
        if words is not None and not is_told:
            self._conversation.say(words, line)

    def finish(self) -> None:
        """Add the calls, and what only the whole file tells."""
        self._conversation.finish()
        for row in self._calls.rows():
            if row is None:
                self._document.count_unknown("token_count copied from another session")
            else:
                self._document.call(row)
        facts = self._facts
        facts.session_id = self._named or self._lineage.session_id
        facts.sid = handle(facts.session_id or "")
        if self._conversation.is_subagent:
            facts.type = "subagent"
            facts.agent_id = facts.session_id

    # -- kinds of records -------------------------------------------------------------------

    def _other(self, record: dict[str, Any], body: dict[str, Any], line: LineFacts) -> bool:
        """Take a record without words of its own; tell whether the model or a tool gave it."""
        if body is record:
            return self._bare(record, line)
        match text_of(record.get("type")):
            case "response_item":
                return self._conversation.take(body, line, is_wrapped=True)
            case "event_msg":
                self._event(body, line)
            case "turn_context":
                self._context(body)
            case "session_meta":
                self._header(body, line.sent_at)
            case "compacted":
                self._conversation.summary(text_of(body.get("message")), line)
            case "inter_agent_communication":
                self._conversation.message_of_agent(body, line)
            case type_ if type_ not in _RECORDS_WITHOUT_WORDS:
                self._document.count_unknown(type_ or "(no type)")
        return False

    def _bare(self, record: dict[str, Any], line: LineFacts) -> bool:
        """Take a record of the older kinds: an item, the header, a note on the state."""
        type_ = record.get("type")
        if "record_type" in record:
            return False
        if "payload" in record:
            self._document.count_unknown(f"{text_of(type_)} without an object")
            return False
        if type_ in ("user", "assistant"):
            record = {**record, "type": "message", "role": type_}
        if "type" in record or "role" in record:
            return self._conversation.take(record, line, is_wrapped=False)
        if header_id(record):
            self._header(record, line.sent_at)
        else:
            self._document.count_unknown("(no type)")
        return False

    def _header(self, payload: dict[str, Any], sent_at: int | None) -> None:
        if self._has_header:
            self._lineage.header(payload)
            return
        self._has_header = True
        self._lineage.own_header(payload, sent_at)
        facts, git = self._facts, object_of(payload.get("git"))
        facts.saw(instant(payload.get("timestamp")))
        facts.cli_version = text_of(payload.get("cli_version")) or None
        facts.git_branch = text_of(git.get("branch")) or None
        self._set(payload)
        if spawned := spawned_as(payload):
            self._conversation.is_subagent = True
            facts.agent_type, facts.parent_session_id = spawned

    def _context(self, payload: dict[str, Any]) -> None:
        self._set(payload)
        self._turn(payload.get("turn_id"))
        if self._model:
            self._facts.models.setdefault(self._model)

    def _set(self, payload: dict[str, Any]) -> None:
        """Take what holds until it is said anew."""
        self._cwd = text_of(payload.get("cwd")) or self._cwd
        self._facts.cwd = self._facts.cwd or self._cwd
        self._model = text_of(payload.get("model")) or self._model
        self._provider = text_of(payload.get("model_provider")) or self._provider

    def _turn(self, turn_id: Any) -> None:
        self._lineage.turn(turn_id)
        self._calls.turn(turn_id)

    # -- events -----------------------------------------------------------------------------

    def _event(self, payload: dict[str, Any], line: LineFacts) -> None:
        match text_of(payload.get("type")):
            case "token_count":
                self._count(payload.get("info"), line)
            case "task_started" | "turn_started":
                self._turn(payload.get("turn_id"))
                self._calls.prompt()
            case "task_complete" | "turn_complete":
                self._calls.end_turn(payload.get("turn_id"))
            case "turn_aborted":
                self._calls.end_turn(payload.get("turn_id"))
                self._conversation.note(payload.get("reason"), line)
            case "error" | "stream_error" | "warning":
                self._conversation.note(payload.get("message"), line)
            case type_:
                self._remark(type_, payload)

    def _remark(self, type_: str, payload: dict[str, Any]) -> None:
        """Take what an event says of what stands elsewhere."""
        match type_:
            case "exec_command_end" if isinstance(code := payload.get("exit_code"), int):
                self._conversation.failed(payload.get("call_id"), is_error=code != 0)
            case "patch_apply_end" if isinstance(success := payload.get("success"), bool):
                self._conversation.failed(payload.get("call_id"), is_error=not success)
            case "thread_settings_applied":
                settings = object_of(payload.get("thread_settings"))
                self._service_tier = text_of(settings.get("service_tier")) or None
            case "thread_name_updated":
                if not self._lineage.is_copy:
                    self._facts.ai_title = text_of(payload.get("thread_name")) or None
            case _ if type_ not in _EVENTS_WITHOUT_WORDS:
                self._document.count_unknown(f"event {type_}")

    def _count(self, info: Any, line: LineFacts) -> None:
        """Take an event's counts; many have none, but say how much of a limit is used."""
        if info is None:
            return
        row = CallRow(
            document=self._document.id,
            call_key=0,
            sent_at=line.sent_at,
            cwd=line.cwd,
            harness=HARNESS,
            provider=self._provider,
            model=self._model or text_of(object_of(info).get("model")) or None,
            service_tier=self._service_tier,
            is_sidechain=line.is_sidechain,
        )
        if odd := self._calls.count(object_of(info), row):
            self._document.count_unknown(odd)
