"""The sample units are what the programs that read them take, and their commands are ours."""

import configparser
import json
import plistlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from etl.command import command

UNITS = Path(__file__).parent.parent / "docs" / "units"
COMMANDS = re.compile(r"sjduck\"? (etl [^>\n<\"]*)")


def commands() -> Iterator[tuple[str, list[str]]]:
    """Yield each command that a unit runs, without the lines that are comments."""
    for file in sorted(UNITS.iterdir()):
        lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
        for found in COMMANDS.findall("\n".join(lines)):
            yield file.name, found.split()[1:]


def test_every_unit_runs_a_command_of_ours() -> None:
    found = dict(commands())

    assert {file.name for file in UNITS.iterdir()} == {*found, "sjduck-etl.timer"}
    for arguments in found.values():
        command.make_context("sjduck etl", arguments)


@pytest.mark.parametrize("unit", sorted(UNITS.glob("*.service")) + sorted(UNITS.glob("*.timer")))
def test_a_systemd_unit_can_be_read(unit: Path) -> None:
    parsed = configparser.ConfigParser(interpolation=None, strict=False)
    parsed.optionxform = str  # type: ignore[assignment]
    parsed.read_string(unit.read_text())

    assert {"Unit"} < set(parsed.sections())
    if shutil.which("systemd-analyze"):
        said = subprocess.run(
            ["systemd-analyze", "--user", "verify", str(unit)],
            capture_output=True,
            text=True,
            check=False,
        ).stderr
        # The program itself is not where it will be.
        lines = [line for line in said.splitlines() if unit.name in line]
        assert [line for line in lines if "is not executable" not in line] == []


def test_the_launchd_agent_and_the_hook_can_be_read() -> None:
    agent = plistlib.loads((UNITS / "sjduck.watch.plist").read_bytes())
    settings = json.loads((UNITS / "settings.json").read_text())

    assert agent["ProgramArguments"][:2] == ["/bin/sh", "-c"]
    assert list(settings["hooks"]) == ["SessionEnd"]


def test_the_page_about_deploying_names_every_unit() -> None:
    page = (UNITS.parent / "deploying.md").read_text()

    assert [file.name for file in UNITS.iterdir() if f"units/{file.name}" not in page] == []
