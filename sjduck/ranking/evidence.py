"""Evidence that a topic was discussed in an entry: its terms, how near one another, how often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sjduck.archive import Row, View
from sjduck.ranking.groups import grouped
from sjduck.sqlfiles import sql

# A passage is a line and the ten that follow.
_FURTHER_LINES = 10
_TERM_BITS, _LINE_BITS = 6, 31
_ONE = np.uint64(1)


class Coverage(NamedTuple):
    """By entry: the terms that it holds, on lines and in topics, as bits, and how many hits.

    Two words on one line may both hold a term, so that hits are known between two bounds alone.
    """

    on_lines: NDArray[np.uint64]
    in_topics: NDArray[np.uint64]
    fewest_hits: NDArray[np.int64]
    most_hits: NDArray[np.int64]

    @property
    def terms(self) -> NDArray[np.uint64]:
        """The terms that each entry holds, as bits."""
        return self.on_lines | self.in_topics

    def bounds(
        self, weights: Row, entries: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return between what the points of some entries must lie."""
        on_lines, in_topics = self.on_lines[entries], self.in_topics[entries]
        terms, dense, topic_matches = count(on_lines | in_topics), count(on_lines), in_topics != 0
        fewest, most = self.fewest_hits[entries], self.most_hits[entries]
        return (
            _points(weights, terms, np.zeros_like(dense), topic_matches, fewest),
            _points(weights, terms, dense, topic_matches, most),
        )


def coverage(view: View, entries: int, query_terms: int) -> tuple[Coverage, Coverage]:
    """Return what every entry holds: of all terms, of the first so many, the question's own."""
    found = view.arrays(sql("recall/coverage"))
    terms = found["term"].astype(np.int64)
    place = (found["entry"].astype(np.int64) * 2 + found["is_topic"] << _TERM_BITS) + terms
    lines = found["lines"].astype(np.int64)
    own = terms < query_terms
    return _covered(place, lines, entries), _covered(place[own], lines[own], entries)


