"""Constants as Arrow scalars."""

from __future__ import annotations

import pyarrow as pa

from driftline.engine.expressions.arrays import Scalar, is_counted_in_longs
from driftline.plan.expressions import Literal
from driftline.plan.types import DATE, INTERVAL_MONTHS


def scalar_of(literal: Literal) -> Scalar:
    """The Arrow scalar of a constant."""
    kind, value = literal.kind, literal.value
    if value is None:
        return pa.scalar(None, kind)
    if kind == INTERVAL_MONTHS:
        return pa.scalar(pa.MonthDayNano((value, 0, 0)), kind)
    if kind == DATE:
        return pa.array([value], pa.int32()).view(kind)[0]
    if is_counted_in_longs(kind):
        return pa.array([value], pa.int64()).view(kind)[0]
    return pa.scalar(value, kind)
