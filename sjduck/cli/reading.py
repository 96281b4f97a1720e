"""`sjduck get` and `sjduck within`."""

import shlex

import click

from sjduck import within
from sjduck.bounds import Answer
from sjduck.cli.opening import Opened, opens_archive
from sjduck.cli.terminal import narrate, print_error_answer, print_found, print_json, print_text
from sjduck.reading import FORMATS, get
from sjduck.refs import is_answer

_REF = "REF is a handle (sid), a whole session id, an sj:// URI, a path, or a file's name."


@click.command(name="get", epilog=_REF)
@click.argument("ref")
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="readable",
    show_default=True,
    help="condensed folds what tools got and gave; raw is the source's lines.",
)
@click.option("--turns", metavar="A-B", help="Only these turns: 5, 5-10 or 5-.")
@click.option("--lines", metavar="A-B", help="Only these lines: 670, 670-700, 670- or 670:24001-.")
@click.option(
    "--max-chars",
    type=click.IntRange(0),
    metavar="N",
    help="Cut after so many characters; 0: no bound.  [env: SJMCP_GET_MAX_CHARS, "
    "SJMCP_GET_CONDENSED_MAX_CHARS; default: 24000, condensed 48000]",
)
@opens_archive
def get_command(
    opened: Opened,
    *,
    ref: str,
    format_: str,
    turns: str | None,
    lines: str | None,
    max_chars: int | None,
    as_json: bool,
) -> int:
    """Read a session, a plan, a memory or a note, whole or a slice of it."""
    answer = get(opened.archive, ref, format=format_, turns=turns, lines=lines, max_chars=max_chars)
    if as_json:
        return _print_as_json(answer)
    if is_answer(answer):
        return print_error_answer(answer)
    if hosts := answer.get("also_on"):
        narrate(f"{answer['path']} (also on {', '.join(hosts)})")
    if answer["content"]:
        print_text(answer["content"])
    if answer.get("truncated"):
        rest = answer["hint"].split('"')[1]
        options = "" if format_ == "readable" else f" --format {format_}"
        narrate(
            f"… cut; {answer['total_lines']:,} lines in all. "
            f"Go on: sjduck get {shlex.quote(ref)}{options} --lines {rest}  (all: --max-chars 0)"
        )
    elif hint := answer.get("hint"):
        narrate(hint)
    for name in ("source", "note"):
        if said := answer.get(name):
            narrate(said)
    return 0


@click.command(name="within", epilog=_REF)
@click.argument("ref")
@click.argument("query")
@click.option(
    "--context",
    type=click.IntRange(0, within.MAX_CONTEXT),
    metavar="N",
    default=2,
    show_default=True,
    help="Lines shown around a match.",
)
@click.option(
    "--max-chars",
    type=click.IntRange(0),
    metavar="N",
    default=within.MAX_CHARS,
    show_default=True,
    help="Bound of the answer; 0: none.",
)
@opens_archive
def within_command(
    opened: Opened, *, ref: str, query: str, context: int, max_chars: int, as_json: bool
) -> int:
    """Find QUERY, as it is written but in any case, inside one document."""
    answer = within.search_within(opened.archive, ref, query, context=context, max_chars=max_chars)
    if as_json:
        return _print_as_json(answer)
    if is_answer(answer):
        return print_error_answer(answer)
    for passage in answer["passages"]:
        turn = f", turn {passage['turn']}" if passage["turn"] else ""
        print_text(f"── line {passage['line']}{turn}")
        print_found(passage["excerpt"].rstrip("\n") + "\n", query)
    count = answer["matches"]
    found = f"{count:,} lines match" if count != 1 else "1 line matches"
    if following := answer.get("next_line"):
        found += f"; the rest: sjduck get {shlex.quote(ref)} --lines {following}-"
    narrate(found if count else "nothing matches")
    return 0


def _print_as_json(answer: Answer) -> int:
    print_json(answer)
    return int(is_answer(answer) and "hint" not in answer)
