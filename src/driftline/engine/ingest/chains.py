"""Which lifetimes are there to be retracted, and the retracts that came before their lifetime: the
part of Finalize that knows rows.

    an insert             gives its lifetime (vs, ve, row)
    a retract             takes (vs, ve, row) and, if vs < vn, gives (vs, vn, row); if what it takes
                          is not there, it waits
    a lifetime given      is at once taken by the first retract that waits for it, and so on

State: the fingerprint and ve of every lifetime that can still be retracted, 24 bytes each, and the
retracts that wait, with their rows. A cti evicts the lifetimes that end at or before it (a
retract of them would come too late) and the retracts before it, which are then dead; one that only
follows from counts (`Admission.closed` is behind it) those that nothing to come can help.

Lifetimes are first only written down one after the other. They are put into an index when a
retract comes: a stream that takes nothing back never pays for that, and no lifetime is put there
more than once. What a cti evicts is cleared away when the state has doubled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.state.fields import Fields, Stateful
from driftline.engine.state.fingerprints import Fingerprints, fingerprints
from driftline.engine.state.free_places import Places
from driftline.engine.state.growing import KeyColumn
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.slots import Slots
from driftline.kernels import compiled
from driftline.model.arrays import Int64s, Int64Table, Mask, to_arrow
from driftline.model.columns import RETRACT
from driftline.model.time import BEGINNING, INFINITY

_NOTHING = -1
_LEAST_CLEARED = 1 << 16
"""Fewer lifetimes than this are not worth clearing away."""

_COPIES, _END, _HEAD, _TAIL, _AWAITED = range(5)  # of a lifetime
_VS, _VE, _VN, _TAKES, _GIVES, _NUMBER, _NEXT = range(7)  # of a retract that waits
_LIFETIME_WORDS, _RETRACT_WORDS = 5, 7


@dataclass(frozen=True, slots=True)
class Retracts:
    """Retracts as columns; `number` says which events of the stream they were, `awaited` until
    when events could come that make their lifetimes."""

    number: Int64s
    vs: Int64s
    ve: Int64s
    vn: Int64s
    awaited: Int64s
    rows: pa.RecordBatch


class Chains(Stateful):
    """`written`: the fingerprints and ends of lifetimes not in the index, the first `count` are in
    use (`unindexed`); `slots`: the index; `lifetimes`: for each slot how many copies there are, its
    ve, the first and last retract that waits for it, and how many retracts wait that would give it;
    `broken`: the retracts that wait; `least_vn`: no retract waits with a vn before it; `clear_at`:
    so many lifetimes may be held before those that a cti evicts are cleared away.
    """

    fields = Fields(
        keys="slots",
        by_key=("lifetimes",),
        numbers=("least_vn", "clear_at"),
        arrays=("unindexed",),
        parts=("broken",),
    )

    def __init__(self, schema: pa.Schema) -> None:
        self.written = np.empty((3, 0), np.uint64)
        self.count = 0
        self.slots, self.lifetimes = Slots(), KeyColumn(np.int64, fill=None, words=_LIFETIME_WORDS)
        self.broken = _Broken(schema)
        self.least_vn = INFINITY
        self.clear_at = _LEAST_CLEARED

    @property
    def waiting(self) -> int:
        return self.broken.places.live

    @property
    def unindexed(self) -> NDArray[np.uint64]:
        return self.written[:, : self.count]

    @unindexed.setter
    def unindexed(self, written: NDArray[np.uint64]) -> None:
        self.written, self.count = written, written.shape[1]

    def __len__(self) -> int:
        return self.count + self.slots.live + self.waiting

    def state_size(self) -> tuple[int, int]:
        rows, taken = super().state_size()
        return rows + self.count, taken

    def inserted(self, vs: Int64s, ve: Int64s, rows: pa.RecordBatch, latest_cti: int) -> None:
        """Inserts came, and nothing waits."""
        prints = fingerprints(rows.columns, len(vs)).with_numbers(vs, ve)
        self._clear(latest_cti, len(vs))
        if self.count + len(vs) > self.written.shape[1]:
            grown = np.empty((3, 2 * (self.count + len(vs))), np.uint64)
            grown[:, : self.count] = self.written[:, : self.count]
            self.written = grown
        new = slice(self.count, self.count + len(vs))
        self.written[0, new], self.written[1, new] = prints.low, prints.high
        self.written[2, new] = ve.view(np.uint64)
        self.count += len(vs)

    def repaired(
        self,
        kind: NDArray[np.int8],
        vs: Int64s,
        ve: Int64s,
        vn: Int64s,
        rows: pa.RecordBatch,
        numbers: Int64s,
        before: Int64s,
        latest_cti: int,
    ) -> tuple[Mask, Int64s]:
        """Inserts and retracts came in this order after a cti, each when the past was closed up to
        `before`. Says which of them are put out now, and to which end each then leads."""
        self._index(latest_cti)
        self._clear(latest_cti, len(vs))
        retracts = kind == RETRACT
        shortened = np.flatnonzero(retracts & (vs < vn))
        prints = fingerprints(rows.columns, len(vs))
        taken, given = prints.with_numbers(vs, ve), prints.with_numbers(vs, vn)
        slots = self._slots(
            np.concatenate([taken.low, given.low[shortened]]),
            np.concatenate([taken.high, given.high[shortened]]),
            np.concatenate([ve, vn[shortened]]),
        )
        own, next_slot = slots[: len(vs)], np.full(len(vs), _NOTHING, np.int64)
        next_slot[shortened] = slots[len(vs) :]
        fresh = self.broken.places.take(int(retracts.sum()))
        self.broken.make_slots()
        put_out, end, waits, found = _repair(
            retracts,
            vs,
            ve,
            vn,
            numbers,
            before,
            own,
            next_slot,
            fresh,
            self.lifetimes.values,
            self.broken.retracts.values,
        )
        came = np.flatnonzero(waits != _NOTHING)
        places = waits[came]
        self.broken.places.give_back(fresh[len(places) :])
        self.broken.rows.put(places, rows.take(to_arrow(came)))
        if len(places):
            self.least_vn = min(self.least_vn, int(vn[came].min()))
        given = self.broken.retracts.values[found, _GIVES]
        self._give_up(found)
        self._drop_unused(np.concatenate([slots, given[given != _NOTHING]]))
        return put_out, end

    def held_back(self, latest_cti: int) -> int:
        """How far the output is closed, if a cti says so of events: a retract that waits, and finds
        its lifetime, still changes what comes after its vn."""
        if self.waiting == 0 or self.least_vn >= latest_cti:
            return latest_cti
        held = self.broken.places.live_slots()
        return int(self.broken.retracts.values[held, _VN].min(initial=latest_cti))

    def expired(self, latest_cti: int, closed: int) -> Retracts:
        """The retracts that have waited in vain, in the order in which they came; they are gone."""
        places = awaited = np.empty(0, np.int64)
        retracts = self.broken.retracts.values
        if latest_cti > self.least_vn:
            held = self.broken.places.live_slots()
            held = held[np.argsort(retracts[held, _NUMBER])]
            vn = retracts[held, _VN]
            until = np.maximum(vn, _awaited(held, self.slots.used, retracts))
            lost = (vn < closed) | (until < latest_cti)
            places, awaited = held[lost], until[lost]
            self.least_vn = int(vn[~lost].min(initial=INFINITY))
            _unlink(places, self.lifetimes.values, retracts)
        vs, ve, vn, taken, given, number, _ = np.ascontiguousarray(retracts[places].T)
        expired = Retracts(number, vs, ve, vn, awaited, self.broken.rows.take(places))
        self._give_up(places)
        self._drop_unused(np.concatenate([taken, given[given != _NOTHING]]))
        return expired

    def _index(self, latest_cti: int) -> None:
        """Puts into the index what is only written down."""
        low, high, ends = self.unindexed
        end = ends.view(np.int64)
        there = end > latest_cti
        slots = self._slots(low[there], high[there], end[there])
        np.add.at(self.lifetimes.values[:, _COPIES], slots, 1)
        self.unindexed = np.empty((3, 0), np.uint64)

    def _clear(self, latest_cti: int, more: int) -> None:
        """Clears away the lifetimes that end at or before the latest cti, if it is time to."""
        if len(self) + more <= self.clear_at:
            return
        written = self.unindexed
        self.unindexed = written[:, written[2].view(np.int64) > latest_cti]
        live, lifetimes = self.slots.live_slots(), self.lifetimes.values
        past = live[lifetimes[live, _END] <= latest_cti]
        lifetimes[past, _COPIES] = 0
        self._drop_unused(past)
        self.clear_at = max(_LEAST_CLEARED, 2 * (len(self) + more))

    def _slots(self, low: NDArray[np.uint64], high: NDArray[np.uint64], end: Int64s) -> Int64s:
        """The slot of each lifetime, new ones with no copies."""
        slots, new = self.slots.find_or_add(Fingerprints(low, high))
        self.make_slots()
        self.lifetimes.values[slots[new]] = 0, 0, _NOTHING, _NOTHING, 0
        self.lifetimes.values[slots[new], _END] = end[new]
        return slots

    def _drop_unused(self, slots: Int64s) -> None:
        copies, _, head, _, awaited = self.lifetimes.values[slots].T
        unused = (copies == 0) & (head == _NOTHING) & (awaited == 0)
        self.remove_slots(np.unique(slots[unused]))

    def derive(self) -> None:
        places, live = self.broken.places, self.slots.live_slots()
        retracts, lifetimes = self.broken.retracts.values[: places.used], self.lifetimes.values
        retracts[:, _NEXT] = places.now(retracts[:, _NEXT])
        for end in (_HEAD, _TAIL):
            lifetimes[live, end] = places.now(lifetimes[live, end])

    def _give_up(self, places: Int64s) -> None:
        self.broken.remove_slots(places)
        if self.waiting == 0:
            self.broken.places, self.least_vn = Places(), INFINITY


class _Broken(Stateful):
    """Retracts that wait: `retracts` and their `rows`, by place."""

    fields = Fields(keys="places", by_key=("retracts", "rows"))

    def __init__(self, schema: pa.Schema) -> None:
        self.places, self.rows = Places(), RowStore(schema)
        self.retracts = KeyColumn(np.int64, fill=None, words=_RETRACT_WORDS)


@compiled
def _repair(
    retracts: Mask,
    vs: Int64s,
    ve: Int64s,
    vn: Int64s,
    numbers: Int64s,
    before: Int64s,
    own: Int64s,
    next_slot: Int64s,
    fresh: Int64s,
    lifetimes: Int64Table,
    broken: Int64Table,
) -> tuple[Mask, Int64s, Int64s, Int64s]:
    """Returns which changes are put out, the end each leads to, the place where each retract waits
    (NOTHING: it does not), and the places of those that have found their lifetime."""
    put_out = np.ones(len(vs), np.bool_)
    ends = np.where(retracts, vn, ve)
    waits = np.full(len(vs), _NOTHING, np.int64)
    found = np.empty(len(vs) + len(broken), np.int64)
    came, left = 0, 0
    for i in range(len(vs)):
        slot = own[i]
        if retracts[i]:
            if lifetimes[slot, _COPIES] == 0:
                place = fresh[came]
                came += 1
                broken[place, _VS], broken[place, _VE], broken[place, _VN] = vs[i], ve[i], vn[i]
                broken[place, _TAKES], broken[place, _GIVES] = slot, next_slot[i]
                broken[place, _NUMBER], broken[place, _NEXT] = numbers[i], _NOTHING
                if lifetimes[slot, _HEAD] == _NOTHING:
                    lifetimes[slot, _HEAD] = place
                else:
                    broken[lifetimes[slot, _TAIL], _NEXT] = place
                lifetimes[slot, _TAIL] = place
                if next_slot[i] != _NOTHING:
                    lifetimes[next_slot[i], _AWAITED] += 1
                waits[i] = place
                put_out[i] = False
                continue
            lifetimes[slot, _COPIES] -= 1
            slot = next_slot[i]
        while slot != _NOTHING:
            previous, place = _NOTHING, lifetimes[slot, _HEAD]
            while place != _NOTHING and broken[place, _VN] < before[i]:  # dead by now
                previous, place = place, broken[place, _NEXT]
            if place == _NOTHING:
                break
            _take_out(previous, place, slot, lifetimes, broken)
            found[left] = place
            left += 1
            ends[i] = broken[place, _VN]
            slot = broken[place, _GIVES]
        if slot != _NOTHING:
            lifetimes[slot, _COPIES] += 1
        elif not retracts[i]:
            put_out[i] = False
    return put_out, ends, waits, found[:left].copy()


@compiled
def _take_out(
    previous: int,
    place: int,
    slot: int,
    lifetimes: Int64Table,
    broken: Int64Table,
) -> None:
    """Takes a retract, which comes after `previous`, out of the line for a lifetime."""
    if broken[place, _GIVES] != _NOTHING:
        lifetimes[broken[place, _GIVES], _AWAITED] -= 1
    if previous == _NOTHING:
        lifetimes[slot, _HEAD] = broken[place, _NEXT]
    else:
        broken[previous, _NEXT] = broken[place, _NEXT]
    if lifetimes[slot, _TAIL] == place:
        lifetimes[slot, _TAIL] = previous


@compiled
def _unlink(places: Int64s, lifetimes: Int64Table, broken: Int64Table) -> None:
    for gone in places:
        slot = broken[gone, _TAKES]
        previous, place = _NOTHING, lifetimes[slot, _HEAD]
        while place != gone:
            previous, place = place, broken[place, _NEXT]
        _take_out(previous, place, slot, lifetimes, broken)


@compiled
def _awaited(held: Int64s, slots: int, broken: Int64Table) -> Int64s:
    """For each retract that waits, the latest sync time of an event that makes its lifetime: the
    time at which it ends, if a retract does, or what the one that makes it is waiting for."""
    latest = np.full(slots, BEGINNING, np.int64)
    awaited = np.empty(len(held), np.int64)
    for i in np.argsort(broken[held, _VE])[::-1]:  # what makes a lifetime takes a longer one
        vs, ve, _, takes, gives, _, _ = broken[held[i]]
        awaited[i] = max(vs if ve == INFINITY else ve, latest[takes])
        if gives != _NOTHING:
            latest[gives] = max(latest[gives], awaited[i])
    return awaited
