"""The events of the query benchmarks: generated once, with a fixed seed.

Version A is in order; in version B 10 % come up to 5 s late and 0.1 % a minute late.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

KEYS = 1_000
ITEMS = 1_200
LATE_SHARE, LATE_BY = 0.10, 5_000
VERY_LATE_SHARE, VERY_LATE_BY = 0.001, 60_000


def events(count: int, late: bool, seed: int = 42) -> pa.Table:
    """ts in ms about 1 ms apart, key (mildly Zipf), item, price in quarters, qty; arrival order."""
    random = np.random.default_rng(seed)
    ts = np.cumsum(random.integers(0, 3, count))
    weights = 1.0 / np.arange(1, KEYS + 1) ** 0.5
    table = pa.table(
        {
            "ts": ts,
            "key": random.choice(KEYS, count, p=weights / weights.sum()).astype(np.int64),
            "item": random.integers(0, ITEMS, count),
            "price": random.integers(40, 4_000, count) / 4.0,
            "qty": random.integers(1, 100, count),
        }
    )
    if not late:
        return table
    arrival = ts.astype(np.float64)
    some = random.random(count)
    arrival += np.where(some < LATE_SHARE, random.random(count) * LATE_BY, 0)
    arrival += np.where(some > 1 - VERY_LATE_SHARE, VERY_LATE_BY, 0)
    return table.take(pa.array(np.argsort(arrival, kind="stable")))
