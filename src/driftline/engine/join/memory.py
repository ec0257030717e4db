"""What a lifetime of a preserved side remembers, beyond what the other side still holds.

A side is preserved if its lifetimes come out cut to their runs (see `coverage`): the left of a
left, full, semi and anti join, the right of a right and full join. Call its own side's cti C, the
other's D, and F = min(C, D).

- The past. Lifetimes of the other side that end by F are final and may go. Those they match
  remember, up to F, the run then under way. Earlier runs are final: nothing can change them.
- The hold. A run of the sort that comes out, [a, b) with b ≥ D, may still become *longer*: its
  end may be taken back, or a match may join on to it. In a stream a longer lifetime is a full
  retraction, with sync time a, and another insert. So while its lifetime goes on after D, the
  output may not promise more than a: the output's cti is the least of F and all holds.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from driftline.engine.join.coverage import Past, Runs
from driftline.model.compiled import njit
from driftline.model.time import BEGINNING

Int64s = NDArray[np.int64]


@dataclass(slots=True)
class Memory:
    """By place: the past, and the first run that comes out and ended at or after D when that was
    last looked at (`hold_end` BEGINNING: it has to be looked at again). `wanted`: whether matched
    runs come out, or the others."""

    wanted: bool
    since: Int64s
    upto: Int64s
    matched: NDArray[np.bool_]
    hold: Int64s
    hold_end: Int64s

    @staticmethod
    def empty(wanted: bool) -> Memory:
        nothing = np.zeros(0, np.int64)
        return Memory(wanted, nothing, nothing, np.zeros(0, np.bool_), nothing, nothing)

    def columns(self) -> list[str]:
        return [field.name for field in fields(self) if field.name != "wanted"]

    def make_room(self, needed: int) -> None:
        for name in self.columns():
            old = getattr(self, name)
            if needed > len(old):
                grown = np.zeros(max(needed, 2 * len(old)), old.dtype)
                grown[: len(old)] = old
                setattr(self, name, grown)

    def past(self, places: Int64s) -> Past:
        return Past(self.since[places], self.upto[places], self.matched[places])

    def set_past(self, places: Int64s, past: Past) -> None:
        self.since[places] = past.since
        self.upto[places] = past.upto
        self.matched[places] = past.matched

    def set_hold(self, places: Int64s, runs: Runs, other_cti: int) -> None:
        self.hold[places], self.hold_end[places] = runs.open_after(other_cti, self.wanted)

    def update_holds(
        self, places: Int64s, start: Int64s, end: Int64s, sign: Int64s, other_cti: int
    ) -> None:
        """Take into account that some runs come out no more (sign -1), and some anew."""
        _update_holds(places, start, end, sign, other_cti, self.hold, self.hold_end)

    def holding(self, ve: Int64s, weight: Int64s, other_cti: int, frontier: int) -> Int64s:
        """The places of the lifetimes that hold the cti back, some perhaps no longer."""
        used = slice(0, len(self.hold))
        return np.flatnonzero((weight[used] != 0) & (ve[used] > other_cti) & (self.hold < frontier))

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in self.columns())


@njit(cache=True, nogil=True)
def _update_holds(
    places: Int64s,
    start: Int64s,
    end: Int64s,
    sign: Int64s,
    other_cti: int,
    hold: Int64s,
    hold_end: Int64s,
) -> None:
    for row in range(len(places)):
        if sign[row] < 0 and start[row] == hold[places[row]]:
            hold_end[places[row]] = BEGINNING  # to be looked at again
    for row in range(len(places)):
        if sign[row] > 0 and end[row] >= other_cti and start[row] <= hold[places[row]]:
            hold[places[row]], hold_end[places[row]] = start[row], end[row]
