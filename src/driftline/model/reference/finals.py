"""Finals: only the lifetimes that cannot change any more.

    finals(H, C)           = { (vs, ve, r) ∈ H : ve ≤ C }
    window_finals(H, C, w) = { (w(r) - 1, w(r), r) : (vs, ve, r) ∈ H, vs < w(r) ≤ ve, w(r) ≤ C }

With C the cti of H, a lifetime that has ended by C is final. An answer about a window, which is
over at w(r), is what it is at the last tick before that, and final when C has passed it. No later
event of a valid stream changes either: the result is only ever added to.
"""

from __future__ import annotations

from collections.abc import Iterable

from driftline.model.history import History, Lifetime
from driftline.model.time import INFINITY


def finals(history: History, cti: int) -> History:
    return History(lifetime for lifetime in history if lifetime.ve <= cti)


def window_finals(
    history: History, cti: int, windows: Iterable[tuple[str, int]] = (("window_end", 0),)
) -> History:
    """`windows`: columns, and how long after the time in each a window is over; of several the
    latest counts. A row whose window has no end (it is null) is there when all is final."""
    found = []
    for vs, ve, row in history:
        ends = [row[name] + delay for name, delay in windows if row[name] is not None]
        end = max(ends, default=INFINITY)
        if vs < end <= ve and end <= cti:
            found.append(Lifetime(end - 1, end, row))
    return History(found)
