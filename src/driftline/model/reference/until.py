"""Clip: a lifetime is cut where a row of another stream comes.

    until(H, R) = { (vs, min({ve} ∪ {r.vs : r ∈ R, r.vs > vs, on(l, r)}), l) : (vs, ve, l) ∈ H }

Of the other stream only the starts of lifetimes count.
"""

from __future__ import annotations

from driftline.model.history import History, Lifetime
from driftline.model.reference.join import Condition


def until(history: History, other: History, on: Condition) -> History:
    def end(lifetime: Lifetime) -> int:
        later = (
            each.vs
            for each in other
            if each.vs > lifetime.vs and on(lifetime.row, each.row) is True
        )
        return min([lifetime.ve, *later])

    return History(Lifetime(each.vs, end(each), each.row) for each in history)
