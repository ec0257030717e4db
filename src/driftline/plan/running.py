"""Window functions in the order of time, over all rows up to the current one: running aggregates.

    f(x) OVER (PARTITION BY k ORDER BY ts)  =  what  SELECT k, f(x) … GROUP BY k  was at ts

of plain records, which are only added, never end and start at ts: at that time the rows that are
there are those up to ts. So a row is joined with the aggregate at its own tick, and has that value
ever after. A row then costs what it changes, and not its partition: a late one the later rows that
the cti has not passed, of which alone something is kept.
"""

from __future__ import annotations

from driftline.plan.expressions import AggregateCall, Column, Expression
from driftline.plan.facts import Facts
from driftline.plan.functions.collections import struct
from driftline.plan.functions.operators import compare
from driftline.plan.nodes import Aggregate, Frame, Join, Named, Node, Over, Project, Window
from driftline.plan.nodes.keyed import BY_START

_SO_FAR = Frame("range", None, 0)


def running(node: Over, facts: Facts) -> Node | None:
    """The window functions as a join with aggregates; None if they are no running aggregates."""
    if not _is_running(node, facts):
        return None
    own = [
        Named(name, Column(name, each.type))
        for name, each in zip(node.input.schema.names, node.input.schema, strict=True)
    ]
    keys = [Named(f"$key {place}", value) for place, value in enumerate(node.partition)]
    values = [Named(f"$so far {place}", each.value) for place, each in enumerate(node.columns)]
    at = [Named(f"$at {place}", value) for place, value in enumerate(node.partition)]
    rows = Project(Window(node.input, "now"), (*own, *at))
    totals = Aggregate(node.input, tuple(keys), tuple(values))
    condition = compare("equal", _one(at), _one(keys)) if keys else None
    found = [
        Named(each.name, Column(value.name, value.value.type))
        for each, value in zip(node.columns, values, strict=True)
    ]
    return Window(Project(Join(rows, totals, "inner", condition), (*own, *found)), "unbounded")


def _is_running(node: Over, facts: Facts) -> bool:
    given = node.input
    if given.is_loose or not (facts.only_grows(given) and facts.never_ends(given)):
        return False
    if len(node.order) != 1 or node.order[0].descending:
        return False
    by = node.order[0].value
    if not isinstance(by, Column) or facts.after_vs(given, given.schema.places[by.name]) != 0:
        return False
    return all(
        each.nth is None
        and each.frame == _SO_FAR
        and isinstance(each.value, AggregateCall)
        and each.value.function not in BY_START
        for each in node.columns
    )


def _one(columns: list[Named]) -> Expression:
    """Several values as one struct; two are equal where all values are, nulls included."""
    parts = tuple(Column(each.name, each.value.type) for each in columns)
    return struct([each.name for each in columns], parts)
