"""Aggregates that take an order, a limit or the row with the most of something."""

from __future__ import annotations

from sqlglot import exp

from driftline.plan.used import uses
from driftline.sql.errors import refuse
from driftline.sql.other_functions.syntax import ITEM, PAIR, called, function, name_of, number, put
from driftline.sql.syntax import MatchRecognize

_LEFT, _RIGHT = "$left", "$right"


def ordered_list(node: exp.Anonymous) -> exp.Expr | None:
    """array_agg(x ORDER BY y), which FILTER may follow."""
    if len(node.expressions) != 1 or str(node.this).lower() not in ("array_agg", "list"):
        return None
    value, count, items = node.expressions[0], None, None
    if isinstance(value, exp.Limit):
        uses(value, "this", "expression")
        count, value = value.expression, value.this
    if isinstance(value, exp.Order):
        uses(value, "this", "expressions")
        items, value = value.expressions, value.this
    if items is None and count is None:
        return None
    if isinstance(node.parent, exp.Window):
        raise refuse("array_agg with ORDER BY or LIMIT has no OVER (…)", node)
    if items is None:
        raise refuse("LIMIT without ORDER BY would be any items: say which come first", node)
    if isinstance(value, exp.IgnoreNulls):
        uses(value, "this")
        value = value.this
    distinct = isinstance(value, exp.Distinct)
    if distinct:
        uses(value, "expressions")
        (value,) = value.expressions
    uses(node, "this", "expressions")
    parts: list[exp.Expr] = [exp.Literal.string("value"), value.copy()]
    for place, each in enumerate(items):
        parts += [exp.Literal.string(f"key{place}"), each.this.copy()]
    struct: exp.Expr = called("named_struct", *parts)
    known: exp.Expr = exp.not_(exp.Is(this=exp.paren(value.copy()), expression=exp.Null()))
    outside: exp.Expr = node
    if isinstance(node.parent, exp.Filter):
        outside = node.parent
        uses(outside, "this", "expression")
        uses(outside.expression, "this")
        known = exp.and_(known, exp.paren(outside.expression.this.copy()))
    listed = called("array_agg", exp.Distinct(expressions=[struct]) if distinct else struct)
    found: exp.Expr = exp.Filter(this=listed, expression=exp.Where(this=known))
    found = called("array_sort", found, _comparison(items))
    if count is not None:
        found = called("slice", found, exp.Literal.number(1), count.copy())
    field = exp.Dot(this=name_of(ITEM), expression=exp.to_identifier("value"))
    found = called("transform", found, function(field, ITEM))
    put(outside, found)
    return None


def _comparison(items: list[exp.Expr]) -> exp.Lambda:
    """A function that compares two structs by their keys, as ORDER BY does."""
    ifs = []
    for place, each in enumerate(items):
        uses(each, "this", "desc", "nulls_first")
        left, right = (
            exp.Dot(this=name_of(side), expression=exp.to_identifier(f"key{place}"))
            for side in (_LEFT, _RIGHT)
        )
        less, greater = (-1, 1) if not each.args.get("desc") else (1, -1)
        first, last = (-1, 1) if each.args.get("nulls_first") else (1, -1)
        no_left, no_right = (
            exp.Is(this=side.copy(), expression=exp.Null()) for side in (left, right)
        )
        for condition, sign in (
            (exp.and_(no_left, exp.not_(no_right)), first),
            (exp.and_(no_right.copy(), exp.not_(no_left.copy())), last),
            (exp.LT(this=left.copy(), expression=right.copy()), less),
            (exp.GT(this=left.copy(), expression=right.copy()), greater),
        ):
            ifs.append(exp.If(this=condition, true=number(sign)))
    return function(exp.Case(ifs=ifs, default=number(0)), _LEFT, _RIGHT)


def first_in_order(node: exp.Anonymous) -> exp.Expr | None:
    """first_value(x ORDER BY y, z), last_value(x ORDER BY y, z)."""
    if len(node.expressions) != 1 or not isinstance(node.expressions[0], exp.Order):
        return None
    order = node.expressions[0]
    uses(order, "this", "expressions")
    for each in order.expressions:
        uses(each, "this", "desc", "nulls_first")
    directions = {
        (bool(each.args.get("desc")), bool(each.args.get("nulls_first")))
        for each in order.expressions
    }
    if not directions <= {(False, True)} and not directions <= {(True, False)}:
        raise refuse(
            f"{str(node.this).lower()} takes an ORDER BY of one direction, with nulls where they "
            "are by default",
            node,
        )
    descending = (True, False) in directions
    least = descending == str(node.this).lower().startswith("last")
    key = called("struct", *(each.this.copy() for each in order.expressions))
    return called("min_by" if least else "max_by", order.this.copy(), key)


def with_most(node: exp.Anonymous) -> exp.Expr | None:
    """any_value(x HAVING MAX y)."""
    if len(node.expressions) != 1 or not isinstance(node.expressions[0], exp.HavingMax):
        return None
    having = node.expressions[0]
    uses(having, "this", "expression", "max")
    name = "max_by" if having.args.get("max") else "min_by"
    return called(name, having.this.copy(), having.expression.copy())


def count_distinct(node: exp.Anonymous) -> exp.Expr | None:
    return called("count", exp.Distinct(expressions=[each.copy() for each in node.expressions]))


def several_groupings(node: exp.Anonymous) -> exp.Expr | None:
    """grouping(a, b), the number that grouping_id gives."""
    if len(node.expressions) < PAIR:
        return None
    return called("grouping_id", *(each.copy() for each in node.expressions))


def first_by(node: exp.Anonymous) -> exp.Expr | None:
    """first(x, t) and last(x, t): the value of the row with the least, or the greatest, t. Spark's
    first(x, true) leaves nulls out, and last(A.x, 1) is about the rows of a match."""
    constant = (exp.Boolean, exp.Literal)
    if len(node.expressions) != PAIR or isinstance(node.expressions[1], constant):
        return None
    if node.find_ancestor(MatchRecognize) is not None:
        return None
    name = "min_by" if str(node.this).lower() == "first" else "max_by"
    return called(name, *(each.copy() for each in node.expressions))


def list_within_group(node: exp.WithinGroup) -> None:
    """array_agg(x) WITHIN GROUP (ORDER BY y), and approx_percentile(0.5) of an order, which is
    exact here."""
    call, order = node.this, node.expression
    name = str(call.this).lower() if isinstance(call, exp.Anonymous) else ""
    if name == "approx_percentile" and 1 <= len(call.expressions) <= PAIR:
        uses(call, "this", "expressions")
        put(call, called("percentile_disc", call.expressions[0].copy()))
    if name != "array_agg":
        return
    if len(call.expressions) == 1 and isinstance(order, exp.Order):
        uses(node, "this", "expression")
        uses(call, "this", "expressions")
        items = [each.copy() for each in order.expressions]
        value = exp.Order(this=call.expressions[0].copy(), expressions=items)
        made = called("array_agg", value)
        put(node, made)
        ordered_list(made)
