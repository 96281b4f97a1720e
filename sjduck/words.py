"""Words, for the index and for questions alike: what a word is, and how case is folded."""

import re
from collections.abc import Iterator

# A run of letters, digits and marks of any script; marks, so that no vowel sign cuts a word.
INDEX_WORD = r"[\p{L}\p{N}\p{M}_]+"
MAX_WORD = 256
OVERLAP = 64
# Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese are written without spaces.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff]+"
)


def fold(text: str) -> str:
    """Return text in the one case that index and questions share.

    Final sigma and dotted capital I depend on their neighbours: both lose what depends.
    """
    return text.lower().replace("ς", "σ").replace("i\u0307", "i")


def pieces(term: str) -> list[str]:
    """Return the runs of letters, digits and `_` in a folded term.

    Every character of a piece is also one of an index word, so that text which holds the
    term holds each piece inside one word.
    """
    found: list[str] = []
    start = None
    for at, character in enumerate(term + " "):
        is_word = character == "_" or character.isalnum()
        if is_word and start is None:
            start = at
        elif not is_word and start is not None:
            found.append(term[start:at])
            start = None
    return found


def relevance_text(text: str) -> str:
    """Return text as the full-text index takes it: unspaced scripts as overlapping pairs."""
    if text.isascii():
        return text
    return _UNSPACED.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", text).strip()


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for at in range(len(run) - 1):
        yield run[at : at + 2]
