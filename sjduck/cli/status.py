"""`sjduck status` and `sjduck snapshots`."""

from typing import Any

import click

from sjduck.cli.opening import Opened, opens_archive
from sjduck.cli.terminal import narrate, print_json, print_table, print_text
from sjduck.integrity import verify
from sjduck.listing import human_size
from sjduck.status import DETAILS, snapshots, status

_COLUMNS = {
    "hosts": ("host", "newest", "published", "lacking", "size", "documents"),
    "coverage": ("sid", "date", "host", "harness", "topic"),
    "schema": ("table", "column", "type", "about"),
}


@click.command(name="status")
@click.option(
    "--detail",
    type=click.Choice(DETAILS),
    default="summary",
    show_default=True,
    help="coverage: sessions that the catalogue knows and the archive lacks.",
)
@click.option("--offset", type=click.IntRange(0), default=0, metavar="N", help="Skip so many rows.")
@click.option(
    "--max-chars",
    type=click.IntRange(0),
    metavar="N",
    help="Bound of --json; 0: none.  [default: 12000]",
)
@opens_archive
def status_command(
    opened: Opened, *, detail: str, offset: int, max_chars: int | None, as_json: bool
) -> None:
    """Say what is here, from where, and what is lacking."""
    answer = status(
        opened.archive,
        sources=opened.settings.sources,
        detail=detail,
        offset=offset,
        max_chars=max_chars if as_json else 0,
    )
    if as_json:
        print_json(answer)
    elif detail == "summary":
        print_text("\n".join(_summary(answer)))
    else:
        rows = [_host(row) for row in answer["rows"]] if detail == "hosts" else answer["rows"]
        print_table(rows, _COLUMNS[detail])
        if not rows:
            narrate("nothing")


@click.command(name="snapshots")
@click.option("--verify", "is_check", is_flag=True, help="Check the checksum of every file.")
@opens_archive
def snapshots_command(opened: Opened, *, is_check: bool, as_json: bool) -> int:
    """List the generations that --as-of can read, newest first.

    With --verify: the files of all writers that are not what their manifests say, one a line;
    exits with 1 where there are any.
    """
    if is_check:
        return _verified(verify(opened.archive.root), as_json=as_json)
    rows = snapshots(opened.archive.root, opened.archive.timezone)
    if as_json:
        print_json({"total": len(rows), "snapshots": rows, "tz": opened.archive.timezone})
        return 0
    columns = ("created", "generation", "host", "segments", "documents", "size", "writer")
    print_table([{**row, "size": human_size(row["bytes"])} for row in rows], columns)
    narrate(f"{len(rows)} kept; read one with --as-of '{rows[-1]['created']}'")
    return 0


def _verified(answer: dict[str, Any], *, as_json: bool) -> int:
    """Print what a check of all files found; return the exit code."""
    damaged = answer["damaged"]
    if as_json:
        print_json(answer)
    else:
        for row in damaged:
            print_text(f"{row['path']}: {row['what']}")
        said = f"{len(damaged):,} damaged; run 'sjduck doctor --fix'" if damaged else "all whole"
        narrate(f"{_counted(answer['files'], 'file')}, {human_size(answer['bytes'])}: {said}")
    return 1 if damaged else 0


def _summary(answer: dict[str, Any]) -> list[str]:
    documents = ", ".join(_counted(n, type_) for type_, n in answer["documents"].items())
    said = [
        ("archive", f"{answer['archive']}, {human_size(answer['bytes'])}"),
        ("holds", documents or "nothing"),
        ("index", _index(answer["index"])),
    ]
    if semantic := answer.get("semantic"):
        said.append(("meaning", _semantic(semantic)))
    if gone := answer["source_gone"]:
        said.append(("kept", f"{_counted(gone, 'document')} whose source is gone"))
    if lacking := answer["lacking"]:
        known = f"{_counted(lacking, 'session')} that a catalogue knows"
        said.append(("lacking", f"{known}: sjduck status --detail coverage"))
    if rejects := answer["rejects"]:
        said.append(("rejects", ", ".join(f"{n:,} × {reason}" for reason, n in rejects.items())))
    if masked := answer.get("secrets_masked"):
        said.append(("masked", _masked(masked)))
    for writer in answer["writers"]:
        said.append(("writer", _writer(writer)))
        said += [("from", source) for source in writer["filled_from"]]
    for source in answer["sources"]:
        state = "" if source["is_taken_in"] else " (not taken in yet)"
        state = state if source["is_reachable"] else " (not there)"
        said.append(("source", f"{source['kind']} {source['path']}{state}"))
    said += [("left out", f"{n:,} more {name}") for name, n in answer.get("left_out", {}).items()]
    return [f"{name:<9} {text}" for name, text in [*said, ("sjduck", answer["sjduck"])]]


def _index(index: dict[str, int]) -> str:
    if not index["files"]:
        return "none: sjduck etl --reindex makes one"
    said = f"{_counted(index['files'], 'file')}, {human_size(index['bytes'])}"
    if damaged := index["damaged"]:
        said += f"; {damaged:,} missing or damaged: sjduck etl --reindex"
    return said


def _masked(masked: dict[str, int]) -> str:
    said = f"{_counted(masked['places'], 'secret')} in {_counted(masked['documents'], 'document')}"
    if left := masked["segments_left"]:
        said += f"; {_counted(left, 'segment')} not looked through"
    return said


def _semantic(semantic: dict[str, Any]) -> str:
    passages, embedded = semantic["passages"], semantic["embedded"]
    said = f"{embedded:,} of {_counted(passages, 'passage')} embedded with {semantic['model']}"
    if damaged := semantic.get("damaged"):
        said += f"; {_counted(damaged, 'file')} missing or damaged: sjduck doctor --fix"
    elif embedded < passages:
        said += "; the rest: sjduck etl --semantic"
    return f"{said}; not used here: {semantic['lacking']}" if "lacking" in semantic else said


def _host(row: dict[str, Any]) -> dict[str, Any]:
    documents = [_counted(n, type_) for type_, n in row["documents"].items()]
    return {
        **row,
        "host": row["host"] or "(no host)",
        "size": human_size(row["bytes"]),
        "documents": documents,
    }


def _writer(writer: dict[str, Any]) -> str:
    segments = _counted(writer["segments"], "segment")
    return (
        f"{writer['writer']} on {writer['host']}: generation {writer['generation']} of "
        f"{writer['published']}, {segments}, last run {writer['last_run'] or 'unknown'}"
    )


def _counted(count: int, what: str) -> str:
    plural = what[:-1] + "ies" if what.endswith("y") else what + "s"
    return f"{count:,} {what if count == 1 else plural}"
