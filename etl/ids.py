"""Numbers for texts, by the order of their appearance."""

from __future__ import annotations

import polars as pl


class Ids:
    """Gives each text a number, the same one each time, from 0 on."""

    def __init__(self) -> None:
        # Numbers last as long as a series of the type does.
        self._kept = pl.Series([], dtype=pl.Categorical(pl.Categories.random()))
        self.count = 0

    def of(self, texts: pl.Series) -> pl.Series:
        """Return the numbers of texts, as UInt32."""
        numbers = texts.cast(self._kept.dtype).to_physical()
        highest = numbers.max()
        if isinstance(highest, int):
            self.count = max(self.count, highest + 1)
        return numbers

    def texts(self, first: int = 0) -> pl.Series:
        """Return the texts in the order of their numbers, from `first` on."""
        numbers = pl.int_range(first, self.count, dtype=pl.UInt32)
        return pl.select(text=numbers.cat.to(self._kept.dtype).cast(pl.String)).to_series()
