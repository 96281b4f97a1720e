"""`sjduck list`."""

import click

from sjduck.cli.opening import Opened, opens_archive
from sjduck.cli.terminal import narrate, print_json, print_table
from sjduck.listing import FIELDS, MAX_CHARS, SORTS, TYPES, list_documents

_COLUMNS = (
    "type", "date", "time", "host", "project", "topic", "turns", "size", "sid", "also_on",
)  # fmt: skip


@click.command(name="list")
@click.option("--type", "type_", type=click.Choice(TYPES), help="Only this type.")
@click.option("--host", help="Only this host (exact).")
@click.option("--project", help="Only projects that hold this text.")
@click.option("--harness", help="Only this harness.")
@click.option("--since", metavar="WHEN", help="From this local day or ISO instant on.")
@click.option("--until", metavar="WHEN", help="Up to this local day or ISO instant.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0)
@click.option("--sort", type=click.Choice(SORTS), default="date", show_default=True)
@click.option("--order", type=click.Choice(["asc", "desc"]), default="desc", show_default=True)
@click.option("--fields", type=click.Choice(FIELDS), default="compact", show_default=True)
@click.option("--include-sidechains", is_flag=True, help="Subagents too.")
@click.option("--max-chars", type=int, default=MAX_CHARS, help="Bound under --json; 0: none.")
@opens_archive
def list_command(
    opened: Opened, *, type_: str | None, as_json: bool, max_chars: int, **options: object
) -> None:
    """List what the archive holds, newest first."""
    answer = list_documents(
        opened.archive,
        type=type_,
        max_chars=max_chars if as_json else 0,
        **options,  # type: ignore[arg-type]
    )
    if as_json:
        print_json(answer)
        return
    print_table(answer["items"], _COLUMNS, wide="topic")
    shown = f"{answer['shown']} of {answer['total']} ({answer['sort']})"
    if following := answer.get("next_offset"):
        shown += f"; more: --offset {following}"
    narrate(shown)
