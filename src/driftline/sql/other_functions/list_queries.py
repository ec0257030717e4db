"""Queries about the items of a list that a row has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from sqlglot import exp

from driftline.plan.functions import AGGREGATES
from driftline.plan.used import uses
from driftline.sql.errors import refuse
from driftline.sql.other_functions.syntax import ITEM, called, function, name_of, put
from driftline.sql.query_parts import is_aggregate

_OWN_ORDER = ("order", "limit", "offset", "with_")
_OWN_ROWS = ("group", "having", "distinct", "offset", "qualify", "limit_by", "windows")
"""What a SELECT has of which the values are not those of its rows, one by one."""


@dataclass(frozen=True)
class _Items:
    """What SELECT value FROM UNNEST(list) AS name WHERE … is about."""

    items: exp.Expr
    name: str
    value: exp.Expr

    def aggregates(self) -> bool:
        calls = self.value.find_all(exp.Anonymous)
        return any(str(each.this).lower() in AGGREGATES for each in calls)

    def each(self) -> exp.Expr:
        """The list of the values."""
        if self.value == exp.column(self.name):
            return self.items
        return called("transform", self.items, function(self.value, self.name))


def _items_of(select: exp.Expr) -> _Items | None:
    """The items of a list of the row outside that a query is about; None if it is another one."""
    if isinstance(select, exp.Subquery):
        return _items_of(select.this)
    source = select.args.get("from_") if isinstance(select, exp.Select) else None
    unnest = source.this if source is not None else None
    if source is None or not isinstance(unnest, exp.Unnest) or len(unnest.expressions) != 1:
        return None
    alias, where = unnest.args.get("alias"), select.args.get("where")
    used = {name for name, part in select.args.items() if part}
    if alias is None or alias.this is None or unnest.args.get("offset"):
        return None
    if not used <= {"expressions", "from_", "where"} or len(select.expressions) != 1:
        return None
    names = [each.name for each in alias.args.get("columns") or ()]
    if len(names) > 1 or any(part is not select for part in select.find_all(exp.Query)):
        return None
    uses(source, "this")
    uses(unnest, "expressions", "alias")
    uses(alias, "this", "columns")
    name = names[0] if names else alias.name

    def plain(node: exp.Expr) -> exp.Expr:
        """An expression in which t.x is x, as in UNNEST(xs) AS t (x)."""
        is_own = isinstance(node, exp.Column) and node.table == alias.name and node.name == name
        return exp.column(name) if names and is_own else node

    items = unnest.expressions[0].copy()
    if where is not None:
        uses(where, "this")
        items = called("filter", items, function(where.this.copy().transform(plain), name))
    value = select.expressions[0].unalias().copy().transform(plain)
    return _Items(items, name, value)


def any_items(node: exp.Exists) -> None:
    """EXISTS (SELECT … FROM UNNEST(xs) AS x WHERE …)."""
    found = _items_of(node.this)
    if found is not None and not found.aggregates():
        uses(node, "this")
        some = exp.GT(this=called("size", found.items), expression=exp.Literal.number(0))
        put(node, called("coalesce", some, exp.false()))


def value_of_items(node: exp.Subquery) -> None:
    """(SELECT max(x) FROM UNNEST(xs) AS x), and the same of min and count(*)."""
    found = None if isinstance(node.parent, (exp.From, exp.Join)) else _items_of(node)
    call = found.value if found is not None else None
    if found is None or not isinstance(call, exp.Anonymous) or len(call.expressions) != 1:
        return
    name, (value,) = str(call.this).lower(), call.expressions
    if name == "count" and isinstance(value, exp.Star):
        count = called("size", found.items)
        put(node, called("coalesce", count, exp.Literal.number(0)))
    elif name in ("max", "min") and not isinstance(value, exp.Distinct):
        put(node, called(f"array_{name}", _Items(found.items, found.name, value).each()))


def array_of_query(node: exp.Anonymous) -> exp.Expr | None:
    found = _items_of(node.expressions[0]) if len(node.expressions) == 1 else None
    if found is not None and not found.aggregates():
        return called("coalesce", found.each(), called("array"))
    if len(node.expressions) != 1 or not isinstance(node.expressions[0], exp.Query):
        return None
    return called("coalesce", exp.Subquery(this=_listed(node.expressions[0])), called("array"))


def _listed(query: exp.Query) -> exp.Select:
    """A query of one list, with the values of another in its order, nulls included."""
    while isinstance(query, exp.Subquery) and not any(query.args.get(each) for each in _OWN_ORDER):
        query = query.this
    query = query.copy()
    if len(query.selects) != 1 or query.selects[0].is_star:
        raise refuse("ARRAY(SELECT x …) has one column, which is named: SELECT struct(*) …", query)
    order, limit = query.args.get("order"), query.args.get("limit")
    value = query.selects[0].unalias()
    items = [each.copy() for each in order.expressions] if order is not None else []
    is_plain = isinstance(query, exp.Select) and not any(query.args.get(each) for each in _OWN_ROWS)
    if is_plain and not is_aggregate(value) and value.find(exp.Window) is None:
        query.set("order", None)
        query.set("limit", None)
    else:
        if limit is None:
            query.set("order", None)
        names = {query.selects[0].alias_or_name.lower()}
        value = exp.column("$value", quoted=True)
        for each in items:
            key = each.this
            if (
                key.sql() != "1"
                and key != query.selects[0].unalias()
                and key.name.lower() not in names
            ):
                raise refuse("ARRAY(SELECT … ORDER BY y) here goes by the column of its rows", key)
            each.set("this", value.copy())
        alias = exp.TableAlias(
            this=exp.to_identifier("$rows", quoted=True), columns=[value.this.copy()]
        )
        query, limit = exp.select("*").from_(exp.Subquery(this=query, alias=alias)), None
    listed: exp.Expr = called("named_struct", exp.Literal.string("value"), value.copy())
    if items:
        listed = exp.Order(this=listed, expressions=items)
    if limit is not None:
        listed = exp.Limit(this=listed, expression=limit.expression.copy())
    field = exp.Dot(this=name_of(ITEM), expression=exp.to_identifier("value"))
    query.set(
        "expressions", [called("transform", called("array_agg", listed), function(field, ITEM))]
    )
    return cast("exp.Select", query)


def path_in_from(select: exp.Select) -> None:
    """FROM t, t.xs AS x, as BigQuery writes FROM t, UNNEST(t.xs) AS x."""
    source = select.args.get("from_")
    seen = set() if source is None else {source.this.alias_or_name.lower()}
    for join in select.args.get("joins") or ():
        table = join.this
        is_path = isinstance(table, exp.Table) and table.db and not table.args.get("catalog")
        if is_path and table.db.lower() in seen:
            uses(table, "this", "db", "alias")
            items = exp.column(table.this.copy(), table.args["db"].copy())
            alias = table.args.get("alias") or exp.TableAlias(this=table.this.copy())
            put(table, exp.Unnest(expressions=[items], alias=alias.copy(), offset=False))
        seen.add(join.this.alias_or_name.lower())


def numbered_columns(select: exp.Select) -> None:
    """(VALUES (1, 2)) with the columns column1, column2, as Postgres calls them, where they are
    used; Spark calls them col1, col2."""
    used = {each.name.lower() for each in select.find_all(exp.Column)}
    tables = [select.args.get("from_"), *(select.args.get("joins") or ())]
    for table in (each.this for each in tables if each is not None):
        inside = table.this if isinstance(table, exp.Subquery) else table
        alias = table.args.get("alias")
        named = alias is not None and alias.args.get("columns")
        if (
            not isinstance(inside, exp.Values)
            or inside.args.get("alias", alias) is not alias
            or named
        ):
            continue
        row = inside.expressions[0]
        width = len(row.expressions) if isinstance(row, exp.Tuple) else 1
        names = [f"column{place + 1}" for place in range(width)]
        if used & {*names}:
            alias = alias or exp.TableAlias()
            alias.set("columns", [exp.to_identifier(each) for each in names])
            table.set("alias", alias)


def table_function(node: exp.Lateral) -> None:
    """LATERAL TABLE(explode(xs)), as Flink writes LATERAL explode(xs)."""
    call = node.this
    is_table = isinstance(call, exp.Anonymous) and str(call.this).upper() == "TABLE"
    if is_table and len(call.expressions) == 1:
        uses(call, "this", "expressions")
        node.set("this", call.expressions[0].copy())
