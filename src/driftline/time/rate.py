"""A least rate: how far the clocks of all sources advance at least while the arrival clock does.

    at clock c the clock of a source has reached σ  ⇒  at c + w it has reached σ + r · w

So silence itself makes progress: a heartbeat that was due at clock d is greater by r · (c - d) at
clock c. What is kept of a heartbeat is therefore τ - r · d, and r · c is added when it is asked
for. Products are rounded such that a heartbeat is never too great.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from driftline.kernels import inlined
from driftline.model.time import BEGINNING, INFINITY

FARTHEST = 2**61
"""The most that clocks advance: sums with times are checked, sums of two of these fit."""

LATEST = INFINITY - 2
"""The greatest heartbeat: the cti after it is not the end of the stream."""


class Rate(NamedTuple):
    """So many ticks in so many units of the clock; 0 ticks: nothing is known."""

    ticks: int
    units: int

    @staticmethod
    def of(rate: Fraction | int | None) -> Rate:
        """
        >>> Rate.of(Fraction(3, 2)), Rate.of(None)
        (Rate(ticks=3, units=2), Rate(ticks=0, units=1))
        """
        if rate is None:
            return Rate(0, 1)
        if rate <= 0:
            raise ValueError(f"the rate is {rate}: leave it out if none is known")
        exact = Fraction(rate)
        return Rate(exact.numerator, exact.denominator)


@inlined
def advanced(clock: int, ticks: int, units: int) -> int:
    """r · clock, rounded down; far from 0 clocks do not advance."""
    if ticks == 0:
        return 0
    most = FARTHEST // ticks
    whole = clock // units
    if whole >= most:
        return most * ticks
    if whole < -most:
        return -most * ticks
    return whole * ticks + (clock - whole * units) * ticks // units


@inlined
def moved(time: int, by: int) -> int:
    """A heartbeat moved by a distance; one that is not known stays so."""
    if time == BEGINNING:
        return BEGINNING
    if by < 0:
        return time + by if time >= BEGINNING - by else BEGINNING
    return time + by if time <= LATEST - by else max(LATEST, time)
