"""The earliest change that an operator by level holds back: what it has taken in and not emitted.

    held = { level: the earliest change that waits for it }

What a turn has looked at may wait for a higher level. It is not known which of it does: as long
as anything is left, so is the earliest change that the turn was about.
"""

from __future__ import annotations

import numpy as np

from driftline.engine.core.batch import Batch
from driftline.engine.loop.change_times import change_times
from driftline.engine.loop.levelled import NEVER, Levelled
from driftline.engine.state.fields import Fields, Stateful
from driftline.model.arrays import Int64Table, to_numpy
from driftline.model.time import INFINITY


class Held(Stateful):
    fields = Fields(arrays=("levels_and_times",))

    def __init__(self, operator: Levelled) -> None:
        self.operator = operator
        self.since: dict[int, int] = {}

    def take_in(self, batch: Batch) -> None:
        earliest, _ = change_times(batch)
        for level in np.unique(to_numpy(batch.payload.columns[-1])).tolist():
            self._wait(level, earliest)

    def _wait(self, level: int, time: int) -> None:
        self.since[level] = min(self.since.get(level, INFINITY), time)

    def turned(self, level: int) -> None:
        """The operator has emitted what was due at a level."""
        looked_at = [self.since.pop(each) for each in list(self.since) if each <= level]
        if self.operator.looks_again and looked_at:
            self._wait(self.operator.due(), min(looked_at))
        self.earliest()

    def earliest(self) -> int:
        """The earliest change held back; none is, if nothing is due."""
        if self.operator.due() == NEVER:
            self.since.clear()
        return min(self.since.values(), default=INFINITY)

    @property
    def levels_and_times(self) -> Int64Table:
        return np.array([*self.since.items()], np.int64).reshape(-1, 2)

    @levels_and_times.setter
    def levels_and_times(self, stored: Int64Table) -> None:
        self.since = dict(stored.tolist())
