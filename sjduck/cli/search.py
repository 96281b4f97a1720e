"""`sjduck search`."""

import re
import shlex
from collections.abc import Sequence
from typing import Any

import click

from sjduck.archive import Row
from sjduck.bounds import Answer
from sjduck.cli.opening import Opened, opens_archive
from sjduck.cli.terminal import clean, echo, fitted, narrate, print_json, terminal_width
from sjduck.passages import CHARACTERS, bare, passage
from sjduck.phrases import parse
from sjduck.search import MAX_CHARS, MAX_HITS, RANKS, ROLES, search
from sjduck.semantic.nearest import MODES

# What stands before a snippet: its line's number.
_MARGIN = 10
_QUERY = (
    'QUERY: any of its words may match; "phrases in quotes" have to stand literally, -word '
    "excludes. Give it in single quotes: '\"two words\" -other'."
)


@click.command(name="search", epilog=_QUERY)
@click.argument("query", nargs=-1, required=True)
@click.option("--role", type=click.Choice(ROLES), help="Only what they said.")
@click.option("--host", metavar="NAME", help="Only this host (exact).")
@click.option("--project", metavar="TEXT", help="Only projects whose name holds this text.")
@click.option("--harness", metavar="NAME", help="Only this harness (exact), such as claude.")
@click.option("--since", metavar="WHEN", help="Sent from this local day or ISO instant on.")
@click.option("--until", metavar="WHEN", help="Sent up to this local day or ISO instant.")
@click.option("--include-low-signal", is_flag=True, help="Tool output and long tool input too.")
@click.option("--include-sidechains", is_flag=True, help="Subagents too.")
@click.option("--rank", type=click.Choice(RANKS), default="blended", show_default=True)
@click.option(
    "--mode",
    type=click.Choice(MODES),
    help="By words, meaning or both.  [default: hybrid where what was said is embedded]",
)
@click.option(
    "--limit",
    type=click.IntRange(1, MAX_HITS),
    default=20,
    show_default=True,
    metavar="N",
    help="Hits a page.",
)
@click.option("--offset", type=click.IntRange(0), default=0, metavar="N", help="Skip so many hits.")
@click.option(
    "--max-chars",
    type=click.IntRange(0),
    default=MAX_CHARS,
    metavar="N",
    help="Bound under --json; 0: none.",
)
@opens_archive
def search_command(
    opened: Opened, *, query: tuple[str, ...], as_json: bool, max_chars: int, **options: Any
) -> None:
    """Find the messages in which something was said: by whom, when, on which lines."""
    words = " ".join(query)
    answer = search(opened.archive, words, max_chars=max_chars if as_json else 0, **options)
    if as_json:
        print_json(answer)
        return
    corrected = answer.get("corrected", {})
    for wrong, meant in corrected.items():
        narrate(f"nothing has {wrong!r}; searched for {meant!r} instead")
    needles = _needles(words, corrected.values())
    for number, hit in enumerate(answer["hits"], 1 + answer["offset"]):
        _show(number, hit, needles)
    for note in answer.get("notes", ()):
        narrate(note)
    narrate(_summary(answer))


def _needles(query: str, corrected: Any) -> list[str]:
    """Return the texts to mark in what is shown."""
    parts = [part.text for part in parse(query).parts if part.kind != "without"]
    return sorted({*parts, *corrected}, key=len, reverse=True)


def _summary(answer: Answer) -> str:
    if not answer["total"]:
        return "nothing matches; try other words, --include-low-signal, or sjduck recall"
    shown = f"{answer['shown']:,} of {answer['total']:,}"
    if following := answer.get("next_offset"):
        shown += f"; more: --offset {following}"
    return shown


def _show(number: int, hit: Row, needles: Sequence[str]) -> None:
    """Print one hit: when, where and by whom, its best passage, and how to read on."""
    width = terminal_width() or CHARACTERS + _MARGIN
    kind = hit["kind"] if hit["kind"] not in ("text", "markdown") else None
    place = " · ".join(
        clean(str(part))
        for part in (
            hit["sent_at"] or hit["date"],
            hit["host"],
            hit["project"],
            hit["type"] if hit["type"] != "transcript" else None,
            hit["role"],
            hit.get("tool") or kind,
        )
        if part
    )
    echo(
        f"{click.style(f'{number:>2}  {place}', bold=True)}  {click.style(hit['score'], dim=True)}"
    )
    if hit["topic"]:
        echo(f"    {fitted(clean(' '.join(hit['topic'].split())), width - 4)}")
    source = f"{hit['line']:>6}" if hit["line"] is not None else " " * 6
    room = max(width - _MARGIN, 40)
    shown = passage(clean(hit["snippet"]), [bare(needle) for needle in needles], room).text
    echo(f"  {source}  {_marked(fitted(shown, room), needles)}")
    echo(click.style(f"    {_next_step(hit)}", fg="cyan"))


def _marked(text: str, needles: Sequence[str]) -> str:
    wanted = "|".join(re.escape(needle) for needle in needles)
    return re.sub(
        wanted, lambda match: click.style(match[0], fg="yellow", bold=True), text, flags=re.I
    )


def _next_step(hit: Row) -> str:
    if "note" in hit:
        return str(hit["note"])
    # A note has the handle of the session that it came from.
    is_session = hit["sid"] and hit["type"] in ("transcript", "subagent")
    ref = hit["sid"] if is_session else shlex.quote(hit["path"])
    place = f"--seq {hit['seq']}" if hit["line"] is None else f"--line {hit['line']}"
    return f"sjduck context {ref} {place}"
