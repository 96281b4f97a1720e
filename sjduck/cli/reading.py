"""`sjduck get` and `sjduck within`."""

import os

import click

from sjduck import within
from sjduck.cli.opening import Opened, opens_archive
from sjduck.cli.terminal import narrate, print_error_answer, print_json, print_text
from sjduck.reading import CONDENSED_MAX_CHARS, FORMATS, MAX_CHARS, get
from sjduck.refs import is_answer


@click.command(name="get")
@click.argument("ref")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="readable")
@click.option("--turns", metavar="A-B", help="Only these turns, such as 5-10.")
@click.option("--lines", metavar="A-B", help="Only these lines, such as 670-700.")
@click.option("--max-chars", type=int, help="Cut after this many characters; 0: no bound.")
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
    """Read REF: a handle, a session id, an sj:// URI or a path."""
    answer = get(
        opened.archive,
        ref,
        format=format_,
        turns=turns,
        lines=lines,
        max_chars=_cap(format_) if max_chars is None else max_chars,
    )
    if as_json:
        print_json(answer)
        return int(is_answer(answer) and "hint" not in answer)
    if is_answer(answer):
        return print_error_answer(answer)
    print_text(answer["content"])
    if answer.get("truncated"):
        rest = answer["hint"].split('"')[1]
        total = answer["total_lines"]
        narrate(f"… {total} lines in all; go on with: sjduck get {ref} --lines {rest}")
    elif hint := answer.get("hint"):
        narrate(hint)
    if source := answer.get("source"):
        narrate(source)
    return 0


@click.command(name="within")
@click.argument("ref")
@click.argument("query")
@click.option("--context", type=click.IntRange(0), default=2, show_default=True)
@click.option("--max-chars", type=int, default=within.MAX_CHARS, help="Bound; 0: none.")
@opens_archive
def within_command(
    opened: Opened, *, ref: str, query: str, context: int, max_chars: int, as_json: bool
) -> int:
    """Find QUERY, as it is written, inside REF."""
    answer = within.search_within(opened.archive, ref, query, context=context, max_chars=max_chars)
    if as_json:
        print_json(answer)
        return int(is_answer(answer) and "hint" not in answer)
    if is_answer(answer):
        return print_error_answer(answer)
    for passage in answer["passages"]:
        turn = f", turn {passage['turn']}" if passage["turn"] else ""
        print_text(f"── line {passage['line']}{turn}\n{passage['excerpt'].rstrip()}\n\n")
    narrate(
        f"{answer['matches']} lines match" + (f"; {more}" if (more := answer.get("more")) else "")
    )
    return 0


def _cap(format_: str) -> int:
    """Return the cap of a format: from the environment, else its default."""
    condensed = format_ == "condensed"
    name = "SJMCP_GET_CONDENSED_MAX_CHARS" if condensed else "SJMCP_GET_MAX_CHARS"
    default = CONDENSED_MAX_CHARS if condensed else MAX_CHARS
    try:
        return int(os.environ.get(name, ""))
    except ValueError:
        return default
