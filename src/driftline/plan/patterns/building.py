"""The node of MATCH_RECOGNIZE from its parts as they are written, in SQL or in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlglot import exp

from driftline.model.patterns import Pattern, Skip, To
from driftline.plan.depth import room
from driftline.plan.dialect import CALLS
from driftline.plan.durations import ticks
from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Expression
from driftline.plan.nodes import Match, Named, Node, OrderItem, RowsPerMatch
from driftline.plan.patterns.conditions import PatternNames
from driftline.plan.types import DATE, DataType, is_timestamp
from driftline.plan.used import place_of


@dataclass(frozen=True)
class MatchClauses:
    """The clauses: names are identifiers of the syntax tree, values its expressions."""

    pattern: Pattern
    define: Sequence[tuple[exp.Expr, exp.Expr]] = ()
    measures: Sequence[tuple[exp.Expr, exp.Expr]] = ()
    subsets: Sequence[tuple[exp.Expr, Sequence[exp.Expr]]] = ()
    rows: RowsPerMatch = "one"
    skip: To = "past last"
    skip_to: exp.Expr | None = None
    within: int | None = None


@room(CALLS)
def matched(
    rows: Node, partition: Sequence[Expression], order: Sequence[OrderItem], written: MatchClauses
) -> Match:
    """The matches of a pattern in some rows."""
    variables = written.pattern.variables()
    if not variables:
        raise ExpressionError("PATTERN has no variable: it would match no row")
    names = PatternNames(rows.schema, variables)
    for name, members in written.subsets:
        with _at(name):
            names.define_subset(name.name, [each.name for each in members])
    conditions: list[Named] = []
    for name, node in written.define:
        with _at(name):
            variable = names.variable(name.name, "DEFINE")
            if any(variable == each.name for each in conditions):
                raise ExpressionError(f"DEFINE names the variable {variable} twice")
        with _at(node):
            conditions.append(Named(variable, names.condition(node, variable)))
    measures: list[Named] = []
    for name, node in written.measures:
        with _at(node):
            value = names.measure(node, running=written.rows != "one")
        measures.append(Named(name.name, value))
    skip = Skip(written.skip)
    if written.skip_to is not None:
        with _at(written.skip_to):
            skip = Skip(written.skip, names.of(written.skip_to.name, "AFTER MATCH SKIP"))
    return Match(
        rows,
        tuple(partition),
        tuple(order),
        written.pattern,
        tuple(conditions),
        tuple(measures),
        written.rows,
        skip,
        written.within,
    )


def in_units(kind: DataType, duration: Callable[[bool], int]) -> int:
    """A duration in units of an order column; `duration` gives it in microseconds or in ticks."""
    if kind != DATE:
        return duration(is_timestamp(kind))
    day = ticks("1 day", timestamps=True)
    micros = duration(True)
    if micros % day:
        raise ExpressionError("WITHIN takes whole days where the order is by a DATE")
    return micros // day


@contextmanager
def _at(node: exp.Expr) -> Iterator[None]:
    """Gives errors without a place that of a node."""
    try:
        yield
    except ExpressionError as error:
        raise error.at(*place_of(node)) from None
