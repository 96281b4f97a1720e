"""Registering with clients: what is added, that all else stays, and how it is taken out again."""

import json
import os
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sjduck.cli import main
from sjduck.clients.commands import is_ours
from sjduck.clients.files import Change, ChangedMeanwhile
from sjduck.clients.jsonedit import JsonText
from sjduck.clients.known import CLIENTS, Server
from sjduck.clients.planning import Plan, carry_out, installing
from sjduck.clients.tomledit import TomlText
from sjduck.clients.ways import look_up, with_value, without
from sjduck.errors import SjduckError
from sjduck.server.prompts import PROMPTS
from tests.conftest import Fill
from tests.sshd import Servers
from tests.test_cli import Ran
from tests.trees import write_session

CHECKOUT = Path(__file__).parent.parent
Run = Callable[..., Ran]

CLAUDE = """\
{
  "numStartups": 41,
  "theme": "dark",
  "mcpServers": {
    "birds": {"command": "npx", "args": ["-y", "birds"], "env": {"KEY": "k\\u00e9"}}
  },
  "projects": {
    "/home/ann/shop": {"mcpServers": {}, "history": [
      "count the till"
    ]}
  }
}
"""
DESKTOP = '{"mcpServers":{"birds":{"command":"npx","args":["birds"]}},"scale":1.50}'
CODEX = """\
# how Ann likes it
model = "o3"   # for now
approval_policy = "on-request"

[mcp_servers.birds]   # from the aviary
command = "npx"
args = [
  "-y",  # yes
  "birds",
]

# the shop
[projects."/home/ann/shop"]
trust_level = "trusted"
"""
OPENCODE = """\
{
  "$schema": "https://opencode.ai/config.json",
  // "theme": "light",
  "theme": "dark", /* at night */
  "mcp": {
    // who sings?
    "birds": { "type": "local", "command": ["npx", "birds"], "enabled": false, }, // loud
  },
}
"""
GEMINI = '{\r\n\t"ui": {"theme": "Ayu"},\r\n\t"mcpServers": {}\r\n}\r\n'

# Client → its file below the home, what stands there, and the way to its servers.
SAMPLES = {
    "claude-code": (".claude.json", CLAUDE, ("mcpServers",)),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", DESKTOP, ("mcpServers",)),
    "codex": (".codex/config.toml", CODEX, ("mcp_servers",)),
    "opencode": (".config/opencode/opencode.jsonc", OPENCODE, ("mcp",)),
    "gemini": (".gemini/settings.json", GEMINI, ("mcpServers",)),
}
COMMANDS = {
    "claude-code": [".claude/commands/{}.md"],
    "claude-desktop": [],
    "codex": [".codex/prompts/{}.md", ".codex/skills/{}/SKILL.md"],
    "opencode": [".config/opencode/command/{}.md"],
    "gemini": [".gemini/commands/{}.toml"],
}


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the machine a session to answer from and the command; return the command's path."""
    write_session(home / ".claude", 1, ["one"])
    program = tmp_path / "bin" / "sjduck"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport os, sys\nsys.path.insert(0, {str(CHECKOUT)!r})\n"
        f"os.environ.update(HOME={str(home)!r}, TZ='UTC', PYTHONPATH={str(CHECKOUT)!r})\n"
        "from sjduck.cli import main\nmain()\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("GEMINI_CLI_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    return program


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a command in this process."""

    def ran(*arguments: str) -> Ran:
        capfd.readouterr()
        monkeypatch.setattr(sys, "argv", ["pytest", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capfd.readouterr()
        return Ran(int(left.value.code or 0), out, err)

    return ran


def place(home: Path, client: str, text: str | bytes | None = None) -> Path:
    """Write a client's sample, or another text; return the file."""
    below, sample, _ = SAMPLES[client]
    file = home / below
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(
        text if isinstance(text, bytes) else (sample if text is None else text).encode()
    )
    file.chmod(0o640)
    return file


def entry_of(client: str, file: Path) -> Any:
    """Return what a client reads of the server."""
    text = CLIENTS[client].text(file.read_bytes().decode("utf-8-sig"))
    return look_up(text.read(), (*SAMPLES[client][2], "sjduck"))


def commands_of(home: Path, client: str) -> list[Path]:
    """Return where a client's slash commands are."""
    return [home / shape.format(p.name) for p in PROMPTS for shape in COMMANDS[client]]


