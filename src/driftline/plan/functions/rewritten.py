"""Aggregates that are expressions over other aggregates: how each is written with those.

max_by(x, y)            max(struct(y, x)).x, of the rows where y is not null; so is min_by
approx_count_distinct   count(DISTINCT x): it is exact
corr(x, y)              covar_pop(x, y) / (stddev_pop(x) * stddev_pop(y)), of the rows that have
                        both; null if one of them does not vary
string_agg(x, s)        array_join(array_agg(x), s), null if there is no x; WITHIN GROUP (ORDER BY
                        y): of array_agg(struct(y, x)) the values x in the order of y; of BINARY
                        unhex(string_agg(hex(x), hex(s)))
percentile(x, array)    array(percentile(x, p), …), null if there is no x
regr_slope(y, x)        covar_pop(x, y) / var_pop(x), of the rows that have both; and its like
sum(interval)           of the microseconds, which become an interval again; so is avg
bitmap_or_agg(x)        a function of array_agg(x); so are other bitmaps, vectors and sketches
try_sum(x)              TRY_CAST(sum of decimals AS BIGINT) of integers; sum where nothing overflows
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa

from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import (
    AggregateCall,
    Call,
    Case,
    Cast,
    Expression,
    Lambda,
    Literal,
    Variable,
)
from driftline.plan.functions.aggregates import AGGREGATES, OF_LISTS, aggregate
from driftline.plan.functions.base import FUNCTIONS, Arguments, cast_to
from driftline.plan.functions.collections import field, struct
from driftline.plan.functions.months import micros, months, of_micros, of_months
from driftline.plan.functions.operators import arithmetic, compare, condition, is_not_null, logical
from driftline.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DOUBLE,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    DataType,
    decimal,
    is_array,
    is_decimal,
    is_integer,
    is_orderable,
    type_name,
)

IN_ORDER = "values_in_order"
_AS_NUMBERS = {INTERVAL: (micros, of_micros, BIGINT), INTERVAL_MONTHS: (months, of_months, INT)}
_DIRECTIONS = {(False, True): "a", (False, False): "A", (True, False): "d", (True, True): "D"}
"""How a direction is passed to the engine: ascending or descending, in capitals with nulls where
they are not by default."""


def aggregate_value(
    name: str,
    args: Arguments,
    distinct: bool = False,
    filtered: Expression | None = None,
    ignore_nulls: bool = False,
) -> Expression:
    """The value of an aggregate function: a call that the engine knows, or such calls together."""
    call = aggregate(name, args, distinct, filtered, ignore_nulls)
    if call.function in ("min_by", "max_by"):
        return _by(call)
    if call.function == "collect_union":
        _refuse_distinct(call)
        return FUNCTIONS["array_distinct"]((FUNCTIONS["flatten"]((_listed(call),)),))
    if call.function == "histogram_numeric":
        _refuse_distinct(call)
        ordered = FUNCTIONS["array_sort"]((_listed(call),))
        return _unless_empty(call, Call("histogram", (ordered, call.args[1]), call.type))
    if call.function in OF_LISTS:
        return _of_list(call)
    if call.function == "approx_count_distinct":
        return aggregate("count", call.args[:1], True, filtered)
    if call.function == "corr":
        _refuse_distinct(call)
        return _correlation(call)
    if call.function == "string_agg":
        return _of_texts(call, _joined)
    if call.function.startswith("regr_"):
        _refuse_distinct(call)
        return _regression(call)
    if call.function in ("try_sum", "try_avg"):
        return _lenient(call)
    if call.function in ("sum", "avg") and call.type == INTERVAL:
        return _of_intervals(call)
    if call.function == "percentile" and call.args[2:]:
        raise ExpressionError("percentile does not take frequencies: repeat the rows instead")
    if call.function.startswith("percentile") and is_array(call.args[1].type):
        return _percentiles(call)
    if call.args and call.args[0].type == INTERVAL_MONTHS and call.function in _BY_MONTHS:
        return of_months(_of_number(call, months(call.args[0]), INT))
    if call.function in _BETWEEN and call.args[0].type == INTERVAL:
        return of_micros(_of_number(call, micros(call.args[0]), BIGINT))
    return call


def ordered_aggregate(
    name: str,
    args: Arguments,
    order: list[tuple[Expression, bool, bool]],
    distinct: bool,
    filtered: Expression | None,
) -> Expression:
    """An aggregate WITHIN GROUP (ORDER BY …), each item of which is a value, whether it descends,
    and whether its nulls come first."""
    function = AGGREGATES[name].name if name in AGGREGATES else name
    if function == "string_agg":
        call = aggregate(name, args, distinct, filtered)
        return _of_texts(call, lambda texts: _joined_in_order(texts, order))
    if function not in ("percentile", "percentile_disc", "mode") or len(order) != 1 or distinct:
        raise ExpressionError(f"{name} does not take {'DISTINCT ' if distinct else ''}WITHIN GROUP")
    value, descending, _ = order[0]
    if function == "mode":
        if args:
            raise ExpressionError("mode() WITHIN GROUP (ORDER BY x) takes no argument but x")
        call = aggregate(name, (value,), False, filtered)
        return replace(call, args=(*call.args, Literal(True, BOOLEAN))) if descending else call
    if descending and function == "percentile_disc" and value.type in _AS_NUMBERS:
        number, back, kind = _AS_NUMBERS[value.type]
        of_numbers = ordered_aggregate(name, args, [(number(value), True, False)], False, filtered)
        return back(cast_to(of_numbers, kind))
    if descending and function == "percentile_disc":
        call = aggregate(name, (value, *args), False, filtered)
        if is_array(call.type):
            raise ExpressionError(f"{name}: ORDER BY … DESC takes one share, not several")
        return replace(call, args=(*call.args, Literal(True, BOOLEAN)))
    if descending:
        args = (arithmetic("subtract", Literal(1, INT), args[0]), *args[1:]) if args else ()
    return aggregate_value(name, (value, *args), False, filtered)


def _joined_in_order(call: AggregateCall, order: list[tuple[Expression, bool, bool]]) -> Expression:
    value, *separators = call.args
    by = [each for each, _, _ in order]
    for each in by:
        if not is_orderable(each.type):
            raise ExpressionError(f"one cannot order by a {type_name(each.type)}")
    names = [f"by{place}" for place in range(len(by))]
    whole = struct([*names, "value"], (*by, value))
    there = _both(call.filter, condition(is_not_null((value,)), "FILTER"))
    listed = aggregate("array_agg", (whole,), call.distinct, there)
    directions = "".join(_DIRECTIONS[descending, first] for _, descending, first in order)
    values = values_in_order(listed, directions)
    return _unless_empty(call, FUNCTIONS["array_join"]((values, _separator(separators))))


def values_in_order(listed: Expression, directions: str) -> Expression:
    """The last fields of an array of structs in the order of the others."""
    return Call(IN_ORDER, (listed, Literal(directions, STRING)), pa.list_(STRING))


def _refuse_distinct(call: AggregateCall) -> None:
    if call.distinct:
        raise ExpressionError(
            f"{call.function} does not take DISTINCT: take distinct rows in a subquery"
        )


def _both(first: Expression | None, second: Expression) -> Expression:
    return second if first is None else logical("and", first, second)


def _listed(call: AggregateCall) -> AggregateCall:
    """All values of the first argument."""
    return aggregate("array_agg", call.args[:1], False, call.filter)


def _of_list(call: AggregateCall) -> Expression:
    """A function of the list of all values, in their order, or of pairs that have both."""
    if call.function.startswith("tuple_sketch_agg"):
        key, value, *rest = call.args
        both = logical("and", is_not_null((key,)), is_not_null((value,)))
        pair = struct(["key", "value"], (key, value))
        listed = aggregate("array_agg", (pair,), call.distinct, _both(call.filter, both))
        return Call(call.function, (listed, *rest), call.type)
    values = call.args[:1]
    if call.function in ("approx_top_k", "approx_top_k_accumulate"):
        values = (struct(["value"], values),)  # which counts nulls, too
    listed = aggregate("array_agg", values, call.distinct, call.filter)
    return Call(call.function, (listed, *call.args[1:]), call.type)


def _first_by(call: AggregateCall) -> Expression:
    """max_by and min_by with a number: the values of the first ones in order."""
    value, by, count = call.args
    pair = struct(["by", "value"], (by, value))
    there = _both(call.filter, condition(is_not_null((by,)), "FILTER"))
    ascending = Literal(call.function == "min_by", BOOLEAN)
    pairs = FUNCTIONS["sort_array"]((aggregate("array_agg", (pair,), False, there), ascending))
    first = FUNCTIONS["slice"]((pairs, Literal(1, INT), count))
    each = Variable("$pair", pair.type)
    return Call("transform", (first, Lambda((each,), field(each, "value"))), call.type)


def _by(call: AggregateCall) -> Expression:
    if call.args[2:]:
        return _first_by(call)
    value, by = call.args
    if not is_orderable(value.type):
        raise ExpressionError(
            f"{call.function}: values of type {type_name(value.type)} have no order, by which "
            "those with an equal second argument are chosen"
        )
    pair = struct(["by", "value"], (by, value))
    there = _both(call.filter, condition(is_not_null((by,)), "FILTER"))
    name = "max" if call.function == "max_by" else "min"
    return field(aggregate(name, (pair,), False, there), "value")


def _correlation(call: AggregateCall) -> Expression:
    first, second = call.args
    both = logical("and", is_not_null((first,)), is_not_null((second,)))
    there = _both(call.filter, both)
    spreads = arithmetic(
        "multiply",
        aggregate("stddev_pop", (first,), False, there),
        aggregate("stddev_pop", (second,), False, there),
    )
    zero = Literal(0.0, call.type)
    shared = aggregate("covar_pop", (first, second), False, there)
    share = arithmetic("divide", shared, FUNCTIONS["nullif"]((spreads, zero)))
    return share


def _regression(call: AggregateCall) -> Expression:
    y, x = call.args
    both = logical("and", is_not_null((y,)), is_not_null((x,)))
    there = _both(call.filter, both)
    zero = Literal(0.0, DOUBLE)

    def of(function: str, *args: Expression) -> Expression:
        return aggregate(function, args, False, there)

    def quotient(one: Expression, other: Expression) -> Expression:
        return arithmetic("divide", one, FUNCTIONS["nullif"]((other, zero)))

    count = aggregate("count", (x,), False, there)
    name = call.function.removeprefix("regr_")
    if name == "count":
        return count
    if name in ("avgx", "avgy"):
        return of("avg", x if name == "avgx" else y)
    if name in ("sxx", "syy"):
        return arithmetic("multiply", of("var_pop", x if name == "sxx" else y), count)
    if name == "sxy":
        return arithmetic("multiply", of("covar_pop", x, y), count)
    if name == "r2":
        shared, spreads = of("covar_pop", x, y), (of("var_pop", x), of("var_pop", y))
        share = quotient(arithmetic("multiply", shared, shared), arithmetic("multiply", *spreads))
        flat = compare("equal", spreads[1], zero)
        constant = compare("equal", spreads[0], zero)
        nothing, whole = Literal(None, DOUBLE), Literal(1.0, DOUBLE)
        return Case(((constant, nothing), (flat, whole)), share, DOUBLE)
    slope = quotient(of("covar_pop", x, y), of("var_pop", x))
    if name == "slope":
        return slope
    return arithmetic("subtract", of("avg", y), arithmetic("multiply", slope, of("avg", x)))


_EPOCH = Call("timestamp_micros", (Literal(0, BIGINT),), TIMESTAMP)


_OF_ORDER = ("min", "max", "median", "any_value", "first", "last", "mode")
_PERCENTILES = ("percentile", "percentile_cont", "percentile_disc", "percentile_approx")
_BETWEEN = frozenset(["median", *_PERCENTILES])
_BY_MONTHS = frozenset(["sum", "avg", *_OF_ORDER, *_PERCENTILES])


def _of_number(call: AggregateCall, number: Expression, kind: DataType) -> Expression:
    """An aggregate of intervals as one of numbers; an average is rounded, and what is between two
    values is cut off."""
    value = aggregate_value(
        call.function, (number, *call.args[1:]), call.distinct, call.filter, call.ignore_nulls
    )
    if call.function == "avg":
        value = FUNCTIONS["round"]((value,))
    return value if value.type == kind else Cast(value, kind)


def _of_intervals(call: AggregateCall) -> Expression:
    since = arithmetic("add", _EPOCH, call.args[0])
    micros = Call("unix_micros", (since,), BIGINT)
    total = aggregate("sum", (micros,), call.distinct, call.filter)
    whole = arithmetic("subtract", Call("timestamp_micros", (total,), TIMESTAMP), _EPOCH)
    if call.function == "sum":
        return whole
    count = aggregate("count", call.args, call.distinct, call.filter)
    return arithmetic("divide", whole, FUNCTIONS["nullif"]((count, Literal(0, BIGINT))))


def _lenient(call: AggregateCall) -> Expression:
    """Where a sum of decimals may not fit there is none."""
    value, name = call.args[0], call.function.removeprefix("try_")
    if is_decimal(value.type) and call.type.precision == MAX_PRECISION:
        raise ExpressionError(
            f"{call.function} of a {type_name(value.type)} is not supported: cast it to a smaller "
            "DECIMAL or to DOUBLE"
        )
    if name == "sum" and is_integer(value.type):
        exact = aggregate("sum", (cast_to(value, decimal(20, 0)),), call.distinct, call.filter)
        return Cast(exact, BIGINT, lenient=True)
    return aggregate_value(name, (value,), call.distinct, call.filter)


def _joined(call: AggregateCall) -> Expression:
    value, *separators = call.args
    listed = aggregate("array_agg", (value,), call.distinct, call.filter)
    return _unless_empty(call, FUNCTIONS["array_join"]((listed, _separator(separators))))


def _of_texts(call: AggregateCall, join: Callable[[AggregateCall], Expression]) -> Expression:
    """What string_agg joins; bytes as their digits, which have the same order."""
    if call.type != BINARY:
        return join(call)
    texts = tuple(FUNCTIONS["hex"]((each,)) for each in call.args)
    return FUNCTIONS["unhex"]((join(replace(call, args=texts, kind=STRING)),))


def _separator(given: Sequence[Expression]) -> Expression:
    """What stands between the values of string_agg: nothing, if it is null."""
    empty = Literal("", STRING)
    if not given:
        return empty
    said = _uncast(given[0])
    if isinstance(said, Literal):
        return empty if said.value is None else given[0]
    return FUNCTIONS["coalesce"]((given[0], empty))


def _percentiles(call: AggregateCall) -> Expression:
    value, shares, *more = call.args
    shares = _uncast(shares)
    if not isinstance(shares, Call) or shares.function != "array":
        raise ExpressionError(f"{call.function} needs constant shares, as in array(0.5, 0.9)")
    each = (
        aggregate_value(call.function, (value, _uncast(share), *more), call.distinct, call.filter)
        for share in shares.args
    )
    return _unless_empty(call, FUNCTIONS["array"](tuple(each)))


def _uncast(value: Expression) -> Expression:
    """A constant as it was written."""
    while isinstance(value, Cast):
        value = value.value
    return value


def _unless_empty(call: AggregateCall, value: Expression) -> Expression:
    """The value, if there is one of the first argument; null else."""
    count = aggregate("count", call.args[:1], False, call.filter)
    some = compare("greater", count, Literal(0, BIGINT))
    return Case(((some, value),), Literal(None, value.type), value.type)
