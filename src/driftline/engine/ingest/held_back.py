"""The changes that Align holds back, and how they merge with what follows them.

A change moves the end of a lifetime (vs, row): an insert from vs (nothing is there) to ve, a
retract from ve to vn. A retract that follows a waiting change in its chain, because it starts at
the end to which that one moves, is merged into it: the two become one move from the first end to
the last; an insert that is moved back to vs is gone.

    held: vs → 9      comes: 9 → 5     held then: vs → 5
    held: 9 → 5       comes: 5 → vs    held then: 9 → vs
    held: vs → 9      comes: 9 → vs    nothing

Changes are found by the end to which they move: those with the same (row, vs, end) form a group,
first in, first out. Cost: a change that comes or goes costs O(1) look-ups and the copy of its row;
finding what is due costs what is found and a thousandth of what is held.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Changes
from driftline.engine.core.operator import Arrays
from driftline.engine.state.due_times import Due
from driftline.engine.state.fingerprints import Fingerprints, fingerprints
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.slots import NO_SLOT, Slots
from driftline.engine.state.stored_rows import rows_from_bytes, rows_to_bytes
from driftline.kernels import compiled
from driftline.model.arrays import Int8s, Int64s, Int64Table, Mask
from driftline.model.columns import INSERT, RETRACT
from driftline.model.time import BEGINNING, INFINITY

_NOTHING = -1
_VS, _OLD, _NEW, _SINCE, _ORDER, _GROUP, _NEXT, _PREVIOUS = range(8)
_FIELDS = 8
_HEAD, _TAIL = range(2)


class Waiting:
    """Changes that wait, each in a numbered place.

    `fields`: for each place the change (vs, old end, new end), since when it waits, its place in
    the order of arrival (a merged change goes to the end), its group and its neighbours there.
    `ends`: the first and last place of each group. `rows`: the payload. `sync`, `due`: when each
    place becomes final by a cti, and by having waited for `block`.
    """

    def __init__(self, schema: pa.Schema, block: int) -> None:
        self.schema = schema
        self.block = block
        self.fields = np.empty((_FIELDS, 0), np.int64)
        self.used = 0
        self.free = np.empty(0, np.int64)
        self.arrived = 0
        self.groups = Slots()
        self.ends = np.full((2, 0), _NOTHING, np.int64)
        self.rows = RowStore(schema)
        self.sync = Due()
        self.due = Due()

    def __len__(self) -> int:
        return self.used - len(self.free)

    @property
    def nbytes(self) -> int:
        return self.fields.nbytes + self.ends.nbytes + self.rows.nbytes

    def add(self, changes: Changes, since: Int64s) -> None:
        """Hold back some more changes, none of which follows another of them."""
        if len(changes) == 0:
            return
        retracts = changes.kind == RETRACT
        old = np.where(retracts, changes.ve, changes.vs)
        new = np.where(retracts, changes.vn, changes.ve)
        payload = changes.rows()
        prints = fingerprints(payload.columns, len(changes))
        found = np.full(len(changes), NO_SLOT, np.int64)
        if retracts.any() and len(self):
            keys = prints.with_numbers(changes.vs, old)
            found[retracts] = self.groups.find(
                Fingerprints(keys.low[retracts], keys.high[retracts])
            )
        self._put(changes.vs, old, new, since, payload, prints, found)

    def _put(
        self,
        vs: Int64s,
        old: Int64s,
        new: Int64s,
        since: Int64s,
        payload: pa.RecordBatch,
        prints: Fingerprints,
        found: Int64s,
    ) -> None:
        groups, new_rows = self.groups.find_or_add(prints.with_numbers(vs, new))
        self._make_room_for_groups(groups[new_rows])
        fresh = self._places(len(vs))
        places, newcomers, gone = _merge(
            vs, old, new, since, found, groups, fresh, self.fields, self.ends, self.arrived
        )
        self.arrived += len(vs)
        put = np.flatnonzero(newcomers)
        self.free = np.concatenate([self.free, fresh[len(put) :], gone])
        self.rows.put(places[put], payload if len(put) == len(vs) else payload.take(pa.array(put)))
        self.rows.forget(gone)
        self._schedule(places[places != _NOTHING])
        self._unschedule(gone)
        merged = found != NO_SLOT
        if merged.any():
            touched = np.concatenate([found[merged], groups[merged]])
            self.groups.remove(np.unique(touched[self.ends[_HEAD, touched] == _NOTHING]))

    def _schedule(self, places: Int64s) -> None:
        vs, old, new, since = self.fields[:4, places]
        self.sync.set(places, np.where(old == vs, vs, new))
        if self.block < INFINITY:
            room = INFINITY - self.block
            self.due.set(places, np.where(since >= room, INFINITY, since + self.block))

    def _unschedule(self, places: Int64s) -> None:
        never = np.full(len(places), INFINITY, np.int64)
        self.sync.set(places, never)
        if self.block < INFINITY:
            self.due.set(places, never)

    def ready(self, t: int, clock: int) -> Int64s:
        """The places of the changes with a sync time before t, and of those that have waited for
        `block` by the clock."""
        nothing = np.empty(0, np.int64)
        final = self.sync.up_to(t - 1) if t > BEGINNING else nothing
        # where the clock shows infinity all is final already
        waited = self.block < INFINITY and BEGINNING < clock < INFINITY
        due = self.due.up_to(clock) if waited else nothing
        if len(final) == 0 or len(due) == 0:
            return final if len(due) == 0 else due
        vs, old, new = self.fields[:3, due]
        return np.concatenate([final, due[np.where(old == vs, vs, new) >= t]])

    def release(self, places: Int64s) -> Changes:
        """Take the changes at some places out."""
        vs, old, new = np.ascontiguousarray(self.fields[:3, places])
        payload = self.rows.take(places)
        self.groups.remove(_unlink_all(places, self.fields, self.ends))
        self._unschedule(places)
        self.rows.forget(places)
        self.free = np.concatenate([self.free, places])
        if len(self) == 0:
            self.used, self.free = 0, np.empty(0, np.int64)
        inserts = old == vs
        kind: Int8s = np.where(inserts, INSERT, RETRACT).astype(np.int8)
        row = np.arange(len(places))
        return Changes(kind, vs, np.where(inserts, new, old), new, row, payload)

    def times(self) -> Int64s:
        """The vs of all changes that wait."""
        times: Int64s = self.fields[_VS, np.setdiff1d(np.arange(self.used), self.free)]
        return times

    def snapshot(self) -> Arrays:
        held = np.setdiff1d(np.arange(self.used), self.free)
        held = held[np.argsort(self.fields[_ORDER, held])]
        return {
            "changes": self.fields[:4, held],
            "rows": rows_to_bytes(self.rows.take(held)),
        }

    def restore(self, arrays: Arrays) -> None:
        self.__init__(self.schema, self.block)  # type: ignore[misc]  # start from nothing
        vs, old, new, since = np.ascontiguousarray(arrays["changes"].astype(np.int64))
        if len(vs) == 0:
            return
        payload = rows_from_bytes(arrays["rows"])
        prints = fingerprints(payload.columns, len(vs))
        self._put(vs, old, new, since, payload, prints, np.full(len(vs), NO_SLOT, np.int64))

    def _places(self, count: int) -> Int64s:
        """So many free places: used ones first."""
        again = self.free[: min(count, len(self.free))]
        self.free = self.free[len(again) :]
        more = count - len(again)
        first, self.used = self.used, self.used + more
        if self.used > self.fields.shape[1]:
            grown = np.zeros((_FIELDS, max(self.used, 2 * self.fields.shape[1])), np.int64)
            grown[:, : self.fields.shape[1]] = self.fields
            self.fields = grown
        return np.concatenate([again, np.arange(first, self.used)])

    def _make_room_for_groups(self, new_groups: Int64s) -> None:
        if self.groups.used > self.ends.shape[1]:
            grown = np.full((2, max(self.groups.used, 2 * self.ends.shape[1])), _NOTHING, np.int64)
            grown[:, : self.ends.shape[1]] = self.ends
            self.ends = grown
        self.ends[:, new_groups] = _NOTHING


@compiled
def _merge(
    vs: Int64s,
    old: Int64s,
    new: Int64s,
    since: Int64s,
    found: Int64s,
    groups: Int64s,
    fresh: Int64s,
    fields: Int64Table,
    ends: Int64Table,
    arrived: int,
) -> tuple[Int64s, Mask, Int64s]:
    """Puts each change into a fresh place, or merges it into the first of the group that was found
    for it. Returns the place of each change, which are newcomers, and the places given up."""
    places = np.full(len(vs), _NOTHING, np.int64)
    newcomers = np.zeros(len(vs), np.bool_)
    gone = np.empty(len(vs), np.int64)
    put, left = 0, 0
    for row in range(len(vs)):
        place = _NOTHING
        if found[row] != NO_SLOT:
            place = ends[_HEAD, found[row]]
        if place == _NOTHING:
            place = fresh[put]
            put += 1
            newcomers[row] = True
            fields[_VS, place], fields[_OLD, place] = vs[row], old[row]
            fields[_SINCE, place] = since[row]
        else:
            _unlink(place, fields, ends)
            inserted = fields[_OLD, place] == fields[_VS, place]
            if inserted and new[row] == vs[row]:
                gone[left] = place
                left += 1
                continue
            if not inserted:
                fields[_SINCE, place] = min(fields[_SINCE, place], since[row])
        fields[_NEW, place], fields[_ORDER, place] = new[row], arrived + row
        _link(place, groups[row], fields, ends)
        places[row] = place
    return places, newcomers, gone[:left]


@compiled
def _link(place: int, group: int, fields: Int64Table, ends: Int64Table) -> None:
    last = ends[_TAIL, group]
    fields[_GROUP, place] = group
    fields[_PREVIOUS, place], fields[_NEXT, place] = last, _NOTHING
    if last == _NOTHING:
        ends[_HEAD, group] = place
    else:
        fields[_NEXT, last] = place
    ends[_TAIL, group] = place


@compiled
def _unlink(place: int, fields: Int64Table, ends: Int64Table) -> None:
    group = fields[_GROUP, place]
    before, after = fields[_PREVIOUS, place], fields[_NEXT, place]
    if before == _NOTHING:
        ends[_HEAD, group] = after
    else:
        fields[_NEXT, before] = after
    if after == _NOTHING:
        ends[_TAIL, group] = before
    else:
        fields[_PREVIOUS, after] = before


@compiled
def _unlink_all(places: Int64s, fields: Int64Table, ends: Int64Table) -> Int64s:
    """Takes places out of their groups, and returns the groups that are then empty."""
    emptied = np.empty(len(places), np.int64)
    count = 0
    for place in places:
        _unlink(place, fields, ends)
        if ends[_HEAD, fields[_GROUP, place]] == _NOTHING:
            emptied[count] = fields[_GROUP, place]
            count += 1
    return emptied[:count]
