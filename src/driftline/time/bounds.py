"""Skew bounds between sources, and the latency of their way here.

Source i emits a tuple with timestamp τ at clock c. Then, of what source j emits later:

    timed(t, δ) in B[i, j]      every timestamp after clock c + t is > τ - δ
    counted(n, δ) in B[i, j]    every timestamp after j's first n tuples after clock c is > τ - δ

B[i, i] is the disorder inside a source. A bound with both a wait and tuples means: first wait, then
count; such bounds come out of the closure. A tuple of source i arrives at most L[i] after it was
emitted; the network may change the order.

"Greater" is strict, and so is "after": a tuple emitted at clock c + t itself is not bound. Times
are 64-bit ticks, clocks are integers (milliseconds, say). An entry without a pair bounds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from driftline.kernels import compiled
from driftline.model.arrays import Int64s, Mask

LONGEST = 2**62 - 1
"""The longest wait, lag or latency: a sum of two of them still fits into 64 bits."""


@dataclass(frozen=True, order=True)
class SkewBound:
    """After `wait`, and after `tuples` further tuples of the target, tuples lag less than `lag`."""

    wait: int
    lag: int
    tuples: int = 0

    def __post_init__(self) -> None:
        for name in ("wait", "lag", "tuples"):
            value = getattr(self, name)
            if not 0 <= value <= LONGEST:
                raise ValueError(
                    f"the {name} of a skew bound is {value}: give 0 or more, below 2^62"
                )

    def __str__(self) -> str:
        parts = [str(self.wait)] if self.wait or not self.tuples else []
        parts += [f"{self.tuples} tuples"] if self.tuples else []
        return f"({' + '.join(parts)}, {self.lag})"


def timed(wait: int, lag: int) -> SkewBound:
    """The paper's (t, δ).

    >>> str(timed(2, 5))
    '(2, 5)'
    """
    return SkewBound(wait, lag)


def counted(tuples: int, lag: int) -> SkewBound:
    """The paper's tuple-based (n, δ).

    >>> str(counted(1, 0))
    '(1 tuples, 0)'
    """
    return SkewBound(0, lag, tuples)


@dataclass(frozen=True, eq=False)
class Bounds:
    """The matrix B, without redundant pairs, and the latencies L. Pairs are in flat arrays.

    >>> b = Bounds.of({(0, 1): [timed(1, 3), timed(2, 2), timed(4, 9)]}, latency=[0, 5])
    >>> [str(bound) for bound in b[0, 1]], b[1, 0]
    (['(1, 3)', '(2, 2)'], ())
    """

    origin: Int64s
    target: Int64s
    wait: Int64s
    tuples: Int64s
    lag: Int64s
    latency: Int64s

    @staticmethod
    def of(
        entries: Mapping[tuple[int, int], Iterable[SkewBound]], latency: Sequence[int] | Int64s
    ) -> Bounds:
        """From the entries by (i, j), and the latency of each source."""
        pairs = [
            (i, j, bound.wait, bound.tuples, bound.lag)
            for (i, j), bounds in entries.items()
            for bound in bounds
        ]
        columns = np.array(pairs, np.int64).reshape(-1, 5).T
        return Bounds.from_pairs(*columns, latency=latency)

    @staticmethod
    def from_pairs(
        origin: Int64s,
        target: Int64s,
        wait: Int64s,
        tuples: Int64s,
        lag: Int64s,
        *,
        latency: Sequence[int] | Int64s,
    ) -> Bounds:
        """From pairs in any order, redundant ones among them."""
        latencies = np.array(latency, np.int64).reshape(-1)
        sources = len(latencies)
        if sources and not 0 <= latencies.min() <= latencies.max() <= LONGEST:
            raise ValueError("a latency is negative or too long: give the longest way of a tuple")
        for ends in (origin, target):
            if len(ends) and not 0 <= ends.min() <= ends.max() < sources:
                raise ValueError(f"a bound names a source outside 0..{sources - 1}")
        columns = needed(origin, target, wait, tuples, lag)
        return Bounds(*columns, latency=latencies)

    @property
    def sources(self) -> int:
        return len(self.latency)

    @property
    def pairs(self) -> tuple[Int64s, Int64s, Int64s, Int64s, Int64s]:
        """Origins, targets, waits, tuples, lags; sorted in this order."""
        return self.origin, self.target, self.wait, self.tuples, self.lag

    @property
    def longest(self) -> int:
        """The longest that a pair with any latency can take effect after an arrival."""
        if not len(self.wait):
            return 0
        return int((self.wait + self.latency[self.target]).max())

    def __getitem__(self, entry: tuple[int, int]) -> tuple[SkewBound, ...]:
        i, j = entry
        first, last = np.searchsorted(self.origin, [i, i + 1])
        first += np.searchsorted(self.target[first:last], j)
        last = first + int(np.count_nonzero(self.target[first:last] == j))
        return tuple(
            SkewBound(int(self.wait[at]), int(self.lag[at]), int(self.tuples[at]))
            for at in range(int(first), int(last))
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bounds):
            return NotImplemented
        return np.array_equal(self.latency, other.latency) and all(
            np.array_equal(mine, others)
            for mine, others in zip(self.pairs, other.pairs, strict=True)
        )

    __hash__ = None  # type: ignore[assignment] # arrays

    def __str__(self) -> str:
        lines = []
        for i in range(self.sources):
            for j in range(self.sources):
                if self[i, j]:
                    lines.append(f"{i} → {j}: {', '.join(map(str, self[i, j]))}")
        return "\n".join([*lines, f"latency: {', '.join(map(str, self.latency.tolist()))}"])


def needed(
    origin: Int64s, target: Int64s, wait: Int64s, tuples: Int64s, lag: Int64s
) -> tuple[Int64s, Int64s, Int64s, Int64s, Int64s]:
    """The pairs that are not redundant (S⁻ of every entry), sorted.

    A pair is redundant if its entry has another one with no longer wait, no more tuples and no
    greater lag.
    """
    order = np.lexsort((lag, tuples, wait, target, origin))
    columns = [np.ascontiguousarray(c[order]) for c in (origin, target, wait, tuples, lag)]
    keep = _not_redundant(*columns)
    kept = [column[keep] for column in columns]
    return kept[0], kept[1], kept[2], kept[3], kept[4]


@compiled
def _not_redundant(
    origin: Int64s, target: Int64s, wait: Int64s, tuples: Int64s, lag: Int64s
) -> Mask:
    keep = np.ones(len(origin), np.bool_)
    kept = np.empty(len(origin), np.int64)
    count = entry = 0
    for at in range(len(origin)):
        if origin[at] != origin[entry] or target[at] != target[entry]:
            entry, count = at, 0
        # Sorted by wait: only what was kept before it in its entry can make a pair redundant. The
        # latest has the least lag, unless there are tuples in play; so look from there.
        for other in range(count - 1, -1, -1):
            if tuples[kept[other]] <= tuples[at] and lag[kept[other]] <= lag[at]:
                keep[at] = False
                break
        if keep[at]:
            kept[count] = at
            count += 1
    return keep
