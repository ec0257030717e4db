"""Bounds of common environments: ordered sources, bounded disorder, a global counter, sensors.

All durations of application time are inclusive, as people say them: "up to 5 late" allows exactly
5. A skew bound (t, δ) is strict, so that its lag is one tick more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from driftline.model.arrays import Int64s
from driftline.time.bounds import Bounds, SkewBound

Numbers = Sequence[int] | Int64s


def ordered(latency: Numbers, *, duplicates: bool = True) -> Bounds:
    """Each source emits in timestamp order. Nothing is known between sources.

    >>> str(ordered([0])[0, 0][0]), str(ordered([0], duplicates=False)[0, 0][0])
    ('(0, 1)', '(0, 0)')
    """
    return _diagonal(np.full(len(latency), int(duplicates), np.int64), latency)


def few_duplicates(copies: Numbers, latency: Numbers) -> Bounds:
    """Each source emits in order, and each timestamp at most `copies` times.

    >>> [str(bound) for bound in few_duplicates([3], [0])[0, 0]]
    ['(0, 1)', '(2 tuples, 0)']
    """
    most = np.array(copies, np.int64)
    if len(most) and most.min() < 1:
        raise ValueError("a timestamp comes at least once: give copies of 1 or more")
    every = np.arange(len(latency))
    none = np.zeros(len(latency), np.int64)
    return Bounds.from_pairs(
        np.tile(every, 2),
        np.tile(every, 2),
        np.tile(none, 2),
        np.concatenate([none, most - 1]),
        np.concatenate([none + 1, none]),
        latency=latency,
    )


def disordered(disorder: Numbers, latency: Numbers) -> Bounds:
    """A timestamp of source i may be up to `disorder[i]` below an earlier one of the same source.

    >>> str(disordered([5], [0])[0, 0][0])
    '(0, 6)'
    """
    return _diagonal(np.array(disorder, np.int64) + 1, latency)


def uniform(sources: int, disorder: int, skew: int | None, latency: int) -> Bounds:
    """All sources alike: inside a source `disorder`, between the clocks of two sources `skew`.

    >>> b = uniform(2, disorder=5, skew=10, latency=0)
    >>> str(b[0, 0][0]), str(b[0, 1][0])
    ('(0, 6)', '(0, 16)')
    """
    SkewBound(0, disorder + (skew or 0) + 1)  # which says what is wrong with them
    latencies = np.full(sources, latency, np.int64)
    if skew is None:
        return disordered(np.full(sources, disorder, np.int64), latencies)
    lag = np.full((sources, sources), skew + disorder + 1, np.int64)
    np.fill_diagonal(lag, disorder + 1)
    return _full(np.zeros_like(lag), lag, latencies)


def global_counter(shortest: Numbers, longest: Numbers, latency: Numbers) -> Bounds:
    """Sources that take their timestamps from one counter, and the next when they are done.

    Source i emits a tuple no earlier than `shortest[i]` and no later than `longest[i]` after it
    took its number. So j emits no number below a number of i later than longest[j] -
    shortest[i] after it, nor after having emitted one tuple.

    >>> b = global_counter([1, 2], [5, 9], latency=[0, 0])
    >>> [str(bound) for bound in b[0, 1]], [str(bound) for bound in b[1, 0]]
    (['(1 tuples, 0)', '(8, 0)'], ['(1 tuples, 0)', '(3, 0)'])
    """
    low, high = np.array(shortest, np.int64), np.array(longest, np.int64)
    if len(low) != len(high):
        raise ValueError(f"{len(low)} shortest times and {len(high)} longest: give both for each")
    if (low > high).any() or (low < 0).any():
        raise ValueError("a source has a shortest time below 0 or above its longest: swap them")
    wait = np.maximum(high[None, :] - low[:, None], 0)
    np.fill_diagonal(wait, 0)
    timed = _full(wait, np.zeros_like(wait), latency)
    i, j = np.nonzero(~np.eye(len(low), dtype=bool))
    none = np.zeros(len(i), np.int64)
    return merged(timed, Bounds.from_pairs(i, j, none, none + 1, none, latency=latency))


def sensors(
    deviation: Numbers,
    latency: Numbers,
    *,
    set_back: Numbers | None = None,
    rate: Sequence[int | float | Fraction] | NDArray[np.float64] | None = None,
) -> Bounds:
    """Sources with clocks of their own, at most `deviation[i]` away from one global clock.

    A clock is set back by at most `set_back[i]`: by its deviation if it is always set to the global
    clock, which is the default; a clock that may be set anywhere within its deviation can go back
    by twice that. A rate says how many ticks the clock of a source advances at least in one unit of
    wall-clock time, and makes a timeout unnecessary.

    >>> b = sensors([3, 4], [0, 0], rate=[1, 2])
    >>> [str(bound) for bound in b[0, 1]], [str(bound) for bound in b[1, 1]]
    (['(0, 8)', '(4, 0)'], ['(0, 5)', '(3, 0)'])
    """
    away = np.array(deviation, np.int64)
    apart = away[:, None] + away[None, :]
    np.fill_diagonal(apart, away if set_back is None else np.array(set_back, np.int64))
    lag = apart + 1
    none = np.zeros_like(lag)
    bounds = _full(none, lag, latency)
    if rate is None:
        return bounds
    rates = [Fraction(each) for each in rate]
    if any(each <= 0 for each in rates):
        raise ValueError("a rate is 0 or less: leave out rates that are not known")
    wait = [[math.ceil(int(ticks) / each) for ticks, each in zip(row, rates, strict=True)]
            for row in lag]  # fmt: skip
    return merged(bounds, _full(np.array(wait, np.int64), none, latency))


def merged(first: Bounds, second: Bounds) -> Bounds:
    """Both at once, over the same sources."""
    columns = [np.concatenate(both) for both in zip(first.pairs, second.pairs, strict=True)]
    latency = np.minimum(first.latency, second.latency)
    return Bounds.from_pairs(
        columns[0], columns[1], columns[2], columns[3], columns[4], latency=latency
    )


def _diagonal(lag: Int64s, latency: Numbers) -> Bounds:
    _check_latencies(len(lag), latency)
    every, none = np.arange(len(lag)), np.zeros(len(lag), np.int64)
    return Bounds.from_pairs(every, every, none, none, lag, latency=latency)


def _full(wait: Int64s, lag: Int64s, latency: Numbers) -> Bounds:
    _check_latencies(len(wait), latency)
    i, j = np.indices(wait.shape).reshape(2, -1)
    none = np.zeros(len(i), np.int64)
    return Bounds.from_pairs(i, j, wait.reshape(-1), none, lag.reshape(-1), latency=latency)


def _check_latencies(sources: int, latency: Numbers) -> None:
    if len(latency) != sources:
        raise ValueError(f"{sources} sources have {len(latency)} latencies: give one for each")
