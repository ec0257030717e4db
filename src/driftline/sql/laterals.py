"""LATERAL subqueries: FROM t, LATERAL (SELECT … FROM u WHERE u.k = t.k) AS s.

Each row before it is joined with the rows that the subquery has for it, by what ties the two; see
`driftline.sql.correlated`. An aggregate without GROUP BY has a row even of nothing: then there is
one for every value that the rows before it have.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.conditions import together
from driftline.plan.expressions import Case, Column, Expression, Literal
from driftline.plan.functions.collections import struct
from driftline.plan.functions.operators import compare, is_null
from driftline.plan.types import BOOLEAN, Field, Schema
from driftline.plan.used import uses
from driftline.sql.correlated import Untied, is_aggregate, untied, unwrapped
from driftline.sql.errors import refuse
from driftline.sql.scalar import of_no_rows, over_groups
from driftline.sql.scope import OWN_COLUMN, Relations, Scope
from driftline.sql.tables import BindQuery, condition_of, refuse_same_names, renamed, same_time

_THERE = "$there"


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
    parts = [condition_of(left.resolve(each, schema), each, "WHERE") for each in conditions]
    joined = left.beside(nodes.Join(left.plan, right, how, None), Scope(right))
    if on is not None:
        parts.append(condition_of(joined.resolve(on), on, "ON"))
    return joined.over(nodes.Join(left.plan, right, how, together(parts)))


def _rows(left: Scope, query: exp.Expr, names: Relations, bind: BindQuery) -> Untied:
    inside = unwrapped(query)
    one_row = (
        isinstance(inside, exp.Select)
        and inside.args.get("group") is None
        and any(map(is_aggregate, inside.expressions))
    )
    found = untied(query, left, names, bind, by_domain=one_row)
    if found is None:
        return Untied(bind(query, names))
    return _of_every_row(found, query) if one_row else found


def _of_every_row(found: Untied, query: exp.Expr) -> Untied:
    """An aggregate with its value over no rows where it has no row for one of the domain."""
    groups = over_groups(found.plan)
    if groups is None or found.domain is None:
        raise refuse("an aggregate in LATERAL takes no LIMIT and no subquery in HAVING", query)
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
