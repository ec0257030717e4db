"""Places in arrays and row stores: given out, and taken back to be given out again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftline.model.arrays import Int64s


class Places:
    """`free`: places to use again, in the order in which they were given back, the last one first,
    or with `oldest_first` the first; `used`: places ever given out. They are keys of fields as
    slots are (see `fields`).

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
        self.before = self.free  # places, as they were stored

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
        live = np.ones(self.used, np.bool_)
        live[self.free] = False
        return np.flatnonzero(live)

    def remove(self, places: Int64s) -> None:
        self.give_back(places)

    def snapshot(self) -> dict[str, NDArray[np.generic]]:
        return {"slots.slot": self.live_slots()}

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Places are given out again without gaps, so that the memory of those that are gone is
        free: what names some asks where they are `now`."""
        self.before = arrays["slots.slot"].astype(np.int64)
        self.used, self.free = len(self.before), np.empty(0, np.int64)

    def now(self, places: Int64s) -> Int64s:
        """Where what a snapshot had at some places has been restored; -1 is none."""
        return np.where(places < 0, places, np.searchsorted(self.before, places))
