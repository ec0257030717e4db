"""Now-marks that wait at their sources for rows, when operators have their turns in order.

By itself a mark is work of its own; with rows it is nearly none. A graph that has little to do
lets marks in at once. In one that is busy the next rows are not far, and what comes while it works
on a mark is late by that, and so is all that comes before its queues are empty again: there marks
wait as long as rows are in any queue, and then for some turns more, in which rows probably come.

How busy a graph is, is the share b of the turns after one with rows that have rows, too, by a
moving average. So it is expected to go on with rows for b / (1 - b) turns: what a mark costs others
grows with that, and what it gains does not. Marks wait for the next rows hardly at all while that
is about 1 or less, and soon for long where it is more. No mark waits for more than `LONGEST` turns:
a stream that is silent beside a busy one is heard, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftline.engine.state.fields import Arrays
from driftline.model.time import BEGINNING

RATE = 0.05
"""The weight of the latest turn in the moving average."""
PATIENCE, STEEPNESS = 1.25, 3
"""In PATIENCE · (b / (1 - b)) ** STEEPNESS turns without rows marks wait. Of what was tried, this
keeps answers from being later than without marks, or with marks that do not wait, both where
operators have much to do and where they have little (`make bench ARGS=now`)."""
LONGEST = 64


class HeldMarks:
    """`times`: of sources, how far time has come in a mark that waits; `turns`: for how many turns
    these have brought no rows; `busy`: the moving average; `idle`: the turns since there were
    rows."""

    def __init__(self) -> None:
        self.times: dict[str, int] = {}
        self.turns: dict[str, int] = {}
        self.busy, self.idle = 0.0, 1

    @property
    def patience(self) -> int:
        """In how many turns without rows marks wait; 0: in those with rows neither."""
        calm = 1 - self.busy
        if calm <= 0:
            return LONGEST
        return int(min(PATIENCE * (self.busy / calm) ** STEEPNESS, LONGEST))

    def hold(self, source: str, time: int) -> None:
        self.times[source] = max(time, self.times.get(source, BEGINNING))

    def rows_came(self, source: str, time: int) -> None:
        """Rows have come from a source, and with them how far time has come."""
        self.turns.pop(source, None)
        if self.times.get(source, BEGINNING) <= time:
            self.times.pop(source, None)

    def take(self, source: str) -> int | None:
        """The mark of a source that waits no longer, if there is one."""
        self.turns.pop(source, None)
        return self.times.pop(source, None)

    def due(self, has_rows: bool) -> list[str]:
        """The sources whose marks wait no longer, in a turn that begins; `has_rows`: whether there
        are any to work on."""
        if has_rows:
            self.busy += RATE * ((self.idle == 0) - self.busy)
            self.idle = 0
        else:
            self.idle += 1
        waits = 0 < self.patience >= self.idle
        for source in self.times:
            self.turns[source] = self.turns.get(source, 0) + 1
        return [each for each in self.times if not waits or self.turns[each] >= LONGEST]

    def clear(self) -> None:
        self.times.clear()
        self.turns.clear()

    def snapshot(self, sources: Sequence[str]) -> Arrays:
        """Nothing, if all is as it was at the beginning."""
        if not self.times and self.busy == 0 and self.idle > 0:
            return {}
        times = [self.times.get(each, BEGINNING) for each in sources]
        turns = [self.turns.get(each, 0) for each in sources]
        return {
            "waiting": np.array([times, turns], np.int64),
            "busy": np.array([self.busy, self.idle]),
        }

    def restore(self, sources: Sequence[str], stored: Arrays) -> None:
        times, turns = stored["waiting"].tolist()
        self.times = {
            name: time for name, time in zip(sources, times, strict=True) if time > BEGINNING
        }
        self.turns = {name: each for name, each in zip(sources, turns, strict=True) if each}
        busy, idle = stored["busy"].tolist()
        self.busy, self.idle = busy, int(idle)
