"""Numbers that belong together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Groups(NamedTuple):
    """Equal keys side by side: each key once, in order, where its rows begin, and their order."""

    keys: NDArray[np.int64]
    starts: NDArray[np.int64]
    order: NDArray[np.int64]

    def sums(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of each group's values."""
        return np.add.reduceat(values[self.order], self.starts)

    def most(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the largest of each group's values."""
        return np.maximum.reduceat(values[self.order], self.starts)

    def bits(self, values: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the bits that any of each group's values has."""
        return np.bitwise_or.reduceat(values[self.order], self.starts)


def grouped(keys: NDArray[np.int64]) -> Groups:
    """Return the groups of equal keys; there has to be one key at least."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    return Groups(ordered[starts], starts, order)
