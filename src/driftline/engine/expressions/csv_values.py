"""from_csv, to_csv and schema_of_csv: lines of CSV as structs, and structs as lines.

A line is read as Spark reads it: a quote inside a value is written \\", not "". A value that is not
of its type, or is not there, is null; so is an empty one, and one that is `nullValue`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from driftline.engine.expressions.arrays import (
    Array,
    Value,
    counted,
    per_distinct,
    plain_values,
)
from driftline.engine.expressions.datetime_patterns import parse_by_pattern, written_by
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.registry import kernel
from driftline.engine.expressions.text_casts import parser, to_text
from driftline.plan.csv_lines import WHOLE, Line
from driftline.plan.expressions import Call
from driftline.plan.types import (
    BINARY,
    BOOLEAN,
    DATE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    is_decimal,
    is_float,
    is_integer,
)

FORMATS = {TIMESTAMP: "timestampformat", TIMESTAMP_NTZ: "timestampntzformat", DATE: "dateformat"}
CORRUPT = "_corrupt_record"
_INFINITE = {"Inf": "Infinity", "-Inf": "-Infinity"}
Options = dict[str, str]


def options_of(args: Sequence[Value]) -> Options:
    """The options that the last argument is, by their names in lower case."""
    given = args[0][0].as_py() if args and len(args[0]) else None
    return {name.lower(): value for name, value in given or ()}


# Reading


@kernel("from_csv")
def _from_csv(call: Call, args: Sequence[Value]) -> Array:
    options = options_of(args[2:])
    line, null = Line(options), options.get("nullvalue", "")
    corrupt = options.get("columnnameofcorruptrecord", CORRUPT)
    reads = {each.name: _reader(each.type, options) for each in call.kind if each.name != corrupt}
    strict = options.get("mode", "").upper() == "FAILFAST"
    keeps = any(each.name == corrupt for each in call.kind)

    def value(text: str) -> dict[str, Any]:
        tokens = line.cut(text)
        bad = len(tokens) != len(reads)
        found: dict[str, Any] = dict.fromkeys(reads)
        for (name, read), token in zip(reads.items(), tokens, strict=False):
            if token != null:
                found[name] = read(token)
                bad |= found[name] is None
        if bad and strict:
            raise EvaluationError(
                "MALFORMED_RECORD_IN_PARSING", f"{text!r} is not a line of CSV of the type"
            )
        return {**found, corrupt: text if bad else None} if keeps else found

    return per_distinct(value, [args[0]], counted(call.kind)).cast(call.kind)


def _reader(kind: Any, options: Options) -> Callable[[str], Any]:
    if kind == STRING:
        return str
    if kind == BINARY:
        return str.encode
    if kind == BOOLEAN:
        return lambda text: {"true": True, "false": False}.get(text.lower())
    if is_integer(kind):
        whole = parser(kind)
        return lambda text: whole(text) if WHOLE.fullmatch(text) else None
    pattern = options.get(FORMATS.get(kind, ""))
    if pattern is not None:
        return by_pattern(kind, pattern)
    read = parser(kind)
    if is_float(kind):
        return lambda text: read(_INFINITE.get(text, text))
    if is_decimal(kind):
        return lambda text: read(text) if text == text.strip() else None
    if kind == TIMESTAMP_NTZ:
        return lambda text: None if re.search(r":\d+ *([+-]|Z|[A-Z])", text) else read(text)
    return read


def by_pattern(kind: Any, pattern: str) -> Callable[[str], int | None]:
    """How a date or a time is read by a pattern; None if it does not fit it."""

    def read(text: str) -> int | None:
        micros = parse_by_pattern(text, pattern)
        return micros // 86_400_000_000 if micros is not None and kind == DATE else micros

    return read


# Writing


@kernel("to_csv")
def _to_csv(call: Call, args: Sequence[Value]) -> Array:
    options, kind = options_of(args[1:]), args[0].type
    line = Line(options)
    trims = [
        options.get(name, "true").lower() == "true"
        for name in ("ignoreleadingwhitespace", "ignoretrailingwhitespace")
    ]
    everything = options.get("quoteall", "").lower() == "true"
    null, empty = options.get("nullvalue", ""), options.get("emptyvalue", '""')

    def item(value: Any, own: Any) -> str:
        if value is None:
            return null
        text = moment_text(value, own, options) if own in FORMATS else plain_text(value, own)
        text = text.lstrip(" ") if trims[0] else text
        text = text.rstrip(" ") if trims[1] else text
        if not text:
            return empty
        special = (line.sep, line.quote, "\n", "\r")
        if not everything and not any(each in text for each in special):
            return text
        if line.escape != line.quote:
            text = text.replace(line.escape, line.escape * 2)
        return line.quote + text.replace(line.quote, line.escape + line.quote) + line.quote

    def row(value: dict[str, Any]) -> str | None:
        values = [value[each.name] for each in kind]
        if len(values) == 1 and values[0] is None and not null:
            return None
        return line.sep.join(map(item, values, (each.type for each in kind)))

    rows = plain_values(args[0])
    return pa.array([None if each is None else row(each) for each in rows], STRING)


def moment_text(value: int, kind: Any, options: Options) -> str:
    """A date or a time as JSON and CSV have it: by a pattern, or with milliseconds."""
    pattern = options.get(FORMATS[kind])
    array = pa.array([value], counted(kind)).cast(kind)
    if pattern is not None:
        moments = array.cast(pa.timestamp("us")) if kind == DATE else array
        return str(written_by(moments, pattern)[0].as_py())
    text = str(to_text(array, lambda part: part)[0].as_py())
    if kind == DATE:
        return text
    day, time = text.split(" ")
    second, _, digits = time.partition(".")
    return f"{day}T{second}.{digits[:3]:0<3}{'' if kind.tz is None else 'Z'}"


def plain_text(value: Any, kind: Any) -> str:
    """A value as CAST writes it; bytes in hexadecimal digits."""
    if kind == BINARY:
        return f"[{value.hex(' ').upper()}]"
    if isinstance(value, Decimal):
        return f"{value:f}"
    array = pa.array([value], counted(kind)).cast(kind)
    return str(_cast_text(array)[0].as_py())


def _cast_text(array: Array) -> Array:
    return to_text(array, _cast_text)
