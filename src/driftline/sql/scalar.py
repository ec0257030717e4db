"""The one value of a subquery: `price > (SELECT avg(price) FROM trades)`.

The subquery is an aggregate without GROUP BY, or the first row in an order: at any time, and for
any row outside it if it is about that, it has one row or none. Any other has the value of its one
row, as an aggregate that is an error if there are more. With none its value is what the
aggregate is of nothing: null, or 0 of a count; null, too, where that would be a division by 0.
A comparison that is then not true is a semi join; elsewhere the value becomes a column by a left
join.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.conditions import together
from driftline.plan.dialect import parse_sql
from driftline.plan.expressions import (
    AggregateCall,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Literal,
)
from driftline.plan.folding import folded
from driftline.plan.functions import operators
from driftline.plan.functions.operators import is_null
from driftline.plan.types import BIGINT, BOOLEAN, Field, Schema, quoted
from driftline.plan.used import uses, uses_all
from driftline.plan.written_calls import OPERATORS
from driftline.sql.correlated import Untied, untied
from driftline.sql.errors import refuse
from driftline.sql.query_parts import aggregates_in, has_subquery, inlined, is_aggregate, unwrapped
from driftline.sql.scope import Relations, Scope, walked
from driftline.sql.tables import BindQuery, condition_of, same_time

Resolve = Callable[[exp.Expr, Schema], Expression]

VALUE = "$value"
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_NULL_OF_NULL = (exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Cast)
_STRICT = frozenset(OPERATORS) - {"and", "or", "null_safe_equal"} | {"negate", "not"}
_COUNTS = ("count", "count_if", "approx_count_distinct")
_MORE_ROWS = ("group", "distinct", "limit", "offset", "qualify")
_LISTS = ("array_agg", "collect_set")
_WHOLE = ("group", "having", "distinct", "limit", "offset", "qualify", "order", "with_")
"""What makes other rows of a SELECT than one for each row of FROM and WHERE."""
_TOO_MANY = (
    "[SCALAR_SUBQUERY_TOO_MANY_ROWS] a subquery that stands for a value has more than one row: "
    "take an aggregate of them, or ORDER BY … LIMIT 1"
)


def compared_subquery(node: exp.Expr) -> exp.Subquery | None:
    """The subquery of a comparison that is null when the subquery is."""
    if not isinstance(node, _COMPARISONS):
        return None
    found = [part for part in walked(node) if isinstance(part, exp.Subquery)]
    if len(found) != 1:
        return None
    part = found[0].parent
    while part is not node:
        if not isinstance(part, _NULL_OF_NULL):
            return None
        part = part.parent
    return found[0]


@dataclass(frozen=True)
class Value:
    """The value of a subquery, over the rows of its plan, and what it is where there is no row."""

    query: Untied
    plan: nodes.Node
    value: Expression
    ties: tuple[Expression, ...]
    default: Expression

    def joined(
        self, rows: nodes.Node, name: str, how: nodes.JoinKind, resolve: Resolve, *more: exp.Expr
    ) -> nodes.Node:
        """Rows joined with the value as a column, where it is about them and conditions hold."""
        named, conditions = self.query.under(f"{name} tie ")
        columns = [nodes.Named(name, self.value)]
        columns += [nodes.Named(each.name, tie) for each, tie in zip(named, self.ties, strict=True)]
        if how == "left":
            columns.append(nodes.Named(_there(name), Literal(True, BOOLEAN)))
        schema = Schema(tuple(Field(each.name, each.value.type) for each in columns))
        parts = []
        for each in (*conditions, *more):
            parts.append(condition_of(resolve(each, schema), each, "WHERE"))
        return nodes.Join(rows, nodes.Project(self.plan, tuple(columns)), how, together(parts))


def value_of(scope: Scope, query: exp.Subquery, names: Relations, bind: BindQuery) -> Value:
    """The value of a subquery, which may be about the rows of a scope."""
    apart = with_subqueries_apart(query, scope, names, bind)
    found = apart or untied(query, scope, names, bind)
    if found is None:
        found = Untied(bind(query, names.in_a_value()))
    same_time(scope.plan, found.plan, query)
    if len(found.own) != 1:
        raise refuse(f"a value is expected, and the query gives {len(found.own)}", query)
    groups = over_groups(found.plan) if apart is None else None
    if groups is not None:
        plan, (value, *ties), condition = groups
        keys = {each.name for each in plan.keys}
        if keys == {name for tie in ties for name in tie.columns()}:
            null = Literal(None, value.type)
            if condition is not None:
                value = Case(((condition, value),), null, value.type)
            default: Expression = null
            if not found.grouped and not _divides_by_zero(nothing := of_no_rows(plan, value)):
                default = nothing
            return Value(found, plan, value, tuple(ties), default)
    elif apart is not None or _has_no_table(query) or _is_first(found):
        value, *ties = (*found.own, *found.tied)
        return Value(found, found.plan, value, tuple(ties), Literal(None, value.type))
    only = _only_row(query, correlated=bool(found.ties or found.conditions))
    if only is None:
        raise refuse(
            "a subquery about the row outside is a value if it is an aggregate without GROUP BY, "
            "ORDER BY … LIMIT 1, or a plain SELECT … FROM … WHERE",
            query,
        )
    return value_of(scope, only, names, bind)


def _only_row(query: exp.Subquery, correlated: bool) -> exp.Subquery | None:
    """The subquery as an aggregate, which is the value of its one row, and an error if there are
    more; None if it is about the row outside and more than a filter."""
    inside: exp.Expr = query
    while isinstance(inside, exp.Subquery):
        if {name for name, part in inside.args.items() if part} != {"this"}:
            break
        inside = inside.this
    is_plain = isinstance(inside, exp.Select) and not any(inside.args.get(key) for key in _WHOLE)
    if correlated and not is_plain:
        return None
    inside = inside.copy()
    column: exp.Expr = exp.column(exp.to_identifier(VALUE, quoted=True))
    if is_plain:
        (column,) = (each.unalias() for each in inside.expressions)
        if isinstance(column, exp.Star) or column.find(exp.Window) is not None:
            is_plain = False
            column = exp.column(exp.to_identifier(VALUE, quoted=True))
            if correlated:
                return None
    rows = exp.Anonymous(this="count", expressions=[exp.Star()])
    error = exp.Anonymous(this="raise_error", expressions=[exp.Literal.string(_TOO_MANY)])
    only = exp.Case(
        ifs=[exp.If(this=exp.GT(this=rows, expression=exp.Literal.number(1)), true=error)],
        default=exp.Anonymous(this="any_value", expressions=[column]),
    )
    if is_plain:
        inside.set("expressions", [only])
    else:
        names = exp.TableAlias(
            this=exp.to_identifier("$rows", quoted=True),
            columns=[exp.to_identifier(VALUE, quoted=True)],
        )
        inside = exp.select(only).from_(exp.Subquery(this=inside, alias=names))
    made = exp.Subquery(this=inside)
    made.meta.update(query.meta)
    return made


def with_subqueries_apart(
    query: exp.Expr, scope: Scope, names: Relations, bind: BindQuery
) -> Untied | None:
    """The one row of an aggregate with subqueries beside it; None if it is not one."""
    apart = _apart(query)
    if apart is None:
        return None
    names = Relations(names)
    names.empty_aggregates = True
    return untied(apart, scope, names, bind) or Untied(bind(apart, names))


def _apart(query: exp.Expr) -> exp.Select | None:
    """An aggregate without GROUP BY whose value, or HAVING, has subqueries besides: these are
    computed over the row of the aggregates; None if it is not one.

    SELECT max(z) + (q) FROM u    =    SELECT m + (q) FROM (SELECT max(z) AS m FROM u)
    """
    inside = inlined(unwrapped(query))
    if not isinstance(inside, exp.Select) or any(map(inside.args.get, _MORE_ROWS)):
        return None
    having = inside.args.get("having")
    if having is not None:
        uses(having, "this")
    parts = [*inside.expressions, *([] if having is None else [having.this])]
    if not any(map(is_aggregate, inside.expressions)) or not any(map(has_subquery, parts)):
        return None
    listed = exp.Tuple(expressions=parts)
    names: dict[exp.Expr, str] = {}
    for part in aggregates_in(listed):
        if part in names:
            uses_all(part)
        name = names.setdefault(part.copy(), f"$aggregate{len(names)}")
        part.replace(_column(name))
    if not any(map(has_subquery, listed.expressions)):
        return None
    values = listed.expressions if having is None else listed.expressions[:-1]
    row = inside.copy()
    row.set("having", None)
    row.set("expressions", [exp.alias_(part, name, quoted=True) for part, name in names.items()])
    alias = exp.TableAlias(this=exp.to_identifier("$aggregates", quoted=True))
    whole = exp.Select(expressions=values, from_=exp.From(this=exp.Subquery(this=row, alias=alias)))
    return whole if having is None else whole.where(listed.expressions[-1], copy=False)


def _has_no_table(query: exp.Expr) -> bool:
    """Whether it is a row that is computed, or none by WHERE."""
    inside = unwrapped(query)
    return isinstance(inside, exp.Select) and inside.args.get("from_") is None


def compared(
    scope: Scope,
    node: exp.Expr,
    query: exp.Subquery,
    names: Relations,
    bind: BindQuery,
    resolve: Resolve | None = None,
) -> Callable[[nodes.Node], nodes.Node] | None:
    """The rows for which a comparison with a subquery is true; None if it could be true where the
    subquery has no row.

    `resolve` reads the comparison, if not over the rows of the scope (but over groups of them).
    """
    found = value_of(scope, query, names, bind)
    if not _is_null(found.default):
        return None
    copy = node.copy()
    inner = compared_subquery(copy)
    assert inner is not None
    inner.replace(_column(VALUE))
    return lambda rows: found.joined(rows, VALUE, "semi", resolve or scope.resolve, copy)


def as_column(value: Value, name: str) -> exp.Expr:
    """What stands for the value of a subquery that is a column of the rows."""
    if _is_null(value.default):
        return _column(name)
    text = f"CASE WHEN {quoted(_there(name))} IS NULL THEN {value.default.sql()} "
    return exp.paren(parse_sql(f"{text} ELSE {quoted(name)} END"), copy=False)


def added(value: Value, name: str) -> Schema:
    """The columns that rows get when a value becomes one."""
    return Schema((Field(name, value.value.type), Field(_there(name), BOOLEAN)))


def _there(name: str) -> str:
    return f"{name} there"


def _column(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))


def over_groups(
    plan: nodes.Node,
) -> tuple[nodes.Aggregate, list[Expression], Expression | None] | None:
    """The aggregate below, the columns over its rows, and which of these are kept."""
    if isinstance(plan, nodes.Aggregate):
        return plan, [Column(each.name, each.type) for each in plan.schema], None
    if not isinstance(plan, (nodes.Project, nodes.Select, nodes.Alias, nodes.Distinct)):
        return None
    below = over_groups(plan.input)
    if below is None:
        return None
    found, columns, condition = below
    meaning = dict(zip(plan.input.schema.names, columns, strict=True))
    if isinstance(plan, nodes.Project):
        return found, [_with(meaning, each.value) for each in plan.columns], condition
    if isinstance(plan, nodes.Select):
        wanted = _with(meaning, plan.predicate)
        return found, columns, wanted if condition is None else together([condition, wanted])
    return below


def _is_first(query: Untied) -> bool:
    """Whether it is the first row in an order, or the first after others: one for all, or one for
    each value of the row outside."""
    plan, left_out = query.plan, 0
    tied: list[Expression | None] = [*query.tied]
    while isinstance(plan, (nodes.Project, nodes.Select, nodes.Alias)):
        if isinstance(plan, nodes.Select) and isinstance(plan.input, nodes.Rank):
            left_out = _left_out(plan.predicate, plan.input.name)
        names = plan.schema.names
        tied = [plan.origin(names.index(each.name)) for each in tied if isinstance(each, Column)]
        plan = plan.input
    if not isinstance(plan, nodes.Rank) or plan.method != "row_number" or plan.limit is None:
        return False
    each_tie = {each.sql() for each in tied if each is not None}
    return plan.limit - left_out <= 1 and {each.sql() for each in plan.partition} <= each_tie


def _left_out(predicate: Expression, place: str | None) -> int:
    """n of the condition that a place is greater than n."""
    if isinstance(predicate, Call) and predicate.function == "greater":
        column, least = predicate.args
        if isinstance(column, Column) and column.name == place and isinstance(least, Literal):
            return int(least.value)
    return 0


def _with(meaning: Mapping[str, Expression], value: Expression) -> Expression:
    return value.transform(
        lambda part: meaning.get(part.name, part) if isinstance(part, Column) else part
    )


def with_row_of_nothing(plan: nodes.Aggregate, one_row: nodes.Node) -> nodes.Node:
    """The row of an aggregate without keys, and where it has none the one of nothing."""
    there = nodes.Named(_there(""), Literal(True, BOOLEAN))
    own = [nodes.Named(each.name, Column(each.name, each.type)) for each in plan.schema]
    rows = nodes.Join(one_row, nodes.Project(plan, (*own, there)), "left", None)
    missing = is_null((Column(there.name, BOOLEAN),))
    return nodes.Project(
        rows,
        tuple(
            nodes.Named(
                each.name, operators.case(((missing, of_no_rows(plan, each.value)),), each.value)
            )
            for each in own
        ),
    )


def of_no_rows(plan: nodes.Aggregate, value: Expression) -> Expression:
    """The value of an expression over the row of an aggregate of no rows."""
    return _with({each.name: _of_nothing(each.value) for each in plan.aggregates}, value)


def _divides_by_zero(value: Expression) -> bool:
    """Whether a constant is an error, as count(*) / count(x) is of nothing. Every stream begins
    with nothing: the value is null then, and not the end of the query."""
    return any(
        isinstance(part, Call)
        and part.function in ("divide", "integral_divide", "mod")
        and isinstance(by := folded(part.args[1]), Literal)
        and by.value == 0
        for part in value.walk()
    )


def _of_nothing(call: Expression) -> Expression:
    """The value of an aggregate of no rows."""
    assert isinstance(call, AggregateCall)
    if call.function in _COUNTS:
        return Literal(0, BIGINT)
    if call.function in _LISTS:
        return Cast(Call("array", (), call.type), call.type)
    return Literal(None, call.type)


def _is_null(value: Expression) -> bool:
    """Whether a constant is null for certain."""
    if isinstance(value, Literal):
        return value.value is None
    if isinstance(value, Cast):
        return _is_null(value.value)
    if isinstance(value, Case):
        branches = [then for condition, then in value.branches if not _is_none(condition)]
        return all(map(_is_null, branches)) and _is_null(value.otherwise)
    return isinstance(value, Call) and value.function in _STRICT and any(map(_is_null, value.args))


def _is_none(condition: Expression) -> bool:
    """Whether it says that there is more than nothing, of nothing."""
    if not isinstance(condition, Call) or condition.function != "greater":
        return False
    return all(isinstance(each, Literal) and each.value == 0 for each in condition.args)
