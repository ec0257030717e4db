"""Conditions on now(): windows in disguise.

    ts > now() - d     a row is there until ts + d
    ts <= now() - d    a row is there from ts + d on
    x > now()          a row is there until x, and so with any expression over its columns

now() is the time of the answer: a row of the snapshot at t fulfils the condition if it does with
now() = t. So the condition cuts lifetimes. Where ts is the time of the stream all rows are there
for as long, and it is a window.
"""

from __future__ import annotations

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.conditions import line, total
from driftline.plan.expressions import Call, Column, Expression, Literal
from driftline.plan.facts import Facts
from driftline.plan.types import (
    BIGINT,
    BOOLEAN,
    TIMESTAMP,
    Field,
    Schema,
    is_integer,
    is_timestamp,
)
from driftline.plan.used import uses, uses_all
from driftline.sql.errors import refuse
from driftline.sql.scope import Scope, walked

NOW = "$now"
_LATER = {"greater": (1, 0), "greater_equal": (1, 1), "less": (-1, 0), "less_equal": (-1, 1)}
"""Whether the left is the greater, and whether equal values count."""

_NEGATED: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
    exp.GT: exp.LTE,
    exp.LTE: exp.GT,
}


def asks_for_now(node: exp.Expr) -> bool:
    """Whether a condition is about now()."""
    return any(map(_is_now, walked(node)))


def _is_now(node: exp.Expr) -> bool:
    if isinstance(node, exp.CurrentTimestamp):
        return not node.this
    is_call = isinstance(node, exp.Anonymous) and not node.expressions
    return is_call and node.name.lower() in (
        "now",
        "current_timestamp",
        "mz_now",
        "mz_logical_timestamp",
    )


def sides_of(node: exp.Expr) -> list[exp.Expr]:
    """x BETWEEN a AND b as two comparisons, and NOT x < y as x >= y; any other condition as it
    is."""
    if isinstance(node, exp.Not) and type(inner := node.this.unnest()) in _NEGATED:
        around: exp.Expr = node
        while around is not inner:  # in parentheses
            uses(around, "this")
            around = around.this
        turned = _NEGATED[type(inner)](this=inner.this.copy(), expression=inner.expression.copy())
        turned.meta.update(inner.meta)
        return [turned]
    if not isinstance(node, exp.Between):
        return [node]
    uses(node, "this", "low", "high")
    sides: list[exp.Expr] = [
        exp.GTE(this=node.this.copy(), expression=node.args["low"].copy()),
        exp.LTE(this=node.this.copy(), expression=node.args["high"].copy()),
    ]
    for each in sides:
        each.meta.update(node.meta)
    return sides


def cut_by_now(scope: Scope, conditions: list[exp.Expr]) -> Scope:
    """The rows of a scope, while conditions on now() hold."""
    if not conditions:
        return scope
    plan = scope.plan
    found: list[tuple[bool, int]] = []
    bounds: list[tuple[bool, int, Expression]] = []
    for each in conditions:
        value = _with_now(scope, each)
        by_time, bound = _end(plan, value), _bound(plan, value)
        if by_time is not None:
            found.append(by_time)
        elif bound is not None:
            bounds.append(bound)
        else:
            raise refuse(
                "a condition on now() compares it with a time of the row, as "
                "ts > now() - INTERVAL 5 MINUTES",
                each,
            )
    until = min((delay for keeps_until, delay in found if keeps_until), default=None)
    if until is not None:
        if until <= 0:
            return scope.over(nodes.Select(plan, Literal(False, BOOLEAN)))
        plan = nodes.Window(plan, "within", until)
    delay = max((delay for keeps_until, delay in found if not keeps_until), default=0)
    if delay > 0:  # else it holds from the start
        start = Call("add", (Column("vs", BIGINT), Literal(delay, BIGINT)), BIGINT)
        whole = Call("subtract", (Column("ve", BIGINT), Column("vs", BIGINT)), BIGINT)
        rest = Call("subtract", (whole, Literal(delay, BIGINT)), BIGINT)
        plan = nodes.Window(plan, "general", start=start, duration=rest)
    for keeps_until, delay, value in bounds:
        plan = nodes.Clip(plan, value, delay, "until" if keeps_until else "since")
    return scope.over(plan)


def _with_now(scope: Scope, node: exp.Expr) -> Expression:
    """A condition in which now() is a column."""
    plan = scope.plan
    kind = TIMESTAMP if plan.timestamps else BIGINT
    written = node.copy()
    for part in list(written.find_all(exp.CurrentTimestamp, exp.Anonymous)):
        if _is_now(part):
            uses_all(part)
            column = exp.column(exp.to_identifier(NOW, quoted=True))
            if part is written:
                written = column
            else:
                part.replace(column)
    return scope.resolve(written, Schema((Field(NOW, kind),)))


def _bound(plan: nodes.Node, value: Expression) -> tuple[bool, int, Expression] | None:
    """Whether rows are there until, or from, so long after a time that each says."""
    if not isinstance(value, Call) or value.function not in _LATER:
        return None
    one, other = value.args
    direction, equal = _LATER[value.function]
    if NOW in other.columns():
        one, other, direction = other, one, -direction
    moved = line(one, {NOW: (0, 1, 0)})
    fits = is_timestamp(other.type) if plan.timestamps else is_integer(other.type)
    if moved is None or moved[:2] != (0, 1) or NOW in other.columns() or not fits:
        return None
    # now + moved > other, or >=, or < or <=
    keeps_until = direction < 0
    return keeps_until, -moved[2] + (equal if keeps_until else 1 - equal), other


def _end(plan: nodes.Node, value: Expression) -> tuple[bool, int] | None:
    """Whether rows are there until, or from, so long after their start."""
    if not isinstance(value, Call) or value.function not in _LATER:
        return None
    facts = Facts(plan.sources())
    times = {
        name: (1, 0, 0)
        for place, name in enumerate(plan.schema.names)
        if facts.after_vs(plan, place) == 0
    }
    one, other = (line(each, {**times, NOW: (0, 1, 0)}) for each in value.args)
    difference = total(one, other, -1)
    if difference is None or {difference[0], difference[1]} != {1, -1}:
        return None
    direction, equal = _LATER[value.function]
    time, _, delay = (direction * each for each in difference)
    # time = 1: ts - now + delay > 0, or >= 0, so now < ts + delay (+ 1)
    if time == 1:
        return True, delay + equal
    return False, -delay + 1 - equal