def tree(home: Path) -> dict[str, bytes]:
    """Return every file of a home."""
    return {
        str(file.relative_to(home)): file.read_bytes() for file in home.rglob("*") if file.is_file()
    }


# -- five clients --------------------------------------------------------------------------


@pytest.mark.parametrize("client", SAMPLES)
def test_a_client_is_registered_and_a_second_run_changes_nothing(
    home: Path, run: Run, machine: Path, client: str
) -> None:
    file = place(home, client)
    before = CLIENTS[client].text(file.read_bytes().decode()).read()

    first = run("install", client)
    after_first = tree(home)
    second = run("install", client)

    assert (first.code, second.code) == (0, 0)
    assert tree(home) == after_first
    assert second.out == ""
    assert "nothing to change" in second.err
    entry = entry_of(client, file)
    started = entry["command"] if client == "opencode" else [entry["command"], *entry["args"]]
    assert started == [str(machine), "serve"]
    way = (*SAMPLES[client][2], "sjduck")
    after = CLIENTS[client].text(file.read_bytes().decode()).read()
    assert without(after, way) == before
    backup = file.with_name(file.name + ".before-sjduck")
    assert backup.read_bytes() == SAMPLES[client][1].encode()
    assert file.stat().st_mode == backup.stat().st_mode
    for command in commands_of(home, client):
        assert is_ours(command.read_text(encoding="utf-8")), command


@pytest.mark.parametrize("client", SAMPLES)
def test_what_was_written_stays_line_by_line(home: Path, run: Run, client: str) -> None:
    file = place(home, client)
    before = file.read_bytes()
    run("install", client)
    added = file.read_bytes()
    run("uninstall", client)

    assert file.read_bytes() == before
    if client != "claude-desktop":
        kept = [line.rstrip(b",") for line in added.splitlines()]
        for line in before.splitlines():
            assert line.rstrip(b",") in kept or line.strip() == b'"mcpServers": {}'
    else:
        assert added.count(b"\n") == 0


@pytest.mark.parametrize("client", SAMPLES)
def test_uninstall_takes_out_what_install_brought_and_a_second_run_changes_nothing(
    home: Path, run: Run, client: str
) -> None:
    file = place(home, client)
    run("install", client)
    first = run("uninstall", client)
    after_first = tree(home)
    second = run("uninstall", client)

    assert (first.code, second.code) == (0, 0)
    assert tree(home) == after_first
    assert not [command for command in commands_of(home, client) if command.exists()]
    assert not (home / ".codex" / "skills" / "sjget").exists()
    assert file.read_bytes() == SAMPLES[client][1].encode()


@pytest.mark.parametrize("client", SAMPLES)
@pytest.mark.parametrize("text", [None, "", "\n", "{}\n"])
def test_a_client_without_a_configuration_gets_one(
    home: Path, run: Run, machine: Path, client: str, text: str | None
) -> None:
    file = home / SAMPLES[client][0]
    if client == "opencode":
        file = file.with_name("opencode.json")
    if text is not None and client != "codex":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    ran = run("install", client, "--json")

    assert ran.code == 0
    assert str(machine) in json.dumps(entry_of(client, file))
    assert file.read_text().endswith("\n") or text == ""
    if text is None or client == "codex":
        assert file.stat().st_mode & 0o777 == 0o600
    run("uninstall", client)
    assert entry_of(client, file) is None


# -- what is refused -----------------------------------------------------------------------

UNREADABLE: list[tuple[str, str | bytes]] = [
    ("claude-code", '{"a": 1,}'),
    ("claude-code", '{"a": 1} x'),
    ("claude-code", "{'a': 1}"),
    ("claude-code", '// no\n{"a": 1}'),
    ("claude-code", '{"a": NaN}'),
    ("claude-code", "[]"),
    ("claude-code", "null"),
    ("claude-code", b'{"a": "\xff\xfe"}'),
    ("claude-code", "[" * 100_000),
    ("claude-desktop", '{"a": "torn'),
    ("codex", "model = \n"),
    ("codex", "[mcp_servers]\na = 1\n[mcp_servers]\nb = 2\n"),
    ("codex", b"model = '\xff'"),
    ("opencode", "{ /* open"),
    ("gemini", "{{}"),
]


