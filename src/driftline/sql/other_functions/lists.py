"""Functions of lists, texts and numbers."""

from __future__ import annotations

import re

from sqlglot import exp

from driftline.plan.used import uses
from driftline.sql.errors import refuse
from driftline.sql.other_functions.syntax import (
    ITEM,
    PAIR,
    TRIPLE,
    called,
    function,
    name_of,
    number,
    put,
)
from driftline.sql.other_functions.times import interval_of

_PLACES = {
    "safe_offset": "get",
    "ordinal": "element_at",
    "safe_ordinal": "try_element_at",
}


_LIST = r"\{[^{}\"'\\\\]*\}"
"""A list of plain values in a text."""


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
    """x = ANY (ARRAY[…]), x = ANY (xs) and x > ANY (1, 2)."""
    _compared(node, node.this, "exists")


def some_item(node: exp.Anonymous) -> exp.Expr | None:
    """x = SOME (…), which is x = ANY (…)."""
    _compared(node, _listed(node.expressions), "exists")
    return None


def all_items(node: exp.Anonymous) -> exp.Expr | None:
    """x <> ALL (ARRAY[…]) and x > ALL (1, 2)."""
    _compared(node, _listed(node.expressions), "forall")
    return None


def _listed(given: list[exp.Expr]) -> exp.Expr:
    return given[0] if len(given) == 1 else exp.Tuple(expressions=given)


def _compared(node: exp.Expr, items: exp.Expr, name: str) -> None:
    """A comparison with the items of a list. any(condition) is an aggregate, also beside =."""
    comparison = node.parent
    if not isinstance(comparison, exp.Binary) or comparison.expression is not node:
        return
    if not isinstance(comparison, exp.Predicate) or isinstance(comparison, (exp.Like, exp.ILike)):
        return
    while isinstance(items, (exp.Paren, exp.Subquery)):
        items = items.this
    if isinstance(items, exp.Values) and all(
        len(row.expressions) == 1 for row in items.expressions
    ):
        uses(items, "expressions")
        items = exp.Tuple(expressions=[row.expressions[0] for row in items.expressions])
    is_condition = isinstance(items, (exp.Predicate, exp.Connector, exp.Not, exp.Boolean))
    if isinstance(items, exp.Query) or is_condition or isinstance(comparison.this, exp.Boolean):
        return
    if isinstance(items, exp.Tuple):
        uses(items, "expressions")
        items = called("array", *(each.copy() for each in items.expressions))
    uses(node, "this", "expressions")
    uses(comparison, "this", "expression")
    put(comparison, _has_item(name, type(comparison), comparison.this, items))


def written_as_text(node: exp.Cast) -> None:
    """'{1,2}'::int[], as Postgres writes a list in a text."""
    given, kind = node.this, node.to
    is_text = isinstance(given, exp.Literal) and given.is_string
    if not is_text or kind.this != exp.DataType.Type.ARRAY or not re.fullmatch(_LIST, given.this):
        return
    words = [each.strip() for each in given.this[1:-1].split(",")]
    items = [
        exp.Null() if each.upper() == "NULL" else exp.Literal.string(each)
        for each in words
        if words != [""]
    ]
    node.set("this", called("array", *items))


def length(node: exp.Anonymous) -> exp.Expr | None:
    """array_length(xs), and array_length(xs, 1), which is null of an empty list, as in Postgres."""
    size = called("array_size", *(each.copy() for each in node.expressions[:1]))
    if len(node.expressions) == 1:
        return size
    one = node.expressions[1] if len(node.expressions) == PAIR else None
    if one is None or one.sql() != "1":
        raise refuse("array_length counts the items of a list: array_length(xs)", node)
    return called("nullif", size, exp.Literal.number(0))


def parts(node: exp.Anonymous) -> exp.Expr | None:
    """string_to_array(text, ','): split, by what is no pattern."""
    if len(node.expressions) != PAIR or not isinstance(node.expressions[1], exp.Literal):
        return None
    text, between = node.expressions
    return called("split", text.copy(), exp.Literal.string(re.escape(between.this)))


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
        return _by_steps(start, end, step[0])
    nothing = called("slice", rows.copy(), exp.Literal.number(1), exp.Literal.number(0))
    return called("if", exp.LT(this=end.copy(), expression=start.copy()), nothing, rows)


def _by_steps(start: exp.Expr, end: exp.Expr, step: exp.Expr) -> exp.Expr:
    """The numbers or times from one to another, and none where no step leads there."""
    if isinstance(step, exp.Literal) and step.is_string:
        step = interval_of(step)
    beyond: exp.Expr = exp.LT(this=end.copy(), expression=start.copy())
    before = exp.GT(this=end.copy(), expression=start.copy())
    if isinstance(step, exp.Interval):
        beyond = before if "-" in step.sql() else beyond
    else:
        up = exp.GT(this=exp.paren(step.copy()), expression=exp.Literal.number(0))
        down = exp.LT(this=exp.paren(step.copy()), expression=exp.Literal.number(0))
        beyond = exp.or_(exp.and_(up, beyond), exp.and_(down, before))
    one = called("slice", called("array", start.copy(), end.copy()), number(1), number(0))
    return called("if", beyond, one, called("sequence", start, end, step))


def whole_part(node: exp.Anonymous) -> exp.Expr | None:
    if len(node.expressions) != PAIR:
        return None
    one, other = (exp.paren(each.copy()) for each in node.expressions)
    return exp.paren(exp.IntDiv(this=one, expression=other))


def opposite(node: exp.Anonymous) -> exp.Expr | None:
    if len(node.expressions) != 1:
        return None
    return called("try_subtract", exp.Literal.number(0), node.expressions[0].copy())


def rows_of_series(node: exp.Expr) -> None:
    """FROM generate_series(a, b) AS n, also after LATERAL."""
    call = node.this
    if not isinstance(call, exp.Anonymous) or node.args.get("view"):
        return
    name = str(call.this).lower()
    if name == "unnest" and len(call.expressions) == 1 and isinstance(node, exp.Lateral):
        rows: exp.Expr | None = call.expressions[0].copy()
    else:
        rows = series(call) if name == "generate_series" else None
    alias = node.args.get("alias")
    if rows is None or (alias is not None and alias.args.get("brackets")):
        return
    uses(node, "this", "alias")
    uses(call, "this", "expressions")
    if alias is None:
        alias = exp.TableAlias(columns=[exp.to_identifier(name)])
    put(node, exp.Unnest(expressions=[rows], alias=alias.copy()))


def exploded(node: exp.Anonymous) -> exp.Expr | None:
    """unnest(list) and generate_series(a, b) in the select list."""
    if isinstance(node.parent, exp.Lateral) and not node.parent.args.get("view"):
        return None
    if str(node.this).lower() == "unnest":
        return called("explode", *(each.copy() for each in node.expressions))
    if isinstance(node.parent, exp.Table):
        return None
    rows = series(node)
    return None if rows is None else called("explode", rows)
