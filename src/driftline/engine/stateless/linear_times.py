"""Times that depend on a lifetime in a straight line, and how far such a window is final.

    Linear(a, b, c)(vs, ve) = a · vs + b · ve + c,  and ∞ where ve = ∞ and b > 0, or c = ∞

Nothing goes past infinity or the beginning.

How far the output is final, when the input is final up to t. Let a window start at s and last d,
both linear, such that start and end do not move back as vs or ve grow. The changes that may still
come are

    inserts of (vs, ve) with vs >= t, and full retracts of such: these touch the output at s(vs, ve)
    retracts from (vs, ve) to (vs, vn) with vs < vn, vn >= t:
        where s does not depend on ve, only the end moves, from s + d(vs, ve) to s + d(vs, vn): the
        output is touched at the later of s(vs) and s(vs) + d(vs, vn), if d depends on ve at all;
        where s depends on ve, one window goes and another comes: at s(vs, vn) and s(vs, ve)

if these windows are not empty (d > 0). The least time that any of them touches is the greatest
correct cti. vs may be any time before vn, since an operator without state does not know which
lifetimes there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING, INFINITY

LARGEST_FACTOR = 1000
"""Beyond it no cti is worked out: the search for a whole number takes as many steps."""


@dataclass(frozen=True, slots=True)
class Linear:
    """a · vs + b · ve + c.

    >>> Linear(1, 0, 5)(3, INFINITY), Linear(0, 1, -2)(3, 9), Linear(-1, 1, 0)(3, 9)
    (8, 7, 6)
    """

    a: int
    b: int
    c: int

    def __post_init__(self) -> None:
        if self.b < 0:
            raise ValueError(f"a time that falls as ve grows has no meaning at ∞: b = {self.b}")

    def __call__(self, vs: int, ve: int) -> int:
        if self.c == INFINITY or (self.b > 0 and ve == INFINITY):
            return INFINITY
        exact = self.a * vs + self.b * ve + self.c
        return max(BEGINNING, min(INFINITY, exact))

    def of(self, vs: Int64s, ve: Int64s) -> Int64s:
        """The same for arrays."""
        if self.c == INFINITY or len(vs) == 0:
            return np.full(len(vs), INFINITY, np.int64)
        if self.b == 0 and self.a == 0:
            return np.full(len(vs), max(BEGINNING, min(INFINITY, self.c)), np.int64)
        if (self.a, self.b, self.c) == (1, 0, 0):
            return vs
        endless = (ve == INFINITY) if self.b > 0 else np.zeros(len(vs), np.bool_)
        finite = np.where(endless, 0, ve) if self.b > 0 else np.zeros_like(ve)
        largest = abs(self.a) * _magnitude(vs) + self.b * _magnitude(finite) + abs(self.c)
        if largest < INFINITY:
            result = self.a * vs + self.b * finite + self.c
        else:
            pairs = zip(vs.tolist(), finite.tolist(), strict=True)
            result = np.array([self(start, end) for start, end in pairs], np.int64)
        result[endless] = INFINITY
        return result


def _magnitude(times: Int64s) -> int:
    return max(abs(int(times.min())), abs(int(times.max())))


def greatest_cti(start: Linear, duration: Linear, t: int) -> int:
    """How far the output is final when the input is up to t; BEGINNING where nothing is.

    >>> greatest_cti(Linear(0, 1, 0), Linear(0, 0, 1), 10)  # a point at the end
    10
    >>> greatest_cti(Linear(1, 0, 5), Linear(-1, 1, 0), 10)  # five later, as long as it was
    15
    """
    if t == INFINITY:
        return INFINITY
    end_a, end_b = start.a + duration.a, start.b + duration.b
    factors = (start.a, start.b, duration.a, duration.b)
    if min(start.a, start.b, end_a, end_b) < 0 or max(map(abs, factors)) > LARGEST_FACTOR:
        return BEGINNING
    if start.c == INFINITY:
        return INFINITY  # all windows start at infinity, and so are empty
    touched = [_by_inserts(start, duration, t), _by_retracts(start, duration, t)]
    earliest = min((time for time in touched if time is not None), default=INFINITY)
    return max(BEGINNING, min(INFINITY, earliest))


def _by_inserts(start: Linear, duration: Linear, t: int) -> int | None:
    """The least s(vs, ve) with vs >= t, ve > vs, d(vs, ve) > 0; None if there is none.

    With vs = t + u and ve = vs + 1 + w, a step of u costs a + b and lengthens the window by
    duration.a + duration.b, a step of w costs b and lengthens it by duration.b.
    """
    nearest = start.a * t + start.b * (t + 1) + start.c
    if duration.c == INFINITY:
        return nearest
    missing = 1 - (duration.a * t + duration.b * (t + 1) + duration.c)
    if missing <= 0 or (start.b == 0 and duration.b > 0):
        return nearest
    cost_u, cost_w = start.a + start.b, start.b
    gain_u, gain_w = duration.a + duration.b, duration.b
    if gain_u <= 0 and gain_w <= 0:
        return None
    if gain_w <= 0:
        return nearest + cost_u * _up(missing, gain_u)
    if gain_u <= 0:
        return nearest + cost_w * _up(missing, gain_w)
    # gain_w steps of u are worth gain_u steps of w: of the dearer kind, fewer than that are enough
    tries = [cost_u * u + cost_w * max(0, _up(missing - gain_u * u, gain_w)) for u in range(gain_w)]
    tries += [
        cost_w * w + cost_u * max(0, _up(missing - gain_w * w, gain_u)) for w in range(gain_u)
    ]
    return nearest + min(tries)


def _by_retracts(start: Linear, duration: Linear, t: int) -> int | None:
    """The least time that shortening a lifetime to vn >= t touches; None if there is none, and
    BEGINNING if there is no least one."""
    if start.b == 0:
        if duration.b == 0 or duration.c == INFINITY:
            return None
        if start.a > 0 and start.a + duration.a > 0:
            return BEGINNING  # the earlier vs, the earlier both ends
        if start.a > 0:
            return duration.b * t + start.c + duration.c
        if duration.a > 0:
            return start.c
        return max(start.c, start.c + duration.b * t + duration.c)
    return _by_moved_windows(start, duration, t)


def _by_moved_windows(start: Linear, duration: Linear, t: int) -> int | None:
    """The least s(vs, x) with vs < x, x >= t, d(vs, x) > 0, where s depends on x."""
    if duration.c == INFINITY:
        return BEGINNING if start.a > 0 else start.b * t + start.c
    needed = 1 - duration.c  # duration.a · vs + duration.b · x has to come to this
    if duration.a <= 0:
        if duration.a == duration.b == 0 and needed > 0:
            return None
        if start.a > 0:
            return BEGINNING
        first = max(t, _up(needed, duration.b)) if duration.b > 0 else t
        return start.b * first + start.c
    # from here on a later vs makes the window longer, and vs = x - 1 is the latest
    first = max(t, _up(needed + duration.a, duration.a + duration.b))
    if start.a == 0:
        return start.b * first + start.c
    if start.a * duration.b > start.b * duration.a:
        return BEGINNING  # ever earlier vs and ever later x
    # moving x by duration.a and vs back by duration.b changes no duration and never gains
    return min(
        start.a * _up(needed - duration.b * x, duration.a) + start.b * x + start.c
        for x in range(first, first + duration.a)
    )


def _up(number: int, step: int) -> int:
    """number / step, rounded up."""
    return -(-number // step)
