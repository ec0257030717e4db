"""What a lifetime of a preserved side remembers, beyond what the other side still holds.

A side is preserved if its lifetimes come out cut to their runs (see `coverage`): the left of a
left, full, semi and anti join, the right of a right and full join. F is the lesser of the two
sides' ctis, and the output's.

- The past. Lifetimes of the other side that end by F are final and may go. Those they match
  remember, up to F, the run then under way. Earlier runs are final: nothing can change them.
- The seam. A run that comes out, [a, b) with a < F ≤ b, may still become longer: its end may be
  taken back, or a match may join on to it. To emit [a, b) anew would be to take back what is final,
  so what is new is emitted by itself, from the seam b on. Everything before F is final, so of a run
  no more has to be known than where its last two pieces start: `base` and `seam`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from driftline.engine.join.coverage import Past
from driftline.engine.state.slots import NO_SLOT
from driftline.kernels import compiled, inlined
from driftline.model.arrays import Int64s
from driftline.model.time import INFINITY

Stretches = tuple[Int64s, Int64s, Int64s, Int64s]


@dataclass(slots=True)
class Memory:
    """By place: the past; and of the run that started at `run` (INFINITY: of none) where its last
    pieces start (seam ≤ base: it was emitted in one). `wanted`: whether matched runs come out, or
    the others."""

    wanted: bool
    since: Int64s
    upto: Int64s
    matched: NDArray[np.bool_]
    run: Int64s
    base: Int64s
    seam: Int64s

    @staticmethod
    def empty(wanted: bool) -> Memory:
        nothing = np.zeros(0, np.int64)
        none = np.zeros(0, np.bool_)
        return Memory(wanted, nothing, nothing, none, nothing, nothing, nothing)

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

    def inherit(self, places: Int64s, parents: Int64s) -> None:
        """New lifetimes are emitted in the pieces of those that they are shortened from, if any."""
        known = parents != NO_SLOT
        self.run[places] = np.where(known, self.run[parents], INFINITY)
        self.base[places] = self.base[parents]
        self.seam[places] = self.seam[parents]

    def pieces(
        self, places: Int64s, start: Int64s, end: Int64s, final: int
    ) -> tuple[Int64s, Int64s, Int64s]:
        """Runs of the lifetimes at some places (NO_SLOT: they have none) in the pieces they are
        emitted in, without those that are final: the number of the run, start, end."""
        return _pieces(places, start, end, final, self.run, self.base, self.seam)

    def emitted(self, places: Int64s, changes: Stretches, final: int) -> Stretches:
        """What is emitted when runs of the lifetimes at some places go (-1) and come (1); a run
        that grows gets a seam."""
        return _emitted(places, *changes, final, self.run, self.base, self.seam)

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in self.columns())


@inlined
def _last_pieces(
    place: int, start: int, end: int, run: Int64s, base: Int64s, seam: Int64s
) -> tuple[int, int]:
    """Where the last pieces of a run start; the second is its end if there is only one."""
    if run[place] != start:
        return start, end
    if base[place] < seam[place] < end:
        return base[place], seam[place]
    return base[place], end


@compiled
def _pieces(
    places: Int64s,
    start: Int64s,
    end: Int64s,
    final: int,
    run: Int64s,
    base: Int64s,
    seam: Int64s,
) -> tuple[Int64s, Int64s, Int64s]:
    number = np.empty(2 * len(start), np.int64)
    begin, until = np.empty(2 * len(start), np.int64), np.empty(2 * len(start), np.int64)
    made = 0
    for row in range(len(start)):
        first, second = start[row], end[row]
        if places[row] != NO_SLOT and start[row] < final:
            first, second = _last_pieces(places[row], start[row], end[row], run, base, seam)
            if second < final:
                first, second = second, end[row]
            if second < final:
                continue
        if first < second:
            number[made], begin[made], until[made] = row, first, second
            made += 1
        if second < end[row]:
            number[made], begin[made], until[made] = row, second, end[row]
            made += 1
    return number[:made].copy(), begin[:made].copy(), until[:made].copy()


@compiled
def _emitted(
    places: Int64s,
    one: Int64s,
    start: Int64s,
    end: Int64s,
    sign: Int64s,
    final: int,
    run: Int64s,
    base: Int64s,
    seam: Int64s,
) -> Stretches:
    room = 2 * len(one)
    place_out, sign_out = np.empty(room, np.int64), np.empty(room, np.int64)
    start_out, end_out = np.empty(room, np.int64), np.empty(room, np.int64)
    made, row = 0, 0
    while row < len(one):
        place = places[one[row]]
        if start[row] >= final:
            place_out[made], sign_out[made] = place, sign[row]
            start_out[made], end_out[made] = start[row], end[row]
            made += 1
            row += 1
            continue
        # What lasts since before the final time only changes its end: it goes, and comes next.
        old_end, new_end = end[row], end[row + 1]
        old_first, old_second = _last_pieces(place, start[row], old_end, run, base, seam)
        last = old_second if old_second < old_end else old_first
        if new_end > old_end and last < final:
            run[place], base[place], seam[place] = start[row], last, old_end
            old_first, old_second = last, old_end
        new_first, new_second = _last_pieces(place, start[row], new_end, run, base, seam)
        pieces = (
            (old_first, old_second, -1),
            (old_second, old_end, -1),
            (new_first, new_second, 1),
            (new_second, new_end, 1),
        )
        for begin, until, weight in pieces:
            if begin == until:
                continue
            both = old_first == new_first and old_second == new_second and begin == old_first
            if both:
                continue
            place_out[made], sign_out[made] = place, weight
            start_out[made], end_out[made] = begin, until
            made += 1
        row += 2
    return (
        place_out[:made].copy(),
        start_out[:made].copy(),
        end_out[:made].copy(),
        sign_out[:made].copy(),
    )
