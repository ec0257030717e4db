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
from driftline.engine.state.due_times import Due
from driftline.engine.state.fields import Fields, Span, Stateful, span_of
from driftline.engine.state.fingerprints import Fingerprints, fingerprints
from driftline.engine.state.free_places import Places
from driftline.engine.state.growing import KeyColumn
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.slots import NO_SLOT, Slots
from driftline.kernels import compiled
from driftline.model.arrays import Int8s, Int64s, Int64Table, Mask
from driftline.model.columns import INSERT, RETRACT
from driftline.model.time import BEGINNING, INFINITY

_NOTHING = -1
_VS, _OLD, _NEW, _SINCE, _ORDER, _GROUP, _NEXT, _PREVIOUS = range(8)
_WORDS = 8
_HEAD, _TAIL = range(2)


class Waiting(Stateful):
    """Changes that wait, each in a numbered place.

    `changes`: for each place the change (vs, old end, new end), since when it waits, its place in
    the order of arrival (a merged change goes to the end), its group and its neighbours there.
    `rows`: the payload. `sync`, `due`: when each place becomes final by a cti, and by having waited
    for `block`. `groups`: of changes that lead to one end.
    """

    fields = Fields(
        keys="places",
        by_key=("changes", "rows"),
        derived=("sync", "due"),
        numbers=("arrived",),
        parts=("groups",),
    )

    def __init__(self, schema: pa.Schema, block: int) -> None:
        self.block = block
        self.places, self.arrived = Places(oldest_first=True), 0
        self.changes, self.rows = KeyColumn(np.int64, fill=None, words=_WORDS), RowStore(schema)
        self.sync, self.due = Due(), Due()
        self.groups = _Groups()

    def __len__(self) -> int:
        return self.places.live

    def state_size(self) -> tuple[int, int]:
        _, taken = super().state_size()
        return len(self), taken

    def state_span(self) -> Span:
        """Of the vs of all changes that wait."""
        return span_of(self.changes.values[self.places.live_slots(), _VS])

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
            found[retracts] = self.groups.slots.find(
                Fingerprints(keys.low[retracts], keys.high[retracts])
            )
        groups, _ = self.groups.slots.find_or_add(prints.with_numbers(changes.vs, new))
        self.groups.make_slots()
        fresh = self.places.take(len(changes))
        self.make_slots()
        ends = self.groups.ends.values
        places, newcomers, gone = _merge(
            changes.vs, old, new, since, found, groups, fresh, self.changes.values, ends,
            self.arrived,
        )  # fmt: skip
        self.arrived += len(changes)
        put = np.flatnonzero(newcomers)
        self.places.give_back(fresh[len(put) :])
        self.rows.put(
            places[put], payload if len(put) == len(changes) else payload.take(pa.array(put))
        )
        self._schedule(places[places != _NOTHING])
        self.remove_slots(gone)
        merged = found != NO_SLOT
        if merged.any():
            touched = np.concatenate([found[merged], groups[merged]])
            self.groups.remove_slots(np.unique(touched[ends[touched, _HEAD] == _NOTHING]))

    def _schedule(self, places: Int64s) -> None:
        vs, old, new, since = self.changes.values[places, :_ORDER].T
        self.sync.set(places, np.where(old == vs, vs, new))
        if self.block < INFINITY:
            room = INFINITY - self.block
            self.due.set(places, np.where(since >= room, INFINITY, since + self.block))

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
        vs, old, new = self.changes.values[due, :_SINCE].T
        return np.concatenate([final, due[np.where(old == vs, vs, new) >= t]])

    def release(self, places: Int64s) -> Changes:
        """Take the changes at some places out."""
        vs, old, new = np.ascontiguousarray(self.changes.values[places, :_SINCE].T)
        payload = self.rows.take(places)
        emptied = _unlink_all(places, self.changes.values, self.groups.ends.values)
        self.groups.remove_slots(emptied)
        self.remove_slots(places)
        if len(self) == 0:
            self.places = Places(oldest_first=True)
        inserts = old == vs
        kind: Int8s = np.where(inserts, INSERT, RETRACT).astype(np.int8)
        row = np.arange(len(places))
        return Changes(kind, vs, np.where(inserts, new, old), new, row, payload)

    def derive(self) -> None:
        live, links = self.places.live_slots(), [_NEXT, _PREVIOUS]
        changes, ends = self.changes.values, self.groups.ends.values
        changes[: len(live), links] = self.places.now(changes[: len(live), links])
        ends[:] = self.places.now(ends)
        self._schedule(live)


class _Groups(Stateful):
    """`ends`: the first and the last place of each group."""

    fields = Fields(keys="slots", by_key=("ends",))

    def __init__(self) -> None:
        self.slots, self.ends = Slots(), KeyColumn(np.int64, fill=_NOTHING, words=2)


@compiled
def _merge(
    vs: Int64s,
    old: Int64s,
    new: Int64s,
    since: Int64s,
    found: Int64s,
    groups: Int64s,
    fresh: Int64s,
    words: Int64Table,
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
            place = ends[found[row], _HEAD]
        if place == _NOTHING:
            place = fresh[put]
            put += 1
            newcomers[row] = True
            words[place, _VS], words[place, _OLD] = vs[row], old[row]
            words[place, _SINCE] = since[row]
        else:
            _unlink(place, words, ends)
            inserted = words[place, _OLD] == words[place, _VS]
            if inserted and new[row] == vs[row]:
                gone[left] = place
                left += 1
                continue
            if not inserted:
                words[place, _SINCE] = min(words[place, _SINCE], since[row])
        words[place, _NEW], words[place, _ORDER] = new[row], arrived + row
        _link(place, groups[row], words, ends)
        places[row] = place
    return places, newcomers, gone[:left]


@compiled
def _link(place: int, group: int, words: Int64Table, ends: Int64Table) -> None:
    last = ends[group, _TAIL]
    words[place, _GROUP] = group
    words[place, _PREVIOUS], words[place, _NEXT] = last, _NOTHING
    if last == _NOTHING:
        ends[group, _HEAD] = place
    else:
        words[last, _NEXT] = place
    ends[group, _TAIL] = place


@compiled
def _unlink(place: int, words: Int64Table, ends: Int64Table) -> None:
    group = words[place, _GROUP]
    before, after = words[place, _PREVIOUS], words[place, _NEXT]
    if before == _NOTHING:
        ends[group, _HEAD] = after
    else:
        words[before, _NEXT] = after
    if after == _NOTHING:
        ends[group, _TAIL] = before
    else:
        words[after, _PREVIOUS] = before


@compiled
def _unlink_all(places: Int64s, words: Int64Table, ends: Int64Table) -> Int64s:
    """Takes places out of their groups, and returns the groups that are then empty."""
    emptied = np.empty(len(places), np.int64)
    count = 0
    for place in places:
        _unlink(place, words, ends)
        if ends[words[place, _GROUP], _HEAD] == _NOTHING:
            emptied[count] = words[place, _GROUP]
            count += 1
    return emptied[:count]
