"""When the events of a source come: the ctis that follow from its bounds, or a guess.

    promised(e)  the cti in force when the event e came: the heartbeat of all that came before it,
                 one tick later. What is before it is late, and a dead letter.
    guess        of a source without bounds: nothing before it is still to come, as far as can be
                 told. It ends the waiting in Align, unless that waits for what is final, and
                 promises nothing.

Bounds that need no clock go by the order of arrival, whatever the clock shows. For the others, and
for guesses, the arrival clock is that of the events (in milliseconds), if they have one. Else
guesses go by the order of arrival, too (and there is no timeout), and for bounds time stands still:
a file that is read tells nothing of when its records came.

Where bounds are declared by source, the sources are those that they name. A record of another one
is judged as all are, but tells nothing: nothing waits for its source, nor goes by it.

State: see `driftline.time`; and the sources by their names.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.ingest.arrivals import EventTimes
from driftline.engine.ingest.generators import Generator, generator
from driftline.engine.state.fields import Fields, Stateful
from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.slots import NO_SLOT, Slots
from driftline.engine.state.stored_rows import rows_from_bytes, rows_to_bytes
from driftline.model.arrays import Int64s
from driftline.model.columns import CTI, EXTERNAL_CTI, INSERT, RETRACT
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.timing import Timing
from driftline.time.arrivals import NO_SOURCE, STRANGER
from driftline.time.describe import Description
from driftline.time.estimate import Estimated

NO_CLOCK = -(2**63)
"""The clock of an event that has none."""

FARTHEST_CLOCK = 2**61
"""From 0, forward or back: sums of clocks and durations are 64-bit numbers."""


class SourceTime(Stateful):
    """`came`: how many events; `names`: a row for every source, in the order they were first heard.

    `is_guess`: heartbeats are guessed, not promised; `by_order`: they go by the order of arrival.
    `now`: the time of the heartbeats; `shown`: what the arrival clock has shown, if there is one.
    `strangers`: how many events were of sources that the bounds do not name.
    """

    fields = Fields(
        keys="slots",
        numbers=("came", "strangers", "now", "shown"),
        arrays=("named",),
        parts=("heartbeats",),
    )

    def __init__(self, timing: Timing) -> None:
        self.timing = timing
        self.is_guess = not timing.is_promised
        self.by_order = not (self.is_guess or timing.needs_clock or timing.arrival is not None)
        self.heartbeats: Generator = generator(timing)
        self.slots = Slots()
        self.names: list[pa.Array] = []
        self.came = self.strangers = 0
        self.now = self.shown = NO_CLOCK

    def take(
        self, events: EventTimes, sources: pa.Array | None = None, clock: Int64s | None = None
    ) -> Int64s:
        """Events in order of arrival, with their sources and the arrival clock if these have any.
        Returns the cti that was in force when each came.

        A source is heard when it inserts or retracts, a stream also by its ctis. An insert shows
        how far its source is. A retract does so only up to the greatest time that others have
        shown: it may name an end that lies in the future."""
        before = np.full(len(events.kind), BEGINNING, np.int64)
        heard = self._heard(events)
        if not len(heard):
            return before
        kind = events.kind[heard]
        times = np.where(kind == RETRACT, events.vn[heard], events.vs[heard])
        clocks = self._clocks(len(heard), None if clock is None else clock[heard])
        counts = reached = None
        if (kind == INSERT).all():
            numbers = self._numbers(sources, heard)
            if self.timing.bounds is not None:
                reached = times
        else:
            changes = kind <= RETRACT
            numbers = np.full(len(heard), 0 if self.timing.apart_by is None else NO_SOURCE)
            numbers[changes] = self._numbers(sources, heard[changes])
            counts = changes.astype(np.int64)
            known = (kind == INSERT) & (numbers != STRANGER)
            shown = np.where(known, times, self.heartbeats.highest)
            reached = np.minimum(times, np.maximum.accumulate(shown))
            reached[kind == INSERT] = times[kind == INSERT]
        before[heard] = _ctis(self.heartbeats.arrive(clocks, numbers, times, counts, reached))
        self.came += len(heard)
        self.strangers += int(np.count_nonzero(numbers == STRANGER))
        self.now = max(self.now, int(clocks[-1]))
        return before

    def _heard(self, events: EventTimes) -> Int64s:
        """The places of those that tell when something came: what is malformed tells nothing, and
        neither does the end of the input. Of what is guessed all are inserts."""
        kind, vs, ve, vn = events.kind, events.vs, events.ve, events.vn
        heard = (kind == INSERT) & (vs < ve)
        if not self.is_guess and (kind != INSERT).any():
            heard |= (kind == RETRACT) & (vs <= vn) & (vn < ve)
            heard |= (kind == CTI) & (vs < INFINITY)
            heard |= (kind == EXTERNAL_CTI) & (vs < ve) & (vn >= 0)
        return np.flatnonzero(heard)

    def take_moment(
        self, times: Int64s, counts: Int64s, sources: pa.Array | None, clock: int | None = None
    ) -> None:
        """Inserts that came at one moment, after which there is another: times, and how many had
        each (see `time.estimate.summary`)."""
        if clock is not None:
            clock = min(max(clock, -FARTHEST_CLOCK), FARTHEST_CLOCK)
            self.shown = max(self.shown, clock)
        if clock is None or self.by_order:
            clock = int(self._ordinals(1)[0])
        self.now = max(self.now, clock)
        numbers = self._numbers(sources, np.arange(len(times)))
        reached = None if self.timing.bounds is None else times
        self.heartbeats.arrive(self.now, numbers, times, counts, reached)
        self.came += int(counts.sum())
        self.strangers += int(counts[numbers == STRANGER].sum())
        self.heartbeats.close(self.now)

    @property
    def clock(self) -> int:
        """What the arrival clock shows that streams share: the "at" of a log, or the time of
        micro-batches. A column of a stream's own is a clock for its rows alone: those of another
        stream may be read long before the rows that came at the same time, or long after."""
        return self.shown if self.timing.arrival is None else NO_CLOCK

    def advance(self, now: int) -> None:
        """The arrival clock that streams share has come to `now`: all that came before has come."""
        if self.timing.needs_clock and NO_CLOCK < self.clock < now:
            self.now = self.shown = now
            self.heartbeats.close(now - 1)

    @property
    def cti(self) -> int:
        """What is promised, or guessed, of all that comes from now on."""
        by_order = not self.timing.needs_clock or (self.is_guess and self.shown == NO_CLOCK)
        if by_order and self.came and self.timing.arrival is None:
            return _cti(self.heartbeats.close(self.now))  # the next one comes later
        return _cti(self.heartbeats.in_force)

    def describe(self) -> Description:
        return self.heartbeats.describe(self.now if self.came else 0)

    def learned(self) -> dict[str, int]:
        """What is guessed, if anything is: how far records are out of order and behind the latest,
        and from how many that was learned."""
        guesses = self.heartbeats
        if not isinstance(guesses, Estimated) or guesses.in_force == BEGINNING:
            return {}
        return {
            "guessed_disorder": guesses.disorder,
            "guessed_skew": guesses.skew,
            "learned_from": self.came,
        }

    def source_names(self) -> list[str]:
        """What the sources are called, by number."""
        if self.timing.bounds is not None:
            return list(self.timing.bounds.names)
        if self.timing.apart_by is None:
            return ["all"]
        values = [value for part in self.names for value in part.to_pylist()]
        return ["null" if value is None else str(value) for value in values]

    def _clocks(self, count: int, clock: Int64s | None) -> Int64s:
        if clock is None:
            return self._ordinals(count)
        known = np.clip(clock, -FARTHEST_CLOCK, FARTHEST_CLOCK)
        known[clock == NO_CLOCK] = NO_CLOCK
        self.shown = max(self.shown, int(known.max(initial=NO_CLOCK)))
        if self.by_order:
            return self._ordinals(count)
        if self.now == NO_CLOCK:  # what has no clock of its own came with the first that has
            there = known[known > NO_CLOCK]
            self.now = int(there[0]) if len(there) else 0
        return np.maximum(np.maximum.accumulate(known), self.now)

    def _ordinals(self, count: int) -> Int64s:
        """What goes for a clock of events that have none."""
        if isinstance(self.heartbeats, Estimated):
            self.heartbeats.timeout = None  # an order has no milliseconds
        elif self.timing.needs_clock:
            return np.zeros(count, np.int64)
        return np.arange(self.came, self.came + count)

    def _numbers(self, sources: pa.Array | None, rows: Int64s) -> Int64s:
        """The numbers of the sources of some rows."""
        if self.timing.apart_by is None or sources is None:
            return np.zeros(len(rows), np.int64)
        if len(rows) < len(sources):
            sources = sources.take(pa.array(rows))
        if isinstance(sources, pa.ChunkedArray):
            sources = sources.combine_chunks()
        if self.timing.bounds is not None:
            return self._named(sources)
        numbers, new = self.slots.find_or_add(fingerprints([sources], len(rows)))
        if len(new):
            self.names.append(sources.take(pa.array(new)))
        return numbers

    def _named(self, sources: pa.Array) -> Int64s:
        """The numbers of sources by the bounds that name them."""
        assert self.timing.bounds is not None
        if not self.slots.live:
            names = pa.array(self.timing.bounds.names, pa.string()).cast(sources.type)
            self.slots.find_or_add(fingerprints([names], len(names)))
        numbers = self.slots.find(fingerprints([sources], len(sources)))
        numbers[numbers == NO_SLOT] = STRANGER
        return numbers

    @property
    def named(self) -> NDArray[np.uint8]:
        """The names as they are stored."""
        if not self.names:
            return np.empty(0, np.uint8)
        names = pa.concat_arrays(self.names)
        return rows_to_bytes(pa.RecordBatch.from_arrays([names], names=["name"]))

    @named.setter
    def named(self, stored: NDArray[np.uint8]) -> None:
        self.names = [rows_from_bytes(stored).column(0)] if len(stored) else []


def is_watched(timing: Timing, block: int) -> bool:
    """Whether arrivals have to be observed: there are bounds beside a disorder, or an estimate ends
    a finite `block`."""
    return timing.by_source or (timing.heartbeats == "estimate" and 0 < block < INFINITY)


def _cti(heartbeat: int) -> int:
    return heartbeat if heartbeat in (BEGINNING, INFINITY) else heartbeat + 1


def _ctis(heartbeats: Int64s) -> Int64s:
    return np.where(heartbeats == BEGINNING, BEGINNING, heartbeats + 1)
