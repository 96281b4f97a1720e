"""Okapi BM25 of conversations and of their turns, of what was said in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sjduck.archive import Row, View
from sjduck.index import of_each_file
from sjduck.ranking.groups import grouped

_KEPT = "said"
_TURN_BITS = 32


@dataclass(frozen=True, slots=True)
class _Unit:
    """What is ranked, by its number: how many words each says; how many there are in all."""

    lengths: NDArray[np.float64]
    units: int
    average_length: float


@dataclass(frozen=True, slots=True)
class _Said:
    """Which turn each row of relevance is of (-1: none that lives), and which entry a turn."""

    first: NDArray[np.int64]
    turn: NDArray[np.int64]
    entry_of_turn: NDArray[np.int64]
    turns: _Unit
    conversations: _Unit


@dataclass(frozen=True, slots=True)
class Scores:
    """By entry: BM25 of the conversation and of its best turn, NaN where no word was said."""

    conversation: NDArray[np.float64]
    turn: NDArray[np.float64]


def scores(view: View, weights: Row, entries: int) -> Scores:
    """Return the scores of all entries for the stems in `found_stems`."""
    nothing = np.full(entries, np.nan)
    found = view.arrays(of_each_file(view, "recall/stem_uses"))
    said = _said(view, entries)
    if said is None or len(found["stem"]) == 0:
        return Scores(nothing, nothing)
    turn = said.turn[said.first[found["file"]] + found["said_id"]]
    lives = turn >= 0
    if not lives.any():
        return Scores(nothing, nothing)
    stems = int(found["stem"].max()) + 1
    stem = found["stem"][lives].astype(np.int64)
    by_turn = grouped(turn[lives] * stems + stem)
    uses = by_turn.sums(found["uses"][lives].astype(np.int64))
    turn, stem = np.divmod(by_turn.keys, stems)
    turns, of_turns = _bm25(turn, stem, uses, said.turns, weights)
    by_entry = grouped(said.entry_of_turn[turns])
    best = nothing.copy()
    best[by_entry.keys] = by_entry.most(of_turns) / 1e12
    by_conversation = grouped(said.entry_of_turn[turn] * stems + stem)
    entry, stem = np.divmod(by_conversation.keys, stems)
    found_entries, of_entries = _bm25(
        entry, stem, by_conversation.sums(uses), said.conversations, weights
    )
    whole = nothing.copy()
    whole[found_entries] = of_entries / 1e12
    return Scores(whole, best)


def _bm25(
    unit: NDArray[np.int64],
    stem: NDArray[np.int64],
    uses: NDArray[np.int64],
    of: _Unit,
    weights: Row,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each unit, in order, and its score times 1e12, of rows in the order of their units.

    Whole numbers, as in `recall/score_blocks`.
    """
    k1, b = weights["k1"], weights["b"]
    held = np.bincount(stem)
    weight = np.log10(((of.units - held + 0.5) / (held + 0.5)) + 1)[stem]
    length = of.lengths[unit]
    score = (
        1e12
        * weight
        * ((uses * (k1 + 1)) / (uses + (k1 * ((1 - b) + (b * (length / of.average_length))))))
    )
    by_unit = grouped(unit)
    return by_unit.keys, by_unit.sums(np.rint(score).astype(np.int64))


def _said(view: View, entries: int) -> _Said | None:
    """Return where every row of relevance belongs, found once a snapshot; None without one."""
    found: _Said | None = view.kept.get(_KEPT)
    if found is None:
        rows = view.arrays("select file, id, entry, turn, length from spoken")
        if len(rows["id"]) == 0:
            return None
        file, row = rows["file"].astype(np.int64), rows["id"].astype(np.int64)
        entry = rows["entry"].astype(np.int64)
        # Of all rows: those that count for nothing have uses, too.
        files = view.arrays("select file, max(id) + 1 as rows from said group by file")
        sizes = np.zeros(int(files["file"].max()) + 1, np.int64)
        sizes[files["file"]] = files["rows"]
        first = np.cumsum(sizes) - sizes
        # Topics are turn -1.
        by_turn = grouped((entry << _TURN_BITS) + rows["turn"].astype(np.int64) + 1)
        lengths = by_turn.sums(rows["length"].astype(np.int64))
        turn = np.full(int(sizes.sum()), -1)
        counts = np.diff(np.append(by_turn.starts, len(row)))
        turn[(first[file] + row)[by_turn.order]] = np.repeat(np.arange(len(counts)), counts)
        entry_of_turn = by_turn.keys >> _TURN_BITS
        units = {unit["unit"]: unit for unit in view.rows("from units")}
        found = _Said(
            first,
            turn,
            entry_of_turn,
            _unit(lengths, units["turn"]),
            _unit(np.bincount(entry_of_turn, lengths, entries), units["conversation"]),
        )
        view.kept[_KEPT] = found
    return found


def _unit(lengths: NDArray[np.int64 | np.float64], unit: Row) -> _Unit:
    return _Unit(lengths.astype(np.float64), unit["units"], unit["average_length"])
