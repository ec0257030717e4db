"""B*: what sources guarantee about each other through third ones (section 3.2 of the paper).

    (B * C)[i, j] = (B[i, j] ∪ C[i, j] ∪ ⋃ₖ B[i, k] ⊗ C[k, j])⁻
    (t, δ) ⊗ (t', n', δ') = (t + t', n', δ + δ')

and B* is the power of B that no further product changes.

This takes bounds as statements about the *clocks* of sources: (t, δ) in B[i, k] means that at c + t
the clock of k has reached τ - δ, and a source whose clock has reached σ emits only timestamps
above σ from then on and binds others as if it had emitted σ. Read to the letter, a bound speaks of
emitted tuples alone: a source k that emits nothing then bounds nothing about j, and only B itself
is right.

Bounds that people declare are inclusive, "at most d behind", which is the strict δ = d + 1 in whole
ticks. Through a third source d + d' follows from them, and not the d + d' + 1 that the sum of both
δ stands for: `inclusive` takes off the tick that is counted twice.

A pair that counts tuples may only come last in a composition: "after n tuples of k" is a time that
no pair of B[i, j] can name, because it is not j that is counted. So these are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftline.kernels import compiled
from driftline.model.arrays import Int64s
from driftline.time.bounds import LONGEST, Bounds, needed


def product(first: Bounds, second: Bounds, *, inclusive: bool = False) -> Bounds:
    """B * C as above, computed row by row: it takes the memory of one row's compositions."""
    ends = np.arange(first.sources + 1)
    rows, second_rows = np.searchsorted(first.origin, ends), np.searchsorted(second.origin, ends)
    parts: list[tuple[Int64s, ...]] = [first.pairs, second.pairs]
    for i in range(first.sources):
        row = slice(rows[i], rows[i + 1])
        mine: list[Int64s] = [np.ascontiguousarray(column[row]) for column in first.pairs[1:]]
        entries = np.searchsorted(mine[0], ends)
        found = _compositions(
            mine[0], mine[1], mine[2], mine[3], entries, second_rows, *second.pairs[1:], inclusive
        )
        if len(found[0]):
            parts.append(needed(np.full(len(found[0]), i, np.int64), *found))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return Bounds.from_pairs(
        columns[0], columns[1], columns[2], columns[3], columns[4], latency=first.latency
    )


@compiled
def _compositions(
    middle: Int64s,
    wait: Int64s,
    tuples: Int64s,
    lag: Int64s,
    entries: Int64s,
    rows: Int64s,
    target: Int64s,
    further_wait: Int64s,
    further_tuples: Int64s,
    further_lag: Int64s,
    inclusive: bool,
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """Targets, waits, tuples and lags of a row's compositions that its own pairs do not cover."""
    found = np.empty((4, 64), np.int64)
    count = 0
    for left in range(len(middle)):
        if tuples[left] > 0:
            continue
        for right in range(rows[middle[left]], rows[middle[left] + 1]):
            j, many = target[right], further_tuples[right]
            late = wait[left] + further_wait[right]
            behind = lag[left] + further_lag[right]
            if inclusive and lag[left] > 0 and further_lag[right] > 0:
                behind -= 1
            covered = late > LONGEST or behind > LONGEST  # by nothing at all
            for own in range(entries[j], entries[j + 1]):
                if wait[own] > late:
                    break
                if tuples[own] <= many and lag[own] <= behind:
                    covered = True
                    break
            if covered:
                continue
            if count == found.shape[1]:
                grown = np.empty((4, 2 * count), np.int64)
                grown[:, :count] = found
                found = grown
            found[0, count], found[1, count] = j, late
            found[2, count], found[3, count] = many, behind
            count += 1
    return found[0, :count], found[1, :count], found[2, :count], found[3, :count]


def is_idempotent(bounds: Bounds) -> bool:
    """Whether one product changes nothing: then B is its own closure."""
    return product(bounds, bounds) == bounds


def closure(bounds: Bounds, *, inclusive: bool = False) -> Bounds:
    """B*, by squaring until nothing changes: at most log₂ of the number of sources times, and one.

    >>> from driftline.time.bounds import timed
    >>> entries = {(0, 1): [timed(1, 1)], (0, 2): [timed(1, 3)], (1, 2): [timed(1, 1)]}
    >>> [str(bound) for bound in closure(Bounds.of(entries, [0, 0, 0]))[0, 2]]
    ['(1, 3)', '(2, 2)']
    """
    while True:
        squared = product(bounds, bounds, inclusive=inclusive)
        if squared == bounds:
            return bounds
        bounds = squared


def timeout_reason(closed: Bounds, names: Sequence[str] | None = None) -> str | None:
    """Why a timeout is needed, in one sentence for users; None if it is not. `names`: what sources
    are called, if not by their numbers.

    By theorem 3.3 none is needed if and only if every source bounds every source with a lag of 0.
    Pairs that count tuples do not help here: when all pause there is nothing to count.
    """
    least = np.full((closed.sources, closed.sources), LONGEST + 1, np.int64)
    timed = closed.tuples == 0
    np.minimum.at(least, (closed.origin[timed], closed.target[timed]), closed.lag[timed])
    behind = np.argwhere(least > 0)
    if not len(behind):
        return None
    i, j = (f"source {each}" if names is None else names[each] for each in behind[0].tolist())
    return (
        f"when all sources pause, the last tuples of {i} wait for ever, because {j} is not bound "
        f"to catch up with them: give a timeout"
    )


def needs_timeout(closed: Bounds) -> bool:
    """Whether tuples can be stuck when all sources pause; asked of B*, not of B."""
    return timeout_reason(closed) is not None
