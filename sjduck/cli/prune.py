"""`sjduck prune` and `sjduck vacuum`."""

from typing import Any

import click

from sjduck.cli.terminal import counted, narrate, print_json, print_table, print_text
from sjduck.errors import UsageError
from sjduck.listing import TYPES, human_size
from sjduck.settings import load
from sjduck.upkeep import forget, prune, vacuum

_COLUMNS = ("sid", "date", "what", "host", "project", "size", "topic")


@click.command(name="prune")
@click.option("--archive", metavar="DIR", help="The archive's folder.  [env: SJDUCK_ARCHIVE]")
@click.option("--before", metavar="DAY", help="Used last before this day, or ISO instant.")
@click.option("--older-than", metavar="AGE", help="Used last so long ago: 90d, 12w, 48h.")
@click.option("--host", metavar="NAME", help="Of this machine.")
@click.option("--project", metavar="TEXT", help="Of projects with this in their name.")
@click.option("--harness", metavar="NAME", help="Of this agent program.")
@click.option(
    "--sid",
    "sids",
    metavar="SID",
    multiple=True,
    help="This session, by its handle or whole id; may be given several times.",
)
@click.option("--type", type=click.Choice(TYPES), help="Only this type.  [default: all but log]")
@click.option("--catalogue", is_flag=True, help="Their rows in catalogues, too.")
@click.option("--yes", is_flag=True, help="Do it. Without, it says what would go.")
@click.option("--forget", "is_forget", is_flag=True, help="Let back what --sid or --all names.")
@click.option("--all", "is_all", is_flag=True, help="With --forget: everything.")
@click.option("--tz", metavar="ZONE", help="Zone of days, such as Europe/Berlin.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as one line of JSON.")
def prune_command(
    *,
    archive: str | None,
    sids: tuple[str, ...],
    catalogue: bool,
    yes: bool,
    is_forget: bool,
    is_all: bool,
    tz: str | None,
    as_json: bool,
    **filters: str | None,
) -> None:
    """Remove sessions and documents from the archive, for good; filters that are given all hold.

    They leave every snapshot that is kept and the search index, and do not come back with the
    next run, whichever source has them. What the sources hold is not touched.
    """
    settings = load(archive=archive, timezone=tz)
    if is_forget:
        if catalogue or any(filters.values()):
            raise UsageError("--forget goes with --sid or --all alone")
        answer = forget(
            settings.archive, sids=sids, is_all=is_all, is_dry=not yes, is_heard=not as_json
        )
        print_json(answer) if as_json else _print_forgotten(answer)
        return
    if is_all:
        raise UsageError("--all goes with --forget; to prune, name what")
    answer = prune(
        settings.archive,
        tz=settings.timezone,
        sids=sids,
        with_catalogue=catalogue,
        is_dry=not yes,
        is_heard=not as_json,
        **filters,
    )
    print_json(answer) if as_json else _print_pruned(answer)


@click.command(name="vacuum")
@click.option("--archive", metavar="DIR", help="The archive's folder.  [env: SJDUCK_ARCHIVE]")
@click.option("--drop-history", is_flag=True, help="Drop this writer's older snapshots, too.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as one line of JSON.")
def vacuum_command(*, archive: str | None, drop_history: bool, as_json: bool) -> None:
    """Merge this writer's files and sweep those that nothing needs any more."""
    settings = load(archive=archive)
    answer = vacuum(settings.archive, drop_history=drop_history, is_heard=not as_json)
    if as_json:
        print_json(answer)
        return
    sizes = {name: human_size(answer[name]) for name in answer if name.startswith(("bytes", "fre"))}
    print_text(
        f"{sizes['freed']} freed; {sizes['bytes_before']} before, {sizes['bytes_after']} after"
    )
    if answer["bytes_of_history"] and not drop_history:
        narrate(
            f"{sizes['bytes_of_history']} are there for older snapshots alone, and go with them "
            "within a week; at once: --drop-history"
        )
    _print_warnings(answer)


def _print_pruned(answer: dict[str, Any]) -> None:
    rows = [
        {**row, "what": row["type"], "size": human_size(row["bytes"])} for row in answer["items"]
    ]
    print_table(rows, _COLUMNS)
    for ref in answer.get("not_found", ()):
        narrate(f"sjduck: no session {ref} in this archive")
    if not answer["total"] and not answer["catalogue_rows"] and not answer["prompts"]:
        narrate("nothing to prune")
        return
    narrate(_said(answer))
    for writer in answer["writers"]:
        if not writer["is_this"]:
            narrate(
                f"{counted(writer['copies'], 'copy', 'copies')} in files of {writer['writer']} on "
                f"{writer['host']}: no longer shown, and removed by its next 'sjduck etl' there"
            )
    if answer["is_dry"]:
        narrate("a dry run: nothing was removed; with --yes it is")
        return
    if quarantined := answer.get("quarantined"):
        narrate(
            f"{counted(quarantined, 'damaged file')} in quarantine/ may hold some of it: "
            "delete those by hand"
        )
    _print_warnings(answer)


def _said(answer: dict[str, Any]) -> str:
    sessions = counted(answer["sessions"], "session")
    size = f"{human_size(answer['bytes'])} of text"
    parts = [f"{counted(answer['total'], 'document')} ({sessions}, {size})"]
    for name, *what in (
        ("prompts", "prompt in a history", "prompts in histories"),
        ("catalogue_rows", "row of a catalogue", "rows of catalogues"),
        ("snapshots", "older snapshot that holds it", "older snapshots that hold it"),
    ):
        if answer[name]:
            parts.append(counted(answer[name], *what))
    going = ", ".join(parts)
    if answer["is_dry"]:
        return f"would go: {going}"
    return f"gone: {going}; {human_size(answer['freed'])} freed"


def _print_forgotten(answer: dict[str, Any]) -> None:
    print_table(answer["tombstones"], ("kind", "host", "since", "id"))
    if not answer["total"]:
        narrate("nothing of that was pruned")
    elif answer["is_dry"]:
        narrate(f"{answer['total']} would be let back; with --sid or --all, and --yes, they are")
    else:
        narrate(f"{answer['total']} let back: the next 'sjduck etl' takes in what is still there")


def _print_warnings(answer: dict[str, Any]) -> None:
    for warning in answer["warnings"]:
        narrate(f"sjduck: {warning}")
