"""A preserved side of a join: its lifetimes come out cut to their runs with, or without, a match.

    out(l) = the runs of l that are of the wanted sort (see `coverage`)

When the side itself changes, the changes are cut. When the other side changes, only a window around
what changes is looked at: matches outside it are the same before and after. Where a run that
differs sticks out of the window, its end is looked for, in steps that grow.

State: the memory of its lifetimes; see `memory` for why, and for when a cti evicts it. Where a
match never ends (`for_good`), a lifetime that is matched when the frontier passes is settled: it is
dropped, and later changes to its end change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftline.engine.core.batch import Batch
from driftline.engine.join.coverage import Matches, Past, Runs, differences, runs
from driftline.engine.join.memory import Memory, Stretches
from driftline.engine.join.side import Side
from driftline.engine.state.slots import NO_SLOT, Slots
from driftline.model.arrays import Int64s
from driftline.model.time import INFINITY

MatchesWithin = Callable[[Int64s, Int64s, Int64s], Matches]
"""The matches that the lifetimes at some places have from some times up to others."""

_FIRST_STEP = 64
_WIDER = 64
_FURTHEST = 2**64 - 1
"""How far beyond a window is looked for the end of a run: steps of 64 ticks, 64², and so on."""


@dataclass(slots=True)
class Cut:
    """Changes of the side: the places of the lifetimes they shorten (NO_SLOT: none), and of those
    that had been taken back and come again (NO_SLOT: none); their past; and what comes out of them:
    the number of the change, start, end."""

    parents: Int64s
    again: Int64s
    past: Past
    one: Int64s
    start: Int64s
    end: Int64s


class Preserved:
    """`for_good`: a match never ends."""

    def __init__(
        self, side: Side, other: Side, matches: MatchesWithin, for_good: bool = False
    ) -> None:
        self.side = side
        self.other = other
        self.matches = matches
        self.for_good = for_good

    @property
    def memory(self) -> Memory:
        assert self.side.memory is not None
        return self.side.memory

    def cut(self, batch: Batch, matches: Matches, final: int) -> Cut:
        """The changes of this side, cut to their runs."""
        parents, again = self._parents(batch, final)
        past, known = Past.none(batch.vs), np.flatnonzero(parents != NO_SLOT)
        of = self.memory.past(parents[known])
        past.since[known], past.upto[known], past.matched[known] = of.since, of.upto, of.matched
        one, start, end = runs(batch.ve, past, matches).stretches(self.memory.wanted)
        piece, start, end = self.memory.pieces(parents[one], start, end, final)
        return Cut(parents, again, past, one[piece], start, end)

    def _parents(self, batch: Batch, final: int) -> tuple[Int64s, Int64s]:
        """The places of the held lifetimes that changes are about: a change to what started before
        the final time shortens one. Of several with the same vs, the longest knows all seams. And
        the places of lifetimes that come again: what is remembered there is out of date."""
        parents, again = (np.full(len(batch), NO_SLOT, np.int64) for _ in range(2))
        old = np.flatnonzero(batch.vs < final)
        if len(old) == 0:
            return parents, again
        prints = batch.take(old).row_fingerprints()
        chains, first = Slots().find_or_add(prints.with_numbers(batch.vs[old]))
        places = self.side.find(prints, batch.vs[old], batch.ve[old])
        gone = (places != NO_SLOT) & (self.side.weight[places] == 0)
        again[old[gone]] = places[gone]
        places = np.where(gone, NO_SLOT, places)
        found = np.flatnonzero(places != NO_SLOT)
        found = found[np.argsort(batch.ve[old[found]], kind="stable")]
        place_of_chain = np.full(len(first), NO_SLOT, np.int64)
        place_of_chain[chains[found]] = places[found]
        parents[old] = np.where(places != NO_SLOT, places, place_of_chain[chains])
        return parents, again

    def note(self, places: Int64s, rows: Int64s, cut: Cut) -> None:
        """Remember what is to be known of lifetimes that are new, or come again."""
        again = np.flatnonzero(cut.again != NO_SLOT)
        places, rows = np.append(places, cut.again[again]), np.append(rows, again)
        self.memory.set_past(places, cut.past.of(rows))
        self.memory.inherit(places, cut.parents[rows])

    def cut_anew(self, places: Int64s, changed: Matches, final: int) -> Stretches:
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
        return self.memory.emitted(affected, (one, begin, until, sign), final)

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
        upto = np.full(len(places), INFINITY if self.for_good else frontier, np.int64)
        self.memory.set_past(places, Past(since, upto, matched))
        if self.for_good:
            self.side.take_out(places[matched])

    def unsettled(self, batch: Batch, rows: Int64s, final: int) -> Batch:
        """A batch without the changes to lifetimes that are settled. What starts before the final
        time is held, or settled; `rows`: the changes that can be held, as none of their keys is
        null."""
        old = rows[batch.vs[rows] < final]
        if len(old) == 0:
            return batch
        parents, _ = self._parents(batch, final)
        settled = old[parents[old] == NO_SLOT]
        return batch.take(np.delete(np.arange(len(batch)), settled)) if len(settled) else batch


def _span(start: Int64s, end: Int64s) -> NDArray[np.uint64]:
    """How long it is from start to end, which may be more than a signed number can say."""
    return end.view(np.uint64) - start.view(np.uint64)


def _moved(time: Int64s, sign: int, step: NDArray[np.uint64]) -> Int64s:
    start = time.view(np.uint64)
    return (start + step if sign > 0 else start - step).view(np.int64)
