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
from driftline.engine.core.operator import Arrays, Operator, Span, joined_span, span_of
from driftline.engine.state.due_times import Due
from driftline.engine.state.fingerprints import Fingerprints, fingerprints
from driftline.engine.state.growing import grown
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.runs import Runs
from driftline.engine.state.slot_lists import by_slot
from driftline.engine.state.slots import NO_SLOT, Slots
from driftline.engine.state.stored_rows import rows_from_bytes, rows_to_bytes
from driftline.model.arrays import Int64s, to_arrow, to_numpy
from driftline.model.automaton import Automaton
from driftline.model.time import BEGINNING, INFINITY

_RUNS_A_CELL = 4
"""So many runs of a cell are made room for at once."""


class AutomatonRuns(Operator):
    """The input has the columns of the key, the number of a row, and its symbols as bits; `schema`
    is that of the output: the key, where a run begins and ends, its state, its registers."""

    sets_ends = True

    def __init__(
        self, schema: pa.Schema, keys: int, automaton: Automaton, *, partial: bool
    ) -> None:
        super().__init__(schema)
        self.keys = pa.schema([schema.field(place) for place in range(keys)])
        self.automaton, self.machine = automaton, machine_of(automaton, partial=partial)
        self.states = pa.array(automaton.states, pa.string())
        self.cti = BEGINNING
        self._start_empty()

    def _start_empty(self) -> None:
        self.slots, self.key_rows, self.ends = Slots(), RowStore(self.keys), Due()
        self.rows = Runs(kernel.ROW)
        self.runs = Runs(kernel.REGISTERS + len(self.automaton.registers))
        none = np.empty(0, np.int64)
        self.cells = kernel.Cells(none, none, none, none, np.empty(0, np.bool_))

    def process(self, port: int, batch: Batch) -> Batch:
        output = self._changed(batch) if len(batch) else empty(self.schema)
        cti = batch.cti if batch.cti > self.cti else BEGINNING
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
        self.runs.make_slots(self.slots.used)
        kernel.take_in(slots, batch.vs, batch.ve, bits, batch.weight, self.rows.arrays)
        self.cells.dirty[touched] = True
        changes, seen = self._followed(touched[np.argsort(self.cells.number[touched])])
        self.ends.set(seen, self.cells.ends[seen])
        ends = self.cells.number[changes[0]]
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
        self._make_cells(self.slots.used)
        if len(new):
            made = slots[new]
            rows = [column.take(to_arrow(new)) for column in keys]
            if rows:
                self.key_rows.put(made, pa.RecordBatch.from_arrays(rows, schema=self.keys))
            self.cells.number[made] = number[new]
            # Rows often come one after the other: the cell before is then that of the row before.
            before, last = np.full(len(new), NO_SLOT), new - 1
            follow = number[new] == number[last] + 1
            follow &= (prints.low[new] == prints.low[last]) & (
                prints.high[new] == prints.high[last]
            )
            before[follow] = slots[last[follow]]
            before[~follow] = self._neighbours(prints, new[~follow], number, -1)
            self._link(made, before)
            alone = self.cells.after[made] == NO_SLOT
            after = self._neighbours(prints, new[alone], number, 1)
            found = after != NO_SLOT
            self._link(after[found], made[alone][found])
        return slots

    def _neighbours(
        self, prints: Fingerprints, rows: Int64s, number: Int64s, distance: int
    ) -> Int64s:
        """The cells that are so far from those of rows, NO_SLOT where there is none."""
        return self.slots.find(prints.take(rows).with_numbers(number[rows] + distance))

    def _make_cells(self, count: int) -> None:
        before, after, number, ends, dirty = self.cells
        self.cells = kernel.Cells(
            grown(before, count, NO_SLOT),
            grown(after, count, NO_SLOT),
            grown(number, count),
            grown(ends, count),
            grown(dirty, count, False),
        )

    def _link(self, cells: Int64s, before: Int64s) -> None:
        self.cells.before[cells] = before
        found = before != NO_SLOT
        self.cells.after[before[found]] = cells[found]

    def _followed(self, queue: Int64s) -> tuple[Int64s, Int64s]:
        """The changes of runs, and the cells that were looked at."""
        width = self.runs.arrays.ints.shape[1]
        changes, seen = np.empty((1 + width, 4 * len(queue)), np.int64), np.empty_like(queue)
        progress = kernel.Progress(top=self.runs.top)
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
        self.cti = cti
        if cti == INFINITY:
            self._start_empty()
            return
        ended = self.ends.up_to(cti)
        kernel.evict(ended, cti, self.cells, self.rows.arrays, self.runs.arrays)
        self.ends.set(ended, self.cells.ends[ended])
        self._remove(ended[self.rows.sizes(ended) == 0])

    def _remove(self, gone: Int64s) -> None:
        """Give back cells without rows, and so without runs."""
        for there, back in (
            (self.cells.before, self.cells.after),
            (self.cells.after, self.cells.before),
        ):
            linked = there[gone]
            back[linked[linked != NO_SLOT]] = NO_SLOT
        for links in (self.cells.before, self.cells.after):
            links[gone] = NO_SLOT
        self.slots.remove(gone)
        self.key_rows.forget(gone)
        self.ends.set(gone, np.full(len(gone), INFINITY))
        self.rows.clear(gone)
        self.runs.clear(gone)

    def state_size(self) -> tuple[int, int]:
        held = self.rows.nbytes + self.runs.nbytes + self.key_rows.nbytes
        return self.rows.entries() + self.runs.entries(), held

    def state_span(self) -> Span:
        rows = self.rows.snapshot(self.slots.live_slots(), "")[".ints"].astype(np.int64)
        return joined_span(*(span_of(rows[:, column]) for column in (kernel.VS, kernel.VE)))

    def snapshot(self) -> Arrays:
        live = self.slots.live_slots()
        return {
            **self.slots.snapshot(),
            **self.rows.snapshot(live, "rows"),
            **self.runs.snapshot(live, "runs"),
            "keys": rows_to_bytes(self.key_rows.take(live)),
            "number": self.cells.number[live],
            "before": self.cells.before[live],
            "cti": np.array([self.cti]),
        }

    def restore(self, arrays: Arrays) -> None:
        self._start_empty()
        self.slots.restore(arrays)
        live = self.slots.live_slots()
        self._make_cells(self.slots.used)
        self.key_rows.put(live, rows_from_bytes(arrays["keys"]))
        self.cells.number[live] = arrays["number"]
        self._link(live, arrays["before"].astype(np.int64))
        self.rows.restore(live, arrays, "rows")
        self.runs.make_slots(self.slots.used)
        self.runs.restore(live, arrays, "runs")
        kernel.note_ends(live, self.cells, self.rows.arrays, self.runs.arrays)
        self.ends.set(live, self.cells.ends[live])
        self.cti = int(arrays["cti"][0])
