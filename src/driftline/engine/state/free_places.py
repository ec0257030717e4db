"""Places in a row store: given out, and taken back to be given out again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftline.model.arrays import Int64s


class Places:
    """`free`: places to use again, the last one first, or the first; `used`: places ever given out.

    >>> places = Places()
    >>> places.take(3).tolist()
    [0, 1, 2]
    >>> places.give_back(np.array([1]))
    >>> places.offered(2).tolist(), places.take(1).tolist()
    ([1, 3], [1])
    """

    def __init__(self, *, oldest_first: bool = False) -> None:
        self.oldest_first = oldest_first
        self.free = np.empty(0, np.int64)
        self.used = 0

    def offered(self, count: int) -> Int64s:
        """The places that the next `take` would give out."""
        again = (self.free if self.oldest_first else self.free[::-1])[:count]
        return np.concatenate([again, np.arange(self.used, self.used + count - len(again))])

    def take(self, count: int) -> Int64s:
        places = self.offered(count)
        again = min(count, len(self.free))
        self.free = self.free[again:] if self.oldest_first else self.free[: len(self.free) - again]
        self.used += count - again
        return places

    def give_back(self, places: Int64s) -> None:
        self.free = np.concatenate([self.free, places])

    @property
    def live(self) -> int:
        """How many places are given out."""
        return self.used - len(self.free)

    @property
    def nbytes(self) -> int:
        return self.free.nbytes

    def live_slots(self) -> Int64s:
        return _others(self.free, self.used)

    def remove(self, places: Int64s) -> None:
        self.give_back(places)

    def snapshot(self) -> dict[str, NDArray[np.generic]]:
        return {"slots.slot": self.live_slots()}

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        live = arrays["slots.slot"].astype(np.int64)
        self.used = int(live.max()) + 1 if len(live) else 0
        self.free = _others(live, self.used)


def _others(places: Int64s, used: int) -> Int64s:
    """The places in use but some, in order."""
    others = np.ones(used, np.bool_)
    others[places] = False
    return np.flatnonzero(others)
