"""Clip: lifetimes cut at a time that each row says itself.

    until(H, t) = { (vs, min(ve, t(r)), r) : (vs, ve, r) ∈ H, vs < t(r) }
    since(H, t) = { (max(vs, t(r)), ve, r) : (vs, ve, r) ∈ H, t(r) < ve }

A row that says no time (null) vanishes. Every snapshot of the output has the rows of that snapshot
of the input for which now < t(r), or t(r) <= now: what a condition on now() asks for.
"""

from __future__ import annotations

from collections.abc import Callable

from driftline.model.history import History, Lifetime
from driftline.model.row import Row

Bound = Callable[[Row], int | None]
"""The time that a row says."""


def clip_until(history: History, bound: Bound) -> History:
    return _clipped(history, bound, lambda vs, ve, at: (vs, min(ve, at)))


def clip_since(history: History, bound: Bound) -> History:
    return _clipped(history, bound, lambda vs, ve, at: (max(vs, at), ve))


def _clipped(
    history: History, bound: Bound, cut: Callable[[int, int, int], tuple[int, int]]
) -> History:
    clipped: list[Lifetime] = []
    for vs, ve, row in history:
        at = bound(row)
        start, end = (vs, vs) if at is None else cut(vs, ve, at)
        if start < end:
            clipped.append(Lifetime(start, end, row))
    return History(clipped)
