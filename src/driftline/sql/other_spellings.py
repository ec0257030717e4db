"""What users of other engines write, as Spark has it, before a query is bound.

x = ANY (q), x <> ALL (q)       x IN (q), x NOT IN (q)
x > ANY (q), x > ALL (q)        a comparison with the least, or the greatest, value of q
x <> ANY (q), x = ALL (q)       a comparison with both
first_value(x IGNORE NULLS)     first_value(x) IGNORE NULLS
string_agg(x, ',' ORDER BY y)   listagg(x, ',') WITHIN GROUP (ORDER BY y)
SELECT DISTINCT ON (k) …        … QUALIFY row_number() OVER (PARTITION BY k ORDER BY …) = 1
… ORDER BY x LIMIT n BY k       … QUALIFY row_number() OVER (PARTITION BY k ORDER BY x) <= n
(SELECT AS STRUCT a, b …)       (SELECT named_struct('a', a, 'b', b) …)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sqlglot import exp

from driftline.plan.used import uses
from driftline.sql.errors import refuse
from driftline.sql.order import no_order, whole
from driftline.sql.other_functions import respell_functions
from driftline.sql.other_functions.syntax import called
from driftline.sql.query_parts import is_aggregate
from driftline.sql.scope import EXTREME

_NULLS, _LEAST, _GREATEST = "nulls", "min", "max"
_BOTH = (_LEAST, _GREATEST)
_COMPARED: dict[type[exp.Expr], tuple[tuple[str, ...], tuple[str, ...]]] = {
    exp.GT: ((_LEAST,), (_GREATEST,)),
    exp.GTE: ((_LEAST,), (_GREATEST,)),
    exp.LT: ((_GREATEST,), (_LEAST,)),
    exp.LTE: ((_GREATEST,), (_LEAST,)),
    exp.EQ: ((), _BOTH),
    exp.NEQ: (_BOTH, ()),
}
"""By which values of a subquery a comparison with any, and with all of it, is decided."""
_JOINED = ("string_agg", "listagg")
_WHOLE = ("group", "having", "distinct", "limit", "offset", "qualify", "order", "with_")
"""What makes other rows of a SELECT than a column of each row."""


def respelled(query: exp.Select) -> exp.Select:
    """The query, changed in place."""
    for order in query.find_all(exp.Order):
        if not order.this and order.arg_key in ("this", "expressions"):
            raise refuse("ORDER BY in a call stands after a value: array_agg(x ORDER BY y)", order)
    for select in list(query.find_all(exp.Select)):
        _as_one_value(select)
    respell_functions(query)
    for part in list(query.find_all(exp.Any, exp.All)):
        _compare(part)
    for nulls in list(query.find_all(exp.IgnoreNulls, exp.RespectNulls)):
        _take_out(nulls)
    for call in list(query.find_all(exp.Anonymous)):
        _order_apart(call)
    _keep_first(query)
    _keep_first_of_each(query)
    return query


def _compare(node: exp.Expr) -> None:
    rows, comparison = node.this, node.parent
    if not isinstance(rows, exp.Query) or comparison is None or comparison.expression is not node:
        return
    value, is_any = comparison.this, isinstance(node, exp.Any)
    if isinstance(comparison, exp.EQ if is_any else exp.NEQ):
        uses(node, "this")
        query = rows if isinstance(rows, exp.Subquery) else exp.Subquery(this=rows)
        found: exp.Expr = exp.In(this=value, query=query)
        comparison.replace(found if is_any else exp.paren(exp.not_(found)))
    elif type(comparison) in _COMPARED:
        uses(node, "this")
        decisive = _COMPARED[type(comparison)][not is_any]
        of_rows = _totals(rows, decisive)
        decided = (exp.or_ if is_any else exp.and_)(
            *(
                type(comparison)(this=value.copy(), expression=_field(of_rows, each, EXTREME))
                for each in decisive
            ),
            copy=False,
        )
        nulls = _field(of_rows, _NULLS)
        nothing = exp.Is(this=nulls, expression=exp.Null())
        unknown = exp.EQ(this=nulls.copy(), expression=exp.Literal.number(1))
        settled = decided.copy() if is_any else exp.not_(exp.paren(decided.copy()))
        comparison.replace(
            exp.paren(
                exp.Case(
                    ifs=[
                        exp.If(this=nothing, true=exp.convert(not is_any)),
                        exp.If(this=settled, true=exp.convert(is_any)),
                        exp.If(this=unknown, true=exp.Null()),
                    ],
                    default=decided,
                )
            )
        )


def _field(struct: exp.Expr, name: str, mark: str = "") -> exp.Expr:
    found = exp.Dot(this=struct.copy(), expression=exp.to_identifier(name))
    if mark:
        found.meta[mark] = True
    return found


def _totals(rows: exp.Query, decisive: tuple[str, ...]) -> exp.Expr:
    """A subquery of one struct: whether there are nulls among the rows of another (1 or 0, null if
    it has no rows), and the least or the greatest value. None of them is another with every row
    that comes, as a count would be: the comparison is computed anew only when one of them is."""
    inside = rows
    while isinstance(inside, exp.Subquery) and set(_given(inside)) == {"this"}:
        inside = inside.this
    inside = inside.copy()
    is_plain = (
        isinstance(inside, exp.Select)
        and not any(inside.args.get(each) for each in _WHOLE)
        and len(inside.expressions) == 1
        and not isinstance(inside.expressions[0], exp.Star)
        and not any(map(is_aggregate, inside.expressions[0].walk()))
    )
    if isinstance(inside, exp.Select) and len(inside.expressions) > 1:
        raise refuse(f"ANY and ALL compare with one column, not {len(inside.expressions)}", inside)
    column: exp.Expr = exp.column("$value", quoted=True)
    if is_plain:
        column = inside.expressions[0].unalias()
    parts: list[exp.Expr] = []
    is_null = exp.Is(this=column.copy(), expression=exp.Null())
    as_number = exp.Anonymous(this="if", expressions=[is_null, *map(exp.convert, (1, 0))])
    for name, function, of in (
        (_NULLS, "max", as_number),
        *((each, each, column) for each in decisive),
    ):
        call = exp.Anonymous(this=function, expressions=[of.copy()])
        parts += [exp.Literal.string(name), call]
    struct = exp.Anonymous(this="named_struct", expressions=parts)
    if is_plain:
        inside.set("expressions", [struct])
        return exp.Subquery(this=inside)
    names = exp.TableAlias(
        this=exp.to_identifier("$any", quoted=True),
        columns=[exp.to_identifier("$value", quoted=True)],
    )
    return exp.Subquery(this=exp.select(struct).from_(exp.Subquery(this=inside, alias=names)))


def _given(node: exp.Expr) -> list[str]:
    return [name for name, value in node.args.items() if value]


def _take_out(node: exp.Expr) -> None:
    """IGNORE NULLS behind the call whose argument it stands in."""
    call = node.parent
    if isinstance(call, exp.Anonymous) and not isinstance(node.this, exp.Anonymous):
        node.replace(node.this)
        outside = type(node)(this=call.copy())
        call.replace(outside)


def _order_apart(call: exp.Anonymous) -> None:
    last = call.expressions[-1] if call.expressions else None
    if str(call.this).lower() in _JOINED and isinstance(last, exp.Order):
        order = exp.Order(expressions=last.expressions)
        inside = call.copy()
        inside.set("expressions", [*inside.expressions[:-1], last.this.copy()])
        call.replace(exp.WithinGroup(this=inside, expression=order))


def _keep_first(query: exp.Select) -> None:
    """DISTINCT ON: of each key the first row in the order of the query."""
    distinct = query.args.get("distinct")
    if distinct is None or distinct.args.get("on") is None:
        return
    uses(distinct, "on")
    on = distinct.args["on"]
    keys = on.expressions if isinstance(on, exp.Tuple) else [on.unnest()]
    for key in keys:
        if key.find(exp.Window) is not None:
            raise refuse("a window function in DISTINCT ON: compute it in a subquery", key)
    uses(on, "expressions", "this")
    query.set("distinct", None)
    one = exp.EQ(this=_number(query, keys, keys), expression=exp.Literal.number(1))
    _also_qualify(query, one)


def _keep_first_of_each(query: exp.Select) -> None:
    """LIMIT n BY k: of each key the first rows in the order of the query."""
    limit = query.args.get("limit_by")
    if limit is None:
        return
    uses(limit, "expression", "offset", "expressions")
    if query.args.get("distinct") is not None:
        raise refuse("LIMIT n BY with DISTINCT: put SELECT DISTINCT … into a subquery", limit)
    offset = limit.args.get("offset")
    if query.args.get("order") is None:
        raise no_order("LIMIT", limit.expression)
    last = whole("LIMIT", limit.expression)
    number = _number(query, limit.expressions)
    if offset is not None:
        first = whole("OFFSET", offset)
        last += first
        _also_qualify(query, exp.GT(this=number.copy(), expression=exp.Literal.number(first)))
    _also_qualify(query, exp.LTE(this=number, expression=exp.Literal.number(last)))
    query.set("limit_by", None)


def _number(query: exp.Select, keys: list[exp.Expr], by: Sequence[exp.Expr] = ()) -> exp.Window:
    """The number of a row among those of its key, in the order of the query, or else of `by`."""
    order = query.args.get("order")
    items = order.expressions if order is not None else [exp.Ordered(this=each) for each in by]
    items = [each.copy() for each in items]
    for item in items:
        item.set("this", _item(query, item.this))
    return exp.Window(
        this=exp.Anonymous(this="row_number", expressions=[]),
        partition_by=[_item(query, each).copy() for each in keys],
        order=exp.Order(expressions=items),
    )


def _item(query: exp.Select, node: exp.Expr) -> exp.Expr:
    """What a position in the select list, or a name that it gives, stands for, as in ORDER BY; any
    other expression as it is."""
    if isinstance(node, exp.Column) and not node.table:
        called = (each for each in query.expressions if isinstance(each, exp.Alias))
        values = (each.this for each in called if each.alias.lower() == node.name.lower())
        return next(values, node).copy()
    if not isinstance(node, exp.Literal) or not node.this.isdigit():
        return node
    items = query.expressions
    place = int(node.this)
    if not 1 <= place <= len(items) or any(each.is_star for each in items[:place]):
        raise refuse(f"there is no column {place} in the select list: name it", node)
    return cast("exp.Expr", items[place - 1].unalias().copy())


def _also_qualify(query: exp.Select, condition: exp.Expr) -> None:
    """Keeps the rows for which a condition on their numbers holds, too; the order of the query has
    nothing else to say then, if it has no LIMIT."""
    before = query.args.get("qualify")
    whole = condition if before is None else exp.and_(before.this, condition)
    query.set("qualify", exp.Qualify(this=whole))
    if not query.args.get("limit") and not query.args.get("offset"):
        query.set("order", None)


def _as_one_value(select: exp.Select) -> None:
    """SELECT AS STRUCT a, b, which is one struct, and SELECT AS VALUE x, which is x."""
    kind = select.args.get("kind")
    if kind is None:
        return
    around = select.parent
    is_table = isinstance(around, exp.Subquery) and isinstance(around.parent, (exp.From, exp.Join))
    if around is None or is_table or not isinstance(around, (exp.Subquery, exp.Anonymous)):
        hint = "leave it out" if kind == "STRUCT" else "write SELECT x.* of a struct x"
        raise refuse(f"SELECT AS {kind} is for a subquery that is a value: {hint}", select)
    select.set("kind", None)
    if kind == "STRUCT":
        items = list(select.expressions)
        if any(each.is_star for each in items):
            select.set("expressions", [called("struct", *items)])
            return
        parts: list[exp.Expr] = []
        for place, item in enumerate(items, 1):
            is_named = isinstance(item, (exp.Alias, exp.Column))
            name = item.alias_or_name if is_named else f"_field_{place}"
            parts += [exp.Literal.string(name), item.unalias()]
        select.set("expressions", [called("named_struct", *parts)])
