"""What Codex's tools were given and what they gave back, in the shape that all harnesses share."""

import re
import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from etl.document import as_json
from etl.fields import items_of, object_of, text_of

_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "fish", "cmd", "powershell", "pwsh"})
_SCRIPT_FOLLOWS = re.compile(r"-[a-z]*c|/c|-command", re.IGNORECASE)
# What a shell tool says before the output itself.
_EXIT_CODE = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d{1,9})$", re.MULTILINE)
_HEADS = ("Exit code: ", "Command: ", "Chunk ID: ", "Wall time: ")
_IMAGES = frozenset({"input_image", "output_image", "image"})


class Result(NamedTuple):
    """What a tool gave back: the text, whether it is an error, what else came along."""

    text: str
    is_error: bool | None = None
    images: tuple[str, ...] = ()


class Use(NamedTuple):
    """A tool's call: its name and input."""

    name: str
    input: Any
    is_web_search: bool = False


def use_of(item: dict[str, Any]) -> Use | None:
    """Return the tool's call that an item is, None where it is none."""
    match item.get("type"):
        case "function_call" | "custom_tool_call":
            return Use(_name_of(item), tool_input(item.get("arguments", item.get("input"))))
        case "local_shell_call":
            return Use("local_shell", tool_input(item.get("action")))
        case "web_search_call":
            action = object_of(item.get("action"))
            return Use("web_search", action, action.get("type", "search") == "search")
        case "tool_search_call":
            return Use("tool_search", object_of(item.get("arguments")))
        case "image_generation_call":
            return Use("image_generation", {"prompt": item.get("revised_prompt")})
    return None


def result_of(item: dict[str, Any]) -> Result | None:
    """Return the tool's result that an item is, None where it is none."""
    match item.get("type"):
        case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
            return tool_result(item.get("output"))
        case "tool_search_output":
            return Result("\n".join(_names_in(item.get("tools"))))
    return None


def _name_of(item: dict[str, Any]) -> str:
    """Return a tool's whole name, as the model called it."""
    name, namespace = text_of(item.get("name")), text_of(item.get("namespace"))
    joint = "" if not namespace or namespace.endswith("_") else "__"
    return f"{namespace}{joint}{name}"


def tool_input(arguments: Any) -> Any:
    """Return a tool's input as an object, a shell's with a text `command`."""
    if isinstance(arguments, str):
        try:
            value = orjson.loads(arguments)
        except orjson.JSONDecodeError:
            value = None
        # A tool whose input is no JSON takes a script or a patch.
        arguments = value if isinstance(value, dict) else {"command": arguments}
    if not isinstance(arguments, dict):
        return {} if arguments is None else arguments
    command = arguments.get("command", arguments.get("cmd"))
    if isinstance(command, list):
        command = _command(command)
    if not isinstance(command, str):
        return arguments
    rest = {name: value for name, value in arguments.items() if name not in ("command", "cmd")}
    return {"command": command, **rest}


def _command(argv: list[Any]) -> str | None:
    """Return an argument list as it is typed: a script for a shell is that script."""
    if not argv or not all(isinstance(argument, str) for argument in argv):
        return None
    shell = re.split(r"[/\\]", argv[0])[-1].lower().removesuffix(".exe")
    if len(argv) > 2 and shell in _SHELLS and _SCRIPT_FOLLOWS.fullmatch(argv[-2]):
        return str(argv[-1])
    return shlex.join(argv)


def tool_result(output: Any) -> Result:
    """Return what a tool gave back, as the model saw it."""
    match output:
        case None:
            return Result("")
        case str():
            return _of_text(output)
        case list():
            found = content_of(output)
            text = joined([*found.texts, *map(as_json, found.unknown)])
            return Result(text, _says_error(text), tuple(found.images))
        case {"content": content, **rest} if isinstance(content, str | list):
            success, error = rest.get("success"), rest.get("is_error", rest.get("isError"))
            result = tool_result(content)
            told = not success if isinstance(success, bool) else error
            return result._replace(is_error=told if isinstance(told, bool) else result.is_error)
        case {"text": str(text)}:
            return Result(text)
        case _:
            return Result(as_json(output))


def _of_text(output: str) -> Result:
    """Unwrap what older versions sent as JSON: the output with the exit code beside it."""
    if output.startswith("{"):
        try:
            value = object_of(orjson.loads(output))
        except orjson.JSONDecodeError:
            value = {}
        text, metadata = value.pop("output", None), next(iter(value.values()), None)
        code = object_of(metadata).get("exit_code")
        if isinstance(text, str) and len(value) == 1 and isinstance(code, int):
            return Result(text, code != 0)
    return Result(output, _says_error(output))


def _says_error(text: str) -> bool | None:
    """Tell whether a tool that ran something failed; None where it does not say."""
    if text.startswith(("Script failed", "Script completed")):
        return text.startswith("Script failed")
    if not text.startswith(_HEADS):
        return None
    match = _EXIT_CODE.search(text.partition("\nOutput:\n")[0])
    return int(match.group(1)) != 0 if match else None


class Content(NamedTuple):
    """The texts of a message or a result, what its images are, and its other parts."""

    texts: list[str]
    images: list[str]
    unknown: list[Any]


def content_of(content: Any) -> Content:
    """Return what stands in a content, whatever its shape; what is encrypted is left out."""
    found = Content([], [], [])
    for part in content if isinstance(content, list) else [content]:
        fields = object_of(part)
        if isinstance(text := fields.get("text", part), str):
            found.texts.append(text)
        elif text_of(fields.get("type")) in _IMAGES:
            found.images.append(image_of(fields.get("image_url") or fields.get("url")))
        elif part is not None and "encrypted_content" not in fields:
            found.unknown.append(part)
    return found


def joined(texts: list[str]) -> str:
    """Return texts one below the other."""
    ended = (text if text.endswith("\n") else f"{text}\n" for text in texts[:-1])
    return "".join((*ended, *texts[-1:]))


def image_of(url: Any) -> str:
    """Return what is kept of an image: its kind and size, or where it lies."""
    url = text_of(url)
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:"):
        return url or "image"
    return f"{head.removeprefix('data:').partition(';')[0]}, {len(data) * 3 // 4} bytes"


def _names_in(tools: Any) -> Iterator[str]:
    """Yield the names of tools, in groups too, without what describes them."""
    for tool in items_of(tools):
        inner = object_of(tool).get("tools")
        yield from _names_in(inner) if inner else [text_of(object_of(tool).get("name"))]
