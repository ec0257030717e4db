"""Subqueries anywhere in an expression: each becomes a column of the rows, by a left join.

(SELECT max(z) …)    the value
EXISTS (q)           whether there is a row of q
x IN (q)             true if a row of q equals x; else null if q has a null, or x is null and q
                     has a row; else false
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.expressions import Column, Expression, Literal
from driftline.plan.functions.operators import is_null
from driftline.plan.types import BOOLEAN, Schema
from driftline.plan.used import uses, uses_all
from driftline.sql.correlated import Untied, is_aggregate, untied, unwrapped
from driftline.sql.errors import refuse
from driftline.sql.scalar import Resolve, Value, added, as_column, value_of
from driftline.sql.scope import OWN_COLUMN, Relations, Scope, walked
from driftline.sql.tables import BindQuery, same_time

_IN = "$in"


def has_subquery(node: exp.Expr) -> bool:
    return any(isinstance(part, (exp.Query, exp.Exists)) for part in walked(node))


class Subqueries:
    """The subqueries in expressions over the rows of a scope, or, with `resolve`, over groups."""

    def __init__(
        self, scope: Scope, names: Relations, bind: BindQuery, resolve: Resolve | None = None
    ) -> None:
        self.scope, self.names, self.bind = scope, names, bind
        self.resolve = resolve or scope.resolve
        self.added = Schema(())
        self._steps: list[Callable[[nodes.Node], nodes.Node]] = []
        self._meanings: dict[exp.Expr, exp.Expr] = {}
        self._first = sum(each.name.startswith(OWN_COLUMN) for each in scope.schema)

    def applied(self, rows: nodes.Node) -> nodes.Node:
        """The rows with a column for each subquery."""
        for step in self._steps:
            rows = step(rows)
        return rows

    def taken_out(self, node: exp.Expr) -> exp.Expr:
        """An expression with columns in the place of its subqueries."""
        if not has_subquery(node):
            return node
        copy = node.copy()
        for part in walked(copy):
            if isinstance(part, (exp.All, exp.Any)) and isinstance(part.this, exp.Query):
                raise refuse(
                    "ANY and ALL of a subquery come after =, <>, <, <=, > or >=", part.this
                )
            meaning = self._meaning(part)
            if meaning is None:
                continue
            if part is copy:
                return meaning
            part.replace(meaning)
        return copy

    def _meaning(self, part: exp.Expr) -> exp.Expr | None:
        """What stands for a subquery, which is joined once, however often it is written."""
        find: Callable[[], exp.Expr]
        if isinstance(part, exp.Exists):
            find = partial(self._exists, part)
        elif isinstance(part, exp.In) and part.args.get("query") is not None:
            find = partial(self._in, part)
        elif isinstance(part, exp.Subquery) and not _is_operand(part):
            find = partial(self._value, part)
        else:
            return None
        known = part.copy()
        if known in self._meanings:
            uses_all(part)
        else:
            self._meanings[known] = find()
        return self._meanings[known].copy()

    def _value(self, node: exp.Subquery) -> exp.Expr:
        found = value_of(self.scope, node, self.names, self.bind)
        return as_column(found, self._joined(found))

    def _joined(self, value: Value) -> str:
        name = f"{OWN_COLUMN}{self._first + len(self._steps)}"
        before = self.added
        before = self.added
        self.added += added(value, name)

        def resolve(node: exp.Expr, more: Schema) -> Expression:
            return self.resolve(node, before + more)

        self._steps.append(lambda rows: value.joined(rows, name, "left", resolve))
        return name

    def _exists(self, node: exp.Exists) -> exp.Expr:
        uses(node, "this")
        if not is_one_row(node.this):
            return self._is_there(self._tied(node.this))
        return self.taken_out(has_row(node.this))

    def _in(self, node: exp.In) -> exp.Expr:
        uses(node, "this", "query")
        query, wanted = node.args["query"], bare(node.this)
        if is_one_row(query):
            return exp.paren(self.taken_out(as_comparison(node)), copy=False)
        if isinstance(wanted, exp.Tuple):
            return self.taken_out(_of_several(wanted, query))
        wanted = self.taken_out(wanted)
        found = self._tied(query)
        if len(found.own) != 1:
            raise refuse(f"IN compares 1 value with {len(found.own)} columns", node)
        (column,) = found.own
        equal = exp.EQ(this=wanted.copy(), expression=exp.column(_quoted(_IN)))
        same = Untied(
            nodes.Project(
                found.plan,
                (
                    *(
                        nodes.Named(name, each)
                        for name, each in zip(found.ties, found.tied, strict=True)
                    ),
                    nodes.Named(_IN, column),
                ),
            ),
            (*found.ties, _IN),
            (*found.conditions, equal),
        )
        nulls = Untied(nodes.Select(found.plan, is_null((column,))), found.ties, found.conditions)
        unknown = exp.or_(
            self._is_there(nulls),
            exp.and_(
                exp.Is(this=exp.paren(wanted.copy()), expression=exp.Null()), self._is_there(found)
            ),
        )
        return exp.paren(
            exp.Case(
                ifs=[
                    exp.If(this=self._is_there(same), true=exp.true()),
                    exp.If(this=unknown, true=exp.Null()),
                ],
                default=exp.false(),
            )
        )

    def _tied(self, query: exp.Expr) -> Untied:
        found = untied(query, self.scope, self.names, self.bind, by_value=True)
        if found is None:
            found = Untied(self.bind(query, self.names))
        same_time(self.scope.plan, found.plan, query)
        return found

    def _is_there(self, found: Untied) -> exp.Expr:
        """Whether there is a row that is tied to the row outside."""
        columns = [
            nodes.Named(name, each) for name, each in zip(found.ties, found.tied, strict=True)
        ]
        truth = nodes.Named("$one", Literal(True, BOOLEAN))
        rows = nodes.Distinct(nodes.Project(found.plan, tuple(columns) or (truth,)))
        ties = tuple(Column(each.name, each.value.type) for each in columns)
        nothing = Literal(None, BOOLEAN)
        name = self._joined(Value(found, rows, Literal(True, BOOLEAN), ties, nothing))
        return exp.paren(
            exp.Not(this=exp.Is(this=exp.column(_quoted(name)), expression=exp.Null()))
        )


def is_one_row(query: exp.Expr) -> bool:
    """Whether it is an aggregate without GROUP BY, which has one row, of however many it is; or
    none, by HAVING."""
    inside = unwrapped(query)
    if not isinstance(inside, exp.Select) or inside.args.get("group") is not None:
        return False
    if inside.args.get("limit") is not None or inside.args.get("offset") is not None:
        return False
    return inside.args.get("having") is not None or any(map(is_aggregate, inside.expressions))


def has_row(query: exp.Expr) -> exp.Expr:
    """Whether an aggregate without GROUP BY has its row, as an expression."""
    inside = unwrapped(query)
    having = inside.args.get("having")
    for each in inside.expressions:
        uses_all(each)
    if having is None:
        uses_all(query)
        return exp.true()
    uses(having, "this")
    whole = inside.copy()
    count = exp.Anonymous(this="count", expressions=[exp.Star()])
    all_rows = exp.GTE(this=count, expression=exp.Literal.number(0))
    whole.set("having", None)
    whole.set("expressions", [exp.and_(having.this.copy(), all_rows, copy=False)])
    return exp.Anonymous(this="coalesce", expressions=[exp.Subquery(this=whole), exp.false()])


def as_comparison(node: exp.In, equal: bool = True) -> exp.Expr:
    """IN, or NOT IN, of a query that has one row."""
    uses(node, "this", "query")
    query = exp.Subquery(this=unwrapped(node.args["query"]).copy())
    there = has_row(query) if query.this.args.get("having") is not None else None
    query.this.set("having", None)
    compared = (exp.EQ if equal else exp.NEQ)(this=exp.paren(node.this.copy()), expression=query)
    if there is None:
        return compared
    default = exp.convert(not equal)
    return exp.paren(exp.Case(ifs=[exp.If(this=there, true=compared)], default=default))


def _of_several(wanted: exp.Tuple, query: exp.Expr) -> exp.Expr:
    """(a, b) IN (q): true if a row has equal values; else null if one has, where null equals
    anything; else false. Rows without nulls, which are most, are looked up."""
    uses(wanted, "expressions")
    sides = wanted.expressions
    for each in sides:
        if any(
            isinstance(part, (exp.Window, exp.Query)) or is_aggregate(part) for part in walked(each)
        ):
            raise refuse(
                "IN of several columns takes no aggregate, window function or subquery before it: "
                "compute it in FROM",
                each,
            )
    names = [f"{_IN}{place}" for place in range(len(sides))]
    columns = [exp.column(_quoted(name), table=_quoted(_IN)) for name in names]

    def exists(conditions: list[exp.Expr]) -> exp.Expr:
        alias = exp.TableAlias(this=_quoted(_IN), columns=[_quoted(name) for name in names])
        rows = exp.Subquery(this=unwrapped(query).copy(), alias=alias)
        found = exp.Select(expressions=[exp.Literal.number(1)], from_=exp.From(this=rows))
        return exp.Exists(this=found.where(*conditions, copy=False))

    def any_null(values: list[exp.Expr]) -> exp.Expr:
        nulls = [exp.Is(this=exp.paren(each), expression=exp.Null()) for each in values]
        return exp.paren(exp.or_(*nulls), copy=False)

    equal = [
        exp.EQ(this=one.copy(), expression=other.copy())
        for one, other in zip(sides, columns, strict=True)
    ]
    alike: list[exp.Expr] = [
        exp.Anonymous(this="coalesce", expressions=[each.copy(), exp.true()]) for each in equal
    ]
    unknown = exp.or_(
        exists([*alike, any_null(columns)]),
        exists([*(each.copy() for each in alike), any_null(sides)]),
    )
    return exp.paren(
        exp.Case(
            ifs=[
                exp.If(this=exists([*equal]), true=exp.true()),
                exp.If(this=unknown, true=exp.Null()),
            ],
            default=exp.false(),
        )
    )


def bare(node: exp.Expr) -> exp.Expr:
    """An expression without brackets around it."""
    while isinstance(node, exp.Paren):
        uses(node, "this")
        node = node.this
    return node


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def _is_operand(node: exp.Expr) -> bool:
    """Whether it is the query of EXISTS or IN."""
    parent = node.parent
    return isinstance(parent, exp.Exists) or (
        isinstance(parent, exp.In) and parent.args.get("query") is node
    )
