"""Alter lifetime: every kind of window over application time.

    Π_{start, duration}(H) = { (s, s + d, r) : (vs, ve, r) ∈ H, s = start(vs, ve),
                                               d = duration(vs, ve), s < s + d }

    [RANGE d]          sliding     [vs, vs + d)
    [RANGE r SLIDE s]  hopping     from the first multiple of s after vs
                                   to the first multiple of s after vs + r
    [NOW]              now         [vs, vs + 1)
    [UNBOUNDED]        unbounded   [vs, ∞)
    [FROM e FOR d]     the general form

A lifetime that would be empty vanishes, and so does one that would start before all times. Nothing
goes past infinity: ∞ plus or minus anything is ∞, so a lifetime that starts at the end of an
endless one vanishes too; anything else minus ∞ is the least time (`total`, `opposite`, `times` of
`model.time`).

Hopping: the window [T - r, T) is answered during [T, T + s), for every multiple T of s. The row
at vs is in that window iff vs < T <= vs + r, which gives the two multiples above.
"""

from __future__ import annotations

from collections.abc import Callable

from driftline.model.history import History, Lifetime
from driftline.model.time import BEGINNING, INFINITY, plus

TimeFunction = Callable[[int, int], int]
"""A time or a duration from a lifetime's vs and ve."""


def alter_lifetime(history: History, start: TimeFunction, duration: TimeFunction) -> History:
    altered: list[Lifetime] = []
    for vs, ve, row in history:
        new_start = start(vs, ve)
        new_end = plus(new_start, duration(vs, ve))
        if BEGINNING < new_start < new_end:
            altered.append(Lifetime(new_start, new_end, row))
    return History(altered)


def sliding(history: History, size: int) -> History:
    return alter_lifetime(history, lambda vs, ve: vs, lambda vs, ve: size)


def hopping(history: History, size: int, slide: int) -> History:
    if slide <= 0:
        raise ValueError(f"a hopping window needs a slide of at least one tick, not {slide}")

    def duration(vs: int, ve: int) -> int:
        return first_multiple_after(plus(vs, size), slide) - first_multiple_after(vs, slide)

    return alter_lifetime(history, lambda vs, ve: first_multiple_after(vs, slide), duration)


def within(history: History, size: int) -> History:
    """What is left of each lifetime after so long: what conditions on now() leave."""
    return alter_lifetime(
        history,
        lambda vs, ve: vs,
        lambda vs, ve: size if ve == INFINITY else min(size, ve - vs),
    )


def now(history: History) -> History:
    return sliding(history, 1)


def unbounded(history: History) -> History:
    return sliding(history, INFINITY)


def first_multiple_after(time: int, step: int) -> int:
    """The least multiple of `step` that is greater than `time`; infinity past the last one.

    >>> first_multiple_after(10, 5), first_multiple_after(-1, 5), first_multiple_after(INFINITY, 5)
    (15, 0, 9223372036854775807)
    """
    return min(INFINITY, (time // step + 1) * step)