@pytest.mark.parametrize(("client", "text"), UNREADABLE)
@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_what_cannot_be_read_is_refused_untouched(
    home: Path, run: Run, client: str, text: str | bytes, command: str
) -> None:
    file = place(home, client, text)
    before = tree(home)
    ran = run(command, client)

    assert tree(home) == before
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"sjduck: can't read {file}: ")
    assert ran.err.endswith("; mend it, nothing was changed\n")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("claude-code", '{"mcpServers": []}'),
        ("claude-code", '{"mcpServers": null}'),
        ("claude-code", '{"mcpServers": {"sjduck": {}}, "mcpServers": 3}'),
        ("codex", "mcp_servers = 3\n"),
        ("opencode", '{"mcp": "no"}'),
    ],
)
def test_where_there_is_no_place_for_a_server_nothing_is_written(
    home: Path, run: Run, client: str, text: str
) -> None:
    file = place(home, client, text)
    before = tree(home)
    ran = run("install", client)
    nothing_of_ours = run("uninstall", client)

    assert tree(home) == before
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"sjduck: can't edit {file}: ")
    assert (nothing_of_ours.code, nothing_of_ours.out) == (0, "")


@pytest.mark.parametrize("arguments", [["cursor"], [], ["codex", "--remote", "-oProxyCommand=id"]])
def test_bad_usage_is_told(home: Path, run: Run, arguments: list[str]) -> None:
    before = tree(home)
    ran = run("install", *arguments)

    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert tree(home) == before


# -- what is kept --------------------------------------------------------------------------

OLD_CODEX = """\
[mcp_servers.sjduck]
command = "old" # mine
startup_timeout_sec = 9

# next
[mcp_servers.sjduck.env]
A = "1"
"""


@pytest.mark.parametrize(
    ("client", "text", "kept"),
    [
        (
            "claude-code",
            '{"mcpServers": {"sjduck": {"url": "http://x", "env": {"A": "1"}, "timeout": 9}}}',
            {"env": {"A": "1"}, "timeout": 9},
        ),
        (
            "codex",
            OLD_CODEX,
            {"startup_timeout_sec": 9, "env": {"A": "1"}},
        ),
        (
            "opencode",
            '{"mcp": {"sjduck": {"type": "remote", "url": "http://x", "enabled": false}}}',
            {"enabled": False},
        ),
        ("gemini", '{"mcpServers": {"sjduck": {"trust": true, "args": []}}}', {"trust": True}),
        ("claude-desktop", '{"mcpServers": {"sjduck": null}}', {}),
    ],
)
def test_an_entry_that_is_there_keeps_what_else_it_says(
    home: Path, run: Run, machine: Path, client: str, text: str, kept: dict[str, Any]
) -> None:
    file = place(home, client, text)
    run("install", client)
    entry = entry_of(client, file)

    assert {**entry, **kept} == entry
    assert "url" not in entry
    assert str(machine) in json.dumps(entry)
    if client == "codex":
        assert "# mine" in file.read_text()
        assert "# next\n[mcp_servers.sjduck.env]" in file.read_text()


