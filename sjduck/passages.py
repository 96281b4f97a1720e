"""The passage of a text that shows most of what was looked for."""

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from sjduck.words import fold

CHARACTERS = 240
# Of a word that stands everywhere, the first places are enough.
_MOST_PLACES = 200
_MOST_NEAR = 64


class Passage(NamedTuple):
    """Text around what was found, on one line, and how many lines stand above what tells most."""

    text: str
    lines_above: int


def passage(text: str, needles: Sequence[str], characters: int = CHARACTERS) -> Passage:
    """Return the stretch with the most of different needles; where there are none, the beginning.

    `needles` are folded, without accents.
    """
    start, tells = _densest(_places(bare(text), needles), needles, characters)
    begin = max(min(start - characters // 4, len(text) - characters), 0)
    shown = " ".join(text[begin : begin + 2 * characters].split())
    if len(shown) > characters:
        shown = shown[: characters - 1].rstrip() + "…"
    if begin:
        shown = "…" + shown[1:]
    return Passage(shown, text.count("\n", 0, tells))


def bare(text: str) -> str:
    """Return text folded and without accents, each character in its place."""
    folded = fold(text)
    if folded.isascii():
        return folded
    return "".join(c if c.isascii() else unicodedata.normalize("NFD", c)[0] for c in folded)


def _places(text: str, needles: Sequence[str]) -> list[tuple[int, int]]:
    """Return where needles stand: (place, which), by place."""
    found = []
    for which, needle in enumerate(needles):
        at = text.find(needle) if needle else -1
        for _ in range(_MOST_PLACES):
            if at < 0:
                break
            found.append((at, which))
            at = text.find(needle, at + 1)
    return sorted(found)


def _densest(
    places: Sequence[tuple[int, int]], needles: Sequence[str], characters: int
) -> tuple[int, int]:
    """Return where the stretch with the most needles begins, and where its longest stands."""
    most = start = tells = 0
    for index, (at, _) in enumerate(places):
        end = at + characters * 3 // 4
        near = places[index : index + _MOST_NEAR]
        whole = {which: other for other, which in near if other + len(needles[which]) <= end}
        length = sum(len(needles[which]) for which in whole)
        if length > most:
            longest = max(whole, key=lambda which: len(needles[which]))
            most, start, tells = length, at, whole[longest]
    return start, tells
