"""What is shown of a result that says something near to a question: the passage, with its line."""

from collections.abc import Sequence
from typing import NamedTuple

from sjduck.archive import Row, View
from sjduck.blocktexts import block_texts, shown, snippet_of
from sjduck.passages import passage
from sjduck.semantic.cutting import CHARACTERS
from sjduck.sqlfiles import sql
from sjduck.terms import Question

MOST_SNIPPETS = 4


class Near(NamedTuple):
    """The passage of a result that is nearest to the question; `first` and `last` line of it."""

    cosine: float
    first: int | None
    last: int | None
    snippet: Row


def near_snippets(view: View, ranked: Sequence[Row], asked: Question) -> dict[int, Near]:
    """Return the nearest passage of each entry that has one."""
    places = view.rows(sql("semantic/places"), entries=[row["entry"] for row in ranked])
    if not places:
        return {}
    blocks = block_texts(view, places)
    needles = [term.text for term in asked.terms]
    return {
        row["entry"]: _near(row, block, needles)
        for row in places
        if (block := blocks.get((row["document"], row["seq"]))) is not None
    }


def _near(place: Row, block: Row, needles: Sequence[str]) -> Near:
    text = shown(block)
    said = text[place["start"] : place["start"] + CHARACTERS]
    found = passage(said, needles)
    above = text.count("\n", 0, place["start"])
    blank = len(said) - len(said.lstrip())
    tells = above + max(found.lines_above, said.count("\n", 0, blank))
    snippet = snippet_of(block, found.text, tells)
    if "line" not in snippet:
        return Near(place["cosine"], None, None, snippet)
    first = block["line_start"] + above
    return Near(place["cosine"], first, first + said.rstrip().count("\n"), snippet)


def with_near(snippets: Sequence[Row], near: Near | None, *, is_first: bool) -> list[Row]:
    """Return the snippets of a result with its nearest passage among them, if it is not yet.

    It comes first, or after the line that shows most of the words.
    """
    if near is None or any(_is_in(snippet, near) for snippet in snippets):
        return list(snippets)
    lines = [snippet for snippet in snippets if "line" in snippet]
    others = [snippet for snippet in snippets if "line" not in snippet]
    at = 0 if is_first else 1
    return [*lines[:at], near.snippet, *lines[at : MOST_SNIPPETS - 1], *others]


def _is_in(snippet: Row, near: Near) -> bool:
    """Tell whether a snippet shows something of a passage."""
    if "line" not in snippet or near.first is None or near.last is None:
        return bool(snippet == near.snippet)
    return bool(near.first <= snippet["line"] <= near.last)
