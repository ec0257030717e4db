"""Aggregates that are expressions over other aggregates: how each is written with those.

max_by(x, y)            max(struct(y, x)).x, of the rows where y is not null; so is min_by
approx_count_distinct   count(DISTINCT x): it is exact
corr(x, y)              covar_pop(x, y) / (stddev_pop(x) * stddev_pop(y)), of the rows that have
                        both; null if one of them does not vary
string_agg(x, s)        array_join(array_agg(x), s), null if there is no x; WITHIN GROUP (ORDER BY
                        y): of array_agg(struct(y, x)) the values x in the order of y
percentile(x, array)    array(percentile(x, p), …), null if there is no x
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import AggregateCall, Call, Case, Cast, Expression, Literal
from driftline.plan.functions.aggregates import AGGREGATES, aggregate
from driftline.plan.functions.base import FUNCTIONS, Arguments
from driftline.plan.functions.collections import field, struct
from driftline.plan.functions.operators import arithmetic, compare, condition, is_not_null, logical
from driftline.plan.types import BIGINT, BOOLEAN, INT, STRING, is_array, is_orderable, type_name

_DIRECTIONS = {(False, True): "a", (False, False): "A", (True, False): "d", (True, True): "D"}
"""How a direction is told to the engine: ascending or descending, in capitals with nulls where they
are not by default."""


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
    if call.function == "approx_count_distinct":
        return aggregate("count", call.args[:1], True, filtered)
    if call.function == "corr":
        _refuse_distinct(call)
        return _correlation(call)
    if call.function == "string_agg":
        return _joined(call)
    if call.function.startswith("percentile") and is_array(call.args[1].type):
        return _percentiles(call)
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
        return _joined_in_order(aggregate(name, args, distinct, filtered), order)
    if function not in ("percentile", "percentile_disc", "mode") or len(order) != 1 or distinct:
        raise ExpressionError(f"{name} does not take {'DISTINCT ' if distinct else ''}WITHIN GROUP")
    value, descending, _ = order[0]
    if function == "mode":
        if args:
            raise ExpressionError("mode() WITHIN GROUP (ORDER BY x) takes no argument but x")
        call = aggregate(name, (value,), False, filtered)
        return replace(call, args=(*call.args, Literal(True, BOOLEAN))) if descending else call
    if descending and function == "percentile_disc":
        raise ExpressionError(f"{name}: ORDER BY … DESC is not supported")
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
    values = Call("values_in_order", (listed, Literal(directions, STRING)), pa.list_(STRING))
    separator = separators[0] if separators else Literal("", STRING)
    return _unless_empty(call, FUNCTIONS["array_join"]((values, separator)))


def _refuse_distinct(call: AggregateCall) -> None:
    if call.distinct:
        raise ExpressionError(f"{call.function} does not take DISTINCT")


def _both(first: Expression | None, second: Expression) -> Expression:
    return second if first is None else logical("and", first, second)


def _by(call: AggregateCall) -> Expression:
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


def _joined(call: AggregateCall) -> Expression:
    value, *separators = call.args
    separator = separators[0] if separators else Literal("", STRING)
    listed = aggregate("array_agg", (value,), call.distinct, call.filter)
    return _unless_empty(call, FUNCTIONS["array_join"]((listed, separator)))


def _percentiles(call: AggregateCall) -> Expression:
    value, shares, *more = call.args
    shares = _uncast(shares)
    if not isinstance(shares, Call) or shares.function != "array":
        raise ExpressionError(f"{call.function} needs constant shares, as in array(0.5, 0.9)")
    each = (
        aggregate(call.function, (value, _uncast(share), *more), call.distinct, call.filter)
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
