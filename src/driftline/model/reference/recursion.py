"""Recursion: the fixed point of each snapshot.

    Q*(R), at every time:  the least bag s with  s = Q(r, s),  r the snapshots of the inputs R

It is reached from below: s₀ = ∅, sᵢ₊₁ = Q(r, sᵢ), until nothing changes. For SQL's
`base UNION ALL step` that is base + step(base) + step(step(base)) + …; for `UNION`, Q ends in a
distinct. Q must not shrink when s grows, and must come to an end: one that has not after `limit`
rounds is refused. Inside, Q may use every operator whose answer at t depends on t alone; windows
come before the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from driftline.model.history import History
from driftline.model.time import show

LIMIT = 10_000


class NoFixedPoint(ValueError):
    """The recursion did not come to an end."""


def recursive(body: Callable[..., History], *inputs: History, limit: int = LIMIT) -> History:
    """`body` takes the recursive relation and then the inputs, all of one snapshot."""
    endpoints = sorted({time for history in inputs for time in history.endpoints})
    answer = History()
    for start, end in pairwise(endpoints):
        external = [history.clip(start, end) for history in inputs]
        reached = History()
        for _ in range(limit):
            previous, reached = reached, body(reached, *external).coalesced()
            if reached == previous:
                break
        else:
            raise NoFixedPoint(
                f"no fixed point after {limit} rounds in the snapshot [{show(start)}, {show(end)})"
            )
        answer += reached
    return answer.coalesced()
