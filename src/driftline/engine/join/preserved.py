"""A preserved side of a join: its lifetimes come out cut to their runs with, or without, a match.

    out(l) = the runs of l that are of the wanted sort (see `coverage`)

When the side itself changes, the changes are cut. When the other side changes, only the time in
which matches change is looked at: before it and after it everything stays as it came out.

State: what has come out of each lifetime that is held (see `emitted`). All of it that a change can
still be about is after the final time, so that matches before that need not be known. Where a match
never ends (`for_good`), a lifetime that is matched when the frontier passes is settled: it is
dropped, and later changes to its end change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from driftline.engine.core.batch import Batch
from driftline.engine.join.coverage import Matches, runs
from driftline.engine.join.emitted import Changes, Emitted
from driftline.engine.join.side import Side
from driftline.engine.state.slots import NO_SLOT, Slots
from driftline.engine.state.trace import END, START
from driftline.model.arrays import Int64s, Int64Table
from driftline.model.time import BEGINNING

MatchesWithin = Callable[[Int64s, Int64s, Int64s], Matches]
"""The matches that the lifetimes at some places have from some times up to others."""


@dataclass(slots=True)
class _Cut:
    """Changes of the side. `again`: the places of those that had been taken back and come again
    (NO_SLOT: none); what comes out of the n-th are the segments bounds[n] … bounds[n + 1] - 1."""

    again: Int64s
    segments: Int64Table
    bounds: Int64s

    def changes(self) -> tuple[Int64s, Int64s, Int64s]:
        """What comes out: the number of the change, start and end."""
        one = np.repeat(np.arange(len(self.again)), np.diff(self.bounds))
        start, end = self.segments[:, START].copy(), self.segments[:, END].copy()
        return one, start, end


class Preserved:
    """`wanted`: whether matched runs come out, or the others; `for_good`: a match never ends."""

    def __init__(
        self, side: Side, matches: MatchesWithin, wanted: bool, for_good: bool = False
    ) -> None:
        self.side, self.matches = side, matches
        self.wanted, self.for_good = wanted, for_good

    @property
    def emitted(self) -> Emitted:
        assert self.side.emitted is not None
        return self.side.emitted

    def cut(self, batch: Batch, matches: Matches, final: int) -> _Cut:
        """The changes of this side, cut to their runs."""
        parents, again = self._parents(batch, final)
        since = np.where(parents == NO_SLOT, batch.vs, np.maximum(batch.vs, final))
        found, bounds = runs(since, batch.ve, matches, self.wanted)
        return _Cut(again, *self.emitted.inherited(parents, found, bounds, final))

    def _parents(self, batch: Batch, final: int) -> tuple[Int64s, Int64s]:
        """The places of the held lifetimes that changes are about: a change to what started before
        the final time shortens one. Of several with the same vs, the longest has all segments. And
        the places of lifetimes that come again: what is known to have come out there is out of
        date."""
        parents, again = (np.full(len(batch), NO_SLOT, np.int64) for _ in range(2))
        is_old = batch.vs < final
        if self.side.identities is None and not is_old.any():
            return parents, again
        prints = batch.row_fingerprints()
        places = self.side.find(prints, batch.vs, batch.ve)
        known = np.flatnonzero(places != NO_SLOT)
        gone = known[self.side.weight.values[places[known]] == 0]
        again[gone], places[gone] = places[gone], NO_SLOT
        old = np.flatnonzero(is_old)
        places = places[old]
        chains, first = Slots().find_or_add(prints.take(old).with_numbers(batch.vs[old]))
        found = np.flatnonzero(places != NO_SLOT)
        found = found[np.argsort(batch.ve[old[found]], kind="stable")]
        place_of_chain = np.full(len(first), NO_SLOT, np.int64)
        place_of_chain[chains[found]] = places[found]
        parents[old] = np.where(places != NO_SLOT, places, place_of_chain[chains])
        return parents, again

    def note(self, places: Int64s, rows: Int64s, cut: _Cut) -> None:
        """Remember what has come out of lifetimes that are new, or come again."""
        again = np.flatnonzero(cut.again != NO_SLOT)
        places, rows = np.append(places, cut.again[again]), np.append(rows, again)
        self.emitted.put(places, rows, cut.segments, cut.bounds)

    def correct(self, places: Int64s, changed: Matches, final: int) -> Changes:
        """What comes out less and more when the lifetimes at some places get and lose matches
        (`changed`, one for each of `places`): place, start, end, and 1 or -1."""
        affected, one = np.unique(places, return_inverse=True)
        changed = Matches(one, changed.start, changed.end, changed.weight)
        start, end = self.side.ve.values[affected], np.full(len(affected), BEGINNING)
        np.minimum.at(start, one, changed.start)
        np.maximum.at(end, one, changed.end)
        start = np.maximum(start, final)
        held = self.matches(affected, start, end)
        found, bounds = runs(start, end, held + changed, self.wanted)
        return self.emitted.corrected(affected, start, end, found, bounds, final)

    def settle(self, places: Int64s, frontier: int) -> None:
        """Drop lifetimes that have a match which began before the frontier, and never ends."""
        places = np.unique(places)
        self.side.take_out(places[self.side.ve.values[places] > frontier])

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
