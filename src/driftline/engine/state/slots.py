"""Slots: small whole numbers for keys, given out, found again, and taken back.

A key is a fingerprint. Its slot is where an operator keeps that key's state in its arrays. Slots
of keys that are gone are used again, so arrays stay as small as the number of live keys.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftline.engine.state.fingerprints import Fingerprints
from driftline.model.arrays import Int64s, UInt64s
from driftline.model.compiled import njit

NO_SLOT = -1
_TOMBSTONE = -2
_SMALLEST_TABLE = 1024


class Slots:
    """An open-addressing table from fingerprints to slots.

    `low`, `high`: the fingerprint in each place of the table; `slot_at`: its slot, NO_SLOT where
    nothing is, _TOMBSTONE where something was. `place_of`: the place of each slot in the table.
    """

    def __init__(self) -> None:
        self._clear(_SMALLEST_TABLE)
        self.place_of = np.full(_SMALLEST_TABLE, NO_SLOT, np.int64)
        self.free = np.empty(0, np.int64)  # slots to use again
        self.used = 0  # slots ever given out
        self.live = 0

    def _clear(self, size: int) -> None:
        self.low = np.zeros(size, np.uint64)
        self.high = np.zeros(size, np.uint64)
        self.slot_at = np.full(size, NO_SLOT, np.int64)
        self.occupied = 0  # places with a slot or a tombstone

    def find_or_add(self, keys: Fingerprints) -> tuple[Int64s, Int64s]:
        """The slot of every key, and the row of `keys` that brought each new slot (in the order in
        which the new slots were given out; `slots[rows]` are these slots)."""
        self._make_room(len(keys))
        slots = np.empty(len(keys), np.int64)
        new_rows = np.empty(len(keys), np.int64)
        used, taken, added = _find_or_add(
            keys.low,
            keys.high,
            self.low,
            self.high,
            self.slot_at,
            self.place_of,
            self.free,
            self.used,
            slots,
            new_rows,
        )
        self.used = used
        self.free = self.free[: len(self.free) - taken]
        self.live += added
        self.occupied += added
        return slots, new_rows[:added].copy()

    def find(self, keys: Fingerprints) -> Int64s:
        """The slot of every key, NO_SLOT where it has none."""
        return _find(keys.low, keys.high, self.low, self.high, self.slot_at)

    def remove(self, slots: Int64s) -> None:
        """Take slots back; each must be live."""
        if len(slots) == 0:
            return
        self.slot_at[self.place_of[slots]] = _TOMBSTONE
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
        if 2 * (self.occupied + more) > len(self.slot_at):
            self._rebuild(more)

    def _rebuild(self, more: int) -> None:
        size = _SMALLEST_TABLE
        while size < 4 * (self.live + more):
            size *= 2
        live = self.live_slots()
        places = self.place_of[live]
        low, high = self.low[places], self.high[places]
        self._clear(size)
        _put(low, high, live, self.low, self.high, self.slot_at, self.place_of)
        self.occupied = len(live)

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
        self.free = np.setdiff1d(np.arange(self.used), live)
        size = _SMALLEST_TABLE
        while size < 4 * self.live:
            size *= 2
        self._clear(size)
        low = arrays["slots.low"].astype(np.uint64)
        high = arrays["slots.high"].astype(np.uint64)
        _put(low, high, live, self.low, self.high, self.slot_at, self.place_of)
        self.occupied = self.live


@njit(cache=True, nogil=True)
def _find_or_add(
    key_low: UInt64s,
    key_high: UInt64s,
    low: UInt64s,
    high: UInt64s,
    slot_at: Int64s,
    place_of: Int64s,
    free: Int64s,
    used: int,
    slots: Int64s,
    new_rows: Int64s,
) -> tuple[int, int, int]:
    mask = len(slot_at) - 1
    taken, added = 0, 0
    for row in range(len(key_low)):
        place = np.int64(key_low[row] & np.uint64(mask))
        while slot_at[place] != NO_SLOT:
            if slot_at[place] >= 0 and low[place] == key_low[row] and high[place] == key_high[row]:
                break
            place = (place + 1) & mask
        if slot_at[place] == NO_SLOT:
            if taken < len(free):
                taken += 1
                slot = free[len(free) - taken]
            else:
                slot = used
                used += 1
            low[place], high[place] = key_low[row], key_high[row]
            slot_at[place] = slot
            place_of[slot] = place
            new_rows[added] = row
            added += 1
        slots[row] = slot_at[place]
    return used, taken, added


@njit(cache=True, nogil=True)
def _find(
    key_low: UInt64s, key_high: UInt64s, low: UInt64s, high: UInt64s, slot_at: Int64s
) -> Int64s:
    mask = len(slot_at) - 1
    slots = np.full(len(key_low), NO_SLOT, np.int64)
    for row in range(len(key_low)):
        place = np.int64(key_low[row] & np.uint64(mask))
        while slot_at[place] != NO_SLOT:
            if slot_at[place] >= 0 and low[place] == key_low[row] and high[place] == key_high[row]:
                slots[row] = slot_at[place]
                break
            place = (place + 1) & mask
    return slots


@njit(cache=True, nogil=True)
def _put(
    key_low: UInt64s,
    key_high: UInt64s,
    slots: Int64s,
    low: UInt64s,
    high: UInt64s,
    slot_at: Int64s,
    place_of: Int64s,
) -> None:
    mask = len(slot_at) - 1
    for row in range(len(key_low)):
        place = np.int64(key_low[row] & np.uint64(mask))
        while slot_at[place] != NO_SLOT:
            place = (place + 1) & mask
        low[place], high[place] = key_low[row], key_high[row]
        slot_at[place] = slots[row]
        place_of[slots[row]] = place
