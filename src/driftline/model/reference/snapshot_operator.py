"""Snapshot operators: those whose answer at t is a function of what is alive at t.

    o(H₁, …, Hₙ) = ⋃ over neighbouring endpoints v, w of all inputs of
                       { (v, w, r) : r ∈ ⊗(snapshots of H₁, …, Hₙ during [v, w)) }

⊗ is what the operator does to one snapshot. It is not asked about a snapshot in which nothing is
alive on any input: no row is produced for an empty snapshot. The result is compared snapshot by
snapshot, so it is given coalesced.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from driftline.model.history import Bag, History, Lifetime


def snapshot_operator(operate: Callable[..., Bag], *inputs: History) -> History:
    """`operate` takes, for each input, the list of lifetimes alive, and returns a bag of rows."""
    endpoints = sorted({time for history in inputs for time in history.endpoints})
    answer: list[Lifetime] = []
    for start, end in pairwise(endpoints):
        alive = [history.alive(start) for history in inputs]
        if any(alive):
            answer += [Lifetime(start, end, row) for row in operate(*alive).elements()]
    return History(answer).coalesced()
