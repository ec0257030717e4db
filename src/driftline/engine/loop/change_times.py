"""When the changes of a batch begin to change anything: the times that punctuation is about.

A retraction takes a lifetime away and brings a shorter one with the same start: nothing changes
before the shorter one ends. So changes are looked at by row and start:

    time of the changes of r that start at vs  =  vs, if their weights do not cancel; else the
                                                  least end among them
"""

from __future__ import annotations

import numpy as np

from driftline.engine.core.batch import Batch, has_removals
from driftline.engine.state.slots import Slots
from driftline.kernels import compiled
from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING, INFINITY


def change_times(batch: Batch) -> tuple[int, int]:
    """The earliest and the latest time at which something may change; (∞, BEGINNING): never."""
    batch = batch.consolidated()
    if len(batch) == 0:
        return INFINITY, BEGINNING
    if not has_removals(batch.weight):
        return int(batch.vs.min()), int(batch.vs.max())
    chains, first = Slots().find_or_add(batch.row_fingerprints().with_numbers(batch.vs))
    times = _times(chains, len(first), batch.vs, batch.ve, batch.weight)
    return int(times.min()), int(times.max())


@compiled
def _times(chains: Int64s, count: int, vs: Int64s, ve: Int64s, weight: Int64s) -> Int64s:
    start, end = np.empty(count, np.int64), np.full(count, INFINITY)
    total = np.zeros(count, np.int64)
    for row in range(len(chains)):
        chain = chains[row]
        start[chain] = vs[row]
        end[chain] = min(end[chain], ve[row])
        total[chain] += weight[row]
    for chain in range(count):
        if total[chain] == 0:
            start[chain] = end[chain]
    return start
