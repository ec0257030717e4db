"""Recursion: the fixed point of each snapshot.

    Q*(R), at every time:  the least bag s with  s = Q(r, s),  r the snapshots of the inputs R

It is reached from below: s₀ = ∅, sᵢ₊₁ = Q(r, sᵢ), until nothing changes. For SQL's
`base UNION ALL step` that is base + step(base) + step(step(base)) + …; for `UNION`, Q ends in a
distinct. Q must not shrink when s grows, and must come to an end: one that has not after `limit`
rounds is refused. Inside, Q may use every operator whose answer at t depends on t alone; windows
come before the loop. Several names that use each other go round together: s is then one bag for
each of them.

`min` and `max` of s in Q do not only grow with s, but get only better (aggregate selection): the
fixed point is where nothing gets better any more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from driftline.model.history import History
from driftline.model.time import show

LIMIT = 10_000

Body = Callable[..., History]


class NoFixedPoint(ValueError):
    """The recursion did not come to an end."""


def recursive(body: Body, *inputs: History, limit: int = LIMIT) -> History:
    """`body` takes the recursive relation and then the inputs, all of one snapshot."""

    def of_its_own(reached: Mapping[str, History], *external: History) -> History:
        return body(reached["s"], *external)

    return recursive_together({"s": of_its_own}, *inputs, limit=limit)["s"]


def recursive_together(
    bodies: Mapping[str, Body], *inputs: History, limit: int = LIMIT
) -> dict[str, History]:
    """Each body takes the recursive relations by name and then the inputs, all of one snapshot."""
    endpoints = sorted({time for history in inputs for time in history.endpoints})
    answers = {name: History() for name in bodies}
    for start, end in pairwise(endpoints):
        external = [history.clip(start, end) for history in inputs]
        reached = {name: History() for name in bodies}
        for _ in range(limit):
            previous = reached
            reached = {name: body(previous, *external).coalesced() for name, body in bodies.items()}
            if reached == previous:
                break
        else:
            raise NoFixedPoint(
                f"no fixed point after {limit} rounds in the snapshot [{show(start)}, {show(end)})"
            )
        for name, found in reached.items():
            answers[name] += found
    return {name: answer.coalesced() for name, answer in answers.items()}
