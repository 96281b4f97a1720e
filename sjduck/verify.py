"""Terms that words alone can't decide: with punctuation inside, or of punctuation alone."""

from collections.abc import Iterator

from sjduck.archive import Row, View
from sjduck.linetexts import line_texts, shown_lines
from sjduck.sqlfiles import sql
from sjduck.terms import Question, Term
from sjduck.words import fold

# Where nothing but punctuation is asked for, every document would have to be read.
MOST_DOCUMENTS = 200
MOST_LINES = 200_000


def verified(view: View, asked: Question) -> tuple[list[Row], list[str]]:
    """Return where such terms stand (entry, line, is_topic, term), and what was not looked at."""
    found: list[Row] = []
    notes: list[str] = []
    in_parts = {n: t for n, t in enumerate(asked.terms) if t.is_part and t.pieces}
    if in_parts:
        found += _in_parts(view, in_parts)
    for number, term in enumerate(asked.terms):
        if not term.pieces:
            scanned = _Scan(view, number, term)
            found += scanned.rows()
            notes += scanned.notes()
    return found, notes


def _in_parts(view: View, terms: dict[int, Term]) -> Iterator[Row]:
    """Check the lines that hold every piece of a term."""
    candidates: dict[int, dict[tuple[int, int], list[Row]]] = {number: {} for number in terms}
    for row in view.rows(sql("recall/candidates_of_parts")):
        candidates[row["term"]].setdefault((row["document"], row["line"]), []).append(row)
    for number, term in terms.items():
        needle = term.text if term.text.isascii() else None
        for line in line_texts(view, candidates[number], needle=needle):
            if term.text in fold(line.text):
                yield from candidates[number][line.document, line.line]


class _Scan:
    """Looks for a term of punctuation in the newest documents, those with other terms first."""

    def __init__(self, view: View, number: int, term: Term) -> None:
        self._view = view
        self._number = number
        self._term = term
        self._documents = view.rows(
            sql("recall/newest"), most_documents=MOST_DOCUMENTS, most_lines=MOST_LINES
        )

    def rows(self) -> Iterator[Row]:
        """Yield where the term stands."""
        entries = {row["document"]: row["entry"] for row in self._documents}
        blocks = self._view.rows(
            sql("recall/blocks_with"), documents=list(entries), needle=self._term.text
        )
        for block in blocks:
            for number, text in shown_lines(block):
                if self._term.text in fold(text):
                    yield {
                        "entry": entries[block["document"]],
                        "line": number,
                        "is_topic": False,
                        "term": self._number,
                    }

    def notes(self) -> list[str]:
        """Say what was not looked at."""
        candidates = self._documents[0]["candidates"] if self._documents else 0
        if candidates <= len(self._documents):
            return []
        where = f"{len(self._documents)} of {candidates} documents, the newest"
        return [f"{self._term.text!r} is punctuation only: looked for in {where}"]
