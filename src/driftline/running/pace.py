"""Replaying inputs that have an end at the pace at which they came.

An event is read when a clock has come to its time. The clock starts at the first event, and runs so
many times as fast as the time of day; of a stream whose time is a number, a tick is a second. While
nothing is due, the time still passes: a step without events lets rows leave the answer now.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from driftline.model.time import TICKS_PER_SECOND
from driftline.running.problems import Problem

if TYPE_CHECKING:
    from driftline.engine.local import Run
    from driftline.engine.step_outputs import Outputs

FRAME = 0.1
"""So many seconds pass from one step to the next."""

_SPEED = re.compile(r"(\d+(?:\.\d+)?|\.\d+)x?", re.ASCII)


def speed_of(text: str) -> float:
    """A speed as it is written.

    >>> speed_of("10x"), speed_of("0.5")
    (10.0, 0.5)
    """
    match = _SPEED.fullmatch(text.strip().lower())
    if match is None or not 0 < float(match[1]) < math.inf:
        raise Problem(f"--pace: {text}: give a speed such as 1x or 10x")
    return float(match[1])


def paced(
    run: Run,
    speed: float,
    *,
    timestamps: bool,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Outputs]:
    """What a run emits when its inputs are read at their pace."""
    ticks = speed * (TICKS_PER_SECOND if timestamps else 1)
    first, began = run.next_time(), clock()
    try:
        while first is not None and not run.is_exhausted():
            yield from run.replay_until(first + int((clock() - began) * ticks))
            sleep(FRAME)
        yield from run.end()
    finally:
        run.close()
