"""Finals: what can not change any more, and nothing else.

    finals(H, C)            = { (vs, ve, r) ∈ H : ve ≤ C }
    window_finals(H, C, w)  = { (w(r) - 1, w(r), r) : (vs, ve, r) ∈ H, vs < w(r) ≤ ve, w(r) ≤ C }

With C the cti of H, a lifetime that has ended by C is final. An answer about a window, a row with
the column w = window_end, is what it is at the last tick of its window, and final when C has passed
that. No later event of a valid stream changes either: the result is only ever added to.
"""

from __future__ import annotations

from driftline.model.history import History, Lifetime
from driftline.model.time import INFINITY


def finals(history: History, cti: int) -> History:
    return History(lifetime for lifetime in history if lifetime.ve <= cti)


def window_finals(history: History, cti: int, window_end: str = "window_end") -> History:
    """A row whose window has no end (it is null) is there when all is final."""
    found = []
    for vs, ve, row in history:
        end = row[window_end]
        end = INFINITY if end is None else end
        assert isinstance(end, int)
        if vs < end <= ve and end <= cti:
            found.append(Lifetime(end - 1, end, row))
    return History(found)
