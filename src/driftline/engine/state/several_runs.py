"""Several runs for every key: run n of key k is the run k · count + n of a pool."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftline.engine.state.runs import RunArrays, Runs
from driftline.model.arrays import Int64s


class SeveralRuns:
    """`count`: how many runs a key has; `words`: how many an entry has; `kind`: of the pool.

    >>> heaps = SeveralRuns(words=1, count=2)
    >>> heaps.numbers(np.array([0, 3])).tolist()
    [0, 1, 6, 7]
    """

    def __init__(self, words: int, count: int, kind: type[Runs] = Runs) -> None:
        self.count, self.runs = count, kind(words)

    @property
    def arrays(self) -> RunArrays:
        return self.runs.arrays

    def numbers(self, slots: Int64s) -> Int64s:
        """The numbers of all runs of some keys."""
        numbers: Int64s = (slots[:, None] * self.count + np.arange(self.count)).ravel()
        return numbers

    def reserve(self, slots: Int64s, more: Int64s) -> None:
        """See to it that every run of some (distinct) keys can grow by so many entries."""
        numbers = self.numbers(slots)
        self.runs.reserve(numbers, self.runs.sizes(numbers) + np.repeat(more, self.count))

    def make_slots(self, count: int) -> None:
        self.runs.make_slots(self.count * count)

    def clear(self, slots: Int64s) -> None:
        self.runs.clear(self.numbers(slots))

    def entries(self) -> int:
        return self.runs.entries()

    @property
    def nbytes(self) -> int:
        return self.runs.nbytes

    def snapshot(self, slots: Int64s, name: str) -> dict[str, NDArray[np.generic]]:
        return self.runs.snapshot(self.numbers(slots), name)

    def restore(self, slots: Int64s, arrays: dict[str, NDArray[np.generic]], name: str) -> None:
        self.runs.restore(self.numbers(slots), arrays, name)