def _covered(place: NDArray[np.int64], lines: NDArray[np.int64], entries: int) -> Coverage:
    """Return the coverage of terms at (entry, is_topic, term) on so many lines."""
    held = Coverage(
        np.zeros(entries, np.uint64),
        np.zeros(entries, np.uint64),
        np.zeros(entries, np.int64),
        np.zeros(entries, np.int64),
    )
    if len(place):
        of_term = grouped(place)
        bit = _ONE << (of_term.keys & 2**_TERM_BITS - 1).astype(np.uint64)
        is_topic = (of_term.keys >> _TERM_BITS & 1) != 0
        of_entry = grouped(of_term.keys >> _TERM_BITS + 1)
        held.on_lines[of_entry.keys] = of_entry.bits(bit * ~is_topic)
        held.in_topics[of_entry.keys] = of_entry.bits(bit * is_topic)
        held.fewest_hits[of_entry.keys] = of_entry.sums(of_term.most(lines))
        held.most_hits[of_entry.keys] = of_entry.sums(of_term.sums(lines))
    return held


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines that hold terms, by entry, topics last: which entry, which line, the terms as bits."""

    entry: NDArray[np.int64]
    is_topic: NDArray[np.bool_]
    line: NDArray[np.int64]
    terms: NDArray[np.uint64]

    def only(self, which: NDArray[np.bool_]) -> Lines:
        """Return some of the lines."""
        return Lines(self.entry[which], self.is_topic[which], self.line[which], self.terms[which])

    def passages(self) -> NDArray[np.uint64]:
        """Return the terms on each line and the ten after it."""
        place = (self.entry * 2 + self.is_topic) * 2**_LINE_BITS + self.line
        found = self.terms.copy()
        for further in range(1, _FURTHER_LINES + 1):
            is_near = place[further:] - place[:-further] <= _FURTHER_LINES
            if not is_near.any():
                break
            found[:-further] |= self.terms[further:] * is_near
        return found


def lines_of(view: View, entries: Sequence[int]) -> Lines:
    """Return the lines of some entries that hold terms."""
    rows = view.arrays(sql("recall/lines"), entries=list(entries))
    # One number each: so they come in order, and each term once a line.
    place = (rows["entry"].astype(np.int64) * 2 + rows["is_topic"]) * 2**_LINE_BITS + rows["line"]
    places = np.sort((place << _TERM_BITS) + rows["term"])
    places = places[np.diff(places, prepend=-1) != 0]
    term = places & (2**_TERM_BITS - 1)
    if len(places) == 0:
        return Lines(places, places != 0, places, places.astype(np.uint64))
    on_line = grouped(places >> _TERM_BITS)
    entry, line = np.divmod(on_line.keys, 2**_LINE_BITS)
    terms = on_line.bits(_ONE << term.astype(np.uint64))
    return Lines(entry >> 1, (entry & 1) != 0, line, terms)


class Evidence(NamedTuple):
    """What an entry has for a question: its terms, those in one passage, whether its topic has one.

    `points` are of all terms, the `score` of the question's own.
    """

    terms: NDArray[np.int64]
    query_terms: NDArray[np.int64]
    query_dense: NDArray[np.int64]
    query_topic_matches: NDArray[np.int64]
    points: NDArray[np.int64]
    score: NDArray[np.int64]


def evidence(lines: Lines, weights: Row, query_mask: int) -> tuple[NDArray[np.int64], Evidence]:
    """Return the entries of some lines, at least one, in order, and the evidence of each."""
    of_entry = grouped(lines.entry)
    passages = lines.passages() * ~lines.is_topic

    def reckoned(mask: int) -> tuple[NDArray[np.int64], ...]:
        on_line = lines.terms & np.uint64(mask)
        terms = count(of_entry.bits(on_line))
        dense = of_entry.most(count(passages & np.uint64(mask)))
        topic_matches = of_entry.most((on_line * lines.is_topic != 0).astype(np.int64))
        hits = of_entry.sums(count(on_line))
        return terms, dense, topic_matches, _points(weights, terms, dense, topic_matches, hits)

    terms, _, _, points = reckoned(2**64 - 1)
    query_terms, query_dense, query_topic_matches, score = reckoned(query_mask)
    return of_entry.keys, Evidence(
        terms, query_terms, query_dense, query_topic_matches, points, score
    )


def _points(
    weights: Row,
    terms: NDArray[np.int64],
    dense: NDArray[np.int64],
    topic_matches: NDArray[Any],
    hits: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the points of evidence, 0 where no term stands."""
    points = (
        weights["term_points"] * terms
        + weights["passage_points"] * np.maximum(dense - 1, 0)
        + weights["topic_points"] * topic_matches
        + np.minimum(hits, weights["most_hit_points"])
    )
    return np.where(terms == 0, 0, points)


def count(bits: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return how many bits each number has."""
    return np.bitwise_count(bits).astype(np.int64)


def best_lines(
    view: View, entries: Sequence[int], mask: int, most: int
) -> dict[int, list[tuple[int, bool]]]:
    """Return of each entry the lines that show most of the terms in `mask`, and whether each is one
    of a log: densest first, the title last, since it repeats a prompt; at most so many of either.
    """
    found = lines_of(view, entries)
    shown = Lines(found.entry, found.is_topic, found.line, found.terms & np.uint64(mask))
    shown = shown.only(shown.terms != 0)
    is_title = (shown.line == 1) & ~shown.is_topic
    order = np.lexsort(
        (
            shown.line,
            -count(shown.terms),
            -count(shown.passages()),
            is_title,
            shown.is_topic,
            shown.entry,
        )
    )
    best: dict[int, list[tuple[int, bool]]] = {}
    if len(order):
        of_kind = grouped((shown.entry * 2 + shown.is_topic)[order])
        ends = [*of_kind.starts[1:], len(order)]
        for key, start, end in zip(of_kind.keys, of_kind.starts, ends, strict=True):
            lines = shown.line[order[start : min(end, start + most)]]
            is_topic = bool(key & 1)
            best.setdefault(int(key >> 1), []).extend((line, is_topic) for line in lines.tolist())
    return best
