"""LATERAL subqueries: FROM t, LATERAL (SELECT … FROM u WHERE u.k = t.k) AS s.

Each row before it is joined with the rows that the subquery has for it, by what ties the two; see
`driftline.sql.correlated`. A subquery without FROM has one row, of values that are computed from
the row before it. An aggregate without GROUP BY has a row even of nothing: then there is
one for every value that the rows before it have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.conditions import together
from driftline.plan.expressions import Case, Column, Expression, Literal
from driftline.plan.functions.collections import struct
from driftline.plan.functions.operators import compare, is_null
from driftline.plan.types import BOOLEAN, Field, Schema
from driftline.plan.used import uses
from driftline.sql.correlated import Untied, untied
from driftline.sql.errors import refuse
from driftline.sql.explode import Generator, exploded, generator, lateral
from driftline.sql.query_parts import is_aggregate, unwrapped
from driftline.sql.scalar import of_no_rows, over_groups, with_subqueries_apart
from driftline.sql.scope import OWN_COLUMN, Relations, Scope, is_star
from driftline.sql.tables import (
    BindQuery,
    condition_of,
    refuse_same_names,
    renamed,
    same_time,
    where_on,
)

_THERE = "$there"
_OF_TABLE = 2  # parts of table.*


def lateral_query(
    left: Scope,
    node: exp.Lateral,
    how: nodes.JoinKind,
    on: exp.Expr | None,
    names: Relations,
    bind: BindQuery,
) -> Scope:
    """The rows of a scope, joined with those that a subquery has for each."""
    uses(node, "this", "alias")
    _write_out_stars(left, unwrapped(node.this))
    values = _values(node.this)
    if values is not None:
        return where_on(_beside_values(left, node, values, how), how, on)
    found = _rows(left, node.this, names, bind)
    same_time(left.plan, found.plan, node.this)
    alias = node.args.get("alias")
    number = sum(each.name.startswith(OWN_COLUMN) for each in left.schema)
    ties, conditions = found.under(f"{OWN_COLUMN}{number} tie ")
    own = tuple(nodes.Named(each.name, each) for each in found.own)
    if alias is not None:
        uses(alias, "this", "columns")
        if alias.args.get("columns"):
            given = renamed(nodes.Project(found.plan, own), alias.args["columns"], alias)
            own = tuple(
                nodes.Named(name, each.value)
                for name, each in zip(given.schema.names, own, strict=True)
            )
    right: nodes.Node = nodes.Project(found.plan, (*own, *ties))
    if alias is not None and alias.this is not None:
        right = nodes.Alias(right, alias.name)
    refuse_same_names(left, Scope(right), node)
    schema = Schema(tuple(Field(each.name, each.value.type) for each in ties))
    joined = left.beside(nodes.Join(left.plan, right, how, None), Scope(right))
    both = dict(zip(left.schema.names, joined.schema.names, strict=False))
    parts = [
        _called(both, condition_of(left.resolve(each, schema), each, "WHERE"))
        for each in conditions
    ]
    if on is not None:
        parts.append(condition_of(joined.resolve(on), on, "ON"))
    return joined.over(nodes.Join(left.plan, right, how, together(parts)))


def _write_out_stars(left: Scope, query: exp.Expr) -> None:
    """`t.*` of a table before LATERAL, as its columns."""
    if not isinstance(query, exp.Select):
        return
    own = {table.alias_or_name.lower() for table in query.find_all(exp.Table, exp.Subquery)}
    known = {(each.qualifier or "").lower() for each in left.schema} - own
    items: list[exp.Expr] = []
    for item in query.expressions:
        is_outer = isinstance(item, exp.Column) and is_star(item) and item.table.lower() in known
        if not is_outer or any(item.this.args.values()) or len(item.parts) > _OF_TABLE:
            items.append(item)
            continue
        uses(item, "this", "table")
        uses(item.this)
        for each in left.star(item.args["table"]):
            column = exp.column(exp.to_identifier(each.name, quoted=True), item.table, quoted=True)
            column.meta.update(item.meta)
            column.this.meta.update(item.args["table"].meta)
            items.append(column)
    query.set("expressions", items)


def _called(names: Mapping[str, str], value: Expression) -> Expression:
    """An expression over rows some of whose columns have other names."""
    return value.transform(
        lambda part: (
            replace(part, name=names.get(part.name, part.name))
            if isinstance(part, Column)
            else part
        )
    )


def _values(query: exp.Expr) -> list[exp.Expr] | None:
    """The items of a query that is a select list and nothing else: SELECT t.x + 1 AS y."""
    inside = unwrapped(query)
    if not isinstance(inside, exp.Select):
        return None
    if {name for name, value in inside.args.items() if value} != {"expressions"}:
        return None
    more = (exp.Star, exp.Window, exp.Query, exp.Exists)
    if any(is_aggregate(each) or each.find(*more) for each in inside.expressions):
        return None
    uses(inside, "expressions")
    return list(inside.expressions)


def _beside_values(
    left: Scope, node: exp.Lateral, items: list[exp.Expr], how: nodes.JoinKind
) -> Scope:
    """The rows of a scope with values that are computed from each, or the items of an explode."""
    if len(items) == 1 and generator(items[0].unalias()) is not None:
        made = exp.Lateral(this=items[0].unalias(), alias=node.args.get("alias"))
        if made.args["alias"] is None and isinstance(items[0], exp.Alias):
            uses(items[0], "this", "alias")
            made.set("alias", exp.TableAlias(columns=[items[0].args["alias"]]))
        made.meta.update(node.meta)
        return lateral(left, made, outer=how == "left")
    fields: list[exp.Expr] = []
    for item in items:
        if isinstance(item, exp.Alias):
            uses(item, "this", "alias")
        name = item.alias_or_name or item.sql("spark")
        fields += [exp.Literal.string(name), item.unalias().copy()]
    row = exp.Anonymous(this="named_struct", expressions=fields)
    alias = node.args.get("alias")
    names: list[str] = []
    if alias is not None:
        uses(alias, "this", "columns")
        names = [each.name for each in alias.args.get("columns") or ()]
        if names and len(names) != len(items):
            raise refuse(f"there are {len(names)} names for {len(items)} columns", alias)
    rows = Generator(exp.Anonymous(this="array", expressions=[row]), False, False, fields=True)
    return exploded(left, node, rows, names, alias.name or None if alias is not None else None)


def _rows(left: Scope, query: exp.Expr, names: Relations, bind: BindQuery) -> Untied:
    inside = unwrapped(query)
    one_row = (
        isinstance(inside, exp.Select)
        and inside.args.get("group") is None
        and any(map(is_aggregate, inside.expressions))
    )
    apart = with_subqueries_apart(query, left, names, bind)
    if apart is not None:
        return apart
    found = untied(query, left, names, bind, by_domain=one_row)
    if found is None:
        return Untied(bind(query, names))
    return _of_every_row(found, query) if one_row else found


def _of_every_row(found: Untied, query: exp.Expr) -> Untied:
    """An aggregate with its value over no rows where it has no row for one of the domain."""
    groups = over_groups(found.plan)
    if groups is None or found.domain is None:
        raise refuse("an aggregate in LATERAL takes no LIMIT", query)
    plan, columns, condition = groups
    width = len(found.own)
    kept = () if condition is None else (condition,)
    values = (*columns[:width], *kept)
    nothing = [of_no_rows(plan, value) for value in values]
    named = [nodes.Named(f"$value{place}", value) for place, value in enumerate(values)]
    named += [
        nodes.Named(tie, value) for tie, value in zip(found.ties, columns[width:], strict=True)
    ]
    named.append(nodes.Named(_THERE, Literal(True, BOOLEAN)))
    right = nodes.Project(plan, tuple(named))
    domain = [Column(each.name, each.type) for each in found.domain.schema]
    tied = [Column(tie, each.type) for tie, each in zip(found.ties, found.tied, strict=True)]
    same = compare("equal", _one(domain), _one(tied))
    missing = is_null((Column(_THERE, BOOLEAN),))
    rows: nodes.Node = nodes.Join(found.domain, right, "left", same)
    whole = [
        Case(((missing, default),), Column(each.name, each.value.type), each.value.type)
        for each, default in zip(named[: len(values)], nothing, strict=True)
    ]
    if condition is not None:
        rows = nodes.Select(rows, whole.pop())
    outputs = [
        nodes.Named(column.name, value) for column, value in zip(found.own, whole, strict=True)
    ]
    outputs += [nodes.Named(tie, value) for tie, value in zip(found.ties, domain, strict=True)]
    return Untied(nodes.Project(rows, tuple(outputs)), found.ties, found.conditions)


def _one(columns: Sequence[Expression]) -> Expression:
    """Several values as one struct; two are equal where all values are, nulls included."""
    return struct([f"c{place}" for place in range(len(columns))], tuple(columns))
