"""sequence: the numbers, dates or moments from one to another, and format_number."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from driftline.engine.expressions import expansion
from driftline.engine.expressions.arrays import (
    Array,
    Value,
    both_valid,
    from_numbers,
    numbers,
    per_distinct,
    valid_mask,
)
from driftline.engine.expressions.datetimes import months_of, plus_months
from driftline.engine.expressions.decimal_patterns import by_pattern
from driftline.engine.expressions.decimals import rounded_to
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.lists import lists_from
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.types import DATE, INTERVAL, INTERVAL_MONTHS, STRING

_MICROS_OF_A_DAY = 86_400_000_000
_LONGEST = 2**31 - 16
_BYTES_OF_AN_ITEM = 24


@kernel("sequence")
def _sequence(call: Call, args: Sequence[Value]) -> Array:
    start, stop = (numbers(arg).astype(np.int64) for arg in args[:2])
    item = call.kind.value_type
    if args[2:] and args[2].type == INTERVAL_MONTHS:
        return _by_months(call, args, start, stop)
    step = _steps(args[2:], start, stop, item)
    wrong = ((step > 0) & (start > stop)) | ((step < 0) & (start < stop))
    wrong |= (step == 0) & (start != stop)
    valid = both_valid(*args)
    if valid is not None:
        wrong &= valid
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise EvaluationError(
            "ILLEGAL_SEQUENCE_BOUNDARIES",
            f"sequence does not reach {args[1][row].as_py()} from {args[0][row].as_py()} by such "
            "steps",
        )
    # The difference of two numbers of 64 bits fits 64 bits without a sign.
    distance = np.where(stop >= start, stop - start, start - stop).view(np.uint64)
    count = distance // np.maximum(np.abs(step), 1).view(np.uint64) + np.uint64(1)
    if valid is not None:
        count[~valid] = 0
    made = expansion.total(count)
    expansion.check(
        f"{call.brief()} makes {made:,} items of {len(start):,} rows",
        made * _BYTES_OF_AN_ITEM,
        "take a larger step or a shorter range",
    )
    if made > _LONGEST:
        raise expansion.too_large(
            f"{call.brief()} makes {made:,} items in one batch, and a column of a batch holds "
            f"{_LONGEST:,}: take a larger step or a shorter range, or smaller batches (--batch)"
        )
    lengths = count.astype(np.int64)
    rows = np.repeat(np.arange(len(start)), lengths)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    items = from_numbers(_narrowed(start[rows] + place * step[rows], item), None, item)
    return lists_from(items, lengths, valid, call.kind)


def _by_months(call: Call, args: Sequence[Value], start: Any, stop: Any) -> Array:
    """Each item is so many months after the first one, at the end of shorter months."""
    item, valid = call.kind.value_type, valid_mask(args[0]) & valid_mask(args[1])
    step = numbers(args[2]).astype(np.int64)
    valid &= valid_mask(args[2])
    if (valid & ((step == 0) | (np.sign(stop - start) * np.sign(step) < 0))).any():
        raise EvaluationError(
            "ILLEGAL_SEQUENCE_BOUNDARIES", f"{call.brief()} does not reach its end by such steps"
        )
    day = 1 if item == DATE else _MICROS_OF_A_DAY
    between = months_of(stop // day) - months_of(start // day)
    count = np.where(valid, between // np.where(valid, step, 1) + 1, 0)
    made = expansion.total(count)
    expansion.check(
        f"{call.brief()} makes {made:,} items of {len(start):,} rows",
        made * _BYTES_OF_AN_ITEM,
        "take a larger step or a shorter range",
    )
    rows = np.repeat(np.arange(len(start)), count)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
    days = start[rows] // day
    moved = plus_months(days, place * step[rows]) * day + (start[rows] - days * day)
    kept = np.where(step[rows] > 0, moved <= stop[rows], moved >= stop[rows])
    lengths = np.bincount(rows[kept], minlength=len(start))
    return lists_from(from_numbers(moved[kept], None, item), lengths, valid, call.kind)


def _narrowed(values: Any, kind: Any) -> Any:
    if pa.types.is_integer(kind):
        return values.astype(kind.to_pandas_dtype())
    return values


def _steps(given: Sequence[Value], start: Any, stop: Any, item: Any) -> Any:
    if not given:
        one = 1 if pa.types.is_integer(item) or item == DATE else _MICROS_OF_A_DAY
        return np.where(start <= stop, one, -one)
    step = numbers(given[0]).astype(np.int64)
    if given[0].type == INTERVAL and item == DATE:
        if (step % _MICROS_OF_A_DAY).any():
            raise EvaluationError("ILLEGAL_SEQUENCE_STEP", "a sequence of dates goes by whole days")
        return step // _MICROS_OF_A_DAY
    return step


@kernel("format_number", total=lambda call: call.args[1].type != STRING)
def _format_number(call: Call, args: Sequence[Value]) -> Array:
    write = by_pattern if args[1].type == STRING else formatted
    return per_distinct(write, list(args), STRING)


def formatted(value: Any, places: int) -> str | None:
    """A number with so many places and commas; half goes to the even side.

    >>> formatted(1234567.125, 2), formatted(-0.5, 0), formatted(2, -1)
    ('1,234,567.12', '-0', None)
    """
    if places < 0:
        return None
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if value != value else "∞" if value > 0 else "-∞"
    expansion.check_texts("format_number", places)
    shortest = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    # As in Java: zeros after the digits that name a number, which is rounded as it exactly is.
    fine = shortest == rounded_to(shortest, places, ROUND_HALF_EVEN)
    exact = rounded_to(shortest if fine else Decimal(value), places, ROUND_HALF_EVEN)
    return f"{exact:,f}"
