"""Coalesce: the lifetimes of a relation of which only the snapshots are known.

    coalesce(H) = { (a, b, r) once for every k ≥ 1 :
                    [a, b) is a longest stretch in which at least k copies of r are alive }
    starts(H)   = { (a, ∞, r) : (a, b, r) ∈ coalesce(H) }
    ends(H)     = { (b, ∞, r) : (a, b, r) ∈ coalesce(H), b < ∞ }

Aggregates, set operators, rank, and outer, semi and anti joins define what is alive when, but leave
open in how many pieces they emit it. An operator that depends on lifetimes, such as a window, comes
after coalesce, which depends on the snapshots alone. A window that looks only at vs needs only the
starts; one that looks only at ve needs the ends, and takes them for its vs.
"""

from __future__ import annotations

from driftline.model.history import History, Lifetime
from driftline.model.time import INFINITY


def coalesce(history: History) -> History:
    return history.coalesced()


def starts(history: History) -> History:
    return History(Lifetime(vs, INFINITY, row) for vs, _, row in coalesce(history))


def ends(history: History) -> History:
    return History(Lifetime(ve, INFINITY, row) for _, ve, row in coalesce(history) if ve < INFINITY)
