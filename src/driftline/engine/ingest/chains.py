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

from driftline.engine.state.fields import Arrays, Stateful
from driftline.engine.state.fingerprints import Fingerprints, fingerprints
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.slots import Slots
from driftline.engine.state.stored_rows import rows_from_bytes, rows_to_bytes
from driftline.kernels import compiled
from driftline.model.arrays import Int64s, Int64Table, Mask, to_arrow
from driftline.model.columns import RETRACT
from driftline.model.time import BEGINNING, INFINITY

_NOTHING = -1
_LEAST_CLEARED = 1 << 16
"""Fewer lifetimes than this are not worth clearing away."""

_COPIES, _END, _HEAD, _TAIL, _AWAITED = range(5)  # of a lifetime
_VS, _VE, _VN, _TAKES, _GIVES, _NUMBER, _NEXT = range(7)  # of a retract that waits
_LIFETIME_FIELDS, _RETRACT_FIELDS = 5, 7


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
    use; `slots`: the index; `lifetimes`: for each slot how many copies there are, its ve, the first
    and last retract that waits for it, and how many retracts wait that would give it; `broken`:
    the retracts that wait, and `rows` their payload; `least_vn`: no retract waits with a vn before
    it; `clear_at`: so many lifetimes may be held before those that a cti evicts are cleared away.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.written = np.empty((3, 0), np.uint64)
        self.count = 0
        self.slots = Slots()
        self.lifetimes = np.empty((_LIFETIME_FIELDS, 0), np.int64)
        self.broken = np.empty((_RETRACT_FIELDS, 0), np.int64)
        self.used = 0
        self.free = np.empty(0, np.int64)
        self.rows = RowStore(schema)
        self.least_vn = INFINITY
        self.clear_at = _LEAST_CLEARED

    @property
    def waiting(self) -> int:
        return self.used - len(self.free)

    def __len__(self) -> int:
        return self.count + self.slots.live + self.waiting

    def state_size(self) -> tuple[int, int]:
        taken = (
            self.written.nbytes
            + self.slots.table.nbytes
            + self.lifetimes.nbytes
            + self.broken.nbytes
            + self.rows.nbytes
        )
        return len(self), taken

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
        fresh = self._places(int(retracts.sum()))
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
            self.lifetimes,
            self.broken,
        )
        came = np.flatnonzero(waits != _NOTHING)
        places = waits[came]
        self.free = np.concatenate([self.free, fresh[len(places) :]])
        self.rows.put(places, rows.take(to_arrow(came)))
        if len(places):
            self.least_vn = min(self.least_vn, int(vn[came].min()))
        given = self.broken[_GIVES, found]
        self._give_up(found)
        self._drop_unused(np.concatenate([slots, given[given != _NOTHING]]))
        return put_out, end

    def held_back(self, latest_cti: int) -> int:
        """How far the output is closed, if a cti says so of events: a retract that waits, and finds
        its lifetime, still changes what comes after its vn."""
        if self.waiting == 0 or self.least_vn >= latest_cti:
            return latest_cti
        return int(self.broken[_VN, self._held()].min(initial=latest_cti))

    def expired(self, latest_cti: int, closed: int) -> Retracts:
        """The retracts that have waited in vain, in the order in which they came; they are gone."""
        places = awaited = np.empty(0, np.int64)
        if latest_cti > self.least_vn:
            held = self._held()
            held = held[np.argsort(self.broken[_NUMBER, held])]
            vn = self.broken[_VN, held]
            until = np.maximum(vn, _awaited(held, self.lifetimes.shape[1], self.broken))
            lost = (vn < closed) | (until < latest_cti)
            places, awaited = held[lost], until[lost]
            self.least_vn = int(vn[~lost].min(initial=INFINITY))
            _unlink(places, self.lifetimes, self.broken)
        vs, ve, vn, taken, given, number, _ = self.broken[:, places]
        expired = Retracts(number, vs, ve, vn, awaited, self.rows.take(places))
        self._give_up(places)
        self._drop_unused(np.concatenate([taken, given[given != _NOTHING]]))
        return expired

    def _held(self) -> Int64s:
        """The places of the retracts that wait."""
        return np.setdiff1d(np.arange(self.used), self.free)

    def snapshot(self) -> Arrays:
        live = self.slots.live_slots()
        places = self.slots.place_of[live]
        copies, end = self.lifetimes[_COPIES, live], self.lifetimes[_END, live]
        indexed = [self.slots.low[places], self.slots.high[places], end.view(np.uint64)]
        held = self._held()
        held = held[np.argsort(self.broken[_NUMBER, held])]
        return {
            "written": self.written[:, : self.count].copy(),
            "indexed": np.repeat(np.array(indexed), copies, axis=1),
            "broken": self.broken[:, held],
            "rows": rows_to_bytes(self.rows.take(held)),
        }

    def restore(self, arrays: Arrays) -> None:
        self.written = np.ascontiguousarray(arrays["indexed"].astype(np.uint64))
        self.count = self.written.shape[1]
        broken = np.ascontiguousarray(arrays["broken"].astype(np.int64))
        if broken.shape[1]:
            vs, ve, vn, _, _, number, _ = broken
            kind = np.full(len(vs), RETRACT, np.int8)
            before = np.full(len(vs), BEGINNING)
            rows = rows_from_bytes(arrays["rows"])
            self.repaired(kind, vs, ve, vn, rows, number, before, BEGINNING)
        written = arrays["written"].astype(np.uint64)
        self.written = np.concatenate([self.written[:, : self.count], written], axis=1)
        self.count = self.written.shape[1]

    def _index(self, latest_cti: int) -> None:
        """Puts into the index what is only written down."""
        low, high, ends = self.written[:, : self.count]
        end = ends.view(np.int64)
        there = end > latest_cti
        slots = self._slots(low[there], high[there], end[there])
        np.add.at(self.lifetimes[_COPIES], slots, 1)
        self.written, self.count = np.empty((3, 0), np.uint64), 0

    def _clear(self, latest_cti: int, more: int) -> None:
        """Clears away the lifetimes that end at or before the latest cti, if it is time to."""
        if len(self) + more <= self.clear_at:
            return
        written = self.written[:, : self.count]
        self.written = written[:, written[2].view(np.int64) > latest_cti]
        self.count = self.written.shape[1]
        live = self.slots.live_slots()
        past = live[self.lifetimes[_END, live] <= latest_cti]
        self.lifetimes[_COPIES, past] = 0
        self._drop_unused(past)
        self.clear_at = max(_LEAST_CLEARED, 2 * (len(self) + more))

    def _slots(self, low: NDArray[np.uint64], high: NDArray[np.uint64], end: Int64s) -> Int64s:
        """The slot of each lifetime, new ones with no copies."""
        slots, new = self.slots.find_or_add(Fingerprints(low, high))
        if self.slots.used > self.lifetimes.shape[1]:
            room = max(self.slots.used, 2 * self.lifetimes.shape[1])
            grown = np.zeros((_LIFETIME_FIELDS, room), np.int64)
            grown[:, : self.lifetimes.shape[1]] = self.lifetimes
            self.lifetimes = grown
        added = slots[new]
        self.lifetimes[_COPIES, added], self.lifetimes[_END, added] = 0, end[new]
        self.lifetimes[_AWAITED, added] = 0
        self.lifetimes[_HEAD, added] = self.lifetimes[_TAIL, added] = _NOTHING
        return slots

    def _drop_unused(self, slots: Int64s) -> None:
        copies, _, head, _, awaited = self.lifetimes[:, slots]
        unused = (copies == 0) & (head == _NOTHING) & (awaited == 0)
        self.slots.remove(np.unique(slots[unused]))

    def _places(self, count: int) -> Int64s:
        again = self.free[: min(count, len(self.free))]
        self.free = self.free[len(again) :]
        first, self.used = self.used, self.used + count - len(again)
        if self.used > self.broken.shape[1]:
            grown = np.zeros((_RETRACT_FIELDS, 2 * self.used), np.int64)
            grown[:, : self.broken.shape[1]] = self.broken
            self.broken = grown
        return np.concatenate([again, np.arange(first, self.used)])

    def _give_up(self, places: Int64s) -> None:
        self.rows.forget(places)
        self.free = np.concatenate([self.free, places])
        if self.waiting == 0:
            self.used, self.free, self.least_vn = 0, np.empty(0, np.int64), INFINITY


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
    found = np.empty(len(vs) + broken.shape[1], np.int64)
    came, left = 0, 0
    for i in range(len(vs)):
        slot = own[i]
        if retracts[i]:
            if lifetimes[_COPIES, slot] == 0:
                place = fresh[came]
                came += 1
                broken[_VS, place], broken[_VE, place], broken[_VN, place] = vs[i], ve[i], vn[i]
                broken[_TAKES, place], broken[_GIVES, place] = slot, next_slot[i]
                broken[_NUMBER, place], broken[_NEXT, place] = numbers[i], _NOTHING
                if lifetimes[_HEAD, slot] == _NOTHING:
                    lifetimes[_HEAD, slot] = place
                else:
                    broken[_NEXT, lifetimes[_TAIL, slot]] = place
                lifetimes[_TAIL, slot] = place
                if next_slot[i] != _NOTHING:
                    lifetimes[_AWAITED, next_slot[i]] += 1
                waits[i] = place
                put_out[i] = False
                continue
            lifetimes[_COPIES, slot] -= 1
            slot = next_slot[i]
        while slot != _NOTHING:
            previous, place = _NOTHING, lifetimes[_HEAD, slot]
            while place != _NOTHING and broken[_VN, place] < before[i]:  # dead by now
                previous, place = place, broken[_NEXT, place]
            if place == _NOTHING:
                break
            _take_out(previous, place, slot, lifetimes, broken)
            found[left] = place
            left += 1
            ends[i] = broken[_VN, place]
            slot = broken[_GIVES, place]
        if slot != _NOTHING:
            lifetimes[_COPIES, slot] += 1
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
    if broken[_GIVES, place] != _NOTHING:
        lifetimes[_AWAITED, broken[_GIVES, place]] -= 1
    if previous == _NOTHING:
        lifetimes[_HEAD, slot] = broken[_NEXT, place]
    else:
        broken[_NEXT, previous] = broken[_NEXT, place]
    if lifetimes[_TAIL, slot] == place:
        lifetimes[_TAIL, slot] = previous


@compiled
def _unlink(places: Int64s, lifetimes: Int64Table, broken: Int64Table) -> None:
    for gone in places:
        slot = broken[_TAKES, gone]
        previous, place = _NOTHING, lifetimes[_HEAD, slot]
        while place != gone:
            previous, place = place, broken[_NEXT, place]
        _take_out(previous, place, slot, lifetimes, broken)


@compiled
def _awaited(held: Int64s, slots: int, broken: Int64Table) -> Int64s:
    """For each retract that waits, the latest sync time of an event that makes its lifetime: the
    time at which it ends, if a retract does, or what the one that makes it is waiting for."""
    latest = np.full(slots, BEGINNING, np.int64)
    awaited = np.empty(len(held), np.int64)
    for i in np.argsort(broken[_VE, held])[::-1]:  # what makes a lifetime takes a longer one
        vs, ve, _, takes, gives, _, _ = broken[:, held[i]]
        awaited[i] = max(vs if ve == INFINITY else ve, latest[takes])
        if gives != _NOTHING:
            latest[gives] = max(latest[gives], awaited[i])
    return awaited
