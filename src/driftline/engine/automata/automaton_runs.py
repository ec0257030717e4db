"""The runs of an automaton over the rows of a sequence.

    runs(H) = { (⋂ lifetimes of the rows, (key, b, e, q, x)) : rows of one key with the numbers
                b, b + 1, …, e take the automaton from its start to the state q, with registers x }

A run over no row, (key, b, b - 1, start, initial), lives as long as a row with the number b does.

State: of every number of every key (a cell) its rows, and the runs that end there. A change of a
row is followed from its cell on, for as long as the runs of the next cell change: a late row costs
the runs that go through it. A cti evicts rows and runs that end before it, and cells without rows;
rows that never end are kept for ever, so that an endless stream wants a window.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from driftline.engine.automata import kernel
from driftline.engine.automata.machine import machine_of
from driftline.engine.core.batch import Batch, empty, latest_start
from driftline.engine.core.operator import Operator
from driftline.engine.state.due_times import Due
from driftline.engine.state.fields import Fields, Span, joined_span, span_of
from driftline.engine.state.fingerprints import Fingerprints, fingerprints
from driftline.engine.state.growing import KeyColumn
from driftline.engine.state.progress import Progress
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.runs import Runs
from driftline.engine.state.slot_lists import by_slot
from driftline.engine.state.slots import NO_SLOT, Slots
from driftline.model.arrays import Int64s, to_arrow, to_numpy
from driftline.model.automaton import Automaton
from driftline.model.time import BEGINNING, INFINITY

_RUNS_A_CELL = 4
"""So many runs of a cell are made room for at once."""


class AutomatonRuns(Operator):
    """The input has the columns of the key, the number of a row, and its symbols as bits; `schema`
    is that of the output: the key, where a run begins and ends, its state, its registers.

    By cell: `rows`, `runs`; the cells `before` and `after` it; its `number` in the sequence; when
    the first of what it holds ends (`first_ends`, `ends`); whether it is to be looked at."""

    fields = Fields(
        keys="slots",
        by_key=("key_rows", "rows", "runs", "number", "before"),
        derived=("after", "first_ends", "ends", "dirty"),
        parts=("progress",),
    )
    sets_ends = True

    def __init__(
        self, schema: pa.Schema, keys: int, automaton: Automaton, *, partial: bool
    ) -> None:
        super().__init__(schema)
        self.keys = pa.schema([schema.field(place) for place in range(keys)])
        self.automaton, self.machine = automaton, machine_of(automaton, partial=partial)
        self.states = pa.array(automaton.states, pa.string())
        self.progress = Progress()
        self.slots, self.key_rows, self.ends = Slots(), RowStore(self.keys), Due()
        self.rows = Runs(kernel.ROW)
        self.runs = Runs(kernel.REGISTERS + len(automaton.registers))
        self.before = KeyColumn(np.int64, fill=NO_SLOT)
        self.after = KeyColumn(np.int64, fill=NO_SLOT)
        self.number = KeyColumn(np.int64, fill=None)
        self.first_ends = KeyColumn(np.int64, fill=None)
        self.dirty = KeyColumn(np.bool_)

    @property
    def cells(self) -> kernel.SequenceCells:
        return kernel.SequenceCells(
            self.before.values,
            self.after.values,
            self.number.values,
            self.first_ends.values,
            self.dirty.values,
        )

    def process(self, port: int, batch: Batch) -> Batch:
        output = self._changed(batch) if len(batch) else empty(self.schema)
        cti = self.progress.receive(port, batch.cti)
        if cti > BEGINNING:
            self._evict(cti)
        return replace(output, cti=cti, high=latest_start(output.vs, output.weight))

    def _changed(self, batch: Batch) -> Batch:
        """What the runs change by."""
        *keys, numbers, symbols = batch.payload.columns
        number, bits = (to_numpy(each).astype(np.int64) for each in (numbers, symbols))
        slots = self._cells_of(fingerprints(keys, len(batch)), keys, number)
        touched, counts, _ = by_slot(slots, self.slots.used)
        self.rows.reserve(touched, self.rows.sizes(touched) + counts)
        kernel.take_in(slots, batch.vs, batch.ve, bits, batch.weight, self.rows.arrays)
        self.dirty.values[touched] = True
        changes, seen = self._followed(touched[np.argsort(self.number.values[touched])])
        self.ends.set(seen, self.first_ends.values[seen])
        ends = self.number.values[changes[0]]
        if self.machine.wanted[kernel.START]:
            changes = np.concatenate([self._over_no_row(slots, batch, number), changes], axis=1)
            ends = np.concatenate([number - 1, ends])
        cell, vs, ve, begins, state, weight, *registers = changes
        made = self._batch(cell, vs, ve, weight, begins, ends, state, registers)
        self._remove(touched[self.rows.sizes(touched) == 0])
        return made.consolidated()

    def _over_no_row(self, slots: Int64s, batch: Batch, number: Int64s) -> Int64s:
        """The runs over no row that begin at the rows of a batch, as changes."""
        start = np.full(len(batch), kernel.START)
        initial = [np.full(len(batch), value) for value in self.machine.initial.tolist()]
        columns = [slots, batch.vs, batch.ve, number, start, batch.weight, *initial]
        return np.stack(columns).astype(np.int64, copy=False)

    def _cells_of(self, prints: Fingerprints, keys: list[pa.Array], number: Int64s) -> Int64s:
        """The cells of rows; new ones are linked with those before and after them."""
        slots, new = self.slots.find_or_add(prints.with_numbers(number))
        self.make_slots()
        if len(new):
            made = slots[new]
            rows = [column.take(to_arrow(new)) for column in keys]
            if rows:
                self.key_rows.put(made, pa.RecordBatch.from_arrays(rows, schema=self.keys))
            self.number.values[made] = number[new]
            # Rows often come one after the other: the cell before is then that of the row before.
            before, last = np.full(len(new), NO_SLOT), new - 1
            follow = number[new] == number[last] + 1
            follow &= (prints.low[new] == prints.low[last]) & (
                prints.high[new] == prints.high[last]
            )
            before[follow] = slots[last[follow]]
            before[~follow] = self._neighbours(prints, new[~follow], number, -1)
            self._link(made, before)
            alone = self.after.values[made] == NO_SLOT
            after = self._neighbours(prints, new[alone], number, 1)
            found = after != NO_SLOT
            self._link(after[found], made[alone][found])
        return slots

    def _neighbours(
        self, prints: Fingerprints, rows: Int64s, number: Int64s, distance: int
    ) -> Int64s:
        """The cells that are so far from those of rows, NO_SLOT where there is none."""
        return self.slots.find(prints.take(rows).with_numbers(number[rows] + distance))

    def _link(self, cells: Int64s, before: Int64s) -> None:
        self.before.values[cells] = before
        found = before != NO_SLOT
        self.after.values[before[found]] = cells[found]

    def _followed(self, queue: Int64s) -> tuple[Int64s, Int64s]:
        """The changes of runs, and the cells that were looked at."""
        width = self.runs.arrays.ints.shape[1]
        changes, seen = np.empty((1 + width, 4 * len(queue)), np.int64), np.empty_like(queue)
        progress = kernel.FollowProgress(top=self.runs.top)
        while True:
            progress, changes, seen = kernel.follow(
                queue, self.cells, self.rows.arrays, self.runs.arrays, self.machine, progress,
                changes, seen,
            )  # fmt: skip
            self.runs.top = progress.top
            if not progress.wanted:
                return changes[:, : progress.made], seen[: progress.looked]
            self.runs.make_room(progress.wanted - progress.top + _RUNS_A_CELL * len(queue))
            progress = progress._replace(top=self.runs.top)

    def _batch(
        self,
        cells: Int64s,
        vs: Int64s,
        ve: Int64s,
        weight: Int64s,
        begins: Int64s,
        ends: Int64s,
        state: Int64s,
        registers: list[Int64s],
    ) -> Batch:
        columns = [
            *(self.key_rows.take(cells).columns if len(self.keys) else ()),
            *map(to_arrow, (begins, ends)),
            self.states.take(to_arrow(state)),
            *map(to_arrow, registers),
        ]
        return Batch(vs, ve, weight, pa.RecordBatch.from_arrays(columns, schema=self.schema))

    def _evict(self, cti: int) -> None:
        if cti == INFINITY:
            self.remove_all()
            return
        ended = self.ends.up_to(cti)
        kernel.evict(ended, cti, self.cells, self.rows.arrays, self.runs.arrays)
        self.ends.set(ended, self.first_ends.values[ended])
        self._remove(ended[self.rows.sizes(ended) == 0])

    def _remove(self, gone: Int64s) -> None:
        """Give back cells without rows, and so without runs."""
        before, after = self.before.values, self.after.values
        for there, back in ((before, after), (after, before)):
            linked = there[gone]
            back[linked[linked != NO_SLOT]] = NO_SLOT
        self.remove_slots(gone)

    def state_span(self) -> Span:
        rows = self.rows.snapshot(self.slots.live_slots(), "")[".ints"].astype(np.int64)
        return joined_span(*(span_of(rows[:, column]) for column in (kernel.VS, kernel.VE)))

    def derive(self) -> None:
        live = self.slots.live_slots()
        self._link(live, self.before.values[live])
        kernel.note_ends(live, self.cells, self.rows.arrays, self.runs.arrays)
        self.ends.set(live, self.first_ends.values[live])
