"""Sets: every row that is derived, with the least level at which it is.

    least(H) = { (a, b, r, i) : [a, b) is a longest stretch in which i is the least level of the
                 derivations of r that are alive }

A body whose operators never take a row back because of another has in every round what it had in
the round before: a row is there from its least level on. So the set of rows needs no more than
these levels, and what goes round is each row once, at its least level.

The level that was emitted and the least level of the derivations are two functions of time. Where
they differ, and the lower of the two is the level of the turn, that turn puts it right; where both
are higher, a later turn does. If the least level rises, what was emitted is taken back at once, and
the higher level emitted not before its turn has come: until then that derivation may go, too.

What goes out is no level, but when a row is there (`outgoing`). A row that is derived at another
level than before has not changed.

State: of every row its derivations with their levels and lifetimes, what was sent round, and what
has gone out. A cti evicts what ends before it. While the loop runs free, also which rows wait for
which level.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch
from driftline.engine.loop import least_level_kernel as kernel
from driftline.engine.loop import least_level_state as state
from driftline.engine.loop.levelled import NEVER, Levelled
from driftline.engine.loop.outgoing import Outgoing
from driftline.engine.state.due_times import BLOCK, Due
from driftline.engine.state.fields import Fields, Span, joined_span, span_of
from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.slots import NO_SLOT, Slots
from driftline.engine.state.trace import KEY, VALUE, VE, VS, WEIGHT
from driftline.model.arrays import Int64s, Int64Table, to_arrow
from driftline.model.time import BEGINNING, INFINITY


class LeastLevel(Levelled):
    """`held`: what is known of each slot; `waiting`: by level, slots that may have to be looked at;
    `ends`: the least end of what is held of each; `emptied`: those that may have nothing left."""

    fields = Fields(
        keys="slots",
        by_key=("held", "store", "ends", "outgoing.trace"),
        numbers=("cti", "waits_for"),
    )
    keeps_outgoing = True

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__(schema)
        self.cti, self.outgoing = BEGINNING, Outgoing(0)
        self._start_empty()

    def _start_empty(self) -> None:
        self.slots, self.store, self.ends = Slots(), RowStore(self.rows), Due()
        self.held, self.room = state.RowRecords(), 0
        self.outgoing.start_empty()
        self.waiting: dict[int, list[Int64s]] = {}
        self.emptied: list[Int64s] = []

    def take_in(self, batch: Batch, columns: list[pa.Array], levels: Int64s) -> None:
        slots, new = self.slots.find_or_add(fingerprints(columns, len(batch)))
        if len(new):
            which = to_arrow(new)
            rows = [column.take(which) for column in columns]
            self.store.put(slots[new], pa.RecordBatch.from_arrays(rows, schema=self.rows))
            self.make_slots()
        given = kernel.Derived(slots, levels, batch.vs, batch.ve, batch.weight)
        taken = kernel.take_in(
            given, self.cti, self.held.arrays, self.ends.times, self.ends.least, BLOCK
        )
        self.held.use(taken.pool)
        if len(taken.left):
            some = kernel.Derived(*(column[taken.left] for column in given))
            order = np.lexsort((some.ve, some.vs, some.level, some.slot))
            self.held.use(kernel.merge(order, some, self.held.arrays))
        self._wait(taken.slots, taken.levels)

    def _wait(self, slots: Int64s, levels: Int64s) -> None:
        if len(slots) == 0:
            return
        lowest = int(levels[0])
        if (levels == lowest).all():
            self.waiting.setdefault(lowest, []).append(slots)
            return
        for level in np.unique(levels).tolist():
            self.waiting.setdefault(level, []).append(slots[levels == level])

    def due(self) -> int:
        return min(self.waiting, default=NEVER)

    def turn(self, level: int) -> Batch | None:
        ready = [
            each for at in sorted(self.waiting) if at <= level for each in self.waiting.pop(at)
        ]
        if not ready:
            return None
        slots = ready[0] if len(ready) == 1 else np.concatenate(ready)
        made = kernel.turn(slots, level, self.cti, self.held.arrays)
        self.held.use(made.pool)
        self._wait(made.slots, made.levels)
        if len(made.changed):
            self.outgoing.changed.append(made.changed)
        if len(made.emptied):
            self.emptied.append(made.emptied)
        which, vs, ve, weight, levels = made.changes
        if len(which) == 0:
            return None
        return self.with_levels(vs, ve, weight, self.store.take(which).columns, levels)

    def take_outgoing(self) -> Batch | None:
        self._compare()
        return self.outgoing.take()

    def _compare(self) -> None:
        self.outgoing.compare(self.cti, self._last_round, self._rows)

    def _last_round(self, slots: Int64s) -> tuple[Int64Table, Int64s]:
        counts = self.held.arrays.records[slots, state.EMITTED]
        pieces = np.empty((int(counts.sum()), VALUE), np.int64)
        segments = np.empty((int(counts.max(initial=0)), state.SEGMENT), np.int64)
        bounds = np.zeros(len(slots) + 1, np.int64)
        kernel.stretches(slots, self.cti, self.held.arrays, segments, pieces, bounds)
        return pieces, bounds

    def _rows(self, changes: Int64Table) -> Batch:
        return Batch(changes[VS], changes[VE], changes[WEIGHT], self.store.take(changes[KEY]))

    def evict(self, cti: int) -> None:
        self._compare()
        if cti == INFINITY:
            self._start_empty()
            self.cti = cti
            return
        self.cti = max(self.cti, cti)
        ended = self.ends.up_to(self.cti)
        if len(ended):
            pool, ends = kernel.evict(ended, self.cti, self.held.arrays)
            self.held.use(pool)
            self.outgoing.evict(ended, self.cti)
            self.ends.set(ended, ends)
        if len(ended) == 0 and not self.emptied:
            return
        slots = np.unique(np.concatenate([ended, *self.emptied]))
        self.emptied = []
        records = self.held.arrays.records[slots]
        is_empty = (records[:, state.SIZE] == 0) & (records[:, state.EMITTED] == 0)
        self.remove_slots(slots[is_empty & (self.slots.place_of[slots] != NO_SLOT)])

    def state_span(self) -> Span:
        derived = self.held.derivations(self.slots.live_slots())
        return joined_span(*(span_of(derived[:, each]) for each in (state.VS, state.VE)))

    @property
    def waits_for(self) -> int:
        """The lowest level that any row waits for."""
        return self.due()

    @waits_for.setter
    def waits_for(self, level: int) -> None:
        """A turn finds out which of the rows wait, and for which level."""
        if level == NEVER:
            return
        live, records = self.slots.live_slots(), self.held.arrays.records
        self.waiting = {level: [live]}
        records[live, state.WAITS] = level + 1
        self.emptied = [live[records[live, state.SIZE] == 0]]
