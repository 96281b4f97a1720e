"""`sjduck context`."""

import re
import shlex

import click

from sjduck.archive import Row
from sjduck.bounds import Answer
from sjduck.cli.opening import Opened, opens_archive
from sjduck.cli.terminal import clean, echo, narrate, print_error_answer, print_json, print_text
from sjduck.context import MAX_BLOCKS, MAX_CHARS, context
from sjduck.refs import is_answer

_REF = "REF is a handle (sid), a whole session id, an sj:// URI, a path, or a file's name."


@click.command(name="context", epilog=_REF)
@click.argument("ref")
@click.option("--line", type=click.IntRange(1), metavar="N", help="The block at this line.")
@click.option("--turn", type=click.IntRange(1), metavar="N", help="The blocks of this turn.")
@click.option("--uuid", metavar="ID", help="The blocks of this message.")
@click.option("--seq", type=click.IntRange(0), metavar="N", help="This block, as hits number them.")
@click.option(
    "--before",
    type=click.IntRange(0, MAX_BLOCKS),
    default=3,
    show_default=True,
    metavar="N",
    help="Blocks above.",
)
@click.option(
    "--after",
    type=click.IntRange(0, MAX_BLOCKS),
    default=3,
    show_default=True,
    metavar="N",
    help="Blocks below.",
)
@click.option(
    "--offset",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Only the block's own text, from this character on.",
)
@click.option(
    "--max-chars",
    type=click.IntRange(0),
    default=MAX_CHARS,
    show_default=True,
    metavar="N",
    help="Bound of the answer; 0: none.",
)
@opens_archive
def context_command(
    opened: Opened,
    *,
    ref: str,
    line: int | None,
    turn: int | None,
    uuid: str | None,
    seq: int | None,
    before: int,
    after: int,
    offset: int,
    max_chars: int,
    as_json: bool,
) -> int:
    """Read what stands around a hit, whole: what was said, thought, called and put out."""
    answer = context(
        opened.archive,
        ref,
        line=line,
        turn=turn,
        uuid=uuid,
        seq=seq,
        before=before,
        after=after,
        offset=offset,
        max_chars=max_chars,
    )
    if as_json:
        print_json(answer)
        return int(is_answer(answer) and "hint" not in answer)
    if is_answer(answer):
        return print_error_answer(answer)
    for block in answer["blocks"]:
        _show(block, ref)
    _narrate(answer, ref)
    return 0


def _show(block: Row, ref: str) -> None:
    """Print one block under a rule that says what it is, and how it goes on where it was cut."""
    what = (
        f"line {block['line']}" if "line" in block else f"seq {block['seq']}",
        f"turn {block['turn']}" if "turn" in block else None,
        block.get("role"),
        block["kind"],
        block.get("tool"),
        "error" if block.get("is_error") else None,
        block.get("sent_at"),
    )
    head = " · ".join(clean(str(part)) for part in what if part)
    echo(click.style(f"{'══' if block.get('is_hit') else '──'} {head}", bold=True))
    if block["text"]:
        print_text(block["text"])
    if rest := block.get("rest"):
        narrate(f"… cut: {_command(ref, rest)}  (all: --max-chars 0)")


def _narrate(answer: Answer, ref: str) -> None:
    if source := answer.get("source"):
        narrate(f"source: {source}")
    for name in ("hint", "note"):
        if said := answer.get(name):
            narrate(said)
    for note in answer.get("notes", ()):
        narrate(note)
    for name in ("earlier", "later"):
        if further := answer.get(name):
            count, _, arguments = further.partition(": ")
            narrate(f"{count} {name}: {_command(ref, arguments)}")


def _command(ref: str, arguments: str) -> str:
    """Return the command for arguments as answers name them: `seq=26 before=5`."""
    options = re.sub(r"(\w+)=", r"--\1 ", arguments)
    return f"sjduck context {shlex.quote(ref)} {options}"
