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
from driftline.engine.core.operator import Arrays
from driftline.engine.join.emitted import Emitted
from driftline.engine.join.index import Index, at_most, in_order
from driftline.engine.state.fingerprints import Fingerprints, fingerprints
from driftline.engine.state.growing import grown
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.slots import NO_SLOT, Slots
from driftline.engine.state.stored_rows import rows_from_bytes, rows_to_bytes
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


class Side:
    """`cti`: the input's latest promise. `span`: how long after its vs a lifetime can find partners
    at most, so that the index has it end then; `lasting`: how long after it anything can change.
    `vs`, `ve`, `weight`, `low`, `high`: by place, weight 0 where nothing is. `slot_of`: a place's
    slot in `identities`, whose place is in `place_at`. `labels`: by place, what a lifetime comes
    from, `most`: the greatest of these, and `removed`: by key, what those come from of which some
    was taken back, if outputs are heeded. `emitted`: on a preserved side, what has come out."""

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
        self.cti = BEGINNING
        self.removed: KeyLabels | None = None
        self._clear()

    def _clear(self) -> None:
        self.vs, self.ve, self.weight = (np.zeros(_SMALLEST, np.int64) for _ in range(3))
        self.low, self.high = (np.zeros(_SMALLEST, np.uint64) for _ in range(2))
        self.slot_of = np.full(_SMALLEST, NO_SLOT, np.int64)
        self.labels: Int64s | None = None
        self.most = np.zeros(0, np.int64)
        self.free = np.arange(_SMALLEST)
        self.rows = RowStore(self.schema)
        self.index = Index(self.lasting)
        self.identities: Slots | None = None
        self.place_at = np.zeros(0, np.int64)
        self.emitted = Emitted(_SMALLEST) if self.preserved else None

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
        return KeyedLifetimes(self.low[places], self.high[places], self.vs[places], self.ve[places])

    def overlapping(self, others: KeyedLifetimes, most: int) -> tuple[Int64s, Int64s]:
        """Which of some lifetimes of the other side overlaps what is held at which place. Where
        there are more than `most`, not all are given, but more than `most`."""
        return self.index.overlapping(
            others.low, others.high, others.vs, others.ve, self.high, most
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
        self.low[to], self.high[to], self.vs[to], self.ve[to] = (
            added.low, added.high, added.vs, added.ve,
        )  # fmt: skip
        self.rows.put(to, rows)
        self.index.add(added.low, added.vs, self.ends(added.vs, added.ve), to)
        if label is not None:
            self._label(new_places, places, label)
            if self.identities is not None:
                self._label_removed(keyed.low, places, weight)
        if self.identities is None:
            self.weight[places] = weight[new]
        else:
            self._show(_add_weights(self.weight, new_places, places, weight))
        return new, new_places

    def _label(self, new: Int64s, places: Int64s, vector: Vector) -> None:
        """Note what took part in lifetimes, new ones among them."""
        if self.labels is None:
            self.labels = np.zeros((len(self.vs), len(vector)), np.int64)
            self.most = np.zeros(len(vector), np.int64)
        own = np.array(vector, np.int64)
        if places is new:
            label_new(self.labels, new, own, self.most)
        else:
            raise_at(self.labels, new, places, own, self.most)

    def _label_removed(self, keys: UInt64s, places: Int64s, weight: Int64s) -> None:
        """Note by key what took part in lifetimes of which something is taken back."""
        rows = np.flatnonzero(weight < 0)
        if len(rows) == 0:
            return
        assert self.labels is not None
        if self.removed is None:
            self.removed = KeyLabels(self.labels.shape[1])
        self.removed.touch_each(keys[rows], self.labels[places[rows]], len(self.index))

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
        most = len(self.index)
        gone = self.index.ended(numbers, bound)
        self.index.drop(numbers, bound)
        self.weight[gone] = 0
        self.rows.forget(gone)
        self.free = np.concatenate([self.free, gone])
        if self.emitted is not None:
            self.emitted.trace.clear(gone)
        if self.identities is not None:
            slots = self.slot_of[gone]
            self.identities.remove(slots[slots != NO_SLOT])
            self.slot_of[gone] = NO_SLOT
        # By what was held before: what fills up with every batch and empties again is not sparse.
        if len(self.vs) > _SMALLEST and _SPARSE * most < len(self.vs):
            self.restore(self.snapshot())

    def take_out(self, places: Int64s) -> None:
        """Drop lifetimes, wherever they end."""
        self.weight[places] = 0
        self._show(places)

    def _identify(self) -> None:
        self.identities = Slots()
        places = self.index.places()
        if len(places) == 0:
            return
        prints = fingerprints(self.rows.take(places).columns, len(places))
        slots, new = self.identities.find_or_add(
            prints.with_numbers(self.vs[places], self.ve[places])
        )
        self._assign(slots[new], places[new])
        weight = self.weight[places]
        self.weight[places] = 0
        np.add.at(self.weight, self.place_at[slots], weight)
        if self.labels is not None:
            np.maximum.at(self.labels, self.place_at[slots], self.labels[places])
        self._show(places)

    def _assign(self, slots: Int64s, places: Int64s) -> None:
        if len(slots) == 0:
            return
        needed = int(slots.max()) + 1
        self.place_at = grown(self.place_at, needed)
        self.place_at[slots] = places
        self.slot_of[places] = slots

    def _show(self, places: Int64s) -> None:
        """Make the index find what has a weight, and nothing else."""
        ends = self.ends(self.vs[places], self.ve[places])
        self.index.set_ends(places, np.where(self.weight[places] != 0, ends, BEGINNING))

    def _allot(self, count: int) -> Int64s:
        capacity = len(self.vs)
        if count > len(self.free):
            needed = capacity + count - len(self.free)
            for name in ("vs", "ve", "weight", "low", "high", "slot_of"):
                setattr(self, name, grown(getattr(self, name), needed))
            if self.labels is not None:
                self.labels = grown(self.labels, len(self.vs))
            self.slot_of[capacity:] = NO_SLOT
            self.free = np.concatenate([self.free, np.arange(capacity, len(self.vs))])
            if self.emitted is not None:
                self.emitted.trace.make_slots(len(self.vs))
        allotted = self.free[len(self.free) - count :]
        self.free = self.free[: len(self.free) - count]
        return allotted

    def size(self) -> tuple[int, int]:
        arrays = (self.vs, self.ve, self.weight, self.low, self.high, self.slot_of, self.free)
        emitted = 0 if self.emitted is None else self.emitted.trace.nbytes
        own = sum(array.nbytes for array in arrays)
        own += 0 if self.labels is None else self.labels.nbytes
        return len(self.index), own + emitted + self.rows.nbytes + self.index.nbytes

    def times(self) -> Int64s:
        """The vs of all that is held."""
        places = self.index.places()
        times: Int64s = self.vs[places[self.weight[places] != 0]]
        return times

    def snapshot(self) -> Arrays:
        places = self.index.places()
        places = places[self.weight[places] != 0]
        names = ("vs", "ve", "weight", "low", "high")
        arrays: Arrays = {name: getattr(self, name)[places] for name in names}
        if self.emitted is not None:
            arrays |= self.emitted.trace.snapshot(places, "emitted")
        if self.labels is not None:
            arrays["labels"] = self.labels[places]
        arrays["cti"] = np.array([self.cti], np.int64)
        arrays["rows"] = rows_to_bytes(self.rows.take(places))
        return arrays

    def restore(self, arrays: Arrays) -> None:
        self._clear()
        self.cti = int(arrays["cti"][0])
        keyed = KeyedLifetimes(
            arrays["low"].astype(np.uint64),
            arrays["high"].astype(np.uint64),
            arrays["vs"].astype(np.int64),
            arrays["ve"].astype(np.int64),
        )
        weight = arrays["weight"].astype(np.int64)
        new, places = self.add(keyed, weight, rows_from_bytes(arrays["rows"]))
        if self.emitted is not None:
            place_of = np.empty(len(new), np.int64)
            place_of[new] = places
            self.emitted.trace.restore(place_of, arrays, "emitted")
        if "labels" in arrays:
            labels = arrays["labels"].astype(np.int64)
            self._label(places, places, (0,) * labels.shape[1])
            assert self.labels is not None
            self.labels[places] = labels[new]
            self.most = labels.max(axis=0, initial=0)


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
