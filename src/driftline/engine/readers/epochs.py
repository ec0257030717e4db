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

from dataclasses import replace
from decimal import ROUND_DOWN, Context, Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.event_log.bad import Misfit, Misfits
from driftline.event_log.text import FIRST_ISO, LAST_ISO
from driftline.model.arrays import Int64s, Mask
from driftline.model.columns import EXTERNAL_CTI, StreamColumns
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.nodes import Source
from driftline.plan.temporal import SPACES
from driftline.plan.timing import MICROSECONDS, TimeUnit
from driftline.plan.types import STRING, TIMESTAMP, is_decimal, is_float, is_integer

OF_RECORDS: TimeUnit = "s"
OF_EVENTS: TimeUnit = "us"
OF_ARRIVAL: TimeUnit = "ms"

NUMBER = r"^[+-]?\d+(\.\d*)?$"
LONG_NUMBER = r"^[+-]?\d{9,}(\.\d*)?$"
_PLAIN = r"^-?\d{1,18}$"
_ENOUGH = Context(prec=100, Emax=1000, Emin=-1000, rounding=ROUND_DOWN, traps=[])
"""Of more digits than a time has none is lost."""
WORDS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds"}


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
        pattern = LONG_NUMBER if unit is None else NUMBER
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
    exact = [int(_times(Decimal(each or 0), size)) for each in array.to_pylist()]
    bad = np.array([not FIRST_ISO <= each < LAST_ISO for each in exact], np.bool_)
    return np.array([0 if no else each for each, no in zip(exact, bad, strict=True)], np.int64), bad


def _times(number: Decimal, size: int) -> Decimal:
    """A product, of numbers that are no time anyhow only about."""
    return _ENOUGH.multiply(number, size)


def _first(size: int) -> int:
    return -(-FIRST_ISO // size)


def _last(size: int) -> int:
    return (LAST_ISO - 1) // size


def hint(value: float | Decimal | str, unit: TimeUnit | None) -> str:
    """What to do about a number that is no time; of what is no number there is nothing to say.

    >>> hint(1_700_000_000_000, None)
    ": as seconds it is outside the years 0001 to 9999; is it milliseconds? time_unit = 'ms'"
    >>> hint("20240501", None), hint("noon", None)
    (": if it counts since 1970, say so: time_unit = 's', 'ms' or 'us'", '')
    """
    try:
        number = Decimal(value.strip(SPACES) if isinstance(value, str) else value)
    except InvalidOperation:
        return ""
    if not number.is_finite():
        return ""
    used = unit or OF_RECORDS
    if FIRST_ISO <= _times(number, MICROSECONDS[used]) < LAST_ISO:
        return ": if it counts since 1970, say so: time_unit = 's', 'ms' or 'us'"
    told = f": as {WORDS[used]} it is outside the years 0001 to 9999"
    for other in ("ms", "us"):
        if other != used and FIRST_ISO <= _times(number, MICROSECONDS[other]) < LAST_ISO:
            return f"{told}; is it {WORDS[other]}? time_unit = '{other}'"
    return told


# Times of events, and integer columns that are times


def unit_of(source: Source) -> TimeUnit:
    """What the integer times of a stream count."""
    return source.timing.time_unit or OF_EVENTS


def counts_time(source: Source) -> bool:
    """Whether the time of a stream's records is an integer column that counts since 1970."""
    if source.time is None or not source.timestamps:
        return False
    return is_integer(source.columns.find(source.time)[0].type)


def is_beyond(source: Source, times: Int64s) -> Mask:
    """Which integer times are none in the unit that was given."""
    size = MICROSECONDS[unit_of(source)]
    if source.timing.time_unit is None or not source.timestamps:
        return np.zeros(len(times), np.bool_)
    ends = (times == BEGINNING) | (times == INFINITY)
    found: Mask = ~ends & ((times < _first(size)) | (times > _last(size)))
    return found


def in_ticks(source: Source, times: Int64s) -> Int64s:
    """Integer times as ticks; what is endless stays so, and what is beyond is 0."""
    size = MICROSECONDS[unit_of(source)]
    if not source.timestamps or size == 1:
        return times
    ends = (times == BEGINNING) | (times == INFINITY)
    fine = ~ends & ~is_beyond(source, times)
    return np.where(ends, times, np.where(fine, times, 0) * size)


def log_in_ticks(source: Source, columns: StreamColumns) -> tuple[StreamColumns, Misfits]:
    """The events of a log whose times are numbers, in ticks; and those whose times are none. Where
    a log has times as texts, its numbers are microseconds."""
    if columns.timestamps or not source.timestamps or source.timing.time_unit is None:
        return columns, {}
    misfits: Misfits = {}
    counts = columns.kind == EXTERNAL_CTI  # has a number of events in its vn
    times = {"vs": columns.vs, "ve": columns.ve, "vn": np.where(counts, 0, columns.vn)}
    for name, each in times.items():
        for row in np.flatnonzero(is_beyond(source, each)).tolist():
            reason = f"{name} is {each[row]}{hint(int(each[row]), unit_of(source))}"
            misfits.setdefault(row, Misfit(name, str(each[row]), reason))
    vs, ve, vn = (in_ticks(source, each) for each in times.values())
    vn = np.where(counts, columns.vn, vn)
    return replace(columns, timestamps=True, vs=vs, ve=ve, vn=vn), misfits


def clock_milliseconds(source: Source, clock: Int64s) -> Int64s:
    """An integer arrival clock in milliseconds."""
    unit = source.timing.time_unit or OF_ARRIVAL
    if unit == "us":
        return clock // MICROSECONDS["ms"]
    return clock * (MICROSECONDS[unit] // MICROSECONDS["ms"])
