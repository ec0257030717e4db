"""One source while it is read."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from driftline.engine.ingest.dead_letters import DeadLetters, unreadable
from driftline.engine.readers.chunks import chunks
from driftline.engine.readers.inputs import RawEvents, joined_events
from driftline.event_log.bad import BadEvent
from driftline.model.arrays import Int64s
from driftline.model.columns import RETRACT
from driftline.model.time import INFINITY
from driftline.plan.nodes import Source

LEAST_ROWS = 1_000
"""Record batches with fewer rows are put together, if there are several."""


class SourceReader:
    """`read`: the events that were read, without those that were taken but for `taken` of the first
    part; `bad`: the records that could not be read and were not yet reported."""

    def __init__(self, parts: Iterator[RawEvents], schema: pa.Schema) -> None:
        self.chunks, self.schema = parts, schema
        self.read: deque[RawEvents] = deque()
        self.taken = 0
        self.bad: list[BadEvent] = []

    @staticmethod
    def of(source: Source, data: Any, batch: int) -> SourceReader:
        """What reads a source from whatever was given."""
        from driftline.engine.readers.growing import Growing, GrowingReader

        if isinstance(data, Growing):
            return GrowingReader(data, source.schema.arrow)
        return SourceReader(chunks(source, data, batch), source.schema.arrow)

    def is_exhausted(self) -> bool:
        """Whether nothing more comes; an iterator is asked for its next rows to find out."""
        while not self.read:
            events = next(self.chunks, None)
            if events is None:
                return True
            self._take_in(events)
        return False

    def _take_in(self, events: RawEvents) -> None:
        """Add what was read, as one part for each of Arrow's record batches: of a table even a row
        costs what all its columns do."""
        self.bad += events.bad
        payload, first = events.payload, 0
        if payload.num_rows != len(events) or not payload.schema.equals(self.schema):
            batches = [payload]
        else:
            batches = payload.to_batches()
            if len(events) < LEAST_ROWS * (len(batches) - 1):
                batches = payload.combine_chunks().to_batches()
        for rows in batches:
            part = events if len(batches) == 1 else events.slice(first, first + len(rows))
            if len(part):
                self.read.append(part.placed(part.position, rows))
            first += len(rows)

    def next(self, until: int) -> RawEvents | None:
        """The events before a place in arrival order, if there are any."""
        found: list[RawEvents] = []
        while not self.is_exhausted():
            events = self.read[0]
            self._move(int(events.position.searchsorted(until)), found)
            if self.taken or int(events.position[-1]) + 1 >= until:
                break  # without asking for more than is needed
        return joined_events(found) if found else None

    def _move(self, last: int, found: list[RawEvents]) -> None:
        """Take what was not yet taken of the first part, up to a place in it."""
        events = self.read[0]
        if last > self.taken:
            found.append(events.slice(self.taken, last))
        self.taken = last
        if last == len(events):
            self.read.popleft()
            self.taken = 0

    def next_due(self, time: int) -> RawEvents | None:
        """The events whose times, and those of all before them, lie at or before a time."""
        found: list[RawEvents] = []
        while not self.is_exhausted():
            events = self.read[0]
            later = np.flatnonzero(_sync_times(events)[self.taken :] > time)
            self._move(self.taken + int(later[0]) if len(later) else len(events), found)
            if len(later):
                break
        return joined_events(found) if found else None

    @property
    def next_time(self) -> int:
        """The time of the next event; ∞ if there is none."""
        return INFINITY if self.is_exhausted() else int(_sync_times(self.read[0])[self.taken])

    def inserts_only(self) -> bool:
        """Whether all that comes are plain records, of which none is ever taken back."""
        return self.is_exhausted() or not self.read[0].is_log

    @property
    def next_clock(self) -> int:
        """When the next event arrived, if it was read already and that is known."""
        clock = self.read[0].clock if self.read else None
        return INFINITY if clock is None else int(clock[self.taken])

    def with_bad(self, dead: DeadLetters, schema: pa.Schema) -> DeadLetters:
        """Dead letters, and the records that could not be read meanwhile."""
        bad, self.bad = self.bad, []
        return dead.with_more([unreadable(schema, bad)]) if bad else dead


def _sync_times(events: RawEvents) -> Int64s:
    return np.where(events.kind == RETRACT, events.vn, events.vs)
