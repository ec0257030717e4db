"""Answers of shards that are behind: right as far as each of them has come.

At `perfect` and `ordered` an operator emits up to its output watermark τ. On Spark an operator that
stands behind another in its fragment has the watermark of its shard, which may be less than that of
all rows. So for every row there is a τ, at or after the cti of the answer, for which

    perfect   found = truth before τ
    ordered   found = truth before τ, and what it is at τ, with an open end

where `truth` is the answer at `eager`. Where one such operator reads what another has emitted so,
only what is before the cti can be compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from driftline.model.level import Level
from driftline.model.time import INFINITY

if TYPE_CHECKING:
    from driftline.plan.nodes import Node

Lifetime = tuple[int, int]
Lifetimes = Counter[tuple[int, int | None, str]]
"""vs, ve (None: ∞) and the row, as text, and how many of each."""


def is_behind(found: Lifetimes, truth: Lifetimes, level: Level, final: int) -> bool:
    """Whether what was found is a truth as far as it has come, which is `final` at least."""
    emitted, true = _by_row(found), _by_row(truth)
    return all(
        any(
            _steps(emitted.get(row, [])) == _steps(_at(true.get(row, []), level, time))
            for time in _times([*emitted.get(row, []), *true.get(row, [])], final)
        )
        for row in emitted | true
    )


def agree_before(found: Lifetimes, truth: Lifetimes, final: int) -> bool:
    """Whether two answers are the same before a time."""
    emitted, true = _by_row(found), _by_row(truth)
    return all(
        _steps(_before(emitted.get(row, []), final)) == _steps(_before(true.get(row, []), final))
        for row in emitted | true
    )


def is_chained(plan: Node) -> bool:
    """Whether an operator that emits up to its watermark reads what another such has emitted."""
    return sum(node.is_loose and not node.is_stateless for node in plan.walk()) > 1


def _by_row(lifetimes: Lifetimes) -> dict[str, list[Lifetime]]:
    rows: dict[str, list[Lifetime]] = {}
    for vs, ve, row in lifetimes.elements():
        rows.setdefault(row, []).append((vs, INFINITY if ve is None else ve))
    return rows


def _times(lifetimes: Iterable[Lifetime], final: int) -> set[int]:
    """Where a watermark makes a difference."""
    return {final, *(time for each in lifetimes for time in each if time >= final)}


def _before(lifetimes: Iterable[Lifetime], time: int) -> list[Lifetime]:
    return [(vs, min(ve, time)) for vs, ve in lifetimes if vs < time]


def _at(lifetimes: list[Lifetime], level: Level, time: int) -> list[Lifetime]:
    emitted = _before(lifetimes, time)
    if level is Level.ORDERED:
        emitted += [(time, INFINITY) for vs, ve in lifetimes if vs <= time < ve]
    return emitted


def _steps(lifetimes: Iterable[Lifetime]) -> dict[int, int]:
    """By time, how many copies of a row come or go: the same, in whatever pieces it is."""
    steps: Counter[int] = Counter()
    for vs, ve in lifetimes:
        steps[vs] += 1
        steps[ve] -= 1
    return {time: step for time, step in steps.items() if step and time != INFINITY}
