"""Slash commands: the server's prompts, written as the files that a client makes commands of."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sjduck.server.prompts import Prompt

_MARK = "# sjduck wrote this ({digest}); once it is edited, sjduck leaves it alone\n"
_MARKED = re.compile(r"^# sjduck wrote this \(([0-9a-f]{12})\);.*\n", re.MULTILINE)
_FENCE = "---\n"


class CommandFile(NamedTuple):
    """A file of a command, by its path below the client's folder for them."""

    path: str
    text: str


Shape = Callable[["Prompt"], CommandFile]


def command_files(*shapes: Shape) -> Iterator[CommandFile]:
    """Yield the files of all commands in these shapes, each marked as ours."""
    from sjduck.server.prompts import PROMPTS

    for prompt in PROMPTS:
        for shape in shapes:
            path, text = shape(prompt)
            yield CommandFile(path, _marked(text))


def is_ours(text: str) -> bool:
    """Tell a file that sjduck wrote, and nobody has edited since, from any other."""
    mark = _MARKED.search(text)
    return mark is not None and mark[1] == _digest(text[: mark.start()] + text[mark.end() :])


def claude_command(prompt: Prompt) -> CommandFile:
    """Return a command of Claude Code."""
    head = {"description": prompt.about, "argument-hint": f"[{prompt.argument}]"}
    return CommandFile(f"{prompt.name}.md", _markdown(head, _worded(prompt, "$ARGUMENTS")))


def opencode_command(prompt: Prompt) -> CommandFile:
    """Return a command of opencode."""
    head = {"description": prompt.about}
    return CommandFile(f"{prompt.name}.md", _markdown(head, _worded(prompt, "$ARGUMENTS")))


def codex_prompt(prompt: Prompt) -> CommandFile:
    """Return a prompt of Codex, which has them up to 0.116: like a command of Claude Code."""
    path, text = claude_command(prompt)
    return CommandFile(f"prompts/{path}", text)


def codex_skill(prompt: Prompt) -> CommandFile:
    """Return a skill of Codex, asked for by `$name …`; nothing is put in for the argument."""
    head = {"name": prompt.name, "description": prompt.about}
    argument = f"<{prompt.argument}>"
    intro = f"For {argument} take what I wrote after the skill's name.\n\n"
    text = _markdown(head, intro + _worded(prompt, argument))
    return CommandFile(f"skills/{prompt.name}/SKILL.md", text)


def gemini_command(prompt: Prompt) -> CommandFile:
    """Return a command of Gemini CLI."""
    import tomlkit

    text = tomlkit.string(_worded(prompt, "{{args}}") + "\n", multiline=True)
    return CommandFile(
        f"{prompt.name}.toml", tomlkit.dumps({"description": prompt.about, "prompt": text})
    )


def _worded(prompt: Prompt, placeholder: str) -> str:
    """Return a prompt with what the client puts the argument in for.

    A prompt that needs none has other words without it: the argument follows them.
    """
    if prompt.is_required:
        return prompt.text(placeholder)
    return f"{prompt.text('')}\n\n{prompt.argument_about}: {placeholder}"


def _markdown(head: dict[str, str], text: str) -> str:
    # A text of JSON is one of YAML, whatever is in it.
    lines = (f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in head.items())
    return f"{_FENCE}{''.join(lines)}{_FENCE}\n{text}\n"


def _marked(text: str) -> str:
    """Return a file with the mark as a comment, which no model gets to read."""
    mark = _MARK.format(digest=_digest(text))
    fence = _FENCE if text.startswith(_FENCE) else ""
    return fence + mark + text.removeprefix(fence)


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]
