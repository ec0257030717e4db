"""Clip: lifetimes cut at a time that each row says itself.

    until(H, t) = { (vs, min(ve, t(r)), r) : (vs, ve, r) ∈ H, vs < t(r) }
    since(H, t) = { (max(vs, t(r)), ve, r) : (vs, ve, r) ∈ H, t(r) < ve }

t(r) is a column plus a number of ticks; a row whose column is null vanishes.

State: none. Each signed lifetime is cut by itself: two of one row are cut at the same time, so that
a retraction of what comes after it changes nothing. A cti goes on as it came: nothing is moved to
an earlier time.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch, latest_start
from driftline.engine.core.operator import Operator
from driftline.engine.stateless.alter_lifetime import plus
from driftline.model.time import BEGINNING


class Clip(Operator):
    """Cuts the lifetime of every row at the time in its column `bound`, plus `delay`: what is
    before that is left (`until`), or what is after it."""

    uses_state = False
    sets_ends = True

    def __init__(self, schema: pa.Schema, bound: str, delay: int, *, until: bool) -> None:
        super().__init__(schema)
        self.bound = bound
        self.delay = delay
        self.until = until

    def process(self, port: int, batch: Batch) -> Batch:
        if len(batch) == 0:
            return replace(batch, high=BEGINNING)
        times = batch.payload.column(self.bound).cast(pa.int64())
        known = times.is_valid().to_numpy(zero_copy_only=False)
        given = times.fill_null(0).to_numpy(zero_copy_only=False)
        at = plus(given, np.full(len(given), self.delay, np.int64))
        start, end = batch.vs, batch.ve
        if self.until:
            end = np.minimum(end, at)
        else:
            start = np.maximum(start, at)
        there = np.flatnonzero(known & (start < end))
        clipped = replace(batch, vs=start, ve=end)
        if len(there) < len(batch):
            clipped = clipped.take(there)
        return replace(clipped, high=latest_start(clipped.vs, clipped.weight)).consolidated()
