"""What a person typed: the words of a session, its first prompt and its first slash command."""

import re
from dataclasses import replace

from etl.document import PROMPT_CHARACTERS, Document, Facts, LineFacts
from sjduck.readable import is_shown_user_text

# A path begins with a slash too, but has more of them.
_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(?=\s|$)")
# Tags that harnesses write have two words or are among these; a person may write <div>.
_ENVELOPE = re.compile(r"<(?:[a-z]+[-_]|(?:reminder|attachments)>)|Caveat:")


def add(document: Document, text: str, line: LineFacts, *, is_prompt: bool = True) -> None:
    """Add text in the user's name: shown, or hidden where it begins as an envelope does."""
    if not text or text.isspace():
        return
    if _ENVELOPE.match(text):
        add_envelope(document, text, line)
        return
    if is_shown_user_text(text):
        document.text("user", text, line, kind="text", signal="high")
    else:
        document.hidden("user", text, line, kind="text", signal="high")
    if is_prompt:
        note(document.facts, text)


def add_envelope(document: Document, text: str, line: LineFacts) -> None:
    """Add text in the user's name that the harness wrote; it is kept, but not shown."""
    if text and not text.isspace():
        line = replace(line, is_meta=True)
        document.hidden("user", text, line, kind="text", signal="low")


def note(facts: Facts, text: str) -> None:
    """Take what a person typed as the slash command or first prompt, where it is the first."""
    command = _COMMAND.match(text)
    if command is None:
        facts.first_prompt = facts.first_prompt or text[:PROMPT_CHARACTERS]
    elif command[0] != "/clear":
        facts.slash_command = facts.slash_command or text.rstrip()[:PROMPT_CHARACTERS]
