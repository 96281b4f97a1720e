"""The parts of a search as lines are searched for them: by pieces, also inside of words."""

from collections.abc import Iterator, Sequence

from sjduck.archive import Row, View
from sjduck.index import find_spots
from sjduck.phrases import Part
from sjduck.sqlfiles import sql
from sjduck.terms import PIECES
from sjduck.words import OVERLAP, fold, pieces

_SHORT = 2


def find_lines(view: View, parts: Sequence[Part], *, all_of_them: bool) -> None:
    """Leave in `lines_of_parts` which lines hold all pieces of a part.

    Unless of all parts, of words with punctuation that have a longer piece: what is short
    stands in words without number.
    """
    view.table_of("pieces", PIECES, list(_pieces(parts, all_of_them=all_of_them)))
    find_spots(view)
    view.table("lines_of_parts", sql("search/lines_of_parts"))


def _pieces(parts: Sequence[Part], *, all_of_them: bool) -> Iterator[Row]:
    """Yield what is looked up: of each part the longer pieces, short ones for want of others."""
    piece = 0
    found = [tuple(dict.fromkeys(p[:OVERLAP] for p in pieces(fold(part.text)))) for part in parts]
    telling = [tuple(p for p in own if len(p) > _SHORT or not p.isascii()) for own in found]
    for number, part in enumerate(parts):
        chosen = telling[number]
        if all_of_them and not chosen and (part.kind == "phrase" or not any(telling)):
            chosen = found[number]
        if not all_of_them and not (part.kind == "word" and part.is_written_so):
            continue
        for text in chosen:
            yield {
                "piece": piece,
                "term": number,
                "text": text,
                "is_part": part.is_written_so,
                "parts": len(chosen),
            }
            piece += 1
