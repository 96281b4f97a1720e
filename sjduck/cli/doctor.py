"""`sjduck doctor`."""

from typing import Any

import click

from sjduck.cli.terminal import counted, narrate, print_json, print_text
from sjduck.doctor import diagnose, lines
from sjduck.errors import UsageError
from sjduck.settings import load
from sjduck.upkeep import repair


@click.command(name="doctor")
@click.option("--archive", metavar="DIR", help="The archive's folder.  [env: SJDUCK_ARCHIVE]")
@click.option("--fix", is_flag=True, help="Repair what can be; damaged files are moved aside.")
@click.option("--quick", is_flag=True, help="Sizes and footers instead of every file's checksum.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as one line of JSON.")
def doctor_command(*, archive: str | None, fix: bool, quick: bool, as_json: bool) -> None:
    """Look over the archive, its sources and this machine; say what is wrong and what to do.

    Exits with 1 where something serious is found: with --fix, where it is left.
    """
    repaired = _repaired(archive, is_heard=not as_json) if fix else None
    answer = diagnose(archive, with_checksums=not quick)
    if as_json:
        print_json({**answer, **({"repaired": repaired} if repaired else {})})
    else:
        if repaired:
            _print_repaired(repaired)
        for line in lines(answer):
            print_text(line)
        narrate(_summary(answer))
    if answer["serious"]:
        raise SystemExit(1)


def _repaired(archive: str | None, *, is_heard: bool) -> dict[str, Any] | None:
    """Return what a repair did; None where the configuration, a finding of its own, prevents it."""
    try:
        return repair(load(archive=archive).archive, is_heard=is_heard)
    except UsageError as error:
        narrate(f"sjduck: not repaired: {error}")
        return None


def _summary(answer: dict[str, Any]) -> str:
    warnings, notes = counted(answer["warning"], "warning"), counted(answer["info"], "note")
    said = f"{answer['serious']:,} serious, {warnings}, {notes}"
    return f"{answer['archive']}: {said if answer['findings'] else 'all is well'}"


def _print_repaired(repaired: dict[str, Any]) -> None:
    """Say what a repair did, line by line; what is lost comes last."""
    for damage in repaired["damaged"]:
        print_text(f"damaged  {damage['path']} {damage['what']}")
    for damage in repaired["others"]:
        print_text(
            f"damaged  {damage['path']} {damage['what']}: of writer {damage['writer']}, "
            "to be repaired on its machine"
        )
    for name, what in (
        ("retaken", "documents taken in again from their sources"),
        ("kept", "documents kept whose sources are gone"),
        ("indexed", "documents indexed again"),
        ("closed", "files and folders closed to others"),
    ):
        if repaired.get(name):
            print_text(f"repaired {repaired[name]:,} {what}")
    for path in repaired.get("quarantined", ()):
        print_text(f"moved    {path} → quarantine/{path}")
    for row in repaired.get("lost", ()):
        named = " ".join(filter(None, (row["type"], row["session_id"], row["path"])))
        print_text(f"lost     {named}: its source is gone, too")
    for warning in repaired["warnings"]:
        narrate(f"sjduck: {warning}")
