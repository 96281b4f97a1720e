"""`sjduck doctor`."""

from typing import Any

import click

from sjduck.cli.terminal import counted, narrate, print_json, print_table, print_text
from sjduck.doctor import diagnose, lines
from sjduck.doctor.secrets import LIMIT, MAX_CHARS, secrets
from sjduck.errors import NothingToRead, UsageError
from sjduck.settings import load
from sjduck.snapshots import read_snapshot
from sjduck.upkeep import repair


@click.command(name="doctor")
@click.option("--archive", metavar="DIR", help="The archive's folder.  [env: SJDUCK_ARCHIVE]")
@click.option("--fix", is_flag=True, help="Repair what can be; damaged files are moved aside.")
@click.option("--quick", is_flag=True, help="Sizes and footers instead of every file's checksum.")
@click.option("--secrets", "is_secrets", is_flag=True, help="List where secrets stand, masked.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=LIMIT,
    show_default=True,
    metavar="N",
    help="With --secrets: so many places.",
)
@click.option(
    "--offset",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="With --secrets: skip so many.",
)
@click.option(
    "--max-chars",
    type=click.IntRange(0),
    metavar="N",
    help=f"With --secrets: bound of --json; 0: none.  [default: {MAX_CHARS}]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as one line of JSON.")
def doctor_command(
    *,
    archive: str | None,
    fix: bool,
    quick: bool,
    is_secrets: bool,
    limit: int,
    offset: int,
    max_chars: int | None,
    as_json: bool,
) -> None:
    """Look over the archive, its sources and this machine; say what is wrong and what to do.

    Exits with 1 where something serious is found: with --fix, where it is left.

    With --secrets it only looks for passwords, keys and tokens: each place with its line in the
    readable, what kind it is, and a number that is the same for the same secret.
    """
    if is_secrets:
        if fix or quick:
            raise click.UsageError("--secrets goes without --fix and --quick")
        _list_secrets(archive, limit, offset, max_chars, as_json=as_json)
        return
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


def _list_secrets(
    archive: str | None, limit: int, offset: int, max_chars: int | None, *, as_json: bool
) -> None:
    settings = load(archive=archive)
    if not read_snapshot(settings.archive).manifests:
        raise NothingToRead(f"no snapshot in {settings.archive}; run 'sjduck etl' to make one")
    bound = MAX_CHARS if max_chars is None else max_chars
    answer = secrets(settings, limit=limit, offset=offset, max_chars=bound if as_json else 0)
    if as_json:
        print_json(answer)
        return
    rows = [{**row, "line": _place(row)} for row in answer["items"]]
    print_table(rows, ("sid", "line", "date", "host", "secret", "kind", "text"))
    for kind in answer["kinds"]:
        where = f"{counted(kind['places'], 'place')}, {counted(kind['documents'], 'document')}"
        narrate(f"{kind['kind']}: {kind['secrets']:,} different, in {where}")
    masked = answer["masked"]["places"]
    said = f"{counted(answer['total'], 'secret')} found, {masked:,} masked already"
    narrate(f"{said}; {answer['more']}" if "more" in answer else said)


def _place(row: dict[str, Any]) -> str:
    """Return the line of the readable, else that of the source, which is another count."""
    if row["line"] is not None:
        return str(row["line"])
    return f"source {row['source_line']}" if row["source_line"] is not None else "title"


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
