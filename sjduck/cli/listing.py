"""`sjduck list`."""

from urllib.parse import unquote

import click

from sjduck.archive import Row
from sjduck.cli.opening import Opened, opens_archive
from sjduck.cli.terminal import money, narrate, print_json, print_table
from sjduck.listing import FIELDS, SORTS, TYPES, list_documents

_COLUMNS = (
    "sid", "date", "time", "is_here", "type", "host", "also_on", "project", "turns", "size", "cost",
    "topic",
)  # fmt: skip
# What has no handle of its own is read by the name of its file.
_NAMED = ("plan", "memory", "note", "file")


@click.command(name="list")
@click.option("--type", "type_", type=click.Choice(TYPES), help="Only this type.")
@click.option("--host", metavar="NAME", help="Only this host (exact).")
@click.option("--project", metavar="TEXT", help="Only projects whose name holds this text.")
@click.option("--harness", metavar="NAME", help="Only this harness (exact), such as claude.")
@click.option("--since", metavar="WHEN", help="From this local day or ISO instant on.")
@click.option("--until", metavar="WHEN", help="Up to and with this local day or ISO instant.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    metavar="N",
    help="Rows a page.",
)
@click.option("--offset", type=click.IntRange(0), default=0, metavar="N", help="Skip so many rows.")
@click.option("--sort", type=click.Choice(SORTS), default="date", show_default=True)
@click.option("--order", type=click.Choice(["asc", "desc"]), default="desc", show_default=True)
@click.option(
    "--fields",
    type=click.Choice(FIELDS),
    default="compact",
    show_default=True,
    help="full: under --json, everything known of each row.",
)
@click.option("--include-sidechains", is_flag=True, help="Subagents too.")
@click.option(
    "--max-chars",
    type=click.IntRange(0),
    metavar="N",
    help="Bound of --json; 0: none.  [env: SJMCP_LIST_MAX_CHARS; default: 12000]",
)
@opens_archive
def list_command(
    opened: Opened, *, type_: str | None, as_json: bool, max_chars: int | None, **options: object
) -> None:
    """List what the archive holds, newest first.

    --type log lists the sessions that the catalogue knows, here or not.
    """
    answer = list_documents(
        opened.archive,
        type=type_,
        max_chars=max_chars if as_json else 0,
        **options,  # type: ignore[arg-type]
    )
    if as_json:
        print_json(answer)
        return
    rows = [_shown(row, type_) for row in answer["items"]]
    columns = ("name", "date", *_COLUMNS[4:]) if type_ in _NAMED else _COLUMNS
    print_table(rows, columns, right={"cost"})
    if not answer["total"]:
        narrate("nothing matches; 'sjduck status' says what is here")
        return
    shown = f"{answer['shown']:,} of {answer['total']:,}, by {answer['sort']}"
    if following := answer.get("next_offset"):
        shown += f"; more: --offset {following}"
    narrate(shown)
    if type_ is None and any("name" in row for row in rows):
        narrate("what has no sid is read by its name: sjduck list --type plan, memory or note")


def _shown(row: Row, type_: str | None) -> Row:
    row = {**row, "cost": money(row.get("cost_usd"))}
    if row.get("type", type_) not in _NAMED:
        return row
    return {**row, "sid": None, "name": unquote(row["path"].rpartition("/")[2])}
