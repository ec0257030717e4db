"""Times that are computed from lifetimes that may have no end.

    ∞ is the largest number:  comparisons, least, greatest, CASE and the like need no more
    +, -, · and abs           are those of `model.time` (`total`, `opposite`, `times`)
    any other function        of ∞ is ∞; of DOUBLEs it is that of the infinite DOUBLE

Where arithmetic is not at an infinity, it goes no farther than to one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa

from driftline.engine.expressions.arrays import Array, Value, both_valid, from_numbers, numbers
from driftline.engine.expressions.registry import kernel
from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING, INFINITY, times
from driftline.plan.expressions import Call, Case, Cast, Expression, Literal
from driftline.plan.types import BIGINT, BOOLEAN, DOUBLE

ARITHMETIC = {"add", "subtract", "multiply", "negate", "abs"}
CHOICES = {"least", "greatest", "coalesce"}
"""Functions whose value is one of their arguments."""

FAR = 2.0**62
"""A product of floats that is less has one of whole numbers that fits into 64 bits."""


def with_infinity(value: Expression) -> Expression:
    """The expression over vs and ve that also holds where ve is ∞."""
    return value.transform(_with_infinity)


def _with_infinity(part: Expression) -> Expression:
    if "ve" not in part.columns():
        return part
    if isinstance(part, Cast):
        return _cast(part)
    if not isinstance(part, Call) or part.kind != BIGINT or part.function in CHOICES:
        return part
    if part.function in ARITHMETIC:
        return Call(f"endless_{part.function}", part.args, BIGINT)
    return _case([(_is(arg, _ENDLESS[arg.type]), INFINITY) for arg in part.args
                  if arg.type in _ENDLESS], part)  # fmt: skip


def _cast(part: Cast) -> Expression:
    (value,) = part.children
    if value.type == BIGINT and part.kind == DOUBLE:
        return _case([(_is(value, INFINITY), inf), (_is(value, BEGINNING), -inf)], part)
    if value.type == DOUBLE and part.kind == BIGINT:
        return _case([(_is(value, inf), INFINITY), (_is(value, -inf), BEGINNING)], part)
    return part


_ENDLESS: dict[Any, float] = {BIGINT: INFINITY, DOUBLE: inf}


def _is(value: Expression, number: float) -> Expression:
    return Call("equal", (value, Literal(number, value.type)), BOOLEAN)


def _case(cases: list[tuple[Expression, float]], otherwise: Expression) -> Expression:
    kind = otherwise.type
    branches = tuple((when, Literal(then, kind)) for when, then in cases)
    return Case(branches, otherwise, kind) if branches else otherwise


@kernel(" ".join(f"endless_{name}" for name in sorted(ARITHMETIC)), total=True)
def _arithmetic(call: Call, args: Sequence[Value]) -> Array:
    values: list[Any] = [numbers(arg) for arg in args]
    result = _COMPUTED[call.function](*values)
    return from_numbers(result, both_valid(*args), pa.int64())


def _sum(left: Int64s, right: Int64s) -> Int64s:
    total = left + right
    passed = ((left ^ total) & (right ^ total)) < 0
    total = np.where(passed, np.where(left < 0, BEGINNING, INFINITY), total)
    total = np.where((left == BEGINNING) | (right == BEGINNING), BEGINNING, total)
    return np.where((left == INFINITY) | (right == INFINITY), INFINITY, total)


def _difference(left: Int64s, right: Int64s) -> Int64s:
    return _sum(left, _opposite(right))


def _product(left: Int64s, right: Int64s) -> Int64s:
    product = left * right
    far = np.flatnonzero(np.abs(left.astype(float) * right) >= FAR)
    for row in far.tolist():  # few: a time is moved by a factor now and then
        product[row] = times(int(left[row]), int(right[row]))
    return product


def _opposite(values: Int64s) -> Int64s:
    """-x, where -∞ is the beginning, and the other way round."""
    result = np.where(values == BEGINNING, INFINITY, -values)
    return np.where(values == INFINITY, BEGINNING, result)


_COMPUTED: dict[str, Callable[..., Int64s]] = {
    "endless_add": _sum,
    "endless_subtract": _difference,
    "endless_multiply": _product,
    "endless_negate": _opposite,
    "endless_abs": lambda values: np.maximum(values, _opposite(values)),
}
