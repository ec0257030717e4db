"""Aggregates of a plan as the engine's: what each is computed from, and what it is called there."""

from __future__ import annotations

from driftline.engine.additive.aggregates import OF_PAIRS, Aggregate
from driftline.plan.conditions import together
from driftline.plan.errors import PlanError
from driftline.plan.expressions import AggregateCall, Case, Expression, Literal
from driftline.plan.functions.collections import struct
from driftline.plan.functions.operators import is_not_null
from driftline.plan.types import BOOLEAN

FUNCTIONS = {
    "count": "count",
    "sum": "sum",
    "avg": "avg",
    "min": "min",
    "max": "max",
    "variance": "variance",
    "var_pop": "variance_pop",
    "stddev": "stddev",
    "stddev_pop": "stddev_pop",
    "median": "median",
    "percentile": "percentile",
    "percentile_disc": "percentile_disc",
    "skewness": "skewness",
    "kurtosis": "kurtosis",
    "bit_and": "bit_and",
    "bit_or": "bit_or",
    "bit_xor": "bit_xor",
    "percentile_approx": "percentile_disc",
    "mode": "mode",
    "covar_pop": "covar_pop",
    "covar_samp": "covar_samp",
    "first": "first",
    "any_value": "first",
    "last": "last",
    "array_agg": "array_agg",
    "collect_set": "array_agg",
    "count_if": "count",
    "bool_and": "min",
    "bool_or": "max",
}
"""The aggregate functions of SQL, and what the engine calls them."""
PERCENTILES = ("percentile", "percentile_disc", "percentile_approx")
NULL_IS_A_VALUE = ("first", "last", "any_value")
"""The aggregates that do not pass over nulls by themselves."""


def argument_of(call: AggregateCall) -> Expression | None:
    """What an aggregate is computed from: one column, with its filter applied."""
    value: Expression | None = call.args[0] if call.args else None
    if (call.function == "count" and len(call.args) > 1) or call.function in OF_PAIRS:
        value = _combination(call.args)
    counts_rows = call.function == "count" and not call.distinct
    if counts_rows and isinstance(value, Literal) and value.value is not None:
        value = None  # count(1) counts rows
    if call.function == "count_if":
        assert value is not None
        value = Case(((value, Literal(True, BOOLEAN)),), Literal(None, BOOLEAN), BOOLEAN)
    if call.filter is None or call.function in NULL_IS_A_VALUE:
        return value
    if value is None:
        value = Literal(True, BOOLEAN)
    return Case(((call.filter, value),), Literal(None, value.type), value.type)


def _combination(values: tuple[Expression, ...]) -> Expression:
    """Several values as one, which is null if any of them is."""
    whole = struct([f"col{place}" for place in range(1, len(values) + 1)], values)
    all_there = together([is_not_null((value,)) for value in values])
    assert all_there is not None
    return Case(((all_there, whole),), Literal(None, whole.type), whole.type)


def rows_of(call: AggregateCall) -> Expression | None:
    """Which rows a first or last goes by; None: all."""
    if call.function not in NULL_IS_A_VALUE:
        return None
    conditions = [] if call.filter is None else [call.filter]
    if call.ignore_nulls:
        conditions.append(is_not_null(call.args[:1]))
    return together(conditions)


def aggregate_of(
    name: str, call: AggregateCall, argument: str | None, definitions: dict[str, object]
) -> Aggregate:
    if call.function in definitions:
        return Aggregate(
            name, "user_defined", argument, call.type, definition=definitions[call.function]
        )
    if call.function not in FUNCTIONS:
        known = ", ".join(sorted(FUNCTIONS))
        raise PlanError(
            f"the aggregate {call.function} cannot be kept up to date; there are {known}"
        )
    parameter = None
    if call.function in PERCENTILES:
        share = call.args[1]
        if not isinstance(share, Literal) or share.value is None:
            raise PlanError(f"{call.function} needs a constant share from 0 to 1")
        parameter = float(share.value)
        if not 0 <= parameter <= 1:
            raise PlanError(f"{call.function} needs a share from 0 to 1, not {parameter}")
        if call.function == "percentile" and len(call.args) > 2:  # noqa: PLR2004 - value and share
            raise PlanError("percentile does not take frequencies: repeat the rows instead")
    elif call.function == "mode" and len(call.args) > 1:
        parameter = 1.0  # of several the greatest
    elif len(call.args) > 1 and call.function not in ("count", *OF_PAIRS):
        raise PlanError(f"{call.function} of several arguments cannot be kept up to date")
    function = FUNCTIONS[call.function]
    if call.function == "percentile_disc" and len(call.args) > 2:  # noqa: PLR2004 - it descends
        function = "percentile_disc_desc"
    return Aggregate(
        name, function, argument, call.type,
        distinct=call.distinct or call.function == "collect_set", parameter=parameter,
    )  # fmt: skip