def test_a_link_is_followed_and_the_mode_stays(home: Path, run: Run, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    real = dotfiles / "codex.toml"
    real.write_text(CODEX)
    real.chmod(0o600)
    link = home / ".codex" / "config.toml"
    link.parent.mkdir()
    link.symlink_to(real)

    run("install", "codex")

    assert link.is_symlink()
    assert "sjduck" in tomllib.loads(real.read_text())["mcp_servers"]
    assert real.stat().st_mode & 0o777 == 0o600
    assert sorted(file.name for file in dotfiles.iterdir()) == [
        "codex.toml", "codex.toml.before-sjduck",
    ]  # fmt: skip


def test_a_link_to_nothing_is_filled_where_it_leads(home: Path, run: Run, tmp_path: Path) -> None:
    (home / ".claude.json").symlink_to(tmp_path / "new" / "claude.json")
    run("install", "claude-code")

    assert (home / ".claude.json").is_symlink()
    assert "sjduck" in json.loads((tmp_path / "new" / "claude.json").read_text())["mcpServers"]


def test_a_byte_order_mark_stays(home: Path, run: Run) -> None:
    file = place(home, "claude-code", b"\xef\xbb\xbf" + CLAUDE.encode())
    run("install", "claude-code")
    with_entry = file.read_bytes()
    run("uninstall", "claude-code")

    assert with_entry.startswith(b'\xef\xbb\xbf{\n  "numStartups"')
    assert file.read_bytes() == b"\xef\xbb\xbf" + CLAUDE.encode()


def test_each_change_keeps_a_copy_of_its_own(home: Path, run: Run) -> None:
    file = place(home, "codex")
    run("install", "codex")
    registered = file.read_bytes()
    run("uninstall", "codex")

    assert file.with_name("config.toml.before-sjduck").read_bytes() == CODEX.encode()
    assert file.with_name("config.toml.before-sjduck-2").read_bytes() == registered
    assert not list(file.parent.glob(".config.toml.*"))


@pytest.mark.parametrize("client", SAMPLES)
def test_a_dry_run_shows_the_change_and_makes_none(home: Path, run: Run, client: str) -> None:
    file = place(home, client)
    before = tree(home)
    shown = run("install", client, "--dry-run")
    as_json = run("install", client, "--dry-run", "--json").json

    assert tree(home) == before
    assert f"--- {file}\n+++ {file}\n@@" in shown.out
    assert as_json["is_done"] is False
    changed = [change["path"] for change in as_json["changes"]]
    assert sorted(changed) == sorted(map(str, [file, *commands_of(home, client)]))
    run("install", client)
    out = run("uninstall", client, "--dry-run").out
    assert out.count("+++ /dev/null") == len(commands_of(home, client))


def test_a_file_that_is_written_meanwhile_is_read_again(home: Path) -> None:
    file = place(home, "claude-code")
    client, server = CLIENTS["claude-code"], Server("sjduck", ("serve",), {})
    plans: list[Plan] = []

    def planned() -> Plan:
        plan = installing(client, server, os.environ)
        if not plans:
            file.write_text(CLAUDE.replace("41", "42"))
        plans.append(plan)
        return plan

    carry_out(planned)

    data = json.loads(file.read_text())
    assert (data["numStartups"], len(plans)) == (42, 2)
    assert "sjduck" in data["mcpServers"]
    with pytest.raises(ChangedMeanwhile):
        Change(file, b"{}", b"[]").apply()


def test_a_file_that_is_always_written_is_given_up(home: Path) -> None:
    file = place(home, "claude-code")

    def planned() -> Plan:
        plan = installing(CLIENTS["claude-code"], Server("sjduck", (), {}), os.environ)
        file.write_text(file.read_text() + "\n")
        return plan

    with pytest.raises(SjduckError, match="writes its configuration all the time"):
        carry_out(planned)
    assert "sjduck" not in json.loads(file.read_text())["mcpServers"]


def test_the_clients_variables_move_their_homes(
    home: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    write_session(tmp_path / "CLAUDE_CONFIG_DIR", 1, ["one"])
    for client in SAMPLES:
        assert run("install", client).code == 0

    written = {name.partition("/")[2] for name in tree(tmp_path) if name.split("/")[0].isupper()}
    assert {
        ".claude.json", "commands/sjget.md", "config.toml", "prompts/sjget.md",
        "skills/sjget/SKILL.md", "opencode/opencode.json", "opencode/command/sjget.md",
        "Claude/claude_desktop_config.json", ".gemini/settings.json", ".gemini/commands/sjget.toml",
    } <= written  # fmt: skip
    assert list(tree(home)) == [name for name in tree(home) if name.startswith(".claude/projects")]


@pytest.mark.parametrize(
    ("platform", "below"),
    [
        ("darwin", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("linux", ".config/Claude/claude_desktop_config.json"),
        ("win32", "AppData/Roaming/Claude/claude_desktop_config.json"),
    ],
)
def test_claude_desktop_has_a_place_on_each_system(
    home: Path, monkeypatch: pytest.MonkeyPatch, platform: str, below: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)

    assert CLIENTS["claude-desktop"].config({}) == home / below
    if platform == "win32":
        assert (
            CLIENTS["claude-desktop"].config({"APPDATA": "/x"})
            == Path("/x/Claude") / Path(below).name
        )


def test_opencode_is_found_in_either_file_and_in_the_shape_of_version_2(
    home: Path, run: Run
) -> None:
    plain = home / ".config" / "opencode" / "opencode.json"
    commented = place(home, "opencode", '{"mcp": {"servers": {"birds": {"type": "local"}}}}')
    run("install", "opencode")
    in_version_2 = json.loads(commented.read_text())["mcp"]["servers"]
    commented.write_text("{}")
    plain.write_text('{"mcp": {"sjduck": {"type": "local", "command": ["old"]}}}')
    run("install", "opencode")

    assert list(in_version_2) == ["birds", "sjduck"]
    assert commented.read_text() == "{}"
    assert json.loads(plain.read_text())["mcp"]["sjduck"]["command"][1:] == ["serve"]


# -- slash commands ------------------------------------------------------------------------


@pytest.mark.parametrize("client", [name for name, shapes in COMMANDS.items() if shapes])
def test_the_commands_are_the_prompts(home: Path, run: Run, client: str) -> None:
    run("install", client)
    for prompt in PROMPTS:
        for shape in COMMANDS[client]:
            text = (home / shape.format(prompt.name)).read_text(encoding="utf-8")
            if shape.endswith(".toml"):
                read = tomllib.loads(text)
                assert read["description"] == prompt.about
                text = read["prompt"]
            else:
                assert f"\ndescription: {json.dumps(prompt.about, ensure_ascii=False)}\n" in text
                text = text.partition("\n---\n")[2]
            used = "<" + prompt.argument + ">" if "skills" in shape else "$ARGUMENTS"
            used = "{{args}}" if client == "gemini" else used
            assert used in text
            words = prompt.text(used) if prompt.is_required else prompt.text("")
            assert words in text
            # What clients put in for these would not be the prompt's.
            for special in ("!`", "!{", "@{", "$1", "$(", "\n@", " @"):
                assert special not in text.replace(used, "")


def test_a_file_that_sjduck_did_not_write_is_left_alone(
    home: Path, run: Run, tmp_path: Path
) -> None:
    folder = home / ".claude" / "commands"
    folder.mkdir()
    (folder / "sjget.md").write_text("my own\n")
    (tmp_path / "theirs.md").write_text("scrubjay's\n")
    (folder / "sjfind.md").symlink_to(tmp_path / "theirs.md")
    first = run("install", "claude-code")
    edited = folder / "sjrecall.md"
    edited.write_text(edited.read_text() + "Answer in French.\n")
    second = run("install", "claude-code", "--json").json
    out = run("uninstall", "claude-code")

    assert first.err.count("left alone") == 2
    assert [Path(path).name for path in second["left_alone"]] == [
        "sjrecall.md", "sjfind.md", "sjget.md",
    ]  # fmt: skip
    assert (folder / "sjget.md").read_text() == "my own\n"
    assert (folder / "sjfind.md").read_text() == "scrubjay's\n"
    assert edited.read_text().endswith("Answer in French.\n")
    assert sorted(file.name for file in folder.iterdir()) == [
        "sjfind.md", "sjget.md", "sjrecall.md",
    ]  # fmt: skip
    assert out.err.count("left alone") == 3


def test_a_command_of_an_older_sjduck_is_brought_up_to_date(home: Path, run: Run) -> None:
    run("install", "claude-code")
    file = home / ".claude" / "commands" / "sjget.md"
    written = file.read_text()
    older = _marked_anew(written.replace("sum it up", "say it short"))
    file.write_text(older)

    assert is_ours(older)
    assert run("install", "claude-code").out == f"wrote   {file}\n"
    assert file.read_text() == written


def _marked_anew(text: str) -> str:
    from sjduck.clients.commands import _MARKED, _marked

    return _marked(_MARKED.sub("", text))


# -- what answers --------------------------------------------------------------------------


def test_the_archive_and_the_sources_that_the_shell_knows_are_told_to_the_client(
    home: Path, run: Run, root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SJDUCK_ARCHIVE", str(root))
    monkeypatch.setenv("SCRUBJAY_DATA", "~/data")
    by_variable = run("install", "codex", "--json").json
    entry = entry_of("codex", home / ".codex" / "config.toml")
    run("uninstall", "codex")
    monkeypatch.chdir(tmp_path)
    run("install", "codex", "--archive", "archive")
    flagged = entry_of("codex", home / ".codex" / "config.toml")

    assert entry["env"] == {"SJDUCK_ARCHIVE": str(root), "SCRUBJAY_DATA": f"{home}/data"}
    assert by_variable["answers_from"] == f"the source claude {home}/.claude"
    assert flagged["args"] == ["serve", "--archive", str(root)]
    assert flagged["env"] == {"SCRUBJAY_DATA": f"{home}/data"}


def test_an_archive_answers_before_sources_and_those_before_a_configured_remote(
    home: Path, run: Run, root: Path, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SJDUCK_REMOTE", "nas")
    by_source = run("install", "codex", "--dry-run", "--archive", str(root))
    fill(f"claude={home}/.claude")
    by_archive = run("install", "codex", "--dry-run", "--archive", str(root))
    shutil.rmtree(home / ".claude")
    monkeypatch.setenv("SJDUCK_ARCHIVE", str(root / "none"))
    by_remote = run("install", "codex", "--dry-run", "--json").json

    assert f"Codex asks the source claude {home}/.claude" in by_source.err
    assert "the configured remote: --remote nas" in by_source.err
    assert f"Codex asks the archive {root}" in by_archive.err
    assert by_remote["answers_from"] == "ssh nas"
    assert by_remote["server"] == [
        "ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "nas",
    ]  # fmt: skip


def test_without_anything_to_answer_from_one_loud_line_says_what_to_do(
    home: Path, run: Run
) -> None:
    shutil.rmtree(home / ".claude")
    ran = run("install", "claude-code")

    assert (ran.code, ran.out, tree(home)) == (3, "", {})
    assert ran.err.startswith("sjduck: NOT registered: ")
    assert "--remote ALIAS" in ran.err
    assert ran.err.count("\n") == 1


# -- by SSH --------------------------------------------------------------------------------


@pytest.fixture
def servers(tmp_path: Path, machine: Path) -> Iterator[Servers]:
    """Return ssh servers; `ssh` is a client that knows them."""
    servers = Servers(tmp_path / "ssh")
    client = machine.with_name("ssh")
    real = shutil.which("ssh")
    client.write_text(f'#!/bin/sh\nexec {real} -F {shlex.quote(str(servers.config))} "$@"\n')
    client.chmod(0o755)
    yield servers
    servers.stop()


def test_the_printed_lines_let_the_client_in_by_way_of_a_jump_host(
    home: Path, run: Run, root: Path, fill: Fill, servers: Servers, machine: Path
) -> None:
    fill(f"claude={home}/.claude")
    servers.start("door", 'restrict,command="/bin/false"')
    servers.start("edge", "restrict")
    servers.know("archive", "door", jump="edge")
    refused = run("install", "codex", "--remote", "archive")
    lines = dict(zip(*[iter(refused.out.splitlines()[-4:])] * 2, strict=True))
    for (where, line), name in zip(lines.items(), ("door", "edge"), strict=True):
        assert where.endswith(f" on 127.0.0.1:{servers.ports[name]}")
        assert line.endswith(servers.public_key)
        there = line.replace('"sjduck gate"', f'"{machine} gate --archive {root}"')
        servers.authorize(name, there)
    before = tree(home)
    let_in = run("install", "codex", "--remote", "archive")
    as_json = run("install", "codex", "--remote", "archive", "--json").json

    assert refused.code == 1
    assert "no answer yet: " in refused.err
    assert "restart Codex" in refused.err, "it is registered all the same"
    assert let_in.code == 0, let_in.err
    assert "the connection works: sjduck " in let_in.err
    assert tree(home) == before
    assert as_json["connection"]["is_up"] is True
    assert [line["host"] for line in as_json["authorized_keys"]] == [
        f"127.0.0.1:{servers.ports['door']}", f"127.0.0.1:{servers.ports['edge']}",
    ]  # fmt: skip
    entry = entry_of("codex", home / ".codex" / "config.toml")
    assert (entry["command"], entry["args"][-1]) == ("ssh", "archive")


# -- texts that are edited -----------------------------------------------------------------

_KEYS = st.text(st.sampled_from('ab"\\é /*'), min_size=1, max_size=3)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.text(st.sampled_from('a",:/*{}\n'), max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(_KEYS | st.just("mcp"), _VALUES, max_size=4)
_ENTRY = {"command": "x", "args": ["serve"]}


@given(
    _OBJECTS,
    st.sampled_from([None, 2, "\t"]),
    st.sampled_from([None, (",", ":")]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_any_json_is_edited_without_touching_the_rest(
    data: dict[str, Any], indent: int | str | None, separators: Any, newline: str
) -> None:
    text = json.dumps(data, indent=indent, separators=separators).replace("\n", newline)
    way = ("mcp", "sjduck")
    before = JsonText(text)
    if not isinstance(data.get("mcp", {}), dict):
        with pytest.raises(ValueError, match="is no object"):
            before.put(way, _ENTRY)
        return

    after = before.put(way, _ENTRY)

    assert after.read() == with_value(data, way, _ENTRY)
    taken = after.take(way)
    assert taken.read() == without(after.read(), way)
    if data.get("mcp"):
        assert taken.text == text
    assert after.put(way, 3).read() == with_value(data, way, 3)


_COMMENT = st.sampled_from(["// a, b: {\n", "/* , } */", "/* \n */", " ", "\n  ", '// "x": 1,\n'])


@given(
    st.lists(_COMMENT, min_size=6, max_size=6),
    st.sampled_from(["", ","]),
    st.sampled_from(["", "more"]),
)
def test_comments_stay_where_they_are(between: list[str], comma: str, more: str) -> None:
    a, b, c, d, e, f = between
    servers = f'{c}, {d}"mcp"{e}: {{"q": 1{f}}}' if more else c
    text = f'{a}{{{b}"a": [1, "//"]{servers}{comma}{f}}}{a}'
    before = JsonText(text, is_lenient=True)
    way = ("mcp", "sjduck")

    after = before.put(way, _ENTRY)
    taken = after.take(way)

    assert after.read() == with_value(before.read(), way, _ENTRY)
    assert taken.read() == without(after.read(), way)
    for comment in (part.strip() for part in between if part.strip()):
        assert after.text.count(comment) >= text.count(comment)
        assert taken.text.count(comment) >= text.count(comment)


TOMLS = [
    "",
    "# only a comment",
    "a = 1",
    "[a]\nb = 1",
    "[[a]]\nb = 1\n[[a]]\nb = 2\n",
    'mcp_servers = { birds = { command = "x" } }\n',
    'mcp_servers.birds.command = "x"\n',
    "[mcp_servers]\n",
    "[mcp_servers.birds]\ncommand = 'x'\n\n[other]\nk = 1\n\n[mcp_servers.cats]\ncommand = 'y'\n",
    'a = """\n[mcp_servers.sjduck]\n"""\n',
    "a = 1\r\n[b]\r\nc = 2\r\n",
]


@pytest.mark.parametrize("text", TOMLS)
def test_any_toml_is_edited_without_touching_the_rest(text: str) -> None:
    way = ("mcp_servers", "sjduck")
    before = TomlText(text)
    after = before.put(way, {**_ENTRY, "env": {"A": "1"}})
    changed = after.put((*way, "command"), "y")
    longer = after.put((*way, "cwd"), "/")
    taken = after.take(way)

    assert after.holds(with_value(before.read(), way, {**_ENTRY, "env": {"A": "1"}}))
    assert changed.holds(with_value(after.read(), (*way, "command"), "y"))
    assert longer.holds(with_value(after.read(), (*way, "cwd"), "/"))
    assert taken.text.rstrip() == text.rstrip()
    for line in text.splitlines():
        assert line.rstrip(" }") in after.text


def test_a_toml_that_tomlkit_gets_wrong_is_refused(home: Path, run: Run) -> None:
    text = '[mcp_servers]\nsjduck.command = "q"\nbirds.command = "b"\n'
    file = place(home, "codex", text)
    ran = run("install", "codex")

    if ran.code:
        assert file.read_text() == text
        assert "do it by hand" in ran.err
    else:
        assert entry_of("codex", file)["args"] == ["serve"]


def test_the_readme_shows_the_entries_that_install_writes() -> None:
    text = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(json|toml)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    shown = [
        tomllib.loads(block) if kind == "toml" else json.loads(block)
        for kind, block in blocks
        if '"sjduck"' in block
    ]

    for client in CLIENTS.values():
        entry = client.entry(Server("sjduck", ("serve",), {}))
        assert with_value({}, (*client.servers({}), "sjduck"), entry) in shown, client.name
