"""An index of lifetimes by key: which of them overlap a given one?

    overlapping(k, vs, ve) = { e : e.key = k, e.vs < ve, vs < e.ve }

State: sorted runs, each more than twice as long as the next; a new run swallows those that are not.
So there are O(log n) runs, and an entry is sorted O(log n) times. What was added becomes a run when
something is asked of it: where only one side of a join changes, its own index costs nothing. A run
is sorted by key hash and vs. A directory over the first bits of the hash leads to a key; above the
ends of its entries stands a tree of maxima, so stretches of entries that end too early are leapt
over: a search costs O(log n) for a run and for an entry found, however many entries its key has.

`lasting`: how long after its vs an entry is of use at most; one that is of no use any more counts
as ended when it comes to dropping. An entry is taken out by setting its end to BEGINNING.
`mostly_ended` names the runs in which half of the entries have ended before a time; dropping these
is up to the caller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftline.engine.state.slots import AHEAD
from driftline.kernels import compiled, inlined
from driftline.model.arrays import Int64s, UInt64s
from driftline.model.time import BEGINNING, INFINITY

_FANOUT_BITS = 4
_FANOUT = 1 << _FANOUT_BITS
_SHORT = 24
"""Up to so many entries are sorted by insertion, and looked at one by one."""
_SAMPLES = 512
"""A run knows the ends of about so many of its entries in order."""
_MOSTLY = 1 / 2
_HASH_BITS = 64


@dataclass(slots=True)
class _Run:
    """Entries in order of (low, vs).

    `reach`: their ends, followed by the maxima of each `_FANOUT` of them, the maxima of these, and
    so on. `first`: where the entries of each part of the directory start. `sample`: some ends, in
    order. `removed`: how many entries have been taken out since the run was made.
    """

    low: UInt64s
    vs: Int64s
    place: Int64s
    reach: Int64s
    first: Int64s
    sample: Int64s
    removed: int = 0

    def __len__(self) -> int:
        return len(self.low)

    @property
    def ends(self) -> Int64s:
        return self.reach[: len(self)]

    def share_ended(self, bound: int) -> float:
        """About how much of the run ends at or before a time, or was taken out."""
        ended = int(np.searchsorted(self.sample, bound, "right"))
        return ended / len(self.sample) + self.removed / len(self)

    @property
    def nbytes(self) -> int:
        arrays = (self.low, self.vs, self.place, self.reach, self.first, self.sample)
        return sum(array.nbytes for array in arrays)


@dataclass(slots=True)
class _Entries:
    """Entries as they were given."""

    low: UInt64s
    vs: Int64s
    ends: Int64s
    places: Int64s


class Index:
    """`runs`: by number, the longest first. `run_of`, `position`: where each place's entry is.
    `pending`: entries that are in no run yet, as nothing was asked of them; `soonest`: the least
    time at which one of these is of no use."""

    def __init__(self, lasting: int = INFINITY) -> None:
        self.lasting = lasting
        self.pending: list[_Entries] = []
        self.soonest = INFINITY
        self.runs: dict[int, _Run] = {}
        self.run_of = np.zeros(0, np.int64)
        self.position = np.zeros(0, np.int64)
        self.made = 0

    def __len__(self) -> int:
        pending = sum(len(each.places) for each in self.pending)
        return pending + sum(map(len, self.runs.values()))

    def places(self) -> Int64s:
        self._settle()
        return _concatenated([run.place for run in self.runs.values()])

    def add(self, low: UInt64s, vs: Int64s, ends: Int64s, places: Int64s) -> None:
        """Take in entries, each at a place of its own."""
        if len(places) == 0:
            return
        self.pending.append(_Entries(low, vs, ends, places))
        self.soonest = min(self.soonest, int(at_most(vs, ends, self.lasting).min()))

    def _settle(self) -> None:
        """Make a run of what is in none yet, and of runs that are not much longer."""
        if not self.pending:
            return
        parts, size = self.pending, sum(len(each.places) for each in self.pending)
        while self.runs:
            number, run = next(reversed(self.runs.items()))
            if len(run) > 2 * size:
                break
            del self.runs[number]
            parts.append(_Entries(run.low, run.vs, run.ends, run.place))
            size += len(run)
        self.pending, self.soonest = [], INFINITY
        self._make(
            np.concatenate([each.low for each in parts]),
            np.concatenate([each.vs for each in parts]),
            np.concatenate([each.ends for each in parts]),
            np.concatenate([each.places for each in parts]),
        )

    def _make(self, low: UInt64s, vs: Int64s, ends: Int64s, places: Int64s) -> None:
        order, first = in_order(low, vs)
        place = places[order]
        self._make_room(int(place.max()) + 1)
        self.run_of[place] = self.made
        self.position[place] = np.arange(len(place))
        some = slice(None, None, max(1, len(ends) // _SAMPLES))
        sample = np.sort(at_most(vs[some], ends[some], self.lasting))
        self.runs[self.made] = _Run(
            low[order], vs[order], place, _with_maxima(ends[order]), first, sample
        )
        self.made += 1

    def _make_room(self, needed: int) -> None:
        if needed > len(self.position):
            grown = np.zeros((2, max(needed, 2 * len(self.position))), np.int64)
            grown[0, : len(self.run_of)] = self.run_of
            grown[1, : len(self.position)] = self.position
            self.run_of, self.position = grown

    def overlapping(
        self,
        low: UInt64s,
        high: UInt64s,
        vs: Int64s,
        ve: Int64s,
        high_at: UInt64s,
        most: int = INFINITY,
    ) -> tuple[Int64s, Int64s]:
        """For some keys and lifetimes: which of them overlaps the entry at which place.
        `high_at`: the second half of the key's fingerprint at each place. Where there are more than
        `most`, not all are given, but more than `most`."""
        self._settle()
        found: list[tuple[Int64s, Int64s]] = []
        for run in self.runs.values():
            if most < 0:
                break
            run_arrays = (run.low, run.vs, run.place, run.reach, run.first)
            found.append(_overlapping(low, high, vs, ve, *run_arrays, high_at, most))
            most -= len(found[-1][0])
        return _concatenated([one for one, _ in found]), _concatenated([at for _, at in found])

    def set_ends(self, places: Int64s, ends: Int64s) -> None:
        """Change the ends of entries; BEGINNING takes one out."""
        if len(places) == 0:
            return
        self._settle()
        run_of, position = self.run_of[places], self.position[places]
        for number in set(run_of.tolist()):
            run, here = self.runs[number], run_of == number
            run.removed += _set_ends(position[here], ends[here], run.reach, len(run))

    def mostly_ended(self, bound: int) -> list[int]:
        """The runs in which about half of the entries end at or before a time, or more; these are
        there until something is added."""
        if bound >= self.soonest or (self.pending and self._mostly_ended(bound)):
            self._settle()
        return self._mostly_ended(bound)

    def _mostly_ended(self, bound: int) -> list[int]:
        return [
            number
            for number, run in self.runs.items()
            if (run.removed or bound >= run.sample[0])
            and (run.reach[-1] <= bound or run.share_ended(bound) >= _MOSTLY)
        ]

    def ended(self, numbers: list[int], bound: int) -> Int64s:
        """The places in some runs whose entries end at or before a time."""
        runs = [self.runs[number] for number in numbers]
        return _concatenated([run.place[self._over(run) <= bound] for run in runs])

    def _over(self, run: _Run) -> Int64s:
        """From when on the entries of a run are of no use."""
        return at_most(run.vs, run.ends, self.lasting)

    def drop(self, numbers: list[int], bound: int) -> None:
        """Let the entries go that `ended` names."""
        if not numbers:
            return
        runs = [self.runs.pop(number) for number in numbers]
        kept = [self._over(run) > bound for run in runs]
        self.add(
            np.concatenate([run.low[some] for run, some in zip(runs, kept, strict=True)]),
            np.concatenate([run.vs[some] for run, some in zip(runs, kept, strict=True)]),
            np.concatenate([run.ends[some] for run, some in zip(runs, kept, strict=True)]),
            np.concatenate([run.place[some] for run, some in zip(runs, kept, strict=True)]),
        )

    @property
    def nbytes(self) -> int:
        runs = sum(run.nbytes for run in self.runs.values())
        runs += sum(4 * each.places.nbytes for each in self.pending)
        return runs + self.run_of.nbytes + self.position.nbytes


def at_most(vs: Int64s, ve: Int64s, span: int) -> Int64s:
    """The ends of lifetimes, but so long after their starts at most."""
    if span == INFINITY:
        return ve
    latest = np.where(vs < INFINITY - max(span, 0), vs + span, INFINITY)
    return np.minimum(ve, latest)


def _concatenated(parts: list[Int64s]) -> Int64s:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


@compiled
def in_order(low: UInt64s, vs: Int64s) -> tuple[Int64s, Int64s]:
    """The order by (low, vs), and the directory: where the entries of each start of `low` begin."""
    bits = 1
    while (1 << bits) < len(low):
        bits += 1
    shift = np.uint64(_HASH_BITS - bits)
    first = np.zeros((1 << bits) + 1, np.int64)
    for row in range(len(low)):
        first[np.int64(low[row] >> shift) + 1] += 1
    for part in range(1 << bits):
        first[part + 1] += first[part]
    order, filled = np.empty(len(low), np.int64), first.copy()
    for row in range(len(low)):
        start = np.int64(low[row] >> shift)
        order[filled[start]] = row
        filled[start] += 1
    for part in range(1 << bits):
        if first[part + 1] - first[part] > 1:
            _sort(order[first[part] : first[part + 1]], low, vs)
    return order, first


@compiled
def _sort(rows: Int64s, low: UInt64s, vs: Int64s) -> None:
    ordered = True
    for place in range(1, len(rows)):
        one, other = rows[place - 1], rows[place]
        if low[other] < low[one] or (low[other] == low[one] and vs[other] < vs[one]):
            ordered = False
            break
    if ordered:
        return
    if len(rows) > _SHORT:
        rows[:] = rows[np.argsort(vs[rows], kind="mergesort")]
        rows[:] = rows[np.argsort(low[rows], kind="mergesort")]
        return
    for place in range(1, len(rows)):
        row, to = rows[place], place
        while to > 0 and (
            low[row] < low[rows[to - 1]]
            or (low[row] == low[rows[to - 1]] and vs[row] < vs[rows[to - 1]])
        ):
            rows[to] = rows[to - 1]
            to -= 1
        rows[to] = row


@compiled
def _with_maxima(ends: Int64s) -> Int64s:
    size, room = len(ends), len(ends)
    while size > 1:
        size = (size + _FANOUT - 1) >> _FANOUT_BITS
        room += size
    reach = np.full(room, BEGINNING, np.int64)
    reach[: len(ends)] = ends
    base, size = 0, len(ends)
    while size > 1:
        above = base + size
        for place in range(size):
            parent = above + (place >> _FANOUT_BITS)
            reach[parent] = max(reach[parent], reach[base + place])
        base, size = above, (size + _FANOUT - 1) >> _FANOUT_BITS
    return reach


@compiled
def _set_ends(positions: Int64s, ends: Int64s, reach: Int64s, length: int) -> int:
    """How many more entries are out than before."""
    removed = 0
    for row in range(len(positions)):
        place = positions[row]
        removed += (ends[row] == BEGINNING) - (reach[place] == BEGINNING)
        reach[place] = ends[row]
        base, size = 0, length
        while size > 1:
            above, parent = base + size, place >> _FANOUT_BITS
            greatest = BEGINNING
            for child in range(parent << _FANOUT_BITS, min(size, (parent + 1) << _FANOUT_BITS)):
                greatest = max(greatest, reach[base + child])
            reach[above + parent] = greatest
            place, base = parent, above
            size = (size + _FANOUT - 1) >> _FANOUT_BITS
    return removed


@compiled
def _overlapping(
    key_low: UInt64s,
    key_high: UInt64s,
    key_vs: Int64s,
    key_ve: Int64s,
    low: UInt64s,
    vs: Int64s,
    place: Int64s,
    reach: Int64s,
    first: Int64s,
    high_at: UInt64s,
    most: int,
) -> tuple[Int64s, Int64s]:
    bits = 0
    while (1 << bits) < len(first) - 1:
        bits += 1
    shift = np.uint64(_HASH_BITS - bits)
    room, found = max(64, len(key_low)), 0
    rows, places = np.empty(room, np.int64), np.empty(room, np.int64)
    greatest = reach[-1]
    ahead, touched, last = np.empty(AHEAD, np.int64), np.empty(AHEAD, np.int64), len(low) - 1
    for row in range(len(key_low)):
        if row % AHEAD == 0:
            some = key_low[row : row + AHEAD]
            for number in range(len(some)):
                ahead[number] = min(first[np.int64(some[number] >> shift)], last)
            for number in range(len(some)):
                entry = ahead[number]
                touched[number] = np.int64(low[entry]) ^ vs[entry] ^ reach[entry]
                ahead[number] = place[entry]
            for number in range(len(some)):
                touched[number] = np.int64(high_at[ahead[number]])
        if found > most:
            break
        if key_vs[row] >= greatest:
            continue
        key = key_low[row]
        part = np.int64(key >> shift)
        start, stop = first[part], first[part + 1]
        if stop - start <= _SHORT:  # looking at all of them is quicker than searching
            if found + _SHORT > room:
                rows = np.concatenate((rows, np.empty(room, np.int64)))
                places = np.concatenate((places, np.empty(room, np.int64)))
                room *= 2
            since, until = key_vs[row], key_ve[row]
            for entry in range(start, stop):
                if low[entry] == key and vs[entry] < until and reach[entry] > since:
                    rows[found], places[found] = row, place[entry]
                    found += high_at[place[entry]] == key_high[row]
            continue
        begin, end = start, stop
        while begin < end:  # the key's first entry
            middle = (begin + end) >> 1
            if low[middle] < key:
                begin = middle + 1
            else:
                end = middle
        if begin == stop or low[begin] != key:
            continue
        entry, end = begin, stop
        while begin < end:  # its first entry that starts too late
            middle = (begin + end) >> 1
            if low[middle] == key and vs[middle] < key_ve[row]:
                begin = middle + 1
            else:
                end = middle
        while entry < begin:
            leap = _leap(entry, key_vs[row], reach, len(low))
            if leap > 0:
                entry += leap
                continue
            if reach[entry] > key_vs[row] and high_at[place[entry]] == key_high[row]:
                if found == room:
                    rows = np.concatenate((rows, np.empty(room, np.int64)))
                    places = np.concatenate((places, np.empty(room, np.int64)))
                    room *= 2
                rows[found], places[found] = row, place[entry]
                found += 1
            entry += 1
    return rows[:found].copy(), places[:found].copy()


@inlined
def _leap(entry: int, since: int, reach: Int64s, length: int) -> int:
    """How many entries from here on surely end at or before `since`: 0 or a power of the fanout."""
    leap, level, base, size = 0, 0, 0, length
    while size > 1 and (entry & (_FANOUT - 1)) == 0:
        above = base + size
        entry >>= _FANOUT_BITS
        if reach[above + entry] > since:
            break
        level += _FANOUT_BITS
        leap = 1 << level
        base, size = above, (size + _FANOUT - 1) >> _FANOUT_BITS
    return leap
