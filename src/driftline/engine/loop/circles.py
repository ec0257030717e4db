"""Rounds that repeat themselves: UNION ALL over rows that lead back to themselves.

Where a bag is derived from one use of its name by joins with inputs from outside alone, what goes
round next is a function of what goes round now. If that is what went round before, it does so for
ever, and needs not be followed up to the limit of levels. One round is remembered, from a power of
two to the next (Brent's algorithm), so that a circle of n levels is found within about 3 n.
"""

from __future__ import annotations

import numpy as np

from driftline.engine.core.batch import Batch
from driftline.engine.state.fingerprints import fingerprints

FIRST_LEVEL = 64
"""Loops that are not deeper cost nothing."""


class Circles:
    """`level`, `key`: of the round that is remembered."""

    def __init__(self) -> None:
        self.level, self.key = 0, (0, 0, 0)

    def start(self) -> None:
        """Forget, as inputs have changed."""
        self.level = 0

    def repeated(self, output: Batch, level: int) -> int | None:
        """The level of an earlier round that was the same as this one, if that is known; `output`:
        all that goes round, with the level as last column."""
        if level < FIRST_LEVEL:
            return None
        prints = fingerprints(output.payload.columns[:-1], len(output))
        prints = prints.with_numbers(output.vs, output.ve, output.weight)
        key = (len(output), int(np.sum(prints.low)), int(np.sum(prints.high)))
        if self.level and key == self.key:
            return self.level
        if level >= 2 * self.level:
            self.level, self.key = level, key
        return None
