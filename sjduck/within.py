"""Find one literal text inside one document."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sjduck.archive import View, question
from sjduck.bounds import (
    MAX_FIELD_CHARACTERS,
    PAGING_CHARACTERS,
    Answer,
    Budget,
    bound,
    compact,
    lowered_note,
    short,
)
from sjduck.errors import UsageError
from sjduck.readable import numbered_lines, pieces
from sjduck.reading import Readable
from sjduck.refs import is_answer, path_of, resolve
from sjduck.words import fold

MAX_CHARS = 12_000
MAX_PASSAGES = 40
MAX_CONTEXT = 20
EXCERPT_CHARACTERS = 600


class _Hit(NamedTuple):
    """A line that holds the text, and the turn it stands in."""

    line: int
    turn: int | None


@question
def search_within(
    view: View, ref: str, query: str, *, context: int = 2, max_chars: int | None = None
) -> Answer:
    """Return where a text stands in a document's readable, whatever its case.

    `matches` counts every line that holds it; passages show the lines around, at most 40.
    """
    if not query:
        raise UsageError("nothing to look for; give a text")
    max_chars = bound(max_chars, MAX_CHARS)
    document = resolve(view, ref)
    if is_answer(document):
        return document
    text = _Text(Readable(view, document))
    context = min(max(context, 0), MAX_CONTEXT)
    hits = list(text.find(fold(query)))
    groups = list(_groups(hits, context))
    query = short(query, MAX_FIELD_CHARACTERS)
    answer: Answer = {"path": path_of(document), "query": query, "matches": len(hits)}
    budget = Budget(max_chars)
    budget.spend(compact(answer) + " " * PAGING_CHARACTERS)
    passages = answer["passages"] = []
    for group in groups[:MAX_PASSAGES]:
        excerpt = text.excerpt(group, context, fold(query))
        passage = {"line": group[0].line, "turn": group[0].turn, "excerpt": excerpt}
        if not budget.take(compact(passage) + ","):
            if passages:
                break
            budget.spend(compact(passage))
        passages.append(passage)
    if left := groups[len(passages) :]:
        answer["next_line"] = left[0][0].line
        answer["more"] = f'{len(left)} more passages: read on with lines="{left[0][0].line}-"'
    if budget.was_lowered:
        answer["note"] = lowered_note()
    return answer


def _groups(hits: Sequence[_Hit], context: int) -> Iterator[list[_Hit]]:
    """Join hits that stand in the context of the first of them."""
    group: list[_Hit] = []
    for hit in hits:
        if group and hit.line - group[0].line > context:
            yield group
            group = []
        group.append(hit)
    if group:
        yield group


class _Text:
    """A document's readable, held whole: what is shown around a hit may be in another block."""

    def __init__(self, readable: Readable) -> None:
        self._blocks = readable.whole()
        self._header = list(readable.header(self._blocks))

    def find(self, wanted: str) -> Iterator[_Hit]:
        """Yield the lines that hold a folded text, in their order."""
        for number, line in self._header:
            if wanted in fold(line):
                yield _Hit(number, None)
        turn: int | None = 0
        for piece in pieces(self._blocks):
            turn = piece.block.turn if piece.block else (turn or 0) + 1
            folded = fold(piece.text)
            if wanted in folded:
                for number, line in enumerate(folded.split("\n"), piece.first):
                    if wanted in line:
                        yield _Hit(number, turn)

    def excerpt(self, group: Sequence[_Hit], context: int, wanted: str) -> str:
        """Return hits with the lines around; of a long line, what stands around the text."""
        first, last = group[0].line, group[-1].line
        lines = self._lines(first - context, last + context)
        line = lines[first]
        if len(line) > EXCERPT_CHARACTERS:
            start = max(0, fold(line).find(wanted) - EXCERPT_CHARACTERS // 3)
            return line[start : start + EXCERPT_CHARACTERS]
        shown = "\n".join(lines.values())
        if len(shown) > EXCERPT_CHARACTERS:
            shown = "\n".join(text for number, text in lines.items() if number >= first)
        return shown[:EXCERPT_CHARACTERS]

    def _lines(self, first: int, last: int) -> dict[int, str]:
        """Return the lines of a range by number."""
        begin = bisect_left(self._blocks, first - 2, key=lambda block: block.line_end)
        end = bisect_right(self._blocks, last + 2, key=lambda block: block.line_start)
        lines = {number: text for number, text in self._header if first <= number <= last}
        for line in numbered_lines(self._blocks[begin:end]):
            if first <= line.number <= last:
                lines[line.number] = line.text
        return lines
