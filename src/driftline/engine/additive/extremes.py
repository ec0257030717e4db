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
from driftline.engine.state.fields import Fields, Stateful
from driftline.engine.state.free_places import Places
from driftline.engine.state.growing import KeyColumn
from driftline.engine.state.runs import RunArrays, Runs
from driftline.engine.state.several_runs import SeveralRuns
from driftline.model.arrays import Int64s, Int64Table, MaskTable
from driftline.model.time import BEGINNING

_NUMBER = 2
"""The word of a cell with its number."""


class ExtremeArrays(NamedTuple):
    """What the sweep reads: the cells of each slot (see `layout.CELL_VS`); of each cell and extreme
    the key, and whether there is one."""

    cells: RunArrays
    top: Int64Table
    there: MaskTable


class Extremes(Stateful):
    """`cells`: of every slot, with their numbers; `upto`: what of a slot has begun by then goes by
    its end alone. By the number of a cell: `top` and `there`, its extremes and whether it has any,
    and two heaps for each of these, of what is `held` and what is `gone` (of a stream that only
    grows, none)."""

    fields = Fields(keys="numbers", by_key=("top", "there", "held", "gone"))

    def __init__(self, count: int, *, only_grows: bool = False) -> None:
        self.count, self.only_grows = count, only_grows
        self.cells, self.upto = Runs(3), KeyColumn(np.int64, fill=BEGINNING)
        self.numbers = Places()
        self.top = KeyColumn(np.int64, fill=None, words=count)
        self.there = KeyColumn(np.bool_, words=count)
        heaps = 0 if only_grows else count
        self.held, self.gone = SeveralRuns(1, heaps), SeveralRuns(1, heaps)

    @property
    def arrays(self) -> ExtremeArrays:
        return ExtremeArrays(self.cells.arrays, self.top.values, self.there.values)

    def take(
        self, slots: Int64s, bounds: Int64s, order: Int64s, batch: Cells, brought: Contribution,
        weight: Int64s,
    ) -> None:  # fmt: skip
        """Take the changes of a batch in: bounds and order are those of its cells by slot."""
        if self.count == 0 or len(slots) == 0:
            return
        self.cells.reserve(slots, self.cells.sizes(slots) + np.diff(bounds))
        numbers = self.numbers
        number_of, taken, numbers.used, shared = found(
            self.cells.arrays, slots, bounds, order, batch.vs, batch.ve, self.upto.values,
            numbers.free, numbers.used,
        )  # fmt: skip
        numbers.free = numbers.free[: len(numbers.free) - taken]
        self.make_slots()
        top, there = self.top.values, self.there.values
        if self.only_grows:
            raised(top, there, number_of[batch.number], brought.keys, brought.there)
            return
        cells, place = number_of, batch.number
        if shared:
            cells, inverse = np.unique(number_of, return_inverse=True)
            place = inverse[batch.number]
        for heaps, weights in ((self.held, weight), (self.gone, -weight)):
            more = np.bincount(place, np.maximum(weights, 0), len(cells)).astype(np.int64)
            some = np.flatnonzero(more)
            heaps.reserve(cells[some], more[some])
        held, gone = self.held.arrays, self.gone.arrays
        pushed(held, gone, number_of[batch.number], weight, brought.keys, brought.there)
        settled(held, gone, cells, top, there)

    def forget(self, slots: Int64s, cti: int) -> None:
        """Evict the cells of some slots that have ended by a cti, and those that are empty; make
        cells one that have begun by then and have the same end."""
        if self.count == 0 or len(slots) == 0:
            return
        room = int(self.cells.sizes(slots).sum())
        top, there = self.top.values, self.there.values
        self.remove_slots(without_ended(self.cells.arrays, slots, cti, there, room))
        if cti == BEGINNING or room == 0:
            return
        self.upto.values[slots] = np.maximum(self.upto.values[slots], cti)
        sizes = self.held.arrays.size
        if self.only_grows:
            sizes = np.zeros(self.numbers.used * self.count, np.int64)
        pours = aged(self.cells.arrays, slots, cti, sizes, self.count, room)
        if len(pours) == 0:
            return
        if self.only_grows:
            brought_together(top, there, pours)
            self.remove_slots(pours[:, 0])
            return
        into = np.unique(pours[:, 1])
        for heaps in (self.held, self.gone):
            numbers = heaps.numbers(into)
            sizes = sizes_after(heaps.arrays.size, pours, self.count)
            heaps.runs.reserve(numbers, sizes[numbers])
            poured(heaps.arrays, pours, self.count)
        settled(self.held.arrays, self.gone.arrays, into, top, there)
        self.remove_slots(pours[:, 0])

    def derive(self) -> None:
        cells = self.cells
        held = cells.places_of(np.flatnonzero(cells.arrays.size))
        cells.arrays.ints[held, _NUMBER] = self.numbers.now(cells.arrays.ints[held, _NUMBER])

    def give_back(self, slots: Int64s) -> None:
        """Drop the cells of slots that are gone."""
        if self.count:
            self.remove_slots(self.cells.of(slots)[:, _NUMBER])
