"""Durations of the arrival clock, which counts milliseconds."""

from __future__ import annotations

from driftline.model.time import INFINITY, TICKS_PER_SECOND
from driftline.plan.durations import Duration, ticks

_PER_MILLISECOND = TICKS_PER_SECOND // 1000

LONGEST = 2**61
"""The longest time on the way, in milliseconds: it can be added to any clock."""


def milliseconds(duration: Duration) -> int:
    """A duration of the arrival clock; a bare number is milliseconds. None is above LONGEST.

    >>> milliseconds("2s"), milliseconds("250ms"), milliseconds(7), milliseconds("inf") == LONGEST
    (2000, 250, 7, True)
    """
    if isinstance(duration, int) or (isinstance(duration, str) and duration.strip().isdigit()):
        return min(ticks(duration, False), LONGEST)
    found = ticks(duration, True)
    return LONGEST if found == INFINITY else -(-found // _PER_MILLISECOND)
