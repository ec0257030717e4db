"""Consistency: the two numbers that place a query between waiting and correcting.

    consistency(block, remember)(S) = Align_block(Finalize_remember(S))

    strong   block = ∞                    waits until all is final: never speculates
    middle   block = 0, remember = ∞      answers at once, corrects for ever
    weak     block = 0, remember small    answers at once, corrects for a while

and everything between: with a `block` of at least the real disorder, what comes out is in order,
and nothing is taken back but what the source itself took back later than that.

The two stand at a source, one after the other; no other operator knows of them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.align import Align, Clock
from driftline.engine.finalize import Finalize, Promises
from driftline.engine.source_time import SourceTime


def consistency(
    schema: pa.Schema,
    block: int,
    remember: int,
    *,
    clock: Clock = "application",
    inserts_only: bool = False,
) -> tuple[Finalize, Align]:
    """The operators to put at a source, in this order."""
    return Finalize(schema, remember, inserts_only=inserts_only), Align(schema, block, clock)


def promised(time: SourceTime, before: NDArray[np.int64], align: Align) -> Promises | None:
    """What the arrival of events promises to Finalize; a guess goes to Align instead."""
    if time.is_guess:
        align.guess = max(align.guess, time.cti)
        return None
    return Promises(before, time.cti)
