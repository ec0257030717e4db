"""Which type two types have in common, and which casts Spark makes by itself (ANSI mode).

- `common_type` is for operators, CASE, COALESCE, IN and the like: numbers widen along TINYINT,
  SMALLINT, INT, BIGINT, DECIMAL, FLOAT, DOUBLE (an integer and a FLOAT meet in DOUBLE); DATE
  widens to TIMESTAMP; a STRING becomes BIGINT next to an integer, DOUBLE next to any other
  number, and otherwise the type it meets.
- `implicit_cast` is for arguments of functions: any number becomes any other number, anything
  becomes a STRING, a STRING becomes anything simple, dates and timestamps become each other.
- Decimal arithmetic has the precision and scale of the SQL standard, kept within 38 digits by
  giving up digits after the point, but never more than leaves six of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import pyarrow as pa

from driftline.plan.types import (
    BIGINT,
    BOOLEAN,
    CALENDAR,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    MAX_PRECISION,
    SMALLINT,
    STRING,
    TIME,
    TIMESTAMP,
    TINYINT,
    VOID,
    DataType,
    decimal,
    is_array,
    is_atomic,
    is_datetime,
    is_decimal,
    is_float,
    is_integer,
    is_map,
    is_numeric,
    is_struct,
    is_timestamp,
)

_PRECEDENCE = (TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE)
_MINIMAL_SCALE = 6
_DECIMAL_OF_INTEGER = {TINYINT: (3, 0), SMALLINT: (5, 0), INT: (10, 0), BIGINT: (20, 0)}
_DECIMAL_OF_FLOAT = {FLOAT: (14, 7), DOUBLE: (30, 15)}


def decimal_for(kind: DataType) -> DataType:
    """The DECIMAL that stands for a number type.

    >>> decimal_for(INT), decimal_for(BIGINT)
    (Decimal128Type(decimal128(10, 0)), Decimal128Type(decimal128(20, 0)))
    """
    if is_decimal(kind):
        return kind
    return decimal(*(_DECIMAL_OF_INTEGER | _DECIMAL_OF_FLOAT)[kind])


def bounded(precision: int, scale: int) -> DataType:
    """DECIMAL(precision, scale), cut off at 38 digits."""
    return decimal(min(precision, MAX_PRECISION), min(scale, MAX_PRECISION))


def adjusted(precision: int, scale: int) -> DataType:
    """The type of a decimal result that wants this many digits: digits before the point are kept
    first, then at least six after it.

    >>> adjusted(20, 4), adjusted(50, 20), adjusted(77, 4)
    (Decimal128Type(decimal128(20, 4)), Decimal128Type(decimal128(38, 8)), \
Decimal128Type(decimal128(38, 4)))
    """
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    whole_digits = precision - scale
    kept = max(MAX_PRECISION - whole_digits, min(scale, _MINIMAL_SCALE))
    return decimal(MAX_PRECISION, kept)


def decimal_result(operator: str, left: DataType, right: DataType) -> DataType:
    """The type of decimal arithmetic; the operator is one of + - * / %."""
    p1, s1, p2, s2 = left.precision, left.scale, right.precision, right.scale
    if operator in "+-":
        scale = max(s1, s2)
        return adjusted(max(p1 - s1, p2 - s2) + scale + 1, scale)
    if operator == "*":
        return adjusted(p1 + p2 + 1, s1 + s2)
    if operator == "/":
        scale = max(_MINIMAL_SCALE, s1 + p2 + 1)
        return adjusted(p1 - s1 + s2 + scale, scale)
    scale = max(s1, s2)
    return adjusted(min(p1 - s1, p2 - s2) + scale, scale)


def wider_decimal(left: DataType, right: DataType) -> DataType:
    """The DECIMAL that holds the values of both.

    >>> wider_decimal(decimal(10, 0), decimal(3, 2))
    Decimal128Type(decimal128(12, 2))
    """
    scale = max(left.scale, right.scale)
    whole_digits = max(left.precision - left.scale, right.precision - right.scale)
    return bounded_keeping_whole_digits(whole_digits, scale)


def bounded_keeping_whole_digits(whole_digits: int, scale: int) -> DataType:
    """DECIMAL with these digits; beyond 38 the digits after the point give way."""
    if whole_digits + scale <= MAX_PRECISION:
        return decimal(whole_digits + scale, scale)
    return decimal(MAX_PRECISION, max(0, MAX_PRECISION - whole_digits))


def tightest_common_type(left: DataType, right: DataType) -> DataType | None:
    """The common type that loses nothing, or None."""
    if left == right or right == VOID:
        return left
    if left == VOID:
        return right
    if is_decimal(right) and is_integer(left):
        return right if _holds(right, decimal_for(left)) else None
    if is_decimal(left) and is_integer(right):
        return left if _holds(left, decimal_for(right)) else None
    if left in _PRECEDENCE and right in _PRECEDENCE:
        wider = max(left, right, key=_PRECEDENCE.index)
        return DOUBLE if wider == FLOAT else wider
    if is_datetime(left) and is_datetime(right):
        return _wider_datetime(left, right)
    return _nested_common(left, right, promote_strings=False)


def common_type(left: DataType, right: DataType, promote_strings: bool = True) -> DataType | None:
    """The type both are cast to where they meet, or None if there is none.

    >>> common_type(INT, DOUBLE), common_type(STRING, INT), common_type(BOOLEAN, INT)
    (DataType(double), DataType(int64), None)
    """
    tightest = tightest_common_type(left, right)
    if tightest is not None:
        return tightest
    if is_numeric(left) and is_numeric(right):
        if is_float(left) or is_float(right):
            return DOUBLE
        return wider_decimal(decimal_for(left), decimal_for(right))
    if promote_strings and STRING in (left, right):
        promoted = promoted_string(right if left == STRING else left)
        if promoted is not None:
            return promoted
    return _nested_common(left, right, promote_strings)


def common_type_of_all(kinds: Iterable[DataType], promote_strings: bool = True) -> DataType | None:
    """The common type of several, found from left to right."""
    return reduce(
        lambda found, kind: None if found is None else common_type(found, kind, promote_strings),
        kinds,
        VOID,
    )


def promoted_string(other: DataType) -> DataType | None:
    """What a STRING is cast to when an operator joins it with another type, or None."""
    if is_integer(other):
        return BIGINT
    if is_numeric(other):
        return DOUBLE
    if other in (INTERVAL, INTERVAL_MONTHS):
        return None
    return other if is_atomic(other) else None


def implicit_cast(kind: DataType, wanted: DataType) -> bool:
    """May an argument of this type stand where a function wants that one?"""
    if kind == wanted or kind == VOID:
        return True
    if is_numeric(kind) and is_numeric(wanted):
        return True
    if wanted == STRING:
        return is_atomic(kind)
    if kind == STRING:
        return is_atomic(wanted) and wanted not in (INTERVAL, INTERVAL_MONTHS)
    if is_datetime(kind) and is_datetime(wanted):
        return True
    if is_array(kind) and is_array(wanted):
        return implicit_cast(kind.value_type, wanted.value_type)
    return False


def can_cast(source: DataType, target: DataType) -> bool:
    """May CAST be written from one type to the other (ANSI mode)?

    >>> can_cast(STRING, TIMESTAMP), can_cast(BOOLEAN, TIMESTAMP)
    (True, False)
    """
    if source == target or source == VOID:
        return True
    if target == STRING:
        return bool(source != INTERVAL)
    if CALENDAR in (source, target):
        return False
    if source == STRING:
        return is_atomic(target) and target not in (INTERVAL, INTERVAL_MONTHS)
    if is_numeric(source):
        return is_numeric(target) or target in (BOOLEAN, TIMESTAMP)
    if source == BOOLEAN:
        return is_numeric(target)
    if source == TIME:
        return is_integer(target) or is_decimal(target)
    if source == TIMESTAMP:
        return is_numeric(target) or is_datetime(target) or target == TIME
    if is_datetime(source):
        return is_datetime(target) or (target == TIME and is_timestamp(source))
    if is_array(source) and is_array(target):
        return can_cast(source.value_type, target.value_type)
    if is_struct(source) and is_struct(target) and source.num_fields == target.num_fields:
        pairs = zip(source, target, strict=True)
        return all(can_cast(one.type, other.type) for one, other in pairs)
    if is_map(source) and is_map(target):
        keys = can_cast(source.key_type, target.key_type)
        return keys and can_cast(source.item_type, target.item_type)
    return False


def _holds(kind: DataType, other: DataType) -> bool:
    whole, other_whole = kind.precision - kind.scale, other.precision - other.scale
    return bool(whole >= other_whole and kind.scale >= other.scale)


def _wider_datetime(left: DataType, right: DataType) -> DataType:
    if TIMESTAMP in (left, right):
        return TIMESTAMP
    return left if is_timestamp(left) else right


def _nested_common(left: DataType, right: DataType, promote_strings: bool) -> DataType | None:
    find = common_type if promote_strings else _common_without_strings
    if is_array(left) and is_array(right):
        element = find(left.value_type, right.value_type)
        return None if element is None else pa.list_(element)
    if is_map(left) and is_map(right):
        key, item = find(left.key_type, right.key_type), find(left.item_type, right.item_type)
        return None if key is None or item is None else pa.map_(key, item)
    if is_struct(left) and is_struct(right) and left.num_fields == right.num_fields:
        fields = []
        for one, other in zip(left, right, strict=True):
            kind = find(one.type, other.type)
            if kind is None or one.name.lower() != other.name.lower():
                return None
            fields.append((one.name, kind))
        return pa.struct(fields)
    return None


def _common_without_strings(left: DataType, right: DataType) -> DataType | None:
    return common_type(left, right, promote_strings=False)
