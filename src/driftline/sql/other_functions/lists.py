"""Functions of lists, texts and numbers."""

from __future__ import annotations

import re

from sqlglot import exp

from driftline.plan.used import uses
from driftline.sql.other_functions.syntax import ITEM, PAIR, TRIPLE, called, function, name_of, put

_PLACES = {
    "safe_offset": "get",
    "ordinal": "element_at",
    "safe_ordinal": "try_element_at",
}


def bracket(node: exp.Bracket) -> None:
    """a[OFFSET(i)] and its like, from 0 or 1, null or an error where there is no such item."""
    place = node.expressions[0] if len(node.expressions) == 1 else None
    if not isinstance(place, exp.Anonymous) or len(place.expressions) != 1:
        return
    name = str(place.this).lower()
    if name == "offset":
        node.set("expressions", [place.expressions[0].copy()])
    elif name in _PLACES:
        put(node, called(_PLACES[name], node.this.copy(), place.expressions[0].copy()))


def in_unnest(node: exp.In) -> None:
    unnest = node.args.get("unnest")
    if unnest is None or len(unnest.expressions) != 1 or unnest.args.get("alias"):
        return
    uses(node, "this", "unnest")
    uses(unnest, "expressions")
    put(node, _has_item("exists", exp.EQ, node.this, unnest.expressions[0]))


def _has_item(name: str, kind: type[exp.Binary], value: exp.Expr, items: exp.Expr) -> exp.Expr:
    """Whether a comparison of a value is true with one, or with all, of the items of a list."""
    body = kind(this=value.copy(), expression=name_of(ITEM))
    return called(name, items.copy(), function(body, ITEM))


def any_item(node: exp.Any) -> None:
    """x = ANY (ARRAY[…])."""
    comparison, items = node.parent, node.this.unnest()
    if isinstance(comparison, exp.Binary) and _is_array(items):
        uses(node, "this")
        uses(comparison, "this", "expression")
        put(comparison, _has_item("exists", type(comparison), comparison.this, items))


def all_items(node: exp.Anonymous) -> exp.Expr | None:
    """x <> ALL (ARRAY[…])."""
    comparison = node.parent
    if isinstance(comparison, exp.Binary) and len(node.expressions) == 1:
        items = node.expressions[0]
        uses(node, "this", "expressions")
        uses(comparison, "this", "expression")
        put(comparison, _has_item("forall", type(comparison), comparison.this, items))
    return None


def _is_array(node: exp.Expr) -> bool:
    if isinstance(node, exp.Bracket):
        return isinstance(node.this, exp.Column) and node.this.name.lower() == "array"
    return isinstance(node, exp.Array)


def split_at(node: exp.Anonymous) -> exp.Expr | None:
    """split_index(text, ',', 0): the parts are counted from 0, and null where there is none."""
    if len(node.expressions) != TRIPLE:
        return None
    text, between, place = node.expressions
    if not isinstance(between, exp.Literal) or not between.is_string:
        return None
    pattern = exp.Literal.string(re.escape(between.this))
    return called("get", called("split", text.copy(), pattern), place.copy())


def series(node: exp.Anonymous) -> exp.Expr | None:
    """generate_array(a, b, step), which is empty if b is before a."""
    if not PAIR <= len(node.expressions) <= TRIPLE:
        return None
    start, end, *step = (each.copy() for each in node.expressions)
    rows = called("sequence", start, end, *step)
    if step:
        return rows
    nothing = called("slice", rows.copy(), exp.Literal.number(1), exp.Literal.number(0))
    return called("if", exp.LT(this=end.copy(), expression=start.copy()), nothing, rows)


def whole_part(node: exp.Anonymous) -> exp.Expr | None:
    if len(node.expressions) != PAIR:
        return None
    one, other = (exp.paren(each.copy()) for each in node.expressions)
    return exp.paren(exp.IntDiv(this=one, expression=other))


def opposite(node: exp.Anonymous) -> exp.Expr | None:
    if len(node.expressions) != 1:
        return None
    return called("try_subtract", exp.Literal.number(0), node.expressions[0].copy())


def rows_of_series(node: exp.Table) -> None:
    """FROM generate_series(a, b) AS n."""
    call = node.this
    if not isinstance(call, exp.Anonymous) or str(call.this).lower() != "generate_series":
        return
    rows = series(call)
    alias = node.args.get("alias")
    if rows is None or (alias is not None and alias.args.get("brackets")):
        return
    uses(node, "this", "alias")
    uses(call, "this", "expressions")
    if alias is None:
        alias = exp.TableAlias(columns=[exp.to_identifier("generate_series")])
    put(node, exp.Unnest(expressions=[rows], alias=alias.copy()))


def exploded(node: exp.Anonymous) -> exp.Expr | None:
    """unnest(list) and generate_series(a, b) in the select list."""
    if str(node.this).lower() == "unnest":
        return called("explode", *(each.copy() for each in node.expressions))
    if isinstance(node.parent, exp.Table):
        return None
    rows = series(node)
    return None if rows is None else called("explode", rows)
