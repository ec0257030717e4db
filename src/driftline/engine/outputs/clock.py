"""The clock of the now view: which time it is.

    latest    the greatest time that any source has shown, by a row, a heartbeat or a cti
    final     the last time of which nothing can change any more, which is a tick before the cti
    wall      the time of day, for streams of TIMESTAMPs

A clock never goes back, and ∞ is no time that comes: when the inputs have ended, `latest` stays
where it is, and `final` comes to the same time, since all is final.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from driftline.model.time import BEGINNING, INFINITY

if TYPE_CHECKING:
    from driftline.engine.core.batch import Batch
    from driftline.plan.choices import Clock

NANOSECONDS = 1000
"""How many of them are a tick of a stream of TIMESTAMPs."""


def wall_time() -> int:
    """The time of day, as the ticks of a stream of TIMESTAMPs."""
    return time.time_ns() // NANOSECONDS


def latest(batches: Iterable[Batch], before: int = BEGINNING) -> int:
    """The greatest time that batches of the sources show, or the one that was shown before."""
    shown = (each for batch in batches for each in (batch.high, batch.cti) if each < INFINITY)
    return max([before, *shown])


def reached(clock: Clock, now: int, cti: int) -> int:
    """What the clock of a view shows: `now` is the time that has come, `cti` that of the answer."""
    if clock != "final" or cti == INFINITY:
        return now
    return BEGINNING if cti == BEGINNING else cti - 1
