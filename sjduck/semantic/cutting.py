"""Passages: what was said, in pieces that a model takes in whole.

The index notes where they are, the etl embeds them and an answer shows them: all three cut with
the same function, so that a passage is the same to each.
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

CHARACTERS = 1_000
MOST_A_BLOCK = 6
# How much of a passage may be given up for a better place to cut.
_GIVEN_UP = CHARACTERS // 3
_ENDS = ("\n\n", "\n", ". ", " ")
_FEWEST_LETTERS = 3


class Passage(NamedTuple):
    """A piece of a block's text: where it starts, in characters, and what it says."""

    start: int
    text: str

    @property
    def content(self) -> int:
        """The 64-bit hash of what it says, the same wherever that is said."""
        digest = blake2b(self.text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "little", signed=True)


def passages(text: str) -> Iterator[Passage]:
    """Yield the passages of a block: at most so many characters each, and so many a block.

    White space is folded; what has no letters to speak of is left out.
    """
    start = found = 0
    while start < len(text) and found < MOST_A_BLOCK:
        end = _end(text, start)
        said = " ".join(text[start:end].replace("\0", " ").split())
        if sum(map(str.isalpha, said[: 4 * CHARACTERS])) >= _FEWEST_LETTERS:
            found += 1
            yield Passage(start, said)
        start = end


def _end(text: str, start: int) -> int:
    """Return where a passage ends: at a paragraph's end if one is near, else a line's, …"""
    furthest = start + CHARACTERS
    if furthest >= len(text):
        return len(text)
    for end in _ENDS:
        at = text.rfind(end, furthest - _GIVEN_UP, furthest)
        if at >= 0:
            return at + len(end)
    return furthest
