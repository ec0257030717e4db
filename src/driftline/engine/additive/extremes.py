"""Extremes: the least and greatest values of a slot's rows, lifetime by lifetime.

    extreme(s, t) = the greatest order key among the rows of slot s that are alive at t

(The least value is the greatest of the negated keys.) Rows with the same lifetime share a cell,
which has two heaps for each extreme: the keys that came and the keys that went. When the tops of
both are the same key, it goes from both; so the top of what came is the cell's extreme, and adding
or removing a row costs the logarithm of the cell's size. Of a stream that only grows the top of
what came is all that is kept.

While time is gone through, the cells that have begun lie on a heap by their extremes; those that
have ended are taken off when they come to the top.

State: the cells of each slot, sorted by vs and ve, and their heaps. A cti evicts the cells that
have ended by then; of those that have begun by then only the end matters, so those with the same
end become one. (Without that, a slot of rows that never end would have as many cells as rows.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.additive.cells import Cells, Contribution
from driftline.engine.additive.extremes_kernel import (
    aged,
    brought_together,
    found,
    poured,
    pushed,
    raised,
    settled,
    sizes_after,
    without_ended,
)
from driftline.engine.core.operator import Arrays
from driftline.engine.state.runs import RunArrays, Runs
from driftline.model.arrays import Int64s, Int64Table, MaskTable
from driftline.model.time import BEGINNING


class ExtremeArrays(NamedTuple):
    """What the sweep reads: the cells of each slot (see `layout.CELL_VS`); of each cell and extreme
    the key, and whether there is one."""

    cells: RunArrays
    top: Int64Table
    there: MaskTable


class Extremes:
    """`held`, `gone`: the heaps; that of the extreme e of cell c has the number c · count + e."""

    def __init__(self, count: int, *, only_grows: bool = False) -> None:
        self.count, self.only_grows = count, only_grows
        self.cells = Runs(3)
        self.held, self.gone = Runs(1), Runs(1)
        self.top, self.there = np.zeros((0, count), np.int64), np.zeros((0, count), np.bool_)
        self.upto = np.zeros(0, np.int64)  # what of a slot has begun by then goes by its end alone
        self.free = np.zeros(0, np.int64)  # numbers of cells to use again
        self.used = 0  # numbers of cells ever given out

    @property
    def arrays(self) -> ExtremeArrays:
        return ExtremeArrays(self.cells.arrays, self.top, self.there)

    def take(
        self, slots: Int64s, bounds: Int64s, order: Int64s, batch: Cells, brought: Contribution,
        weight: Int64s,
    ) -> None:  # fmt: skip
        """Take the changes of a batch in: bounds and order are those of its cells by slot."""
        if self.count == 0 or len(slots) == 0:
            return
        self.cells.reserve(slots, self.cells.sizes(slots) + np.diff(bounds))
        number_of, taken, self.used, shared = found(
            self.cells.arrays, slots, bounds, order, batch.vs, batch.ve, self.upto, self.free,
            self.used,
        )  # fmt: skip
        self.free = self.free[: len(self.free) - taken]
        self._make_room()
        if self.only_grows:
            raised(self.top, self.there, number_of[batch.number], brought.keys, brought.there)
            return
        cells, place = number_of, batch.number
        if shared:
            cells, inverse = np.unique(number_of, return_inverse=True)
            place = inverse[batch.number]
        for heaps, weights in ((self.held, weight), (self.gone, -weight)):
            more = np.bincount(place, np.maximum(weights, 0), len(cells)).astype(np.int64)
            some = np.flatnonzero(more)
            self._reserve(heaps, cells[some], np.repeat(more[some], self.count))
        held, gone = self.held.arrays, self.gone.arrays
        pushed(held, gone, number_of[batch.number], weight, brought.keys, brought.there)
        settled(held, gone, cells, self.top, self.there)

    def _reserve(self, heaps: Runs, cells: Int64s, more: Int64s) -> None:
        """See to it that heaps of cells can grow by so many keys."""
        heaps.make_slots(self.used * self.count)
        numbers = self._heaps(cells)
        heaps.reserve(numbers, heaps.sizes(numbers) + more)

    def _heaps(self, cells: Int64s) -> Int64s:
        numbers: Int64s = (cells[:, None] * self.count + np.arange(self.count)).ravel()
        return numbers

    def _make_room(self) -> None:
        if self.used <= len(self.top):
            return
        more = max(self.used, 2 * len(self.top)) - len(self.top)
        self.top = np.concatenate([self.top, np.zeros((more, self.count), np.int64)])
        self.there = np.concatenate([self.there, np.zeros((more, self.count), np.bool_)])

    def make_slots(self, needed: int) -> None:
        if self.count == 0:
            return
        self.cells.make_slots(needed)
        if needed > len(self.upto):
            more = max(needed, 2 * len(self.upto)) - len(self.upto)
            self.upto = np.concatenate([self.upto, np.full(more, BEGINNING, np.int64)])

    def forget(self, slots: Int64s, cti: int) -> None:
        """Evict the cells of some slots that have ended by a cti, and those that are empty; make
        cells one that have begun by then and have the same end."""
        if self.count == 0 or len(slots) == 0:
            return
        room = int(self.cells.sizes(slots).sum())
        gone = without_ended(self.cells.arrays, slots, cti, self.there, room)
        self._give_back(gone)
        if cti == BEGINNING or room == 0:
            return
        self.upto[slots] = np.maximum(self.upto[slots], cti)
        sizes = self.held.arrays.size
        if self.only_grows:
            sizes = np.zeros(self.used * self.count, np.int64)
        pours = aged(self.cells.arrays, slots, cti, sizes, self.count, room)
        if len(pours) == 0:
            return
        if self.only_grows:
            brought_together(self.top, self.there, pours)
            self._give_back(pours[:, 0])
            return
        into = np.unique(pours[:, 1])
        for heaps in (self.held, self.gone):
            numbers = self._heaps(into)
            heaps.reserve(numbers, sizes_after(heaps.arrays.size, pours, self.count)[numbers])
            poured(heaps.arrays, pours, self.count)
        settled(self.held.arrays, self.gone.arrays, into, self.top, self.there)
        self._give_back(pours[:, 0])

    def clear(self, slots: Int64s) -> None:
        """Forget slots that are gone."""
        if self.count == 0:
            return
        numbers = self.cells.snapshot(slots, "")[".ints"][:, 2]
        self._give_back(numbers.astype(np.int64))
        self.cells.clear(slots)
        self.upto[slots[slots < len(self.upto)]] = BEGINNING

    def _give_back(self, numbers: Int64s) -> None:
        if len(numbers) == 0:
            return
        self.there[numbers] = False
        if not self.only_grows:
            heaps = self._heaps(numbers)
            self.held.clear(heaps)
            self.gone.clear(heaps)
        self.free = np.concatenate([self.free, numbers])

    def entries(self) -> int:
        heaps = self.held.entries() + self.gone.entries()
        return self.cells.entries() if self.only_grows else heaps

    @property
    def nbytes(self) -> int:
        runs = self.cells.nbytes + self.held.nbytes + self.gone.nbytes
        return runs + self.top.nbytes + self.there.nbytes

    def snapshot(self, slots: Int64s, prefix: str) -> Arrays:
        if self.count == 0:
            return {}
        arrays = self.cells.snapshot(slots, f"{prefix}.cells")
        numbers = arrays[f"{prefix}.cells.ints"][:, 2].astype(np.int64)
        arrays |= self.held.snapshot(self._heaps(numbers), f"{prefix}.held")
        arrays |= self.gone.snapshot(self._heaps(numbers), f"{prefix}.gone")
        arrays[f"{prefix}.top"], arrays[f"{prefix}.there"] = self.top[numbers], self.there[numbers]
        arrays[f"{prefix}.upto"] = self.upto[slots]
        return arrays

    def restore(self, slots: Int64s, arrays: Arrays, prefix: str) -> None:
        if self.count == 0:
            return
        cells = arrays[f"{prefix}.cells.ints"].copy()
        numbers = np.arange(len(cells))
        cells[:, 2] = numbers
        self.cells.restore(slots, {**arrays, f"{prefix}.cells.ints": cells}, f"{prefix}.cells")
        self.held.restore(self._heaps(numbers), arrays, f"{prefix}.held")
        self.gone.restore(self._heaps(numbers), arrays, f"{prefix}.gone")
        self.used = len(numbers)
        self.top = arrays[f"{prefix}.top"].astype(np.int64)
        self.there = arrays[f"{prefix}.there"].astype(np.bool_)
        self.upto[slots] = arrays[f"{prefix}.upto"]
