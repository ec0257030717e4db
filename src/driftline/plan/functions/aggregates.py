"""Aggregate functions and their types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from driftline.plan.coercion import bounded
from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import AggregateCall, Expression, Literal
from driftline.plan.folding import folded
from driftline.plan.functions.base import (
    Arguments,
    argument,
    cast_to,
    numeric_argument,
    wrong_argument,
)
from driftline.plan.functions.collections import in_key_order
from driftline.plan.functions.operators import condition
from driftline.plan.functions.sketches import SKETCH_AGGREGATES
from driftline.plan.functions.variants import variant
from driftline.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    STRING,
    VOID,
    DataType,
    is_array,
    is_decimal,
    is_float,
    is_integer,
    is_orderable,
    type_name,
)

_SUM_DIGITS = 10
_AVERAGE_DIGITS = 4

Typing = Callable[[str, Arguments], tuple[Arguments, DataType]]
"""From the name and the arguments to the cast arguments and the type of the result."""


@dataclass(frozen=True)
class _Aggregate:
    """An aggregate function: its canonical name, its numbers of arguments, and its types."""

    name: str
    least: int
    most: int | None
    typing: Typing


def _doubles(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    typed = tuple(argument(arg, DOUBLE, name, place) for place, arg in enumerate(args, start=1))
    return typed, DOUBLE


def _count(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    return args, BIGINT


def _count_if(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    return (condition(args[0], name),), BIGINT


def _sum(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    value = (
        args[0] if args[0].type in (INTERVAL, INTERVAL_MONTHS) else numeric_argument(args[0], name)
    )
    if is_integer(value.type):
        return (value,), BIGINT
    if is_decimal(value.type):
        return (value,), bounded(value.type.precision + _SUM_DIGITS, value.type.scale)
    return (value,), DOUBLE if is_float(value.type) else value.type


def _avg(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    value = (
        args[0] if args[0].type in (INTERVAL, INTERVAL_MONTHS) else numeric_argument(args[0], name)
    )
    if is_decimal(value.type):
        kind = value.type
        return (value,), bounded(kind.precision + _AVERAGE_DIGITS, kind.scale + _AVERAGE_DIGITS)
    return (value,), value.type if value.type in (INTERVAL, INTERVAL_MONTHS) else DOUBLE


def _extreme(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    if not is_orderable(args[0].type):
        raise ExpressionError(f"{name}: values of type {type_name(args[0].type)} have no order")
    return args, args[0].type


def _extreme_by(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    if not is_orderable(args[1].type):
        raise ExpressionError(f"{name}: values of type {type_name(args[1].type)} have no order")
    if len(args) == 2:  # noqa: PLR2004 - one value, and not the first of several
        return args, args[0].type
    count = folded(argument(args[2], INT, name, 3))
    if not isinstance(count, Literal) or count.value is None or count.value < 1:
        raise ExpressionError(f"argument 3 of {name} is a constant number, 1 or more")
    return (*args[:2], count), pa.list_(args[0].type)


def _union(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    if not is_array(args[0].type):
        raise wrong_argument(name, 1, "ARRAY", args[0])
    return args, args[0].type


def _histogram(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    value = numeric_argument(args[0], name)
    bins = folded(argument(args[1], INT, name, 2))
    if not isinstance(bins, Literal) or bins.value is None or bins.value < 2:  # noqa: PLR2004
        raise ExpressionError("histogram_numeric takes a constant number of bins, 2 or more")
    return (value, bins), pa.list_(pa.struct([("x", value.type), ("y", DOUBLE)]))


def _same(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    return args, args[0].type


def _mode(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    for each in args[1:]:
        argument(each, BOOLEAN, name, 2)  # whether it is the least of several, which it is
    return args[:1], args[0].type


def _list(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    return args, pa.list_(args[0].type)


def _median(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    if args[0].type in (INTERVAL, INTERVAL_MONTHS):
        return args, args[0].type
    return (numeric_argument(args[0], name),), DOUBLE


def _percentile(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    share = args[1]
    many = is_array(share.type)
    share = folded(argument(share, pa.list_(DOUBLE) if many else DOUBLE, name, 2))
    value, kind = args[0], args[0].type
    if kind not in (INTERVAL, INTERVAL_MONTHS):
        value, kind = numeric_argument(args[0], name), DOUBLE
    rest = tuple(argument(arg, BIGINT, name, 3) for arg in args[2:])
    return (value, share, *rest), pa.list_(kind) if many else kind


def _percentile_of_value(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    (value, share, *rest), kind = _percentile(name, args)
    return (value, share, *rest), pa.list_(value.type) if is_array(kind) else value.type


def _all(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    return (argument(args[0], BOOLEAN, name, 1),), BOOLEAN


def _joined(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    if args[0].type == BINARY:
        for place, arg in enumerate(args[1:], start=2):
            if arg.type not in (BINARY, VOID):
                raise wrong_argument(name, place, "BINARY", arg)
        return tuple(cast_to(arg, BINARY) for arg in args), BINARY
    typed = tuple(argument(arg, STRING, name, place) for place, arg in enumerate(args, start=1))
    return typed, STRING


def _bitmap_of_places(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    return (argument(args[0], BIGINT, name, 1),), BINARY


def _bitmap_of_bitmaps(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    if args[0].type not in (BINARY, VOID):
        raise wrong_argument(name, 1, "BINARY", args[0])
    return (cast_to(args[0], BINARY),), BINARY


def _schema_of_variants(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    return (variant(args[0], name),), STRING


def _of_vectors(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    if not is_array(args[0].type) or args[0].type.value_type != FLOAT:
        raise wrong_argument(name, 1, "ARRAY<FLOAT>", args[0])
    return args, args[0].type


def _bits(name: str, args: Arguments) -> tuple[Arguments, DataType]:
    if not is_integer(args[0].type):
        raise wrong_argument(name, 1, "integer", args[0])
    return args, args[0].type


REGRESSIONS = ("count", "avgx", "avgy", "sxx", "syy", "sxy", "slope", "intercept", "r2")
"""What there is after regr_, of the pairs (y, x) that have both."""

_DEFINITIONS: list[tuple[str, int, int | None, Typing]] = [
    ("count", 1, None, _count),
    ("count_if", 1, 1, _count_if),
    ("approx_count_distinct", 1, 2, _count),
    ("sum", 1, 1, _sum),
    ("try_sum", 1, 1, _sum),
    ("avg mean", 1, 1, _avg),
    ("try_avg", 1, 1, _avg),
    ("min", 1, 1, _extreme),
    ("max", 1, 1, _extreme),
    ("min_by", 2, 3, _extreme_by),
    ("max_by", 2, 3, _extreme_by),
    ("stddev stddev_samp std", 1, 1, _doubles),
    ("stddev_pop", 1, 1, _doubles),
    ("variance var_samp", 1, 1, _doubles),
    ("var_pop", 1, 1, _doubles),
    ("skewness", 1, 1, _doubles),
    ("kurtosis", 1, 1, _doubles),
    ("corr", 2, 2, _doubles),
    ("covar_samp", 2, 2, _doubles),
    ("covar_pop", 2, 2, _doubles),
    ("median", 1, 1, _median),
    ("percentile percentile_cont", 2, 3, _percentile),
    ("percentile_disc", 2, 2, _percentile),
    ("percentile_approx approx_percentile", 2, 3, _percentile_of_value),
    ("first first_value", 1, 2, _same),
    ("last last_value", 1, 2, _same),
    ("any_value", 1, 2, _same),
    ("mode", 1, 2, _mode),
    ("array_agg collect_list", 1, 1, _list),
    ("collect_set", 1, 1, _list),
    ("collect_union", 1, 1, _union),
    ("histogram_numeric", 2, 2, _histogram),
    ("bool_and every", 1, 1, _all),
    ("bool_or any some", 1, 1, _all),
    ("string_agg listagg", 1, 2, _joined),
    *((f"regr_{name}", 2, 2, _doubles) for name in REGRESSIONS),
    ("bit_and", 1, 1, _bits),
    ("bit_or", 1, 1, _bits),
    ("bit_xor", 1, 1, _bits),
    ("bitmap_construct_agg", 1, 1, _bitmap_of_places),
    ("bitmap_or_agg", 1, 1, _bitmap_of_bitmaps),
    ("bitmap_and_agg", 1, 1, _bitmap_of_bitmaps),
    ("vector_sum", 1, 1, _of_vectors),
    ("vector_avg", 1, 1, _of_vectors),
    *SKETCH_AGGREGATES,
    ("schema_of_variant_agg", 1, 1, _schema_of_variants),
]

OF_LISTS = frozenset(
    ["bitmap_construct_agg", "bitmap_or_agg", "bitmap_and_agg", "vector_sum", "vector_avg"]
    + [names for names, *_ in SKETCH_AGGREGATES]
    + ["schema_of_variant_agg"]
)
"""Aggregates that the engine computes from the list of all values, by a function of the same name.
"""

AGGREGATES = {
    name: _Aggregate(names.split()[0], least, most, typing)
    for names, least, most, typing in _DEFINITIONS
    for name in names.split()
}
"""Every aggregate function by each of its names."""

_TAKES_IGNORE_NULLS = ("first", "last", "any_value")
_BY_VALUE = ("approx_count_distinct", "collect_set", "mode")
"""The aggregates that tell equal values from others."""


def aggregate(
    name: str,
    args: Arguments,
    distinct: bool = False,
    filtered: Expression | None = None,
    ignore_nulls: bool = False,
) -> AggregateCall:
    """The typed call of an aggregate function. `count` without arguments counts rows."""
    found = AGGREGATES[name]
    star = found.name == "count" and not args
    if not star and (
        len(args) < found.least or (found.most is not None and len(args) > found.most)
    ):
        wanted = found.least if found.most == found.least else f"{found.least} to {found.most}"
        raise ExpressionError(f"{name} takes {wanted} arguments, not {len(args)}")
    if any(arg.aggregates() for arg in args):
        raise ExpressionError(f"{name}: an aggregate function cannot take another one")
    if found.name in _TAKES_IGNORE_NULLS and len(args) > 1:
        flag = cast_to(args[1], BOOLEAN)
        ignore_nulls = ignore_nulls or getattr(flag, "value", None) is True
        args = args[:1]
    elif ignore_nulls and found.name not in _TAKES_IGNORE_NULLS:
        raise ExpressionError(f"{name} does not take IGNORE NULLS")
    typed, kind = ((), BIGINT) if star else found.typing(found.name, args)
    if distinct or found.name in _BY_VALUE:
        typed = tuple(map(in_key_order, typed))
    where = None if filtered is None else condition(filtered, "FILTER")
    return AggregateCall(found.name, typed, kind, distinct, where, ignore_nulls)
