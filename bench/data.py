"""The events of the query benchmarks, with a fixed seed.

Version A is in order; in version B 10 % come up to 5 s late and 0.1 % a minute late.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

KEYS = 1_000
ITEMS = 1_200
LATE_SHARE, LATE_BY = 0.10, 5_000
VERY_LATE_SHARE, VERY_LATE_BY = 0.001, 60_000
CHUNK = 50_000
FAR = 1 << 60


def events(count: int, late: bool, seed: int = 42, keys: int = KEYS) -> pa.Table:
    """ts in ms about 1 ms apart, key (mildly Zipf), item, price in quarters, qty; arrival order."""
    random = np.random.default_rng(seed)
    table, arrival = _generated(random, count, late, 0, keys)
    return table.take(pa.array(np.argsort(arrival, kind="stable"))) if late else table


def stream(count: int, late: bool, seed: int = 42, keys: int = KEYS) -> Iterator[pa.Table]:
    """The same kind of events in chunks, made on the fly, so that they are never held all at once:
    only those that are still on their way."""
    random = np.random.default_rng(seed)
    on_the_way: tuple[pa.Table, np.ndarray] | None = None
    now = 0
    for start in range(0, count, CHUNK):
        table, arrival = _generated(random, min(CHUNK, count - start), late, now, keys)
        now = int(table["ts"][-1].as_py())
        if on_the_way is not None:
            table = pa.concat_tables([on_the_way[0], table])
            arrival = np.concatenate([on_the_way[1], arrival])
        order = np.argsort(arrival, kind="stable")
        limit = now if start + CHUNK < count else FAR
        there = int(np.searchsorted(arrival[order], limit, side="right"))
        yield table.take(pa.array(order[:there]))
        left = order[there:]
        on_the_way = (table.take(pa.array(left)).combine_chunks(), arrival[left])


def _generated(
    random: np.random.Generator, count: int, late: bool, since: int, keys: int
) -> tuple[pa.Table, np.ndarray]:
    """Events in order, and when each arrives."""
    ts = since + np.cumsum(random.integers(0, 3, count))
    weights = 1.0 / np.arange(1, keys + 1) ** 0.5
    table = pa.table(
        {
            "ts": ts,
            "key": random.choice(keys, count, p=weights / weights.sum()).astype(np.int64),
            "item": random.integers(0, ITEMS, count),
            "price": random.integers(40, 4_000, count) / 4.0,
            "qty": random.integers(1, 100, count),
        }
    )
    arrival = ts.astype(np.float64)
    if late:
        some = random.random(count)
        arrival += np.where(some < LATE_SHARE, random.random(count) * LATE_BY, 0)
        arrival += np.where(some > 1 - VERY_LATE_SHARE, VERY_LATE_BY, 0)
    return table, arrival
