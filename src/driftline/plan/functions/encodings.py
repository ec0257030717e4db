"""Functions of texts as bytes, codes and JSON, and their types."""

from __future__ import annotations

import pyarrow as pa

from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Call, Case, Expression, Literal
from driftline.plan.functions.base import (
    Arguments,
    argument,
    define,
    register,
    same_type,
    wrong_argument,
)
from driftline.plan.functions.csv_types import TIME_FORMATS, options
from driftline.plan.functions.operators import compare
from driftline.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    STRING,
    DataType,
    is_array,
    is_map,
    is_struct,
    type_name,
)

define("encode", [STRING, STRING], BINARY)
define("base64", [BINARY], STRING)
define("unbase64", [STRING], BINARY)
define("url_encode", [STRING], STRING)
define("url_decode", [STRING], STRING)
define("try_url_decode", [STRING], STRING)
define("conv", [STRING, INT, INT], STRING)
define("to_base32", [BINARY], STRING)
define("from_base32", [STRING], BINARY)
define("bitmap_count", [BINARY], BIGINT)
define("hmac", [BINARY, BINARY, STRING], BINARY, optional=1)
define("is_valid_utf8", [BINARY], BOOLEAN)
define("make_valid_utf8", [BINARY], STRING)
define("validate_utf8", [BINARY], STRING)
define("try_validate_utf8", [BINARY], STRING)
define("to_binary", [STRING, STRING], BINARY, optional=1)
define("try_to_binary", [STRING, STRING], BINARY, optional=1)
define("soundex", [STRING], STRING)
define("luhn_check", [STRING], BOOLEAN)
define("json_array_length", [STRING], INT)
define("json_object_keys", [STRING], pa.list_(STRING))


@register("crc32", 1, 1)
def _crc32(args: Arguments) -> Expression:
    return Call("crc32", (argument(args[0], BINARY, "crc32", 1),), BIGINT)


@register("decode", 2, None)
def _decode(args: Arguments) -> Expression:
    """Bytes as text, or the result that stands after the first equal value."""
    if len(args) == 2:  # noqa: PLR2004 - bytes and their character set
        value, name = argument(args[0], BINARY, "decode", 1), argument(args[1], STRING, "decode", 2)
        return Call("decode", (value, name), STRING)
    subject, rest = args[0], args[1:]
    sought, results = rest[: len(rest) // 2 * 2 : 2], rest[1::2]
    default = rest[-1] if len(rest) % 2 else Literal(None, STRING)  # as in Spark, not VOID
    typed = same_type((*results, default), "decode")
    branches = tuple(
        (compare("null_safe_equal", subject, each), value)
        for each, value in zip(sought, typed, strict=False)
    )
    return Case(branches, typed[-1], typed[-1].type)


@register("to_json", 1, 2)
def _to_json(args: Arguments) -> Expression:
    kind = args[0].type
    if not (is_struct(kind) or is_array(kind) or is_map(kind)):
        raise wrong_argument("to_json", 1, "STRUCT, ARRAY or MAP", args[0])
    if _has_interval(kind):
        raise ExpressionError("to_json does not take intervals, which have no text")
    for each in args[1:]:
        options(each, "to_json", (*TIME_FORMATS, "ignoreNullFields", "sortKeys"))
    return Call("to_json", args, STRING)


def _has_interval(kind: DataType) -> bool:
    parts = [kind.field(i).type for i in range(kind.num_fields)]
    return kind in (INTERVAL, INTERVAL_MONTHS) or any(map(_has_interval, parts))


@register("typeof", 1, 1)
def _typeof(args: Arguments) -> Expression:
    if _has_interval(args[0].type):
        raise ExpressionError("typeof does not take intervals, which do not remember their fields")
    return Literal(type_name(args[0].type).replace(": ", ":").replace(", ", ",").lower(), STRING)


def _of_values(name: str, kind: DataType) -> None:
    """A hash of any values but maps, whose order says nothing."""

    @register(name, 1, None)
    def build(args: Arguments) -> Expression:
        for place, arg in enumerate(args, start=1):
            if _has_map(arg.type):
                raise ExpressionError(f"argument {place} of {name} has a MAP, which has no order")
        return Call(name, args, kind)


def _has_map(kind: DataType) -> bool:
    parts = [kind.field(i).type for i in range(kind.num_fields)]
    return is_map(kind) or any(map(_has_map, parts))


_of_values("hash", INT)
_of_values("xxhash64", BIGINT)
