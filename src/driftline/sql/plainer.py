"""Queries written more plainly, with the same meaning, before they are bound.

(SELECT 2)               2: it has no FROM
x IN (VALUES 1, 2)       x IN (1, 2); so is x IN (SELECT 1)
EXISTS (q LIMIT 1)       EXISTS (q)
SELECT max(x) … LIMIT 1  SELECT max(x) …: it has one row
SELECT explode(max(xs))  SELECT explode(a) FROM (SELECT max(xs) AS a …)
a JOIN b ON c AND s      a JOIN b ON c WHERE s, where s has a subquery and no row is kept that
                         finds no partner
"""

from __future__ import annotations

from sqlglot import exp

from driftline.plan.resolver import GENERATORS
from driftline.plan.used import uses
from driftline.sql.query_parts import conjuncts_of, has_subquery, is_aggregate, unwrapped
from driftline.sql.strict_grammar import TEXT

_WHERE_ROWS_ARE = (exp.From, exp.Join, exp.Lateral, exp.SetOperation, exp.Subquery, exp.CTE)


def plainer(query: exp.Select) -> exp.Select:
    """The query, changed in place."""
    for node in reversed(list(query.find_all(exp.Subquery, exp.In))):  # from the inside out
        if isinstance(node, exp.In):
            _write_list(node)
        elif not isinstance(node.parent, (*_WHERE_ROWS_ARE, exp.Exists, exp.In)):
            value = _value_alone(node)
            if value is not None and node is not query:
                node.replace(exp.Paren(this=value))
    for each in query.find_all(exp.Exists):
        _leave_out_limit(each)
    for select in query.find_all(exp.Select):
        if select.args.get("group") is None and any(map(is_aggregate, select.expressions)):
            _drop_limit(select)
    _move_subqueries(query)
    return _explode_apart(query)


def _explode_apart(query: exp.Select) -> exp.Select:
    """A select list that explodes an aggregate, over the aggregates."""
    if any(query.args.get(each) for each in ("order", "limit", "offset", "distinct", "qualify")):
        return query
    calls = [_called(item) for item in query.expressions]
    if not any(call is not None and is_aggregate(call) for call in calls):
        return query
    if any(isinstance(item, exp.Star) or item.is_star for item in query.expressions):
        return query
    inside, outside = [], []
    for place, (item, call) in enumerate(zip(query.expressions, calls, strict=True)):
        value = item.unalias() if call is None else call.expressions[0]
        name = exp.to_identifier(f"$part{place}", quoted=True)
        column: exp.Expr = exp.column(name.copy())
        if call is not None:
            call.set("expressions", [column])
            outside.append(item)
        else:
            if isinstance(item, exp.Alias):
                uses(item, "this", "alias")
            written = item.alias_or_name or " ".join(str(item.meta.get(TEXT, item.sql())).split())
            outside.append(exp.alias_(column, written, quoted=True))
        inside.append(exp.Alias(this=value, alias=name))
    query.set("expressions", inside)
    whole = exp.Select(expressions=outside, from_=exp.From(this=exp.Subquery(this=query)))
    whole.meta.update(query.meta)
    return whole


def _called(item: exp.Expr) -> exp.Anonymous | None:
    """The call of explode and its like, of one argument, that an item of a select list is."""
    call = item.this if isinstance(item, (exp.Alias, exp.Aliases)) else item
    if not isinstance(call, exp.Anonymous) or len(call.expressions) != 1:
        return None
    return call if str(call.this).lower() in GENERATORS else None


def _leave_out_limit(node: exp.Exists) -> None:
    """EXISTS is the same of any first rows, if there is one to be among these."""
    _drop_limit(unwrapped(node.this))


def _drop_limit(inside: exp.Expr) -> None:
    """Leave a LIMIT of one row or more out, where the first of them are enough."""
    limit = inside.args.get("limit")
    if not isinstance(limit, exp.Limit) or inside.args.get("offset") is not None:
        return
    count = limit.expression
    if isinstance(count, exp.Literal) and count.this.isdigit() and int(count.this) > 0:
        uses(limit, "expression")
        uses(count, "this")
        inside.set("limit", None)


def _write_list(node: exp.In) -> None:
    """IN of rows that are written down, or of one, as a list."""
    query = node.args.get("query")
    if query is not None:
        value = _value_alone(query)
        if value is not None:
            node.set("query", None)
            node.set("expressions", [value])
        return
    items = node.expressions
    if (
        len(items) != 1
        or not isinstance(items[0], exp.Values)
        or set(_given(items[0])) != {"expressions"}
    ):
        return
    uses(items[0], "expressions")
    node.set("expressions", [_alone(each) for each in items[0].expressions])


def _given(node: exp.Expr) -> list[str]:
    return [name for name, value in node.args.items() if value]


def _alone(node: exp.Expr) -> exp.Expr:
    """The item of a row of one."""
    if isinstance(node, exp.Tuple) and len(node.expressions) == 1:
        uses(node, "expressions")
        item: exp.Expr = node.expressions[0]
        return item
    return node


def _value_alone(node: exp.Expr) -> exp.Expr | None:
    """What (SELECT value) gives; None if there is more to it."""
    inside = node
    while isinstance(inside, exp.Subquery):
        if _given(inside) != ["this"]:
            return None
        inside = inside.this
    if not isinstance(inside, exp.Select) or _given(inside) != ["expressions"]:
        return None
    (first, *more) = inside.expressions
    value: exp.Expr = first.unalias()
    if more or isinstance(value, exp.Star) or any(map(_is_more, value.walk())):
        return None
    if isinstance(first, exp.Alias):
        uses(first, "this", "alias")
    return value


def _is_more(node: exp.Expr) -> bool:
    """Whether a value is that of several rows, or makes several."""
    if isinstance(node, (exp.Query, exp.Window, exp.Exists)):
        return True
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
    return is_aggregate(node) or name in GENERATORS


def _move_subqueries(query: exp.Select) -> None:
    joins = query.args.get("joins") or []
    for place, join in enumerate(joins):
        on = join.args.get("on")
        keeps = any(each.side in ("RIGHT", "FULL") for each in joins[place:])
        if on is None or keeps or join.side or join.kind not in ("", "INNER"):
            continue
        parts = conjuncts_of(on)
        moved = [part for part in parts if has_subquery(part)]
        if not moved:
            continue
        rest = [part for part in parts if not has_subquery(part)]
        join.set("on", exp.and_(*rest, copy=False) if rest else exp.true())
        query.where(*moved, copy=False)
