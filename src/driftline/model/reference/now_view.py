"""The now view: the snapshot of an answer at a clock T, as changes.

    view(H, T) = snapshot of H at T

When the history goes from H to H′ and the clock from T to T′ ≥ T, the view changes by

    at T                                    snapshot(H′, T) - snapshot(H, T)
    at every endpoint t of H′ in (T, T′]    snapshot(H′, t) - snapshot(H′, t - 1)

so that `at` never goes back, and the changes up to any time that the clock has passed add up to the
snapshot at that time. What of H′ has changed before T alone does not show.
"""

from __future__ import annotations

from typing import NamedTuple

from driftline.model.history import Bag, History
from driftline.model.row import Row
from driftline.model.time import BEGINNING


class NowChange(NamedTuple):
    """From `at` on so many more copies of a row are there (fewer, if `copies` is negative)."""

    at: int
    copies: int
    row: Row


def now_view(before: History, after: History, clock: int, later: int) -> list[NowChange]:
    """How the view changes, in order of time; at one time, first what goes and then what comes."""
    if later < clock:
        raise ValueError("the clock of a now view never goes back")
    changes = _difference(clock, before.snapshot(clock), after.snapshot(clock))
    shown = after.snapshot(clock)
    for time in after.endpoints:
        if clock < time <= later:
            changes += _difference(time, shown, after.snapshot(time))
            shown = after.snapshot(time)
    return changes


def _difference(at: int, before: Bag, after: Bag) -> list[NowChange]:
    if at == BEGINNING:
        return []  # nothing is alive before time begins
    rows = {*before, *after}
    changes = [NowChange(at, after[row] - before[row], row) for row in rows]
    return sorted((change for change in changes if change.copies), key=lambda each: each.copies > 0)
