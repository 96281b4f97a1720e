"""How much of each block an answer gives: first what was asked for, then what is around it."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from sjduck.bounds import MAX_REPLY_BYTES, compact
from sjduck.slices import sent_bytes

# What each neighbour is left at least, its frame included, where the hit could take all the room.
_GLIMPSE = 500
# Less of a text than this is no help.
_LEAST = 40


class Piece(NamedTuple):
    """One block: what is said of it, as compact JSON, its text, and whether it was asked for."""

    frame: str
    text: str
    is_hit: bool


def allot(pieces: Sequence[Piece], max_chars: int, frame: str) -> list[str]:
    """Return how much of the text of each of the first pieces is given: those there is room for.

    `pieces` are in the order of their weight, hits first; `frame` is the rest of the answer. With
    `max_chars` 0 all are whole; else at least a character of the first is given, so that reading
    always goes on.
    """
    if not max_chars:
        return [piece.text for piece in pieces]
    room = _Room(min(max_chars, MAX_REPLY_BYTES), frame)
    hits = [piece for piece in pieces if piece.is_hit]
    others = pieces[len(hits) :]
    given: list[str] = []
    for place, hit in enumerate(hits):
        left = len(hits) - place - 1 + len(others)
        text = room.cut(hit, room.characters - min(left * _GLIMPSE, room.characters // 2))
        if given and _is_too_little(text, hit):
            return given
        given.append(room.take(hit, text or hit.text[:1]))
    return given + _shared(others, room)


def _shared(pieces: Sequence[Piece], room: "_Room") -> list[str]:
    """Return the texts of neighbours: the short ones whole, the long ones in equal parts."""
    count = 0
    least = 0
    for piece in pieces:
        least += len(piece.frame) + min(len(piece.text), _LEAST)
        if least > room.characters:
            break
        count += 1
    given = [""] * count
    shortest = sorted(range(count), key=lambda place: (len(pieces[place].text), place))
    for done, place in enumerate(shortest):
        text = room.cut(pieces[place], room.characters // (count - done))
        given[place] = room.take(pieces[place], text)
    return given


def _is_too_little(text: str, piece: Piece) -> bool:
    return len(text) < min(len(piece.text), _LEAST)


class _Room:
    """What an answer may still take: characters of JSON, and bytes as sent."""

    def __init__(self, max_chars: int, frame: str) -> None:
        self.characters = max(max_chars - len(frame), 0)
        self._bytes = max(MAX_REPLY_BYTES - sent_bytes(frame), 0)

    def cut(self, piece: Piece, characters: int) -> str:
        """Return as much of a text as fits beside its frame into so many characters."""
        share = self._bytes * characters // max(self.characters, 1) - sent_bytes(piece.frame)
        room = max(characters - len(piece.frame), 0)

        def is_over(length: int) -> bool:
            text = piece.text[:length]
            return len(compact(text)) - 2 > room or sent_bytes(text) > share

        lengths = range(1, min(len(piece.text), room) + 1)
        return piece.text[: bisect_right(lengths, False, key=is_over)]

    def take(self, piece: Piece, text: str) -> str:
        """Take the room of a frame and its text, and return that."""
        self.characters = max(self.characters - len(piece.frame) - len(compact(text)), 0)
        self._bytes = max(self._bytes - sent_bytes(piece.frame) - sent_bytes(text), 0)
        return text
