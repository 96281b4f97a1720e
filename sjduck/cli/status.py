"""`sjduck status` and `sjduck snapshots`."""

import click

from sjduck.cli.opening import Opened, opens_archive
from sjduck.cli.terminal import narrate, print_json, print_table, print_text
from sjduck.listing import human_size
from sjduck.status import DETAILS, MAX_CHARS, snapshots, status

_WIDE = {"hosts": "documents", "coverage": "topic", "schema": "about"}
_COLUMNS = {
    "hosts": ("host", "documents", "size", "newest", "lacking"),
    "coverage": ("date", "host", "topic", "sid", "harness"),
    "schema": ("table", "column", "type", "about"),
}


@click.command(name="status")
@click.option("--detail", type=click.Choice(DETAILS), default="summary", show_default=True)
@click.option("--max-chars", type=int, default=MAX_CHARS, help="Bound under --json; 0: none.")
@opens_archive
def status_command(opened: Opened, *, detail: str, max_chars: int, as_json: bool) -> None:
    """Say what is here, from where, and what is lacking."""
    answer = status(
        opened.archive,
        sources=opened.settings.sources,
        detail=detail,
        max_chars=max_chars if as_json else 0,
    )
    if as_json:
        print_json(answer)
    elif detail == "summary":
        print_text(_summary(answer))
    else:
        rows = [{**row, "size": human_size(row.get("bytes"))} for row in answer["rows"]]
        print_table(rows, _COLUMNS[detail], wide=_WIDE[detail])


@click.command(name="snapshots")
@opens_archive
def snapshots_command(opened: Opened, *, as_json: bool) -> None:
    """List the generations that --as-of can read, newest first."""
    rows = snapshots(opened.archive.root, opened.archive.timezone)
    if as_json:
        print_json({"total": len(rows), "snapshots": rows, "tz": opened.archive.timezone})
        return
    columns = ("created", "writer", "generation", "host", "segments", "documents", "size")
    shown = [{**row, "size": human_size(row["bytes"])} for row in rows]
    print_table(shown, columns, wide="writer")
    narrate(f"{len(rows)} kept; read one with --as-of")


def _summary(answer: dict[str, object]) -> str:
    documents: dict[str, int] = answer["documents"]  # type: ignore[assignment]
    lines = [
        f"archive    {answer['archive']}, {human_size(answer['bytes'])}",  # type: ignore[arg-type]
        "holds      " + (", ".join(f"{n:,} {t}" for t, n in documents.items()) or "nothing"),
    ]
    if answer["source_gone"]:
        lines.append(f"kept       {answer['source_gone']:,} documents whose source is gone")
    if answer["lacking"]:
        lines.append(
            f"lacking    {answer['lacking']:,} sessions that the catalogue knows "
            "(--detail coverage)"
        )
    rejects: dict[str, int] = answer["rejects"]  # type: ignore[assignment]
    if rejects:
        lines.append("rejects    " + ", ".join(f"{n:,} {reason}" for reason, n in rejects.items()))
    for writer in answer["writers"]:  # type: ignore[attr-defined]
        lines.append(
            f"writer     {writer['writer']} on {writer['host']}: generation "
            f"{writer['generation']} of {writer['published']}, {writer['segments']} segments"
        )
        lines += [f"           from {source}" for source in writer["filled_from"]]
    for source in answer["sources"]:  # type: ignore[attr-defined]
        state = "" if source["is_reachable"] else " (not there)"
        lines.append(f"source     {source['kind']} {source['path']}{state}")
    return "\n".join([*lines, f"sjduck     {answer['sjduck']}"])
