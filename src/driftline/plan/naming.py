"""Expressions with a name: `price * qty AS value`."""

from __future__ import annotations

from sqlglot import exp

from driftline.plan.dialect import parse_sql


def parse_aliased(text: str) -> tuple[exp.Expr, str | None]:
    """The syntax tree of an expression, and the name it is given with AS, if any.

    >>> node, name = parse_aliased("a + 1 AS b")
    >>> node.sql("spark"), name
    ('a + 1', 'b')
    """
    tree = parse_sql(text)
    if isinstance(tree, exp.Alias):
        return tree.this, tree.alias
    return tree, None
