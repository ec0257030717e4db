"""Rows that a query brings itself: VALUES (…), (…), and the one row of SELECT without FROM.

They come from no stream and are there for ever: from before all else, to the end of time.
"""

from __future__ import annotations

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.expressions import Column, Expression, Literal
from driftline.plan.functions import operators
from driftline.plan.resolver import resolve
from driftline.plan.types import INT, Schema
from driftline.plan.used import uses
from driftline.sql.errors import at, refuse
from driftline.sql.scope import Relations

MOST_ROWS = 1_000
"""More rows than this are data, and belong into a stream."""


def one_row(names: Relations) -> nodes.Node:
    """What SELECT without FROM is computed from."""
    return nodes.constant(1, names.timestamps)


def values(node: exp.Values, names: Relations) -> nodes.Node:
    """The rows of VALUES, with the columns col1, col2, …"""
    rows = [_row(each) for each in node.expressions]
    if len(rows) > MOST_ROWS:
        raise refuse(f"VALUES takes at most {MOST_ROWS} rows: make a stream of them", node)
    width = len(rows[0])
    for row, each in zip(rows, node.expressions, strict=True):
        if len(row) != width:
            raise refuse(f"a row of VALUES has {len(row)} columns, the first has {width}", each)
    number = Column(nodes.ROW, INT)
    columns = []
    for place in range(width):
        items = [_constant(row[place]) for row in rows]
        value = items[0]
        if len(items) > 1:
            branches = [
                (operators.compare("equal", number, Literal(row, INT)), item)
                for row, item in enumerate(items[:-1])
            ]
            with at(node):
                value = operators.case(tuple(branches), items[-1])
        columns.append(nodes.Named(f"col{place + 1}", value))
    return nodes.Project(nodes.constant(len(rows), names.timestamps), tuple(columns))


def _row(node: exp.Expr) -> list[exp.Expr]:
    if not isinstance(node, exp.Tuple):
        return [node]
    uses(node, "expressions")
    return list(node.expressions)


def _constant(node: exp.Expr) -> Expression:
    if node.find(exp.Column, exp.Query) is not None:
        raise refuse("VALUES takes constants", node)
    with at(node):
        value = resolve(node, Schema(()))
    if value.aggregates():
        raise refuse("VALUES takes constants", node)
    return value
