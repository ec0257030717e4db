"""A preserved side of a join: its lifetimes come out cut to their runs with, or without, a match.

    out(l) = the runs of l that are of the wanted sort (see `coverage`)

When the side itself changes, the changes are cut. When the other side changes, only a window around
what changes is looked at: matches outside it are the same before and after. Where a run that
differs sticks out of the window, its end is looked for, in steps that grow.

State: the memory of its lifetimes; `memory` says why, and when a cti lets it go.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from driftline.engine.batch import Batch
from driftline.engine.join.coverage import Matches, Past, Runs, differences, runs
from driftline.engine.join.memory import Memory
from driftline.engine.join.side import Side
from driftline.engine.slots import NO_SLOT, Slots
from driftline.model.time import INFINITY

Int64s = NDArray[np.int64]
MatchesWithin = Callable[[Int64s, Int64s, Int64s], Matches]
"""The matches that the lifetimes at some places have from some times up to others."""

Stretches = tuple[Int64s, Int64s, Int64s, Int64s]

_FIRST_STEP = 64
_WIDER = 64
_FURTHEST = 2**64 - 1
"""How far beyond a window is looked for the end of a run: steps of 64 ticks, 64², and so on."""


class Preserved:
    """`holder`: the place of the lifetime that held the cti back when that was last looked at."""

    def __init__(self, side: Side, other: Side, matches: MatchesWithin) -> None:
        self.side = side
        self.other = other
        self.matches = matches
        self.holder = NO_SLOT

    @property
    def memory(self) -> Memory:
        assert self.side.memory is not None
        return self.side.memory

    def cut(self, batch: Batch, matches: Matches, frontier: int) -> tuple[Past, Runs]:
        """The past and the runs of changes of this side."""
        past = self._past(batch, frontier)
        return past, runs(batch.ve, past, matches)

    def _past(self, batch: Batch, frontier: int) -> Past:
        """A change to what started before the frontier shortens a held lifetime, and shares its
        past."""
        past = Past.none(batch.vs)
        old = np.flatnonzero(batch.vs < frontier)
        if len(old) == 0:
            return past
        prints = batch.take(old).row_fingerprints()
        chains, first = Slots().find_or_add(prints.with_numbers(batch.vs[old]))
        place_of_chain = np.full(len(first), NO_SLOT, np.int64)
        places = self.side.find(prints, batch.vs[old], batch.ve[old])
        found = places != NO_SLOT
        place_of_chain[chains[found]] = places[found]
        places = place_of_chain[chains]
        old, places = old[places != NO_SLOT], places[places != NO_SLOT]
        known = self.memory.past(places)
        past.since[old], past.upto[old], past.matched[old] = known.since, known.upto, known.matched
        return past

    def note(self, places: Int64s, past: Past, cut: Runs) -> None:
        """Remember what is to be known of lifetimes that are new."""
        self.memory.set_past(places, past)
        self.memory.set_hold(places, cut, self.other.cti)

    def cut_anew(self, places: Int64s, changed: Matches) -> Stretches:
        """What comes out less and more when the lifetimes at some places get and lose matches
        (`changed`, one for each of `places`): place, start, end, and 1 or -1."""
        affected, one = np.unique(places, return_inverse=True)
        changed = Matches(one, changed.start, changed.end, changed.weight)
        past, ve = self.memory.past(affected), self.side.ve[affected]
        first, last = ve.copy(), past.upto.copy()
        np.minimum.at(first, one, changed.start)
        np.maximum.at(last, one, changed.end)
        start = np.where(first > past.upto, first - 1, past.upto)
        end = np.where(last < ve, last + 1, ve)
        held, window = self.matches(affected, start, end), past.at(start)
        before, after = runs(end, window, held), runs(end, window, held + changed)
        one, begin, until, sign = differences(before, after, self.memory.wanted)
        early = np.flatnonzero((begin == start[one]) & (start > past.upto)[one])
        late = np.flatnonzero((until == end[one]) & (end < ve)[one])
        begin[early] = self._reaching_back(affected[one[early]], begin[early])
        until[late] = self._reaching_on(affected[one[late]], until[late])
        self.memory.update_holds(affected[one], begin, until, sign, self.other.cti)
        return affected[one], begin, until, sign

    def _reaching_back(self, places: Int64s, times: Int64s) -> Int64s:
        """Since when runs that come out, and are under way at some times, have lasted."""
        since, step = times.copy(), _FIRST_STEP
        rows, end = np.arange(len(places)), times
        while len(rows):
            past = self.memory.past(places[rows])
            start = _moved(end, -1, np.minimum(_span(past.upto, end), step))
            cut = runs(end, past.at(start), self.matches(places[rows], start, end))
            last = cut.first[1:] - 1
            goes_on = cut.matched[last] == self.memory.wanted
            since[rows[goes_on]] = cut.start[last[goes_on]]
            unknown = goes_on & (cut.start[last] == start) & (start > past.upto)
            rows, end, step = rows[unknown], start[unknown], min(step * _WIDER, _FURTHEST)
        return since

    def _reaching_on(self, places: Int64s, times: Int64s) -> Int64s:
        """Until when runs that come out, and are under way just before some times, last."""
        until, step = times.copy(), _FIRST_STEP
        rows, start = np.arange(len(places)), times
        while len(rows):
            ve = self.side.ve[places[rows]]
            end = _moved(start, 1, np.minimum(_span(start, ve), step))
            cut = runs(end, Past.none(start), self.matches(places[rows], start, end))
            first = cut.first[:-1]
            goes_on = cut.matched[first] == self.memory.wanted
            until[rows[goes_on]] = cut.end[first[goes_on]]
            unknown = goes_on & (cut.end[first] == end) & (end < ve)
            rows, start, step = rows[unknown], end[unknown], min(step * _WIDER, _FURTHEST)
        return until

    def _runs(self, places: Int64s) -> Runs:
        """All runs since the past."""
        past, ve = self.memory.past(places), self.side.ve[places]
        return runs(ve, past, self.matches(places, past.upto, ve))

    def note_past(self, places: Int64s, frontier: int) -> None:
        """Bring the past up to the frontier, as some matches will go."""
        places = np.unique(places)
        places = places[self.side.ve[places] > frontier]
        since, matched = self._runs(places).at(frontier)
        upto = np.full(len(places), frontier, np.int64)
        self.memory.set_past(places, Past(since, upto, matched))

    def held_back(self, frontier: int) -> int:
        """The least of all holds. While the lifetime that had it last still holds, no other can
        have a lesser one, and there is no need to look at all."""
        side, other_cti, memory, holder = self.side, self.other.cti, self.memory, self.holder
        alive = holder != NO_SLOT and side.weight[holder] != 0 and side.ve[holder] > other_cti
        if alive and memory.hold[holder] < frontier and memory.hold_end[holder] >= other_cti:
            return int(memory.hold[holder])
        places = memory.holding(side.ve, side.weight, other_cti, frontier)
        if len(places) == 0:
            return INFINITY
        outdated = places[memory.hold_end[places] < other_cti]
        if len(outdated):
            memory.set_hold(outdated, self._runs(outdated), other_cti)
        self.holder = int(places[np.argmin(memory.hold[places])])
        return int(memory.hold[self.holder])


def _span(start: Int64s, end: Int64s) -> NDArray[np.uint64]:
    """How long it is from start to end, which may be more than a signed number can say."""
    return end.view(np.uint64) - start.view(np.uint64)


def _moved(time: Int64s, sign: int, step: NDArray[np.uint64]) -> Int64s:
    start = time.view(np.uint64)
    return (start + step if sign > 0 else start - step).view(np.int64)
