"""from_json: a text of JSON as a value of a type.

A field that is not there, or whose value is not of its type, is null. Where the text is no JSON of
the type a struct has null fields, and a list or a map is null; so is all of an empty text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

from driftline.engine.expressions.arrays import Array, Value, counted, per_distinct
from driftline.engine.expressions.csv_values import (
    CORRUPT,
    FORMATS,
    Options,
    by_pattern,
    options_of,
)
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.json_texts import is_object, parsed, written
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.functions.json_types import without_leading_zeros
from driftline.plan.literals import fits
from driftline.plan.temporal import parse_date, parse_time, parse_timestamp
from driftline.plan.types import (
    BOOLEAN,
    DATE,
    STRING,
    TIME,
    is_array,
    is_decimal,
    is_float,
    is_integer,
    is_map,
    is_struct,
    is_timestamp,
)

Read = Callable[[Any], Any]
_DIGITS = 76
_WORDS = {
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "+Infinity": float("inf"),
    "INF": float("inf"),
    "+INF": float("inf"),
    "-Infinity": float("-inf"),
    "-INF": float("-inf"),
}


class _Mismatch(ValueError):
    """A value that is not of its type."""


@kernel("from_json", total=lambda call: len(call.args) < 3)  # noqa: PLR2004 - with options it may fail
def _from_json(call: Call, args: Sequence[Value]) -> Array:
    options, kind = options_of(args[2:]), call.kind
    corrupt = options.get("columnnameofcorruptrecord", CORRUPT)
    corrupts = is_struct(kind) and any(each.name == corrupt for each in kind)
    misfits: list[Any] = []
    read = _Reader(options, misfits, corrupt if corrupts else None).reader(kind)
    strict = options.get("mode", "").upper() == "FAILFAST"
    zeros = options.get("allownumericleadingzeros", "").lower() == "true"

    def value(text: str) -> Any:
        misfits.clear()
        found = of_text(without_leading_zeros(text) if zeros else text)
        if misfits and strict:
            raise EvaluationError(
                "MALFORMED_RECORD_IN_PARSING", f"{text!r} is not JSON of the type of from_json"
            )
        if found is not None and corrupts:
            found[corrupt] = text if misfits else None
        return found

    def of_text(text: str) -> Any:
        if not text.strip():
            return None
        found = parsed(text)
        if is_array(kind) and is_object(found):
            found = [found]
        try:
            if found is not None:
                return read(found)
        except _Mismatch:
            pass
        misfits.append(text)
        return dict.fromkeys(field.name for field in kind) if is_struct(kind) else None

    return per_distinct(value, [args[0]], counted(kind)).cast(kind)


class _Reader:
    """How values of types are read: by options, with a list of what did not fit, and the field, if
    there is one, that is no field of the text."""

    def __init__(self, options: Options, misfits: list[Any], left_out: str | None) -> None:
        self.options, self.misfits, self.left_out = options, misfits, left_out

    def reader(self, kind: Any) -> Read:
        """How values of a type are read."""
        if is_struct(kind):
            return self._struct(kind)
        if is_map(kind):
            item = _nullable(self.reader(kind.item_type))
            return lambda value: [(name, item(each)) for name, each in _object(value)]
        if is_array(kind):
            part = _nullable(self.reader(kind.value_type))
            return lambda value: [part(each) for each in _list(value)]
        if kind == STRING:
            return lambda value: value if isinstance(value, str) else written(value)
        if kind == BOOLEAN:
            return lambda value: value if isinstance(value, bool) else _refused(value)
        if is_integer(kind):
            return lambda value: (
                value
                if isinstance(value, int) and not isinstance(value, bool) and fits(value, kind)
                else _refused(value)
            )
        if is_float(kind):
            return _float
        if is_decimal(kind):
            return lambda value: _decimal(value, kind)
        return self._moment(kind)

    def _moment(self, kind: Any) -> Read:
        pattern = self.options.get(FORMATS.get(kind, ""))
        if pattern is not None:
            return lambda value: _parsed(by_pattern(kind, pattern), value)
        if kind == DATE:
            return lambda value: _parsed(parse_date, value)
        if kind == TIME:
            return lambda value: _parsed(parse_time, value)
        if is_timestamp(kind):
            return lambda value: _parsed(parse_timestamp, value)
        raise TypeError(f"from_json does not read a {kind}")

    def _struct(self, kind: Any) -> Read:
        left_out, self.left_out = self.left_out, None
        fields = {each.name: self.reader(each.type) for each in kind if each.name != left_out}

        def read(value: Any) -> Any:
            found = dict.fromkeys(fields)
            for name, item in _object(value):
                if name in fields:
                    try:
                        found[name] = None if item is None else fields[name](item)
                    except _Mismatch:
                        found[name] = None
                        self.misfits.append(item)
            return found

        return read


def _nullable(read: Read) -> Read:
    return lambda value: None if value is None else read(value)


def _refused(value: Any) -> Any:
    raise _Mismatch(value)


def _object(value: Any) -> Any:
    return value if is_object(value) else _refused(value)


def _list(value: Any) -> Any:
    return value if isinstance(value, list) and not is_object(value) else _refused(value)


def _float(value: Any) -> float:
    if isinstance(value, str):
        return _WORDS[value] if value in _WORDS else float(_refused(value))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        _refused(value)
    return float(value)


def _decimal(value: Any, kind: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        _refused(value)
    try:
        exact = Decimal(value if isinstance(value, str) else repr(value))
        rounded = exact.quantize(
            Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, Context(prec=_DIGITS)
        )
    except InvalidOperation:
        raise _Mismatch(value) from None
    if len(rounded.as_tuple().digits) > kind.precision:
        raise _Mismatch(value)
    return rounded


def _parsed(parse: Callable[[str], int | None], value: Any) -> int:
    found = parse(value) if isinstance(value, str) else None
    return int(_refused(value)) if found is None else found
