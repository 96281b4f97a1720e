"""`sjduck recall`."""

import shlex
from typing import Any

import click

from sjduck.archive import Row
from sjduck.bounds import Answer
from sjduck.cli.opening import Opened, opens_archive
from sjduck.cli.terminal import clean, echo, fitted, narrate, print_json, terminal_width
from sjduck.recall import MAX_CHARS, MAX_RESULTS, RANKS, TYPES, recall
from sjduck.semantic.nearest import MODES
from sjduck.snippets import CHARACTERS, around
from sjduck.terms import Question, question
from sjduck.words import fold

# What stands before a snippet: its line's number.
_MARGIN = 10


@click.command(name="recall")
@click.argument("query", nargs=-1, required=True)
@click.option("--also", metavar="WORDS", help="Other words that it may have been said in.")
@click.option("--type", "type_", type=click.Choice(TYPES), help="Only this type.")
@click.option("--host", help="Only this host (exact).")
@click.option("--project", help="Only projects that hold this text.")
@click.option("--harness", help="Only this harness.")
@click.option("--since", metavar="WHEN", help="From this local day or ISO instant on.")
@click.option("--until", metavar="WHEN", help="Up to this local day or ISO instant.")
@click.option("--include-sidechains", is_flag=True, help="Subagents too.")
@click.option(
    "-k",
    type=click.IntRange(1, MAX_RESULTS),
    default=8,
    metavar="N",
    show_default=True,
    help="Results.",
)
@click.option("--rank", type=click.Choice(RANKS), default="fused", show_default=True)
@click.option(
    "--mode",
    type=click.Choice(MODES),
    help="By words, meaning or both.  [default: hybrid where what was said is embedded]",
)
@click.option("--max-chars", type=int, default=MAX_CHARS, help="Bound under --json; 0: none.")
@opens_archive
def recall_command(
    opened: Opened,
    *,
    query: tuple[str, ...],
    also: str | None,
    type_: str | None,
    as_json: bool,
    max_chars: int,
    **options: Any,
) -> None:
    """Find where something was discussed: which machine, which session, which lines."""
    words = " ".join(query)
    answer = recall(
        opened.archive,
        words,
        also=also,
        type=type_,
        fields="compact" if as_json else "full",
        max_chars=max_chars if as_json else 0,
        **options,
    )
    if as_json:
        print_json(answer)
        return
    asked = question(words, also)
    for number, result in enumerate(answer["results"], 1):
        _show(number, result, asked)
    for note in answer.get("notes", ()):
        narrate(note)
    narrate(_summary(answer))


def _summary(answer: Answer) -> str:
    if answer["total"] == 0:
        return "nothing matches; try other words, or --also"
    by_number = "-k, " if answer["count"] < MAX_RESULTS else ""
    is_all = answer["count"] == answer["total"]
    more = "" if is_all else f"; more: {by_number}other words, or a filter"
    return f"{answer['count']} of {answer['total']} that match{more}"


def _show(number: int, result: Row, asked: Question) -> None:
    """Print one result: where and when, why, the best lines, and how to read or resume it."""
    width = terminal_width() or CHARACTERS + _MARGIN
    place = " · ".join(
        clean(str(part))
        for part in (result["date"], result["host"], result["project"], result["type"])
        if part and part != "transcript"
    )
    head = click.style(f"{number:>2}  {place}", bold=True)
    echo(f"{head}  {click.style(result['why'], dim=True)}")
    if result["topic"]:
        echo(f"    {fitted(clean(' '.join(result['topic'].split())), width - 4)}")
    for snippet in result["snippets"][:2]:
        source = f"{snippet.get('line') or snippet.get('source') or _turn(snippet):>6}"
        text = around(clean(snippet["text"]), asked, max(width - _MARGIN, 40))
        echo(f"  {source}  {_marked(fitted(text, max(width - _MARGIN, 40)), asked)}")
    echo(click.style(f"    {_next_step(result)}", fg="cyan"))


def _turn(snippet: Row) -> str:
    """Name where something stands that the readable leaves out."""
    return f"turn {snippet['turn']}" if snippet["turn"] else ""


def _next_step(result: Row) -> str:
    if "note" in result:
        return str(result["note"])
    lines = [snippet["line"] for snippet in result["snippets"] if "line" in snippet]
    turns = [snippet["turn"] for snippet in result["snippets"] if snippet.get("turn")]
    ref = result["sid"] or shlex.quote(result["path"])
    first = lines[0] if lines else 1
    if turns and not lines:
        read = f"sjduck context {ref} --turn {turns[0]}"
    else:
        read = f"sjduck get {ref} --lines {max(first - 5, 1)}-{first + 60}"
    if "resume" in result:
        return f"{read}   or on {result['host']}: {result['resume']}"
    return read


def _marked(text: str, asked: Question) -> str:
    """Return text with the matched terms marked, where folding keeps their places."""
    folded = fold(text)
    if len(folded) != len(text):
        return text
    marks = [False] * len(text)
    for term in (term.text for term in asked.terms):
        at = folded.find(term)
        while at >= 0:
            marks[at : at + len(term)] = [True] * len(term)
            at = folded.find(term, at + 1)
    out, start = [], 0
    for at in range(1, len(text) + 1):
        if at == len(text) or marks[at] != marks[start]:
            piece = text[start:at]
            out.append(click.style(piece, fg="yellow", bold=True) if marks[start] else piece)
            start = at
    return "".join(out)
