"""Expressions with a name, `price * qty AS value`, or an order, `price DESC NULLS LAST`."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from driftline.plan.dialect import parse_sql
from driftline.plan.errors import PlanError

OWN = "$"
"""How the names of columns begin that plans make for themselves."""


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


def parse_ordered(text: str) -> tuple[exp.Expr, bool, bool | None]:
    """The syntax tree of an item of ORDER BY, whether it is descending, and whether nulls come
    first (None: as the direction has it).

    >>> node, descending, nulls_first = parse_ordered("abs(x) DESC NULLS FIRST")
    >>> node.sql("spark"), descending, nulls_first
    ('ABS(x)', True, True)
    """
    tree = parse_sql(text, exp.Ordered)
    descending, nulls_first = bool(tree.args.get("desc")), bool(tree.args.get("nulls_first"))
    return tree.this, descending, None if nulls_first != descending else nulls_first


def check_names(columns: Iterable[str]) -> None:
    """Refuse names of a stream's columns that are kept for columns which plans make themselves."""
    for name in columns:
        if name.startswith(OWN):
            raise PlanError(f"a column cannot be called {name}: names with {OWN} are our own")
