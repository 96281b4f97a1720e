"""Replies: an answer as it is sent, whole and within what one message may have."""

import orjson
from mcp import types

from sjduck.bounds import MAX_REPLY_BYTES, Answer, compact
from sjduck.errors import SjduckError
from sjduck.server.tools import Question, Tool

# What JSON-RPC and MCP put around the content of a message.
_FRAME_BYTES = 400
_LEAST_CHARACTERS = 500


def reply(tool: Tool, question: Question) -> types.CallToolResult:
    """Return a tool's answer as it is sent; a bound that it asks for is lowered until it fits.

    The bound of an answer is on its own JSON. In a message that JSON is a string, so its quotes,
    backslashes and line ends are escaped once more: only what is really sent shows its size.
    """
    is_bounded = question.arguments.get("max_chars") != 0
    answer = tool.answer(question)
    bound = None
    while is_bounded and (size := _text_bytes(answer)) > MAX_REPLY_BYTES:
        bound = _lowered(answer, size, bound)
        arguments = {**question.arguments, "max_chars": bound}
        answer = {
            **tool.answer(Question(question.archive, question.sources, arguments)),
            "note": f"max_chars lowered to {bound}: a message has {MAX_REPLY_BYTES} bytes",
        }
    return as_result(answer)


def _lowered(answer: Answer, size: int, before: int | None) -> int:
    """Return the bound under which an answer that was sent in `size` bytes would fit.

    Raises SjduckError for one that takes less under none, or did not under the bound `before`.
    """
    characters = len(answer.get("content") or compact(answer))
    lowered = characters * MAX_REPLY_BYTES // size - _FRAME_BYTES
    if lowered < _LEAST_CHARACTERS or (before is not None and lowered >= before):
        raise SjduckError("the answer is larger than a message may be; ask for less of it")
    return lowered


def _text_bytes(answer: Answer) -> int:
    return _FRAME_BYTES + len(orjson.dumps(compact(answer)))


def as_result(answer: Answer) -> types.CallToolResult:
    """Return an answer as text, and as structured content where a message has room for both.

    The text is what every client reads. Clients that know structured content (Claude Code,
    Codex, opencode) show a model that alone, the others the text alone: the model sees the
    answer once. No output schema is declared, since it would make the structured content a must
    also where both together pass the bound; a program then parses the text, which is the same.
    """
    text = compact(answer)
    is_small = _text_bytes(answer) + len(text.encode()) <= MAX_REPLY_BYTES
    return types.CallToolResult(
        content=[types.TextContent(text=text)],
        structured_content=orjson.loads(text) if is_small else None,
    )


def failure(name: str, message: str) -> types.CallToolResult:
    """Return what went wrong as one line that a model can act on."""
    line = " ".join(f"{name}: {message}".split())
    return types.CallToolResult(content=[types.TextContent(text=line)], is_error=True)
