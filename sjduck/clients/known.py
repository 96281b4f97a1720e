"""The clients: where each has its configuration, how a server stands in it, and its commands."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sjduck.clients import commands
from sjduck.clients.jsonedit import JsonText
from sjduck.clients.tomledit import TomlText
from sjduck.clients.ways import Way, look_up

NAME = "sjduck"
Environment = Mapping[str, str]
Text = JsonText | TomlText


class Server(NamedTuple):
    """How a client starts the server."""

    command: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Client:
    """A program that speaks MCP.

    `configs` are the files it may have, the usual one last; `servers` is the way to the servers
    in what such a file holds; `shapes` are those of its slash commands, below `home`.
    """

    name: str
    title: str
    configs: Callable[[Environment], list[Path]]
    text: Callable[[str], Text]
    servers: Callable[[Any], Way]
    entry: Callable[[Server], dict[str, Any]]
    home: Callable[[Environment], Path] | None = None
    shapes: tuple[commands.Shape, ...] = ()

    def config(self, environment: Environment) -> Path:
        """Return its configuration file: the one that names us, else the first that is there."""
        *_, usual = paths = self.configs(environment)
        there = [path for path in paths if path.exists()]
        return next((path for path in there if self._names_us(path)), [*there, usual][0])

    def command_files(self, environment: Environment) -> Iterator[tuple[Path, str]]:
        """Yield the files of its slash commands."""
        if self.home is not None:
            home = self.home(environment)
            for path, text in commands.command_files(*self.shapes):
                yield home / path, text

    def _names_us(self, path: Path) -> bool:
        try:
            data = self.text(path.read_text(encoding="utf-8-sig")).read()
        except (OSError, ValueError):
            return False
        return look_up(data, (*self.servers(data), NAME)) is not None


# -- where things are ----------------------------------------------------------------------


def _folder(named: str | None, default: str, *below: str) -> Path:
    return Path(os.path.abspath(os.path.join(os.path.expanduser(named or default), *below)))


def _claude_home(environment: Environment) -> str | None:
    # Naming several is sjduck's: Claude Code has one.
    return environment.get("CLAUDE_CONFIG_DIR", "").split(",")[0]


def _claude_configs(environment: Environment) -> list[Path]:
    return [_folder(_claude_home(environment), "~", ".claude.json")]


def _claude_commands(environment: Environment) -> Path:
    return _folder(_claude_home(environment), "~/.claude", "commands")


def _desktop_configs(environment: Environment) -> list[Path]:
    folder = {
        "darwin": _folder(None, "~/Library/Application Support"),
        "win32": _folder(environment.get("APPDATA"), "~/AppData/Roaming"),
    }.get(sys.platform) or _folder(environment.get("XDG_CONFIG_HOME"), "~/.config")
    return [folder / "Claude" / "claude_desktop_config.json"]


def _codex_home(environment: Environment) -> Path:
    return _folder(environment.get("CODEX_HOME"), "~/.codex")


def _opencode_home(environment: Environment) -> Path:
    return _folder(environment.get("XDG_CONFIG_HOME"), "~/.config", "opencode")


def _opencode_configs(environment: Environment) -> list[Path]:
    home = _opencode_home(environment)
    return [home / "opencode.jsonc", home / "opencode.json"]


def _opencode_commands(environment: Environment) -> Path:
    # Every version looks there; the first ones nowhere else.
    return _opencode_home(environment) / "command"


def _gemini_home(environment: Environment) -> Path:
    return _folder(environment.get("GEMINI_CLI_HOME"), "~", ".gemini")


# -- how a server stands there -------------------------------------------------------------


def _standard(server: Server) -> dict[str, Any]:
    entry: dict[str, Any] = {"command": server.command, "args": list(server.arguments)}
    return {**entry, "env": dict(server.environment)} if server.environment else entry


def _of_claude(server: Server) -> dict[str, Any]:
    return {"type": "stdio", **_standard(server)}


def _of_opencode(server: Server) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "local", "command": [server.command, *server.arguments]}
    if server.environment:
        entry["environment"] = dict(server.environment)
    return entry


def _opencode_servers(data: Any) -> Way:
    """Return where opencode's servers are: version 2 may have them one level lower."""
    lower = look_up(data, ("mcp", "servers"))
    is_server = isinstance(lower, dict) and ("type" in lower or "command" in lower)
    return ("mcp", "servers") if isinstance(lower, dict) and not is_server else ("mcp",)


def _lenient(text: str) -> JsonText:
    return JsonText(text, is_lenient=True)


_CLIENTS = (
    Client(
        name="claude-code",
        title="Claude Code",
        configs=_claude_configs,
        text=JsonText,
        servers=lambda _: ("mcpServers",),
        entry=_of_claude,
        home=_claude_commands,
        shapes=(commands.claude_command,),
    ),
    Client(
        name="claude-desktop",
        title="Claude Desktop",
        configs=_desktop_configs,
        text=JsonText,
        servers=lambda _: ("mcpServers",),
        entry=_standard,
    ),
    Client(
        name="codex",
        title="Codex",
        configs=lambda environment: [_codex_home(environment) / "config.toml"],
        text=TomlText,
        servers=lambda _: ("mcp_servers",),
        entry=_standard,
        home=_codex_home,
        shapes=(commands.codex_prompt, commands.codex_skill),
    ),
    Client(
        name="opencode",
        title="opencode",
        configs=_opencode_configs,
        text=_lenient,
        servers=_opencode_servers,
        entry=_of_opencode,
        home=_opencode_commands,
        shapes=(commands.opencode_command,),
    ),
    Client(
        name="gemini",
        title="Gemini CLI",
        configs=lambda environment: [_gemini_home(environment) / "settings.json"],
        text=_lenient,
        servers=lambda _: ("mcpServers",),
        entry=_standard,
        home=lambda environment: _gemini_home(environment) / "commands",
        shapes=(commands.gemini_command,),
    ),
)
CLIENTS = {client.name: client for client in _CLIENTS}
