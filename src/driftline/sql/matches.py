"""MATCH_RECOGNIZE after a table: the matches of a pattern in its rows."""

from __future__ import annotations

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.expressions import Column
from driftline.plan.patterns.building import MatchClauses, in_units, matched
from driftline.plan.patterns.reading import parse_pattern
from driftline.plan.used import uses
from driftline.sql.errors import at, refuse
from driftline.sql.order import order_item
from driftline.sql.scope import Scope, column_of
from driftline.sql.syntax import MatchRecognize
from driftline.sql.windows import duration


def match_rows(scope: Scope, node: MatchRecognize) -> nodes.Node:
    """The rows that the matches in the rows of a scope give."""
    uses(node, *node.arg_types)
    rows = scope.plan if scope.is_plain else nodes.Project(scope.plan, tuple(scope.star()))
    with at(node):
        order = _order(rows, node)
        within = node.args.get("within")
        return matched(
            rows,
            [_partition(rows, each) for each in node.args.get("partition") or ()],
            order,
            MatchClauses(
                parse_pattern(*(node.args[key] for key in ("pattern", "line", "column"))),
                _named(node, "define"),
                _named(node, "measures"),
                _subsets(node),
                node.args["rows"],
                node.args.get("skip") or "past last",
                node.args.get("skip_to"),
                None if within is None else _within(within, order),
            ),
        )


def _partition(rows: nodes.Node, node: exp.Expr) -> Column:
    if not isinstance(node, exp.Column):
        raise refuse(
            "PARTITION BY of MATCH_RECOGNIZE takes columns: compute others in a subquery", node
        )
    return column_of(rows.schema, node)


def _order(rows: nodes.Node, node: MatchRecognize) -> list[nodes.OrderItem]:
    order = node.args.get("order")
    if order is None:
        raise refuse("MATCH_RECOGNIZE needs ORDER BY: a pattern goes by the order of rows", node)
    uses(order, "expressions")
    scope = Scope(rows)
    return [order_item(each, scope.resolve(each.this)) for each in order.expressions]


def _named(node: MatchRecognize, clause: str) -> list[tuple[exp.Expr, exp.Expr]]:
    found = []
    for each in node.args.get(clause) or ():
        uses(each, "this", "alias")
        found.append((each.args["alias"], each.this))
    return found


def _subsets(node: MatchRecognize) -> list[tuple[exp.Expr, list[exp.Expr]]]:
    found = []
    for each in node.args.get("subsets") or ():
        uses(each, "this", "expressions")
        found.append((each.this, each.expressions))
    return found


def _within(node: exp.Expr, order: list[nodes.OrderItem]) -> int:
    """The longest duration of a match in units of the order column."""
    with at(node):
        return in_units(order[0].value.type, lambda stamps: duration(node, stamps))
