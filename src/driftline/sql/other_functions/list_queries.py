"""Queries about the items of a list that a row has."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from driftline.plan.functions import AGGREGATES
from driftline.plan.used import uses
from driftline.sql.errors import refuse
from driftline.sql.other_functions.syntax import called, function, put


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
    if any(isinstance(each, (exp.Select, exp.SetOperation)) for each in node.expressions):
        raise refuse("ARRAY(SELECT x …) is written (SELECT array_agg(x) …) here", node)
    return None


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


def table_function(node: exp.Lateral) -> None:
    """LATERAL TABLE(explode(xs)), as Flink writes LATERAL explode(xs)."""
    call = node.this
    is_table = isinstance(call, exp.Anonymous) and str(call.this).upper() == "TABLE"
    if is_table and len(call.expressions) == 1:
        uses(call, "this", "expressions")
        node.set("this", call.expressions[0].copy())
