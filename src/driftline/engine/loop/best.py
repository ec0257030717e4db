"""Groups in a loop: of every group the best values, round by round.

    best(H), in round i, at every time:  one row (keys, min or max of each argument) for every group
        of the derivations that are alive then and have a level of at most i

A derivation may go in a later round than it came in: it then has a second one, with the later level
and a negative weight. So what a round has is the sum over the levels up to it, and what is emitted
is of the same kind: in round i the row of round i - 1 goes, and the row of round i comes, where the
two differ. A set is a group by all columns without a value: a row is there in the rounds in which
the weights of its derivations add up to more than nothing. (`least_level` does the same for rows
that never go in a later round, and is quicker.)

A turn compares the best rows of its level with what was emitted up to the level before, puts right
what was emitted at its own level, and is followed by a turn at the next level at which the group
has something: a derivation that can matter, or something that was emitted. As long as a group has
not changed, a derivation that is worse than what was emitted cannot.

Where all that is derived of a row gets better with it (see `plan.improving`), and only the best of
that goes out, the row before need not go: what it leads to is worse than what the better row leads
to, and changes no best value in any round. Then it stays (`stays`), and only what is better than in
the round before goes round. What goes out are the rows of the last round (`outgoing`).

State: of every group its derivations, the best first, with their levels and lifetimes, what was
emitted at which level, and what has gone out. A cti evicts what ends before it. While the loop runs
free, also which groups wait for which level.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.additive.aggregates import Aggregate
from driftline.engine.core.batch import Batch
from driftline.engine.loop import best_derivations as derivations
from driftline.engine.loop import best_kernel as kernel
from driftline.engine.loop.best_values import Numbered, Words
from driftline.engine.loop.levelled import NEVER, Levelled
from driftline.engine.loop.outgoing import Outgoing
from driftline.engine.state import trace
from driftline.engine.state.allotted import Allotted
from driftline.engine.state.due_times import Due
from driftline.engine.state.fields import Fields, Span, joined_span, span_of
from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.growing import KeyColumn
from driftline.engine.state.longest import evict
from driftline.engine.state.order_keys import valid
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.several_runs import SeveralRuns
from driftline.engine.state.slot_lists import NOWHERE, by_slot_in, each_once_in
from driftline.engine.state.slots import NO_SLOT, Slots
from driftline.model.arrays import Int64s, Int64Table
from driftline.model.time import BEGINNING, INFINITY

_NONE = np.empty(0, np.int64)
LEAST = np.iinfo(np.int64).min
"""Better than every key."""


def _writable(numbers: Int64s) -> Int64s:
    """What came over a wire is read only, and kernels would be compiled anew for it."""
    return numbers if numbers.flags.writeable else numbers.copy()


class Best(Levelled):
    """`given`, `schema`: the columns of input and output, which are the keys, then the arguments,
    or the values, of the aggregates, which are min and max, then the level. `stays`: whether a row
    stays when there is a better one; `keeps_outgoing`: whether its answer is that of the loop.

    `starts`, `lasts`: bounds of the lifetimes of each slot's derivations; `number_of`: room to
    number slots in, see `slot_lists`; `best`, `changed`, `touching`: see `Touched`, and the slots
    it is about; `ends`: the least end of what is held of each slot; `waiting`: by level, the slots
    that have to be looked at; `emptied`: slots that may have nothing left."""

    fields = Fields(
        keys="slots",
        by_key=("derived", "emitted", "store", "ends", "starts", "lasts"),
        derived=("best", "changed", "number_of"),
        numbers=("cti", "waits_for"),
        parts=("aggregates",),
    )
    improves = True

    def __init__(
        self,
        given: pa.Schema,
        schema: pa.Schema,
        aggregates: Sequence[Aggregate] = (),
        *,
        stays: bool = False,
        keeps_outgoing: bool = False,
    ) -> None:
        super().__init__(schema)
        self.stays, self.keeps_outgoing = stays, keeps_outgoing
        self.keys = pa.schema(list(schema)[: len(schema) - len(aggregates) - 1])
        self.aggregates = [
            (Words if each.is_fast(given) else Numbered)(each, given) for each in aggregates
        ]
        self.lists = max(len(aggregates), 1)
        self.cti, self.outgoing = BEGINNING, Outgoing(1 + len(aggregates))
        if keeps_outgoing:
            self.fields = Best.fields | Fields(by_key=("outgoing.trace",))
        self._start_empty()

    def _start_empty(self) -> None:
        self.slots, self.store, self.ends = Slots(), RowStore(self.keys), Due()
        self.room = 0
        self.derived = SeveralRuns(derivations.DERIVED, self.lists, Allotted)
        self.emitted = Allotted(kernel.KEYS + 2 * len(self.aggregates))
        self.outgoing.start_empty()
        self.starts = KeyColumn(np.int64, fill=INFINITY)
        self.lasts = KeyColumn(np.int64, fill=BEGINNING)
        self.number_of = KeyColumn(np.int64, fill=NOWHERE)
        self.best = KeyColumn(np.int64, fill=INFINITY, words=self.lists)
        self.changed = KeyColumn(np.bool_)
        self.touching: list[Int64s] = []
        self.waiting: dict[int, list[Int64s]] = {}
        self.emptied: list[Int64s] = []

    @property
    def touched(self) -> kernel.Touched:
        return kernel.Touched(self.best.values.reshape(-1), self.changed.values)

    def take_in(self, batch: Batch, columns: list[pa.Array], levels: Int64s) -> None:
        keys, arguments = columns[: len(self.keys)], columns[len(self.keys) :]
        slots = self._slots_of(keys, len(batch))
        nothing = np.zeros(len(batch), np.bool_)
        level, vs, ve, weight = map(_writable, (levels, batch.vs, batch.ve, batch.weight))
        some = derivations.BestDerivations(
            nothing, nothing.astype(np.int64), level, vs, ve, weight, _NONE
        )
        touched, lowest = derivations.reaching(
            slots, some, self.starts.values, self.lasts.values, self.ends.times, self.ends.least,
            self.number_of.values,
        )  # fmt: skip
        self._wait(touched, lowest)
        self.touching.append(touched)
        for number in range(self.lists):
            best = self.touched.best
            if number < len(arguments):
                argument, values = arguments[number], self.aggregates[number]
                key = values.keys(argument)
                null = nothing if argument.null_count == 0 else ~valid(argument)
                runs = self.lists * touched + number
                ranks = values.compare(self._keys_of(runs, values))
                some = some._replace(null=null, key=np.where(null, 0, key), ranks=ranks)
                if len(ranks):  # keys that are only numbers
                    best[runs] = LEAST
            arrays = self.derived.arrays
            left = derivations.insert(slots, some, self.lists, number, arrays, best)
            if len(left):
                self._merge(slots, left, some, number)

    def _merge(
        self, slots: Int64s, left: Int64s, some: derivations.BestDerivations, number: int
    ) -> None:
        """Take in changes whose runs are long, or have to get longer."""
        touched, counts, order = by_slot_in(slots[left], self.number_of.values)
        runs = self.lists * touched + number
        needed = np.maximum(self.derived.runs.sizes(runs) + counts, derivations.SMALLEST)
        self.derived.runs.reserve(runs, needed)
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        derivations.merge(runs, bounds, left[order], some, self.derived.arrays)

    def _slots_of(self, keys: list[pa.Array], length: int) -> Int64s:
        slots, new = self.slots.find_or_add(fingerprints(keys, length))
        if len(new):
            rows = [column.take(pa.array(new)) for column in keys]
            if rows:
                self.store.put(slots[new], pa.RecordBatch.from_arrays(rows, schema=self.keys))
            self.make_slots()
        return slots

    def _keys_of(self, runs: Int64s, values: Words) -> Int64s:
        """The keys in some runs, if their order has to be found."""
        if not isinstance(values, Numbered):
            return _NONE
        ints = self.derived.runs.of(runs)
        keys: Int64s = ints[ints[:, derivations.NULL] == 0, derivations.KEY]
        return keys

    def _wait(self, slots: Int64s, levels: Int64s) -> None:
        for level in np.unique(levels[levels < NEVER]).tolist():
            self.waiting.setdefault(level, []).append(slots[levels == level])

    def due(self) -> int:
        return min(self.waiting, default=NEVER)

    def turn(self, level: int) -> Batch | None:
        ready = [each for at, some in self.waiting.items() if at <= level for each in some]
        self.waiting = {at: some for at, some in self.waiting.items() if at > level}
        if not ready:
            return None
        slots = ready[0]
        if len(ready) > 1:
            slots = each_once_in(np.concatenate(ready), self.number_of.values)
        slots = np.sort(slots)  # so that what lies together is read together
        made = kernel.turn(
            slots, level, self.cti, self.derived.arrays, self.emitted.arrays, self.starts.values,
            self.lasts.values, self.touched, len(self.aggregates), self.stays,
        )  # fmt: skip
        self._wait(slots, made.due)
        self.emptied.append(slots[self.derived.runs.sizes(self.lists * slots) == 0])
        changes, count = self._corrected(level, made)
        if not self.waiting:
            self._rest()
        if count == 0:
            return None
        rows = np.empty((trace.VALUES + 1 + len(self.aggregates), 2 * count), np.int64)
        count = kernel.rows_of(changes, count, len(self.aggregates), rows)
        vs, ve, weight, columns = self._changes(rows[:, :count])
        return self.with_levels(vs, ve, weight, columns, np.full(len(vs), level))

    def _corrected(self, level: int, made: kernel.Turn) -> tuple[Int64Table, int]:
        """Correct what was emitted at a level; returns changes, and how many these are."""
        sizes, words = self.emitted.sizes(made.slots), made.pieces.shape[1]
        self.emitted.reserve(made.slots, made.needed)
        changes = trace.room_for(int(2 * sizes.sum()) + len(made.pieces), words - trace.VALUE)
        old = np.empty((int(sizes.max(initial=0)), words), np.int64)
        count = kernel.correct(
            made.slots, level, self.cti, made.pieces, made.bounds, self.emitted.arrays, old, changes
        )
        slots = changes[trace.KEY, :count]
        self.changed.values[slots] = True
        self._lower_ends(changes[:, :count])
        if self.keeps_outgoing:
            self.outgoing.changed.append(slots.copy())
        return changes, count

    def _lower_ends(self, changes: Int64Table) -> None:
        """Note when segments end that are held now."""
        inserted = changes[trace.WEIGHT] > 0
        self.ends.lower_to(changes[trace.KEY][inserted], changes[trace.VE][inserted])

    def _changes(self, rows: Int64Table) -> tuple[Int64s, Int64s, Int64s, list[pa.Array]]:
        """Changes as vs, ve, weight and the columns of their rows."""
        slots, vs, ve, weight, state, *keys = rows
        return vs, ve, weight, [*self.store.take(slots).columns, *self._values(state, keys)]

    def take_outgoing(self) -> Batch | None:
        self._compare()
        return self.outgoing.take()

    def _compare(self) -> None:
        self.outgoing.compare(self.cti, self._last_round, self._rows)

    def _last_round(self, slots: Int64s) -> tuple[Int64Table, Int64s]:
        sizes, values = self.emitted.sizes(slots), len(self.aggregates)
        pieces = np.empty((int(2 * sizes.sum()), trace.VALUE + 1 + values), np.int64)
        segments = np.empty((int(2 * sizes.max(initial=0)), derivations.SEGMENT), np.int64)
        bounds = np.zeros(len(slots) + 1, np.int64)
        emitted = self.emitted.arrays
        kernel.last_round(slots, self.cti, emitted, values, segments, pieces, bounds)
        return pieces, bounds

    def _rows(self, changes: Int64Table) -> Batch:
        self._lower_ends(changes)
        vs, ve, weight, columns = self._changes(changes)
        return Batch(vs, ve, weight, pa.RecordBatch.from_arrays(columns, schema=self.rows))

    def _rest(self) -> None:
        """All turns are done: what was emitted is right at every level."""
        for slots in self.touching:
            self.best.clear(slots)
            self.changed.clear(slots)
        self.touching = []

    def _values(self, state: Int64s, keys: list[Int64s]) -> list[pa.Array]:
        nulls = state >> 1
        columns = []
        for number, values in enumerate(self.aggregates):
            null: NDArray[np.bool_] | None = ((nulls >> number) & 1).astype(np.bool_)
            columns.append(values.column(keys[number], null if nulls.any() else None))
        return columns

    def evict(self, cti: int) -> None:
        self._compare()
        if cti == INFINITY:
            self._start_empty()
            self.cti = cti
            return
        self.cti = max(self.cti, cti)
        slots = np.unique(np.concatenate([self.ends.up_to(self.cti), *self.emptied]))
        slots = slots[self.slots.place_of[slots] != NO_SLOT]
        self.emptied = []
        ends = np.full(len(slots), INFINITY)
        derivations.evict(
            slots, self.cti, self.derived.arrays, self.starts.values, self.lasts.values, self.lists,
            ends,
        )  # fmt: skip
        evict(self.emitted, slots, self.cti, ends)
        self.outgoing.evict(slots, self.cti, ends)
        self.ends.set(slots, ends)
        held = self.derived.runs.sizes(self.lists * slots) + self.emitted.sizes(slots)
        self.remove_slots(slots[held + self.outgoing.trace.sizes(slots) == 0])
        for number, values in enumerate(self.aggregates):
            if values.is_full():
                values.drop(self._used(number))

    def _used(self, number: int) -> Int64s:
        """The keys that are in use of one of the aggregates."""
        live = self.slots.live_slots()
        derived = self.derived.runs.of(self.lists * live + number)
        emitted, before = self.emitted.of(live), kernel.KEYS + number
        outgoing = self.outgoing.trace.of(live)[:, trace.VALUE + 1 + number]
        both = emitted[:, before], emitted[:, before + self.lists]
        return np.unique(np.concatenate([derived[:, derivations.KEY], *both, outgoing]))

    def state_span(self) -> Span:
        derived = self.derived.runs.of(self.derived.numbers(self.slots.live_slots()))
        return joined_span(
            *(span_of(derived[:, each]) for each in (derivations.VS, derivations.VE))
        )

    @property
    def waits_for(self) -> int:
        """The lowest level that any group waits for."""
        return self.due()

    @waits_for.setter
    def waits_for(self, level: int) -> None:
        """Turns find out which of the groups wait, and for which levels."""
        if level == NEVER:
            return
        live = self.slots.live_slots()
        self.waiting = {level: [live]}
        self.changed.values[live] = True
        self.touching = [live]
        self.emptied = [live]
