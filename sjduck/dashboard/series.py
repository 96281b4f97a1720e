"""Series: which names have a colour of their own, the same one in every chart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sjduck.archive import Row
from sjduck.dashboard.figures import MAX_SERIES, Figures

# Okabe and Ito's colours, which colour-blind people tell apart, less the yellow: it fades on white.
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1")
_REST = "#9aa3ad"
_NAMELESS = "(none)"


@dataclass(frozen=True, slots=True)
class Series:
    """The names that a split has, the dearest first, each with its colour."""

    by: str
    names: tuple[str, ...]
    own_colours: tuple[str, ...]
    others: int

    @property
    def labels(self) -> list[str]:
        """What each is called, and last what the rest is."""
        return [*(label_of(name) for name in self.names), self._rest]

    @property
    def colours(self) -> list[str]:
        """The colours of `labels`."""
        return [*self.own_colours, _REST]

    @property
    def _rest(self) -> str:
        return f"{self.others:,} others"

    def label(self, name: str | None) -> str:
        """Return what a name is called; None and any that has no colour are the rest."""
        return label_of(name) if name in self.names else self._rest

    def rank(self, name: str | None) -> int:
        """Return the place of a name; the rest comes last."""
        return self.names.index(name) if name in self.names else len(self.names)

    def colour(self, name: str | None) -> str:
        """Return the colour of a name."""
        return self.colours[self.rank(name)]


def label_of(name: str | None) -> str:
    """Return a name as it is shown."""
    return name or _NAMELESS


def series_of(figures: Figures, by: str, known: Sequence[str]) -> Series:
    """Return the series of a split; `known` are all its names, which have fixed colours."""
    ranking: list[Row] = figures.rankings[by]
    names = tuple(row["series"] for row in ranking[:MAX_SERIES])
    total = ranking[0]["total"] if ranking else 0
    return Series(by, names, tuple(_coloured(names, known)), total - len(names))


def _coloured(names: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return a colour a name: its own where it is among the first known, else one that is free."""
    own = dict(zip(known, _COLOURS, strict=False))
    names = list(names)
    taken = {own[name] for name in names if name in own}
    free = iter([colour for colour in _COLOURS if colour not in taken])
    return [own[name] if name in own else next(free) for name in names]
