"""A Codex session's blocks: what was said, thought and done, each once."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from etl.document import PROMPT_CHARACTERS, Document, LineFacts
from etl.fields import items_of, object_of, text_of
from etl.sources.codex_calls import Calls
from etl.sources.codex_forks import Lineage
from etl.sources.codex_tools import (
    Result,
    Use,
    content_of,
    image_of,
    joined,
    result_of,
    use_of,
)
from etl.sources.codex_words import (
    Announced,
    Once,
    Piece,
    injected,
    pieces_of,
    task_of,
    working_folder,
)
from sjduck.readable import is_shown_user_text

_ITEMS_WITHOUT_WORDS = frozenset(
    {
        "additional_tools", "compaction", "compaction_trigger", "context_compaction",
        "ghost_snapshot", "other",
    }
)  # fmt: skip


class Conversation:
    """Takes a session's items, and events that say something, in the file's order.

    Where events announce what the user types, whatever else stands in the user's name was put
    there by the harness; an item in the user's name waits for the next record to tell.
    """

    def __init__(
        self, document: Document, lineage: Lineage, calls: Calls, *, announces: bool
    ) -> None:
        self.is_subagent = document.claim.type == "subagent"
        self._document = document
        self._facts = document.facts
        self._lineage = lineage
        self._calls = calls
        self._announces = announces
        self._once = Once()
        self._typed: Counter[str] = Counter()
        self._held: tuple[list[str], LineFacts] | None = None
        self._tools: dict[str, str] = {}
        self._failed: dict[str, bool] = {}
        self._copied_prompt: str | None = None
        self._last_message = ""

    def finish(self) -> None:
        """Take what still waits."""
        self.settle(None)
        if self._facts.first_prompt is None:
            self._facts.first_prompt = self._copied_prompt

    # -- events -----------------------------------------------------------------------------

    def settle(self, words: Announced | None) -> bool:
        """Take the item that waits; tell whether the next record's words only announce it."""
        if self._held is None:
            return False
        (texts, line), self._held = self._held, None
        typed = words.text.strip() if words is not None and words.role == "user" else ""
        is_typed = bool(typed) and typed in (text.strip() for text in (*texts, "".join(texts)))
        for text in texts:
            is_own = is_typed and text.strip() in typed
            self._pieces(pieces_of(text, is_typed=True) if is_own else [injected(text)], line)
        return is_typed

    def say(self, words: Announced, line: LineFacts) -> None:
        """Take what an event says, unless an item said it before."""
        if _is_blank(words.text):
            return
        if words.role == "user":
            self._typed[words.text.strip()] += 1
            self._pieces(pieces_of(words.text, is_typed=True), line)
        elif not self._once.is_second(words.role, words.text, is_event=True):
            if words.role == "assistant":
                self._shown("assistant", words.text, line)
            else:
                self._thought(words.text, line)

    def summary(self, text: str, line: LineFacts) -> None:
        """Take what a compaction left; the messages that it kept are in the file already."""
        line.is_summary = True
        if not _is_blank(text):
            self._document.text("assistant", text, line, kind="summary", signal="high")

    def note(self, text: Any, line: LineFacts) -> None:
        """Take what the harness says of itself."""
        self._hidden("system", text_of(text), line)

    def failed(self, use_id: Any, *, is_error: bool) -> None:
        """Take what an event tells of a tool's result before that comes."""
        self._failed[text_of(use_id)] = is_error

    # -- items ------------------------------------------------------------------------------

    def take(self, item: dict[str, Any], line: LineFacts, *, is_wrapped: bool) -> bool:
        """Take what the model was sent or gave; tell whether the model or a tool gave it."""
        if use := use_of(item):
            self._use(item, use, line)
            return True
        if result := result_of(item):
            self._result(item, result, line)
            return True
        match text_of(item.get("type")):
            case "message" | "" if "role" in item:
                return self._message(item, line, is_wrapped=is_wrapped)
            case "reasoning":
                self._thoughts(item, line)
                return True
            case "agent_message":
                self.message_of_agent(item, line)
            case type_ if type_ not in _ITEMS_WITHOUT_WORDS:
                self._document.count_unknown(f"item {type_}")
        return False

    def message_of_agent(self, item: dict[str, Any], line: LineFacts) -> None:
        """Take what another agent sent: to a subagent it is the task."""
        text = joined(content_of(item.get("content")).texts)
        if text == self._last_message:
            return
        self._last_message = text
        self._pieces(task_of(text) if self.is_subagent else [injected(text)], line)

    def _message(self, item: dict[str, Any], line: LineFacts, *, is_wrapped: bool) -> bool:
        role = item.get("role")
        line.message_id = text_of(item.get("id")) or None
        texts, images, unknown = content_of(item.get("content"))
        for part in unknown:
            kind = text_of(object_of(part).get("type")) or type(part).__name__
            self._document.count_unknown(f"part {kind}")
        for image in images:
            self._hidden("assistant" if role == "assistant" else "user", image, line, kind="image")
        if role == "user":
            self._in_users_name(texts, line, waits=self._announces and is_wrapped)
        elif role == "assistant":
            self._said("".join(texts), line)
        else:
            line.is_meta = True
            for text in texts:
                self._hidden("system", text, line)
        return role == "assistant"

    def _in_users_name(self, texts: list[str], line: LineFacts, *, waits: bool) -> None:
        for text in ("".join(texts).strip(), *(text.strip() for text in texts)):
            if self._typed[text]:
                self._typed[text] -= 1
                return
        if waits:
            self._held = texts, line
            return
        for text in texts:
            self._pieces(pieces_of(text), line)

    def _said(self, text: str, line: LineFacts) -> None:
        if not self._once.is_second("assistant", text, is_event=False):
            self._shown("assistant", text, line)

    def _thoughts(self, item: dict[str, Any], line: LineFacts) -> None:
        for part in (*items_of(item.get("summary")), *items_of(item.get("content"))):
            text = text_of(object_of(part).get("text"))
            if not self._once.is_second("thinking", text, is_event=False):
                self._thought(text, line)

    def _use(self, item: dict[str, Any], use: Use, line: LineFacts) -> None:
        use_id = text_of(item.get("call_id")) or text_of(item.get("id"))
        self._tools[use_id] = use.name
        self._calls.tool(use.name, is_web_search=use.is_web_search)
        self._document.tool_use(use.name, use_id or None, use.input, line)
        if use.name == "image_generation" and (data := text_of(item.get("result"))):
            self._hidden("assistant", image_of(f"data:image;base64,{data}"), line, kind="image")

    def _result(self, item: dict[str, Any], result: Result, line: LineFacts) -> None:
        use_id = text_of(item.get("call_id"))
        is_error = self._failed.get(use_id) if result.is_error is None else result.is_error
        self._document.tool_result(
            result.text,
            line,
            name=self._tools.get(use_id),
            use_id=use_id or None,
            is_error=is_error,
        )
        for image in result.images:
            self._hidden("assistant", image, line, kind="image")

    # -- words ------------------------------------------------------------------------------

    def _pieces(self, pieces: Iterable[Piece], line: LineFacts) -> None:
        """Take text in the user's name, in which only some words are the user's own."""
        for piece in pieces:
            if piece.is_own:
                self._own(piece.text, line)
                continue
            line.is_meta = True
            self._hidden("user", piece.text, line, signal=piece.signal)
            line.is_meta = False
            self._facts.cwd = self._facts.cwd or working_folder(piece.text)

    def _own(self, text: str, line: LineFacts) -> None:
        if is_shown_user_text(text):
            self._shown("user", text, line)
        else:
            self._hidden("user", text, line, signal="high")
        if _is_blank(text):
            return
        prompt = text[:PROMPT_CHARACTERS]
        if self.is_subagent and self._lineage.is_copy:
            # Nothing may mark the copy's end, and the task comes at once: the last may be it.
            self._copied_prompt = prompt
        else:
            self._facts.first_prompt = self._facts.first_prompt or prompt

    def _thought(self, text: str, line: LineFacts) -> None:
        self._hidden("assistant", text, line, kind="thinking", signal="medium")

    def _shown(self, role: str, text: str, line: LineFacts) -> None:
        if not _is_blank(text):
            self._document.text(role, text, line, kind="text", signal="high")

    def _hidden(
        self, role: str, text: str, line: LineFacts, *, kind: str = "text", signal: str = "low"
    ) -> None:
        if not _is_blank(text):
            self._document.hidden(role, text, line, kind=kind, signal=signal)


def _is_blank(text: str) -> bool:
    return not text or text.isspace()
