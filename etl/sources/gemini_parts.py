"""The parts that a message of Gemini CLI is made of: texts, tools' answers, what was attached."""

import re
from collections.abc import Iterator
from typing import Any

from etl.document import as_json
from etl.fields import object_of, text_of

# What the CLI, and the IDE that runs it, put below what was typed.
_ADDED = re.compile(r"^(?:--- Content from referenced files ---|Current File Path:)$", re.MULTILINE)


def parts_of(content: Any) -> list[dict[str, Any]]:
    """Return the parts of a content, whether it is a text, one part or a list of them."""
    parts = content if isinstance(content, list) else [content]
    return [
        part if isinstance(part, dict) else {"text": part}
        for part in parts
        if isinstance(part, str | dict)
    ]


def text_in(parts: list[dict[str, Any]]) -> str:
    """Return the texts among parts as one."""
    return "\n".join(filter(None, (text_of(part.get("text")) for part in parts)))


def split(text: str) -> tuple[str, str]:
    """Return what was typed, and what was put below it."""
    added = _ADDED.search(text)
    return (text[: added.start()].rstrip("\n"), text[added.start() :]) if added else (text, "")


def thought_text(thought: dict[str, Any]) -> str:
    """Return a thought with its heading."""
    texts = text_of(thought.get("subject")), text_of(thought.get("description"))
    return "\n".join(filter(None, texts))


def result_text(part: dict[str, Any]) -> str:
    """Return what the model saw of a tool's result."""
    response = object_of(part.get("functionResponse")).get("response")
    if response is None:
        return text_of(part.get("text"))
    for name in ("output", "error"):
        if isinstance(said := object_of(response).get(name), str):
            return said
    return response if isinstance(response, str) else as_json(response)


def attachments(part: dict[str, Any]) -> Iterator[str]:
    """Yield kind and size, or the place, of what a part or a tool's answer in it attaches."""
    nested = object_of(part.get("functionResponse")).get("parts")
    for attached in (part, *parts_of(nested)):
        inline = attached.get("inlineData")
        if isinstance(inline, dict):
            size = len(text_of(inline.get("data"))) * 3 // 4
            yield f"{text_of(inline.get('mimeType')) or 'data'}, {size} bytes"
        elif place := text_of(object_of(attached.get("fileData")).get("fileUri")):
            yield place
