"""Places in a row store: given out, and taken back to be given out again."""

from __future__ import annotations

import numpy as np

from driftline.model.arrays import Int64s


class Places:
    """`free`: places to use again, the last one first; `used`: places ever given out.

    >>> places = Places()
    >>> places.take(3).tolist()
    [0, 1, 2]
    >>> places.give_back(np.array([1]))
    >>> places.offered(2).tolist(), places.take(1).tolist()
    ([1, 3], [1])
    """

    def __init__(self) -> None:
        self.free = np.empty(0, np.int64)
        self.used = 0

    def offered(self, count: int) -> Int64s:
        """The places that the next `take` would give out."""
        again = self.free[::-1][:count]
        return np.concatenate([again, np.arange(self.used, self.used + count - len(again))])

    def take(self, count: int) -> Int64s:
        places = self.offered(count)
        again = min(count, len(self.free))
        self.free = self.free[: len(self.free) - again]
        self.used += count - again
        return places

    def give_back(self, places: Int64s) -> None:
        self.free = np.concatenate([self.free, places])
