"""Which entries come first: reciprocal rank fusion, exact though little of it is measured."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sjduck.archive import Row, View
from sjduck.ranking.evidence import Evidence, coverage, evidence, lines_of
from sjduck.ranking.relevance import scores
from sjduck.sqlfiles import sql
from sjduck.terms import Question


def ranked(view: View, asked: Question, k: int, rank: str, *, has_near: bool) -> list[Row]:
    """Return the first `k` results in their exact order, each with its evidence.

    Passages are measured only where they can still matter: of the contenders, then of those that
    may rank on either side of one, until the order is sure.
    """
    candidates = _Candidates(view, asked, rank, has_near=has_near)
    contenders = candidates.contenders(k)
    while len(wanted := contenders[~candidates.is_measured[contenders]]):
        candidates.measure(wanted)
        contenders = candidates.contenders(k)
    if rank == "fused" and not candidates.are_settled(contenders, k):
        candidates.measure(candidates.straddling(contenders))
    return candidates.first(k)


class _Candidates:
    """Every entry that matches: between what its evidence lies, and what else it has.

    All arrays have one value a candidate.
    """

    def __init__(self, view: View, asked: Question, rank: str, *, has_near: bool) -> None:
        self._view = view
        self._asked = asked
        self._rank = rank
        self._weights = _weights(view)
        entries = self._weights["entries"]
        held, held_of_query = coverage(view, entries, asked.query_terms)
        said = scores(view, self._weights, entries)
        near = np.full(entries, np.nan)
        if has_near:
            rows = view.arrays("select entry, rank from near_entries")
            near[rows["entry"]] = rows["rank"]
        eligible = view.arrays("select entry, age from eligible")
        matches = near <= self._weights["most_near"]
        if rank != "meaning":
            matches |= (held.terms != 0) | ~np.isnan(said.conversation)
        is_candidate = matches[eligible["entry"]]
        self.entry = eligible["entry"][is_candidate]
        self.age = eligible["age"][is_candidate]
        self.is_measured = np.zeros(len(self.entry), np.bool_)
        self._evidence = Evidence(*np.zeros((len(Evidence._fields), len(self.entry)), np.int64))
        self._place = np.full(entries, -1)
        self._place[self.entry] = np.arange(len(self.entry))
        self._relevance = self._fused(said.conversation, said.turn, near)
        self._lowest, self._highest = held.bounds(self._weights, self.entry)
        self._query_lowest, self._query_highest = held_of_query.bounds(self._weights, self.entry)

    def contenders(self, k: int) -> NDArray[np.int64]:
        """Return those that may be among the first `k`, best first by what is sure of them."""
        least, most = self._values()
        threshold = -np.partition(-least, k - 1)[k - 1] if len(least) >= k else -1
        found = np.flatnonzero(most >= threshold)
        return found[np.lexsort((self.age[found], -least[found]))]

    def are_settled(self, contenders: NDArray[np.int64], k: int) -> bool:
        """Tell whether the first `k` and their order are sure."""
        least, most = self._values()
        return len(contenders) <= k and all(
            least[above] > most[below] for above, below in pairwise(contenders)
        )

    def straddling(self, contenders: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those not measured whose evidence may lie on either side of a contender's."""
        known = np.sort(self._lowest[contenders])
        below = np.searchsorted(known, self._lowest, "left")
        above = np.searchsorted(known, self._highest, "right")
        return np.flatnonzero(~self.is_measured & (self._lowest < self._highest) & (below < above))

    def measure(self, which: NDArray[np.int64]) -> None:
        """Let the evidence of some be exact."""
        lines = lines_of(self._view, self.entry[which].tolist())
        if len(lines.entry):
            entries, found = evidence(lines, self._weights, self._asked.query_mask)
            for array, values in zip(self._evidence, found, strict=True):
                array[self._place[entries]] = values
        self.is_measured[which] = True
        self._lowest[which] = self._highest[which] = self._evidence.points[which]
        self._query_lowest[which] = self._query_highest[which] = self._evidence.score[which]

    def first(self, k: int) -> list[Row]:
        """Return the first `k` as they are shown; those that may be among them are measured."""
        if self._rank == "windows":
            value: NDArray[Any] = self._query_lowest
        elif self._rank == "meaning":
            value = self._relevance
        else:
            value = self._relevance + self._of_evidence(_places(self._lowest, self.age))
        best = np.lexsort((self.age, -value))[:k]
        entries = self.entry[best].tolist()
        rows = {r["entry"]: r for r in self._view.rows(sql("recall/results"), entries=entries)}
        return [
            {
                **rows[entry],
                **{
                    name: int(array[place])
                    for name, array in zip(Evidence._fields, self._evidence, strict=True)
                },
                "total": len(self.entry),
            }
            for entry, place in zip(entries, best, strict=True)
        ]

    def _values(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return between what each one's place in the order must lie."""
        if self._rank == "windows":
            return self._query_lowest.astype(float), self._query_highest.astype(float)
        if self._rank == "meaning":
            return self._relevance, self._relevance
        lowest, highest = np.sort(self._lowest), np.sort(self._highest)
        best = 1 + len(lowest) - np.searchsorted(lowest, self._highest, "right")
        worst = len(highest) - np.searchsorted(highest, self._lowest, "left")
        return (
            self._relevance + self._of_evidence(worst, self._highest),
            self._relevance + self._of_evidence(best, self._highest),
        )

    def _of_evidence(
        self, place: NDArray[np.int64], points: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        points = self._lowest if points is None else points
        share = self._weights["evidence_weight"] / (self._weights["rank_constant"] + place)
        return np.where(points == 0, 0, share)

    def _fused(
        self,
        conversation: NDArray[np.float64],
        turn: NDArray[np.float64],
        near: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return what the rankings by relevance and by meaning give each candidate."""
        weights, constant = self._weights, self._weights["rank_constant"]
        found = np.zeros(len(self.entry))
        if self._rank != "meaning":
            for name, score in (("conversation", conversation), ("turn", turn)):
                own = score[self.entry]
                share = weights[f"{name}_weight"] / (constant + _places(own, self.age))
                found += np.where(np.isnan(own), 0, share)
        own = near[self.entry]
        if not np.isnan(own).all():
            row = self._view.row("from meaning_weight")
            assert row is not None
            found += np.where(np.isnan(own), 0, row["weight"] / (constant + own))
        return found


def _places(score: NDArray[Any], age: NDArray[Any]) -> NDArray[np.int64]:
    """Return each one's place by score, the newer first of equals; NaN last."""
    places = np.empty(len(score), np.int64)
    places[np.lexsort((age, -score))] = np.arange(1, len(score) + 1)
    return places


def _weights(view: View) -> Row:
    """Return what every ranking weighs, and how many `entries` there are."""
    found: Row | None = view.kept.get("weights")
    if found is None:
        found = view.row("select *, (select count(*) from entries) as entries from ranking_weights")
        assert found is not None
        view.kept["weights"] = found
    return found
