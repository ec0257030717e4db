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


class SourceReader:
    """The events that were read and not yet taken, and the records
    that could not be read and were not yet reported."""

    def __init__(self, parts: Iterator[RawEvents]) -> None:
        self.chunks = parts
        self.read: deque[RawEvents] = deque()
        self.bad: list[BadEvent] = []

    @staticmethod
    def of(source: Source, data: Any, batch: int) -> SourceReader:
        """What reads a source from whatever was given."""
        from driftline.engine.readers.growing import Growing, GrowingReader

        if isinstance(data, Growing):
            return GrowingReader(data)
        return SourceReader(chunks(source, data, batch))

    def is_exhausted(self) -> bool:
        """Whether nothing more comes; an iterator is asked for its next rows to find out."""
        while not self.read:
            events = next(self.chunks, None)
            if events is None:
                return True
            self.bad += events.bad
            if len(events):
                self.read.append(events)
        return False

    def next(self, until: int) -> RawEvents | None:
        """The events before a place in arrival order, if there are any."""
        taken: list[RawEvents] = []
        while not self.is_exhausted():
            events = self.read.popleft()
            last = int(np.searchsorted(events.position, until))
            if last:
                taken.append(events.slice(0, last))
            if last < len(events):
                self.read.appendleft(events.slice(last, len(events)))
                break
            if int(events.position[-1]) + 1 >= until:
                break  # without asking for more than is needed
        return joined_events(taken) if taken else None

    def next_due(self, time: int) -> RawEvents | None:
        """The events whose times, and those of all before them, lie at or before a time."""
        taken: list[RawEvents] = []
        while not self.is_exhausted():
            events = self.read.popleft()
            later = np.flatnonzero(_sync_times(events) > time)
            last = int(later[0]) if len(later) else len(events)
            if last:
                taken.append(events.slice(0, last))
            if last < len(events):
                self.read.appendleft(events.slice(last, len(events)))
                break
        return joined_events(taken) if taken else None

    @property
    def next_time(self) -> int:
        """The time of the next event; ∞ if there is none."""
        return INFINITY if self.is_exhausted() else int(_sync_times(self.read[0])[0])

    def inserts_only(self) -> bool:
        """Whether all that comes are plain records, of which none is ever taken back."""
        return self.is_exhausted() or not self.read[0].is_log

    @property
    def next_clock(self) -> int:
        """When the next event arrived, if it was read already and that is known."""
        clock = self.read[0].clock if self.read else None
        return INFINITY if clock is None else int(clock[0])

    def with_bad(self, dead: DeadLetters, schema: pa.Schema) -> DeadLetters:
        """Dead letters, and the records that could not be read meanwhile."""
        bad, self.bad = self.bad, []
        return dead.with_more([unreadable(schema, bad)]) if bad else dead


def _sync_times(events: RawEvents) -> Int64s:
    return np.where(events.kind == RETRACT, events.vn, events.vs)
