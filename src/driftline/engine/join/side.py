"""What a join holds of one of its inputs.

    held = { (vs, ve, row) with its weight : the lifetimes so far that are still needed }

Each lifetime has a place: in arrays of vs, ve, weight and key fingerprint, in the store of rows, in
the index by key, and, on a preserved side, in what has come out (`emitted`). What goes in is added
up. Only when the first removal comes does the side learn to find a lifetime again by what it is
(`identities`); until then a lifetime that came twice is there twice, and a stream without removals
pays nothing.

The join says which lifetimes are no longer needed (`evictable`, `drop`). A change to a lifetime
that is gone is none of the side's business: the join does not pass it on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch
from driftline.engine.core.labels import KeyLabels, Vector, label_new, raise_at
from driftline.engine.join.emitted import Emitted
from driftline.engine.join.index import Index, at_most, in_order
from driftline.engine.state.fields import Fields, Stateful
from driftline.engine.state.fingerprints import Fingerprints, fingerprints
from driftline.engine.state.free_places import Places
from driftline.engine.state.growing import KeyColumn, grown
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.slots import NO_SLOT, Slots
from driftline.kernels import compiled
from driftline.model.arrays import Int64s, UInt64s, to_arrow
from driftline.model.time import BEGINNING, INFINITY

_NO_PLACES = np.zeros(0, np.int64)
_SMALLEST = 1024
_SPARSE = 8
"""With fewer than one lifetime in so many places, the side packs itself anew."""


@dataclass(slots=True)
class KeyedLifetimes:
    """Lifetimes and the fingerprints of their keys."""

    low: UInt64s
    high: UInt64s
    vs: Int64s
    ve: Int64s

    def take(self, rows: Int64s) -> KeyedLifetimes:
        """Some of them."""
        return KeyedLifetimes(self.low[rows], self.high[rows], self.vs[rows], self.ve[rows])


class Side(Stateful):
    """`span`: how long after its vs a lifetime can find partners at most, so that the index has it
    end then; `lasting`: how long after it anything can change. By place, of `places`: `vs`, `ve`,
    `low` and `high` of its key, `rows`, and `weight`, which is 0 of what was taken back and is not
    dropped yet. `slot_of`: a place's slot in `identities`, whose place is in `place_at`. `labels`:
    by place, what a lifetime comes from (without words, unless outputs are heeded), `most`: the
    greatest of these, and `removed`: by key, what those come from of which some was taken back.
    `emitted`: on a preserved side, what has come out."""

    fields = Fields(
        keys="places",
        by_key=("vs", "ve", "weight", "low", "high", "labels", "rows"),
        derived=("slot_of",),
        times=("vs",),
    )

    def __init__(
        self,
        schema: pa.Schema,
        keys: list[str],
        preserved: bool,
        span: int = INFINITY,
        lasting: int = INFINITY,
    ) -> None:
        self.schema = schema
        self.span, self.lasting = span, lasting
        self.keys = [schema.get_field_index(name) for name in keys]
        self.preserved = preserved
        if preserved:
            self.fields = Side.fields | Fields(by_key=("emitted.trace",))
        self.removed: KeyLabels | None = None
        self._start_empty()

    def _start_empty(self) -> None:
        self.places, self.room = Places(), 0
        self.vs, self.ve = (KeyColumn(np.int64, fill=None) for _ in range(2))
        self.low, self.high = (KeyColumn(np.uint64, fill=None) for _ in range(2))
        self.weight = KeyColumn(np.int64)
        self.slot_of = KeyColumn(np.int64, fill=NO_SLOT)
        self.rows = RowStore(self.schema)
        self.labels = KeyColumn(np.int64, fill=None, words=0)
        self.most = np.zeros(0, np.int64)
        self.index = Index(self.lasting)
        self.identities: Slots | None = None
        self.place_at = np.zeros(0, np.int64)
        self.emitted = Emitted() if self.preserved else None

    def keyed(self, batch: Batch) -> tuple[Int64s, KeyedLifetimes]:
        """The changes of a batch that can have a match, as none of their keys is null."""
        columns = [batch.payload.column(place) for place in self.keys]
        prints = fingerprints(columns, len(batch))
        if not any(column.null_count for column in columns):
            return np.arange(len(batch)), KeyedLifetimes(
                prints.low, prints.high, batch.vs, batch.ve
            )
        valid = np.ones(len(batch), np.bool_)
        for column in columns:
            valid &= column.is_valid().to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(valid)
        return rows, KeyedLifetimes(prints.low, prints.high, batch.vs, batch.ve).take(rows)

    def ends(self, vs: Int64s, ve: Int64s) -> Int64s:
        """From when on lifetimes find no partners any more."""
        return at_most(vs, ve, self.span)

    def held(self, places: Int64s) -> KeyedLifetimes:
        return KeyedLifetimes(
            self.low.values[places],
            self.high.values[places],
            self.vs.values[places],
            self.ve.values[places],
        )

    def overlapping(self, others: KeyedLifetimes, most: int) -> tuple[Int64s, Int64s]:
        """Which of some lifetimes of the other side overlaps what is held at which place. Where
        there are more than `most`, not all are given, but more than `most`."""
        return self.index.overlapping(
            others.low, others.high, others.vs, others.ve, self.high.values, most
        )

    def add(
        self,
        keyed: KeyedLifetimes,
        weight: Int64s,
        rows: pa.RecordBatch,
        label: Vector | None = None,
    ) -> tuple[Int64s, Int64s]:
        """Add changes up. Returns those that were not there yet, and the places they got. What is
        found together lies together: places are given out in the order of the index, unless it
        was not asked since the last changes."""
        if len(weight) == 0:
            return _NO_PLACES, _NO_PLACES
        if self.identities is None and weight.min() < 0:
            self._identify()
        if self.identities is None:
            is_asked = not self.index.pending
            new = in_order(keyed.low, keyed.vs)[0] if is_asked else np.arange(len(weight))
            places = new_places = self._allot(len(new))
        else:
            prints = fingerprints(rows.columns, len(weight)).with_numbers(keyed.vs, keyed.ve)
            slots, new = self.identities.find_or_add(prints)
            if len(new):
                new = new[in_order(keyed.low[new], keyed.vs[new])[0]]
            new_places = self._allot(len(new))
            self._assign(slots[new], new_places)
            places = self.place_at[slots]
        if len(new) == len(weight):  # each row goes to its place
            added, to = keyed, np.empty(len(new), np.int64)
            to[new] = new_places
        else:
            added, to, rows = keyed.take(new), new_places, rows.take(to_arrow(new))
        self.low.values[to], self.high.values[to] = added.low, added.high
        self.vs.values[to], self.ve.values[to] = added.vs, added.ve
        self.rows.put(to, rows)
        self.index.add(added.low, added.vs, self.ends(added.vs, added.ve), to)
        if label is not None:
            self._label(new_places, places, label)
            if self.identities is not None:
                self._label_removed(keyed.low, places, weight)
        if self.identities is None:
            self.weight.values[places] = weight[new]
        else:
            self._show(_add_weights(self.weight.values, new_places, places, weight))
        return new, new_places

    def _label(self, new: Int64s, places: Int64s, vector: Vector) -> None:
        """Note what took part in lifetimes, new ones among them."""
        if len(self.most) == 0:
            self.labels = KeyColumn(np.int64, fill=None, words=len(vector))
            self.labels.make_slots(self.room)
            self.most = np.zeros(len(vector), np.int64)
        own = np.array(vector, np.int64)
        if places is new:
            label_new(self.labels.values, new, own, self.most)
        else:
            raise_at(self.labels.values, new, places, own, self.most)

    def _label_removed(self, keys: UInt64s, places: Int64s, weight: Int64s) -> None:
        """Note by key what took part in lifetimes of which something is taken back."""
        rows = np.flatnonzero(weight < 0)
        if len(rows) == 0:
            return
        if self.removed is None:
            self.removed = KeyLabels(len(self.most))
        self.removed.touch_each(keys[rows], self.labels.values[places[rows]], self.places.live)

    def find(self, rows: Fingerprints, vs: Int64s, ve: Int64s) -> Int64s:
        """The places of lifetimes, given the fingerprints of their rows; NO_SLOT if not held."""
        if self.identities is None:
            self._identify()
        assert self.identities is not None
        slots = self.identities.find(rows.with_numbers(vs, ve))
        if len(self.place_at) == 0:
            return np.full(len(slots), NO_SLOT, np.int64)
        return np.where(slots == NO_SLOT, NO_SLOT, self.place_at[slots])

    def evictable(self, bound: int) -> tuple[list[int], Int64s]:
        """The runs of the index that are worth dropping from, if all lifetimes that end at or
        before a time may go, and the places in these that would."""
        numbers = self.index.mostly_ended(bound)
        return numbers, self.index.ended(numbers, bound) if numbers else _NO_PLACES

    def drop(self, numbers: list[int], bound: int) -> None:
        """Drop what `evictable` names."""
        most = self.places.live
        gone = self.index.ended(numbers, bound)
        self.index.drop(numbers, bound)
        if self.identities is not None:
            slots = self.slot_of.values[gone]
            self.identities.remove(slots[slots != NO_SLOT])
        self.remove_slots(gone)
        # By what was held before: what fills up with every batch and empties again is not sparse.
        if self.room > _SMALLEST and _SPARSE * most < self.room:
            held = self.snapshot()
            self._start_empty()
            self.restore(held)

    def take_out(self, places: Int64s) -> None:
        """Drop lifetimes, wherever they end."""
        self.weight.values[places] = 0
        self._show(places)

    def _identify(self) -> None:
        self.identities = Slots()
        places = self.index.places()
        if len(places) == 0:
            return
        prints = fingerprints(self.rows.take(places).columns, len(places))
        slots, new = self.identities.find_or_add(
            prints.with_numbers(self.vs.values[places], self.ve.values[places])
        )
        self._assign(slots[new], places[new])
        weights, labels = self.weight.values, self.labels.values
        weight = weights[places]
        weights[places] = 0
        np.add.at(weights, self.place_at[slots], weight)
        np.maximum.at(labels, self.place_at[slots], labels[places])
        self._show(places)

    def _assign(self, slots: Int64s, places: Int64s) -> None:
        if len(slots) == 0:
            return
        needed = int(slots.max()) + 1
        self.place_at = grown(self.place_at, needed)
        self.place_at[slots] = places
        self.slot_of.values[places] = slots

    def _show(self, places: Int64s) -> None:
        """Make the index find what has a weight, and nothing else."""
        ends = self.ends(self.vs.values[places], self.ve.values[places])
        self.index.set_ends(places, np.where(self.weight.values[places] != 0, ends, BEGINNING))

    def _allot(self, count: int) -> Int64s:
        places = self.places.take(count)
        self.make_slots()
        return places

    def derive(self) -> None:
        """What was taken back is dropped, and the index finds the rest."""
        places = self.places.live_slots()
        self.remove_slots(places[self.weight.values[places] == 0])
        places = self.places.live_slots()
        held = self.held(places)
        self.index.add(held.low, held.vs, self.ends(held.vs, held.ve), places)
        self.most = self.labels.values.max(axis=0, initial=0)
        if (self.weight.values[places] < 0).any():
            self._identify()

    def state_size(self) -> tuple[int, int]:
        _, taken = super().state_size()
        return self.places.live, taken + self.index.nbytes


@compiled
def _add_weights(weights: Int64s, new: Int64s, places: Int64s, more: Int64s) -> Int64s:
    """Add weights up; returns the places for which the index has to change: those that now have
    none, or have one again. The index knows the new ones as if they had a weight."""
    changed, found = np.empty(len(places) + len(new), np.int64), 0
    weights[new] += 1
    for row in range(len(places)):
        place = places[row]
        before = weights[place]
        weights[place] += more[row]
        if (before == 0) != (weights[place] == 0):
            changed[found] = place
            found += 1
    for place in new:
        weights[place] -= 1
        if weights[place] in (-1, 0):
            changed[found] = place
            found += 1
    return changed[:found].copy()
