"""Slots: small whole numbers for keys, given out, found again, and taken back.

A key is a fingerprint. Its slot is where an operator keeps that key's state in its arrays. Slots
of keys that are gone are used again, so arrays stay as small as the number of live keys.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftline.engine.state.fingerprints import Fingerprints
from driftline.kernels import compiled
from driftline.model.arrays import FrozenInt64s, Int64s, Int64Table, UInt64s

NO_SLOT = -1
_LOW, _HIGH, _SLOT = range(3)
"""Of a place in the table: the fingerprint, and one more than the slot."""
_NOTHING, _TOMBSTONE = 0, -1
"""In the place of a slot: nothing is there; something was."""
_HALVES = ("low", "high")
_SMALLEST_TABLE = 1024
AHEAD = 256
"""So many places are touched before they are worked on: the accesses to memory then do not wait for
each other."""
_AT_ONCE = 65_536
"""So many keys are looked up at once, or as many as there are."""


class Slots:
    """An open-addressing table from fingerprints to slots.

    `table`: by place. `place_of`: the place of each slot in the table.
    """

    def __init__(self) -> None:
        self._clear(_SMALLEST_TABLE)
        self.place_of = np.full(_SMALLEST_TABLE, NO_SLOT, np.int64)
        self.free = np.empty(0, np.int64)  # slots to use again
        self.used = 0  # slots ever given out
        self.live = 0

    def _clear(self, size: int) -> None:
        self.table = np.zeros((size, 3), np.int64)
        self.occupied = 0  # places with a slot or a tombstone

    @property
    def low(self) -> UInt64s:
        """The first half of the fingerprint in each place."""
        return self.table[:, _LOW].view(np.uint64)

    @property
    def high(self) -> UInt64s:
        """The second half."""
        return self.table[:, _HIGH].view(np.uint64)

    def find_or_add(self, keys: Fingerprints) -> tuple[Int64s, Int64s]:
        """The slot of every key, and the row of `keys` that brought each new slot (in the order in
        which the new slots were given out; `slots[rows]` are these slots)."""
        slots, new_rows = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
        done, new = 0, 0
        while True:
            # Most keys may be known: the table grows with those that are new.
            some = slice(done, done + max(_AT_ONCE, self.live))
            low, high = keys.low[some].view(np.int64), keys.high[some].view(np.int64)
            self._make_room(len(low))
            used, taken, added = _find_or_add(
                low, high, self.table, self.place_of, self.free, self.used, slots[some],
                new_rows[new:],
            )  # fmt: skip
            new_rows[new : new + added] += done
            self.used = used
            self.free = self.free[: len(self.free) - taken]
            self.live += added
            self.occupied += added
            new += added
            done += len(low)
            if done == len(keys):
                return slots, new_rows[:new].copy()

    def find(self, keys: Fingerprints) -> Int64s:
        """The slot of every key, NO_SLOT where it has none."""
        return _find(keys.low.view(np.int64), keys.high.view(np.int64), self.table)

    def remove(self, slots: Int64s) -> None:
        """Take slots back; each must be live."""
        if len(slots) == 0:
            return
        self.table[self.place_of[slots], _SLOT] = _TOMBSTONE
        self.place_of[slots] = NO_SLOT
        self.free = np.concatenate([self.free, slots])
        self.live -= len(slots)

    def live_slots(self) -> Int64s:
        return np.flatnonzero(self.place_of[: self.used] != NO_SLOT)

    def _make_room(self, more: int) -> None:
        needed = self.used + more
        if needed > len(self.place_of):
            grown = np.full(max(needed, 2 * len(self.place_of)), NO_SLOT, np.int64)
            grown[: self.used] = self.place_of[: self.used]
            self.place_of = grown
        if 2 * (self.occupied + more) > len(self.table):
            self._rebuild(more)

    def _rebuild(self, more: int) -> None:
        size = _SMALLEST_TABLE
        while size < 4 * (self.live + more):
            size *= 2
        live = self.live_slots()
        places = self.place_of[live]
        before = self.table
        self._clear(size)
        _put(before[places], live, self.table, self.place_of)
        self.occupied = len(live)

    @property
    def nbytes(self) -> int:
        return self.table.nbytes + self.place_of.nbytes + self.free.nbytes

    def snapshot(self) -> dict[str, NDArray[np.generic]]:
        live = self.live_slots()
        places = self.place_of[live]
        return {
            "slots.slot": live,
            "slots.low": self.low[places],
            "slots.high": self.high[places],
        }

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        live = arrays["slots.slot"].astype(np.int64)
        self.__init__()  # type: ignore[misc]  # start again from nothing
        self.used = int(live.max()) + 1 if len(live) else 0
        self.live = len(live)
        self.place_of = np.full(max(_SMALLEST_TABLE, self.used), NO_SLOT, np.int64)
        size = _SMALLEST_TABLE
        while size < 4 * self.live:
            size *= 2
        self._clear(size)
        halves = (arrays[f"slots.{half}"].astype(np.uint64).view(np.int64) for half in _HALVES)
        _put(np.stack([*halves, live], axis=1), live, self.table, self.place_of)
        self.occupied = self.live
        self.free = np.flatnonzero(self.place_of[: self.used] == NO_SLOT)


@compiled
def _find_or_add(
    low: Int64s,
    high: Int64s,
    table: Int64Table,
    place_of: Int64s,
    free: Int64s,
    used: int,
    slots: Int64s,
    new_rows: Int64s,
) -> tuple[int, int, int]:
    mask = len(table) - 1
    taken, added = 0, 0
    ahead = np.empty(AHEAD, np.int64)
    for row in range(len(low)):
        if row % AHEAD == 0:
            some = low[row : row + AHEAD]
            for number in range(len(some)):
                ahead[number] = table[some[number] & mask, _SLOT]
        place = low[row] & mask
        found = table[place, _SLOT]
        while found != _NOTHING:
            if table[place, _LOW] == low[row] and table[place, _HIGH] == high[row] and found > 0:
                break
            place = (place + 1) & mask
            found = table[place, _SLOT]
        if found == _NOTHING:
            if taken < len(free):
                taken += 1
                slot = free[len(free) - taken]
            else:
                slot = used
                used += 1
            table[place, _LOW], table[place, _HIGH] = low[row], high[row]
            found = slot + 1
            table[place, _SLOT] = found
            place_of[slot] = place
            new_rows[added] = row
            added += 1
        slots[row] = found - 1
    return used, taken, added


@compiled
def _find(low: FrozenInt64s, high: FrozenInt64s, table: Int64Table) -> Int64s:
    mask = len(table) - 1
    slots = np.full(len(low), NO_SLOT, np.int64)
    for row in range(len(low)):
        place = low[row] & mask
        while table[place, _SLOT] != _NOTHING:
            found = table[place, _SLOT]
            if table[place, _LOW] == low[row] and table[place, _HIGH] == high[row] and found > 0:
                slots[row] = found - 1
                break
            place = (place + 1) & mask
    return slots


@compiled
def _put(keys: Int64Table, slots: Int64s, table: Int64Table, place_of: Int64s) -> None:
    """Fill a table that has no tombstones; `keys` have fingerprints as the table has them."""
    mask = len(table) - 1
    ahead = np.empty(AHEAD, np.int64)
    for row in range(len(slots)):
        if row % AHEAD == 0:
            some = keys[row : row + AHEAD, _LOW]
            for number in range(len(some)):
                ahead[number] = table[some[number] & mask, _SLOT]
        place = keys[row, _LOW] & mask
        while table[place, _SLOT] != _NOTHING:
            place = (place + 1) & mask
        table[place, _LOW], table[place, _HIGH] = keys[row, _LOW], keys[row, _HIGH]
        table[place, _SLOT] = slots[row] + 1
        place_of[slots[row]] = place
