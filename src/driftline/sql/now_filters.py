"""Conditions on now(): windows in disguise.

    ts > now() - d     a row is there until ts + d
    ts <= now() - d    a row is there from ts + d on

now() is the time of the answer: a row of the snapshot at t fulfils the condition if it does with
now() = t. So the condition cuts lifetimes, where ts is the time of the stream.
"""

from __future__ import annotations

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.conditions import line, total
from driftline.plan.expressions import Call, Column, Expression, Literal
from driftline.plan.facts import Facts
from driftline.plan.types import BIGINT, TIMESTAMP, Field, Schema
from driftline.plan.used import uses_all
from driftline.sql.errors import refuse
from driftline.sql.scope import Scope, walked

NOW = "$now"
_LATER = {"greater": (1, 0), "greater_equal": (1, 1), "less": (-1, 0), "less_equal": (-1, 1)}
"""Whether the left is the greater, and whether equal values count."""


def asks_for_now(node: exp.Expr) -> bool:
    """Whether a condition is about now()."""
    return any(map(_is_now, walked(node)))


def _is_now(node: exp.Expr) -> bool:
    if isinstance(node, exp.CurrentTimestamp):
        return not node.this
    is_call = isinstance(node, exp.Anonymous) and not node.expressions
    return is_call and node.name.lower() in ("now", "current_timestamp")


def cut_by_now(scope: Scope, node: exp.Expr) -> Scope:
    """The rows of a scope, while a condition on now() holds."""
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
    value = scope.resolve(written, Schema((Field(NOW, kind),)))
    found = _end(plan, value)
    if found is None:
        raise refuse(
            "a condition on now() compares it with the time of the stream, as "
            "ts > now() - INTERVAL 5 MINUTES",
            node,
        )
    keeps_until, delay = found
    if keeps_until:
        if delay <= 0:
            return scope.over(nodes.Select(plan, Literal(False, value.type)))
        return scope.over(nodes.Window(plan, "within", delay))
    if delay <= 0:
        return scope  # it holds from the start
    start = Call("add", (Column("vs", BIGINT), Literal(delay, BIGINT)), BIGINT)
    whole = Call("subtract", (Column("ve", BIGINT), Column("vs", BIGINT)), BIGINT)
    rest = Call("subtract", (whole, Literal(delay, BIGINT)), BIGINT)
    return scope.over(nodes.Window(plan, "general", start=start, duration=rest))


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
