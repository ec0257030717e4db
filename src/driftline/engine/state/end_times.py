"""The times at which something that was put out ends, and how often: of a join, the table of joined
times.

    ends = { (t, how many lifetimes end at t) : t < ∞, of what was put out and has not ended }

A lifetime that is taken back is taken away here, too. What ends up to a time is found without a
look at what ends later (see `due_times`).
"""

from __future__ import annotations

import numpy as np

from driftline.engine.state.due_times import Due
from driftline.engine.state.fields import Fields, Stateful
from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.growing import KeyColumn
from driftline.engine.state.slots import Slots
from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING, INFINITY


class EndTimes(Stateful):
    """`slots`: one for every time; `times`: which it is; `copies`: how many lifetimes end then;
    `asked`: the latest time that was asked for when something had ended: ends before it are of no
    interest."""

    fields = Fields(keys="slots", by_key=("times", "copies"), numbers=("asked",))

    def __init__(self) -> None:
        self.slots, self.times = Slots(), Due()
        self.copies = KeyColumn(np.int64)
        self.asked = BEGINNING

    def add(self, ends: Int64s, weight: Int64s) -> None:
        """Lifetimes were put out, or taken back."""
        ending = np.flatnonzero((ends < INFINITY) & (ends > self.asked))
        if len(ending) == 0:
            return
        times = ends[ending]
        slots, new = self.slots.find_or_add(fingerprints([], len(times)).with_numbers(times))
        self.make_slots()
        copies = self.copies.values
        self.times.set(slots[new], times[new])
        np.add.at(copies, slots, weight[ending])
        self.remove_slots(np.unique(slots[copies[slots] == 0]))

    def reached(self, time: int) -> bool:
        """Whether something ends at or before a time, and not before the time asked for last."""
        ended = self.times.up_to(time)
        if len(ended) == 0:
            return False
        self.remove_slots(ended)
        self.asked = time
        return True
