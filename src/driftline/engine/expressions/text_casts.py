"""Casts from and to text, in Spark's formats."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions.arrays import (
    Array,
    Mask,
    both_valid,
    from_numbers,
    numbers,
    per_distinct,
    valid_mask,
    with_nulls,
)
from driftline.engine.expressions.characters import (
    clock_characters,
    date_characters,
    digits,
    from_characters,
    joined,
)
from driftline.plan.literals import fits
from driftline.plan.temporal import (
    SECOND,
    SPACES,
    format_date_sql,
    format_timestamp_sql,
    parse_date,
    parse_time,
    parse_timestamp,
)
from driftline.plan.types import (
    BINARY,
    BOOLEAN,
    CALENDAR,
    DATE,
    FLOAT,
    INTERVAL_MONTHS,
    STRING,
    TIME,
    TIMESTAMP,
    is_array,
    is_decimal,
    is_float,
    is_integer,
    is_map,
    is_struct,
    is_timestamp,
)

_TRUE = ("t", "true", "y", "yes", "1")
_FALSE = ("f", "false", "n", "no", "0")
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")  # Java takes all digits here
_SPECIAL_FLOATS = {
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), float("inf")),
    **dict.fromkeys(("-inf", "-infinity"), float("-inf")),
    "nan": float("nan"),
}
_PLAIN_DATE = r"^\d{4}-\d\d-\d\d$"
_PLAIN_TIMESTAMP = r"^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,6})?$"
_MOST_DIGITS = 19
"""So many an integer has at most: Python does not even read thousands of them."""
_PLAIN_INTEGER = r"^-?\d{1,18}$"
_PLAIN_NUMBER = r"^-?\d{1,15}(\.\d{1,15})?$"
# Days from 0001-01-01 to 9999-12-31, whose years have four digits.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
_MICROS_PER_DAY = 86_400_000_000
_LEAST_DOUBLE, _LEAST_SINGLE = 2.0**-1022, 2.0**-126
"""Below these, numbers have fewer digits than others."""
_FIXED_FROM, _FIXED_TO = -3, 7
_WITH_FRACTION = len("0000-00-00 00:00:00.000000")
_TIME_WITH_FRACTION = len("00:00:00.000000")


def from_text(array: Array, target: Any) -> tuple[Array, Mask | None]:
    """Texts as another type, and the rows that have no value."""
    if target == BINARY:
        return pc.cast(array, BINARY), None
    plain = _plain(array, target)
    if plain is not None:
        quick = _quick(array, target, plain)
        if quick is not None:
            return quick, None
        if pc.any(plain).as_py() and not pc.all(plain).as_py():
            return _apart(array, target, pc.fill_null(plain, True))
    result = per_distinct(parser(target), [array], _storage(target))
    bad = ~valid_mask(result) & valid_mask(array)
    return (result.view(target) if result.type != target else result), bad


def _storage(target: Any) -> Any:
    if target == DATE:
        return pa.int32()
    return pa.int64() if is_timestamp(target) or target == TIME else target


def _plain(array: Array, target: Any) -> Array | None:
    """Which texts are in a plain form that Arrow reads alike, if there is one."""
    if target == DATE:
        pattern = _PLAIN_DATE
    elif is_timestamp(target):
        pattern = _PLAIN_TIMESTAMP
    elif is_integer(target):
        pattern = _PLAIN_INTEGER
    elif is_float(target):
        pattern = _PLAIN_NUMBER
    else:
        return None
    return pc.match_substring_regex(array, pattern)


def _quick(array: Array, target: Any, plain: Array) -> Array | None:
    """The whole array by Arrow, if all texts are plain."""
    if not pc.all(plain, min_count=0).as_py():
        return None
    try:
        if target == TIMESTAMP:
            return pc.cast(array, pa.timestamp("us")).view(TIMESTAMP)
        return pc.cast(array, target)
    except pa.ArrowInvalid:  # such as 2023-02-30, or a number that does not fit
        return None


def _apart(array: Array, target: Any, plain: Array) -> tuple[Array, Mask | None]:
    """The plain texts together, and the few others, each with its result and its bad rows."""
    mask = numbers(plain).astype(np.bool_)
    places = np.argsort(~mask, kind="stable")  # the plain ones first
    parts = [
        from_text(array.filter(plain), target),
        from_text(array.filter(pc.invert(plain)), target),
    ]
    bad = np.concatenate([np.zeros(len(r), np.bool_) if b is None else b for r, b in parts])
    back = np.empty(len(places), np.int64)
    back[places] = np.arange(len(places))
    return pa.concat_arrays([result for result, _ in parts]).take(pa.array(back)), bad[back]


def parser(target: Any) -> Callable[[str], Any]:
    """How one text is read as a type; None if it is no value of it."""
    if target == BOOLEAN:
        return _parse_boolean
    if is_integer(target):
        return lambda text: _parse_integer(text, target)
    if is_float(target):
        return lambda text: _parse_float(text, target)
    if is_decimal(target):
        return lambda text: _parse_decimal(text, target)
    if target == DATE:
        return parse_date
    if target == TIME:
        return parse_time
    return lambda text: parse_timestamp(text, zoned=target == TIMESTAMP)


def _parse_boolean(text: str) -> bool | None:
    word = text.strip(SPACES).lower()
    return True if word in _TRUE else (False if word in _FALSE else None)


def _parse_integer(text: str, target: Any) -> int | None:
    digits = text.strip(SPACES)
    if _INTEGER.fullmatch(digits) is None or len(digits.lstrip("+-0")) > _MOST_DIGITS:
        return None
    value = int(digits)
    return value if fits(value, target) else None


def _parse_float(text: str, target: Any) -> float | None:
    word = text.strip(SPACES)
    if _FLOAT.fullmatch(word):
        value = float(word.rstrip("dDfF"))
    elif word.lower() in _SPECIAL_FLOATS:
        value = _SPECIAL_FLOATS[word.lower()]
    else:
        return None
    if target == FLOAT:
        with np.errstate(over="ignore"):
            return float(np.float32(word.rstrip("dDfF")) if _FLOAT.fullmatch(word) else value)
    return value


def _parse_decimal(text: str, target: Any) -> Decimal | None:
    word = text.strip(SPACES)
    if _DECIMAL.fullmatch(word) is None:
        return None
    try:
        with localcontext() as context:
            context.prec = 1000
            value = Decimal(word).quantize(Decimal(1).scaleb(-target.scale), ROUND_HALF_UP)
    except InvalidOperation:
        return None
    # abs() would round to the digits of the context.
    fits = value.copy_abs() < Decimal(10) ** (target.precision - target.scale)
    return value if fits else None


def to_text(array: Array, cast_part: Callable[[Array], Array]) -> Array:
    """Values as text. `cast_part` does the same for the parts of nested values."""
    kind = array.type
    if kind == STRING:
        return array
    if kind == BOOLEAN or is_integer(kind):
        return pc.cast(array, STRING)
    if kind == BINARY:
        return _binary_to_text(array)
    if is_float(kind):
        return _float_to_text(array)
    if is_decimal(kind):
        return per_distinct(lambda value: f"{value:f}", [array], STRING)
    if kind == DATE or is_timestamp(kind):
        return _datetime_to_text(array)
    if kind == TIME:
        return _time_to_text(array)
    if kind == INTERVAL_MONTHS:
        return _months_to_text(array)
    if kind == CALENDAR:
        return _calendar_to_text(array)
    return _nested_to_text(array, cast_part)


def _binary_to_text(array: Array) -> Array:
    try:
        return pc.cast(array, STRING)
    except pa.ArrowInvalid:  # not UTF-8; Spark replaces what it cannot read when it shows it
        return per_distinct(lambda value: value.decode("utf-8", "replace"), [array], STRING)


def java_float(value: float, single: bool = False) -> str:
    """A number as Java writes it.

    >>> java_float(100.0), java_float(1e7), java_float(0.001), java_float(1.5e-4)
    ('100.0', '1.0E7', '0.001', '1.5E-4')
    """
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    text = np.format_float_scientific(np.float32(value) if single else value, trim="0")
    if abs(value) < (_LEAST_SINGLE if single else _LEAST_DOUBLE):
        text = _two_digits(value, text, single)
    mantissa, _, exponent = text.partition("e")
    power = int(exponent)
    if value == 0:
        return mantissa
    if not _FIXED_FROM <= power < _FIXED_TO:
        return f"{mantissa}E{power}"
    sign = "-" if mantissa.startswith("-") else ""
    digits = mantissa.lstrip("-").replace(".", "").rstrip("0") or "0"
    if power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{digits}"
    digits = digits.ljust(power + 2, "0")
    return f"{sign}{digits[: power + 1]}.{digits[power + 1 :]}"


def _two_digits(value: float, text: str, single: bool) -> str:
    """Of a tiny number that one digit names, Java writes the two digits that are nearest."""
    nearest = f"{value:.1e}"
    read = float(np.float32(nearest)) if single else float(nearest)
    return nearest if len(text) <= len(nearest) and read == value else text


def _float_to_text(array: Array) -> Array:
    """Arrow writes the same digits; only the form differs, and between 0.001 and 10,000,000 it does
    so only by the `.0` of whole numbers.
    """
    magnitude = pc.abs(array)
    plain = pc.and_(pc.greater_equal(magnitude, 1e-3), pc.less(magnitude, 1e7))
    single = array.type == FLOAT
    unusual = ~numbers(pc.fill_null(plain, True)).astype(np.bool_)
    texts = pc.cast(pc.if_else(pa.array(~unusual), array, pa.scalar(0.0, array.type)), STRING)
    whole = pc.invert(pc.match_substring(texts, "."))
    texts = pc.if_else(whole, pc.binary_join_element_wise(texts, ".0", ""), texts)
    if not unusual.any():
        return texts
    rows = pa.array(unusual)
    others = per_distinct(lambda value: java_float(value, single), [array.filter(rows)], STRING)
    return pc.replace_with_mask(texts, rows, others)


def _datetime_to_text(array: Array) -> Array:
    values = numbers(array)
    days = values if array.type == DATE else values // _MICROS_PER_DAY
    if len(days) and not (days.min() >= _FIRST_DAY and days.max() <= _LAST_DAY):
        return _unusual_datetime_to_text(array)
    valid = both_valid(array)
    if array.type == DATE:
        return from_characters(date_characters(values), None, valid)
    clock = values - days * _MICROS_PER_DAY
    return _with_fraction([date_characters(days), " "], clock, _WITH_FRACTION, valid)


def _time_to_text(array: Array) -> Array:
    return _with_fraction([], numbers(array), _TIME_WITH_FRACTION, both_valid(array))


def _months_to_text(array: Array) -> Array:
    def text(months: int) -> str:
        years, rest = divmod(abs(months), 12)
        return f"INTERVAL '{'-' if months < 0 else ''}{years}-{rest}' YEAR TO MONTH"

    return per_distinct(text, [from_numbers(numbers(array), both_valid(array), pa.int32())], STRING)


def _calendar_to_text(array: Array) -> Array:
    def text(months: int, days: int, micros: int) -> str:
        numbers = [*_cut(months, 12), days]
        hours, rest = _cut(micros, 3600 * SECOND)
        minutes, rest = _cut(rest, 60 * SECOND)
        units = ("years", "months", "days", "hours", "minutes")
        parts = [f"{n} {u}" for n, u in zip((*numbers, hours, minutes), units, strict=True) if n]
        if rest or not parts:
            seconds = f"{abs(rest) // SECOND}.{abs(rest) % SECOND:06}".rstrip("0").rstrip(".")
            parts.append(f"{'-' if rest < 0 else ''}{seconds} seconds")
        return " ".join(parts)

    parts = [array.field(place) for place in range(2)] + [array.field(2).view(pa.int64())]
    written = per_distinct(text, parts, STRING)
    return with_nulls(written, ~valid_mask(array))


def _cut(number: int, unit: int) -> tuple[int, int]:
    """How often a unit is in a number, and what is left, both with the sign of the number."""
    whole, rest = divmod(abs(number), unit)
    return (-whole, -rest) if number < 0 else (whole, rest)


def _with_fraction(before: list[Any], clock: Any, longest: int, valid: Mask | None) -> Array:
    """A text that ends with a time of the day, in microseconds."""
    fraction = clock % SECOND
    parts = [*before, *clock_characters(clock // SECOND), "."]
    written = np.full(len(clock), longest)
    for power in range(1, 7):  # a zero at the end is not written, nor is a point before nothing
        written -= fraction % 10**power == 0
    written -= fraction == 0
    return from_characters(joined([*parts, digits(fraction, 6)], len(clock)), written, valid)


def _unusual_datetime_to_text(array: Array) -> Array:
    if array.type == DATE:
        return per_distinct(format_date_sql, [array.view(pa.int32())], STRING)
    return per_distinct(format_timestamp_sql, [array.view(pa.int64())], STRING)


def _nested_to_text(array: Array, cast_part: Callable[[Array], Array]) -> Array:
    """Arrays as [a, b], structs as {a, b}, maps as {k -> v}; null as null."""
    kind = array.type
    if is_struct(kind):
        fields = [_shown(cast_part(pc.struct_field(array, [i]))) for i in range(kind.num_fields)]
        inside = pc.binary_join_element_wise(*fields, ", ") if fields else None
        return _around("{", inside, "}", array)
    if is_map(kind):
        keys, items = _shown(cast_part(array.keys)), _shown(cast_part(array.items))
        pairs = pc.binary_join_element_wise(keys, items, " -> ")
        return _around("{", _joined(array, pairs), "}", array)
    if is_array(kind):
        items = _shown(cast_part(array.flatten()))
        return _around("[", _joined(array, items), "]", array)
    raise TypeError(f"no text for {kind}")


def _shown(array: Array) -> Array:
    return pc.fill_null(array, "null")


def _joined(array: Array, items: Array) -> Array:
    offsets = array.offsets.to_numpy(zero_copy_only=False)
    lists = pa.ListArray.from_arrays(pa.array(offsets - offsets[0], pa.int32()), items)
    return pc.binary_join(lists, ", ")


def _around(opening: str, inside: Array | None, closing: str, array: Array) -> Array:
    if inside is None:
        inside = pa.repeat(pa.scalar(""), len(array))
    text = pc.binary_join_element_wise(opening, inside, closing, "")
    return pc.if_else(pa.array(valid_mask(array)), text, pa.scalar(None, STRING))
