"""Words that stand nowhere, and what was probably meant: the nearest frequent word."""

from collections.abc import Sequence

from sjduck.archive import Row, View
from sjduck.sqlfiles import sql

# Shorter ones are near to too much, and those with digits are names and numbers.
_SHORTEST = 4
_SHORTEST_OF_TWO_SLIPS = 6
MOST_CORRECTED = 8
_MISSPELT = {
    "word": "varchar",
    "shortest": "integer",
    "longest": "integer",
    "head": "varchar",
    "middle": "varchar",
    "tail": "varchar",
    "signs": "varchar",
    "codes": "varchar",
}
# The distance counts bytes: each further sign of a word is compared as a letter that no word has.
_CODES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def corrections(view: View, unknown: Sequence[str]) -> dict[str, str]:
    """Return what to look for instead of words, lower case without accents, that stand nowhere.

    A slip is a letter too many, missing, wrong, or changed with its neighbour. One is tried
    first, then two of words of six letters or more.
    """
    words = [word for word in unknown if len(word) >= _SHORTEST and word.isalpha()]
    found = _corrected(view, words[:MOST_CORRECTED], 1)
    longer = [w for w in words if w not in found and len(w) >= _SHORTEST_OF_TWO_SLIPS]
    return found | _corrected(view, longer[: MOST_CORRECTED - len(found)], 2)


def _corrected(view: View, words: Sequence[str], slips: int) -> dict[str, str]:
    if not words:
        return {}
    view.table_of("misspelt", _MISSPELT, [_parts(word, slips) for word in words])
    view.table("slips", sql("search/slips"), most_slips=slips)
    return {row["word"]: row["candidate"] for row in view.rows(sql("search/corrections"))}


def _parts(word: str, slips: int) -> Row:
    """Return parts of a word of which one at least outlives so many slips.

    A slip touches two neighbouring letters at most: with a letter between one part and the
    next, it touches only one of them.
    """
    size, spare = len(word.encode()), slips if word.isascii() else 4 * slips
    if slips == 1:
        half = len(word) // 2
        head, middle, tail = word[:half], word, word[half + 1 :]
    else:
        third, rest = divmod(len(word) - 2, 3)
        end = third + 1 + third + rest
        head, middle, tail = word[:third], word[third + 1 : end], word[end + 1 :]
    signs = "".join(dict.fromkeys(c for c in word if not c.isascii()))[: len(_CODES)]
    return {
        "word": word,
        "shortest": size - spare,
        "longest": size + spare,
        "head": head,
        "middle": middle,
        "tail": tail,
        "signs": signs,
        "codes": _CODES[: len(signs)],
    }
