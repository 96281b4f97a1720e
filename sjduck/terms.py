"""The terms of a question: what is looked for as evidence, and in which pieces."""

from typing import NamedTuple

from sjduck.words import OVERLAP, fold, pieces

MAX_TERMS = 62
# What is looked up in the lexicon: a piece of a term, and how many pieces that has.
PIECES = {
    "piece": "integer",
    "term": "integer",
    "text": "varchar",
    "is_part": "boolean",
    "parts": "integer",
}
_SHORT = 2


class Term(NamedTuple):
    """One term: folded text that has to stand on a line.

    `pieces` are looked up among the words; where they are not the whole term, `is_part`, the
    text itself decides. A term of punctuation alone has no pieces.
    """

    text: str
    pieces: tuple[str, ...]
    is_part: bool


class Question(NamedTuple):
    """The terms of `query`, then the further ones of `also`; how many had no room."""

    terms: tuple[Term, ...]
    query_terms: int
    left_out: int

    @property
    def query_mask(self) -> int:
        """The bits of the query's own terms."""
        return (1 << self.query_terms) - 1


def question(query: str, also: str | None) -> Question:
    """Return the terms of a question, each once.

    Terms of two characters or fewer are dropped, unless `query` has no others.
    """
    own = _split(query)
    further = [term for term in _split(also or "") if term not in own]
    terms = (own + further)[:MAX_TERMS]
    return Question(
        tuple(_term(text) for text in terms),
        min(len(own), MAX_TERMS),
        len(own) + len(further) - len(terms),
    )


def _split(text: str) -> list[str]:
    terms = list(dict.fromkeys(fold(term) for term in text.split()))
    return [term for term in terms if len(term) > _SHORT] or terms


def _term(text: str) -> Term:
    found = pieces(text)
    cut = tuple(dict.fromkeys(piece[:OVERLAP] for piece in found))
    return Term(text, cut, is_part=cut != (text,))
