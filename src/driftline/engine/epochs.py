"""Numbers as times: what a number counts since 1970, as the stream says (`time_unit`).

                          without time_unit       with time_unit
    number in a record    seconds, as in Spark    the unit
    text of digits        seconds, from nine      the unit
                          digits on
    time of an event      microseconds            the unit
    arrival, an integer   milliseconds            the unit

A number that is a time before the year 0001 or after 9999 has no value: most likely it counts
something else. Such a time can be written as text.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from driftline.model.log.text import FIRST_ISO, LAST_ISO
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.errors import PlanError
from driftline.plan.nodes import Source
from driftline.plan.temporal import SPACES
from driftline.plan.timing import MICROSECONDS, TimeUnit
from driftline.plan.types import STRING, TIMESTAMP, is_decimal, is_float, is_integer

Int64s = NDArray[np.int64]
Mask = NDArray[np.bool_]

OF_RECORDS: TimeUnit = "s"
OF_EVENTS: TimeUnit = "us"
OF_ARRIVAL: TimeUnit = "ms"

_NUMBER = r"^[+-]?\d+(\.\d*)?$"
_LONG_NUMBER = r"^[+-]?\d{9,}(\.\d*)?$"
_PLAIN = r"^-?\d{1,18}$"
_WORDS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds"}


def is_number(have: Any, want: Any) -> bool:
    """Whether values of a type may be numbers for a time."""
    if want != TIMESTAMP:
        return False
    return is_integer(have) or is_float(have) or is_decimal(have) or have == STRING


def moments(array: pa.Array, unit: TimeUnit | None) -> tuple[pa.Array, Mask, Mask]:
    """Numbers as TIMESTAMPs; which of them are numbers (texts may be times as they are); and which
    of these are no time.

    >>> values, numbers, bad = moments(pa.array(["1700000000123", "2024-05-01", None]), "ms")
    >>> values.cast(pa.int64()).to_pylist(), numbers.tolist(), bad.tolist()
    ([1700000000123000, None, None], [True, False, False], [False, False, False])
    """
    there = array.is_valid()
    if array.type == STRING:
        array = pc.utf8_trim(array, SPACES)
        pattern = _LONG_NUMBER if unit is None else _NUMBER
        there = pc.fill_null(pc.match_substring_regex(array, pattern), False)
        array = _parsed(pc.if_else(there, array, pa.scalar("0")))
    numbers = there.to_numpy(zero_copy_only=False).astype(np.bool_)
    ticks, bad = _ticks(array, unit)
    values = pa.array(ticks, pa.int64(), mask=bad | ~numbers).view(TIMESTAMP)
    return values, numbers, bad & numbers


def _parsed(texts: pa.Array) -> pa.Array:
    if pc.all(pc.match_substring_regex(texts, _PLAIN), min_count=0).as_py():
        return texts.cast(pa.int64())
    return texts


def _ticks(array: pa.Array, unit: TimeUnit | None) -> tuple[Int64s, Mask]:
    """Numbers as microseconds, and which are no time. A fraction of a microsecond is cut off, as by
    Spark's cast."""
    size = MICROSECONDS[unit or OF_RECORDS]
    if is_integer(array.type):
        whole = pc.fill_null(array, 0).to_numpy(zero_copy_only=False).astype(np.int64)
        bad = (whole < _first(size)) | (whole > _last(size))
        return np.where(bad, 0, whole) * size, bad
    if is_float(array.type):
        floats = pc.fill_null(array, 0.0).to_numpy(zero_copy_only=False).astype(np.float64)
        with np.errstate(all="ignore"):
            near = np.trunc(floats * size)
            bad = ~((near >= FIRST_ISO) & (near < LAST_ISO))
        return np.where(bad, 0, near).astype(np.int64), bad
    exact = [int(Decimal(each or 0) * size) for each in array.to_pylist()]
    bad = np.array([not FIRST_ISO <= each < LAST_ISO for each in exact], np.bool_)
    return np.array([0 if no else each for each, no in zip(exact, bad, strict=True)], np.int64), bad


def _first(size: int) -> int:
    return -(-FIRST_ISO // size)


def _last(size: int) -> int:
    return (LAST_ISO - 1) // size


def hint(unit: TimeUnit | None, value: float | Decimal | str) -> str:
    """What to do about a number that is no time.

    >>> hint(None, 1_700_000_000_000)
    ": as seconds it is outside the years 0001 to 9999; is it milliseconds? time_unit = 'ms'"
    """
    used = unit or OF_RECORDS
    told = f": as {_WORDS[used]} it is outside the years 0001 to 9999"
    for other in ("ms", "us"):
        if other != used and FIRST_ISO <= Decimal(value) * MICROSECONDS[other] < LAST_ISO:
            return f"{told}; is it {_WORDS[other]}? time_unit = '{other}'"
    return told


def event_ticks(source: Source, times: Int64s) -> Int64s:
    """Times of events, or of an integer time column, as ticks, where they were written as numbers.
    What is endless stays so."""
    size = MICROSECONDS[source.timing.time_unit or OF_EVENTS]
    if not source.timestamps or size == 1:
        return times
    ends = (times == BEGINNING) | (times == INFINITY)
    far = ~ends & ((times < _first(size)) | (times > _last(size)))
    if far.any():
        value = int(times[far][0])
        told = hint(source.timing.time_unit, value)
        raise PlanError(f"the time {value} of an event of {source.name}{told}")
    return np.where(ends, times, np.where(ends, 0, times) * size)


def clock_milliseconds(source: Source, clock: Int64s) -> Int64s:
    """An integer arrival clock in milliseconds."""
    unit = source.timing.time_unit or OF_ARRIVAL
    if unit == "us":
        return clock // MICROSECONDS["ms"]
    return clock * (MICROSECONDS[unit] // MICROSECONDS["ms"])
