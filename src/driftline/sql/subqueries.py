"""Subqueries anywhere in an expression: each becomes a column of the rows, by a left join.

(SELECT max(z) …)    the value; x / (SELECT count(*) …) is null where that has counted nothing
EXISTS (q)           whether there is a row of q
x IN (q)             true if a row of q equals x; else null if q has a null, or x is null and q
                     has a row; else false
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.expressions import Column, Expression, Literal
from driftline.plan.folding import folded
from driftline.plan.functions.operators import is_null
from driftline.plan.types import BOOLEAN, Schema
from driftline.plan.used import uses, uses_all
from driftline.sql.correlated import Untied, untied
from driftline.sql.errors import refuse
from driftline.sql.outside import Outside
from driftline.sql.query_parts import conjuncts_of, has_subquery, inlined, is_aggregate, unwrapped
from driftline.sql.scalar import Resolve, Value, added, as_column, value_of
from driftline.sql.scope import OWN_COLUMN, Relations, Scope, columns_in, walked
from driftline.sql.tables import BindQuery, same_time

_IN = "$in"


class Subqueries:
    """The subqueries in expressions over the rows of a scope, or, with `resolve`, over groups or
    rows with more columns; `prefix`: what the names of their columns begin with."""

    def __init__(
        self,
        scope: Scope,
        names: Relations,
        bind: BindQuery,
        resolve: Resolve | None = None,
        prefix: str = OWN_COLUMN,
    ) -> None:
        self.scope, self.names, self.bind = scope, names, bind
        self.resolve = resolve or scope.resolve
        self.added = Schema(())
        self._steps: list[Callable[[nodes.Node], nodes.Node]] = []
        self._meanings: dict[exp.Expr, exp.Expr] = {}
        self._of_rows: dict[exp.Expr, exp.Expr] = {}  # 0 of nothing as null, which can divide
        self._prefix = prefix
        self._first = sum(each.name.startswith(OWN_COLUMN) for each in scope.schema)

    def applied(self, rows: nodes.Node) -> nodes.Node:
        """The rows with a column for each subquery."""
        for step in self._steps:
            rows = step(rows)
        return rows

    def taken_out(
        self, node: exp.Expr, only: Callable[[exp.Expr], bool] = lambda _: True
    ) -> exp.Expr:
        """An expression with columns in the place of its subqueries, or of some `only`."""
        if not has_subquery(node):
            return node
        copy = node.copy()
        for part in walked(copy):
            if isinstance(part, (exp.All, exp.Any)) and isinstance(part.this, exp.Query):
                raise refuse(
                    "ANY and ALL of a subquery come after =, <>, <, <=, > or >=", part.this
                )
            meaning = self._meaning(part) if only(part) else None
            if meaning is None:
                continue
            if part in self._of_rows and _is_divisor(part):
                meaning = self._of_rows[part].copy()
            if part is copy:
                meaning.meta.update(copy.meta)
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

    def knows(self, part: exp.Expr) -> bool:
        """Whether it is a subquery that was taken out before."""
        return part in self._meanings

    def _value(self, node: exp.Subquery) -> exp.Expr:
        found = value_of(self.scope, node, self.names, self.bind)
        name = self._joined(found)
        nothing = folded(found.default)
        if isinstance(nothing, Literal) and nothing.value == 0:
            self._of_rows[node.copy()] = exp.column(_quoted(name))
        return as_column(found, name)

    def _joined(self, value: Value) -> str:
        name = f"{self._prefix}{self._first + len(self._steps)}"
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
        same = _equal(found, [wanted])
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

    def is_in(self, node: exp.In) -> exp.Expr:
        """Whether several values are IN a query for certain: false where it is null."""
        uses(node, "this", "query")
        wanted = bare(node.this)
        uses(wanted, "expressions")
        found = self._tied(node.args["query"])
        if len(found.own) != len(wanted.expressions):
            raise refuse(
                f"IN compares {len(wanted.expressions)} values with {len(found.own)} columns", node
            )
        return self._is_there(_equal(found, wanted.expressions))

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


def _is_divisor(node: exp.Expr) -> bool:
    """Whether a division is by 0 where the value of a subquery is."""
    while isinstance(node.parent, (exp.Paren, exp.Neg, exp.Cast, exp.TryCast, exp.Mul)):
        node = node.parent
    whole = node.parent
    return isinstance(whole, (exp.Div, exp.IntDiv, exp.Mod)) and whole.expression is node


def beside_join(
    left: Scope, right: Scope, on: exp.Expr, names: Relations, bind: BindQuery
) -> tuple[Scope, Scope, exp.Expr]:
    """The sides of an outer join, with columns for the subqueries of its condition, and that
    condition about these. A subquery is about the rows of one side."""
    both = left.beside(nodes.Join(left.plan, right.plan, "inner", None), right)
    number = sum(each.name.startswith(OWN_COLUMN) for each in both.schema)
    of_left = Subqueries(left, names, bind, prefix=f"{OWN_COLUMN} left {number} ")
    of_right = Subqueries(right, names, bind, prefix=f"{OWN_COLUMN} right {number} ")

    def is_left(part: exp.Expr) -> bool | None:
        """Whether it uses columns of the left side; None if it uses no columns."""
        used = list(columns_in(part))
        for query in (each for each in walked(part) if isinstance(each, exp.Query)):
            inside = inlined(query)
            used += [] if inside is None else Outside(inside, both, names, bind).columns
        for each in used:
            both.resolve(each)  # refuses a name of both
        sides = {left.has(each) for each in used}
        if len(sides) > 1:
            raise refuse(
                "a subquery in ON of an outer join is about one of the two sides: compute it in "
                "FROM",
                part,
            )
        return sides.pop() if sides else None

    parts = []
    for part in conjuncts_of(on):
        if not has_subquery(part):
            parts.append(part)
            continue
        used = {left.has(each) for each in columns_in(part)}
        otherwise = used == {True}

        def wanted(each: exp.Expr, left: bool, otherwise: bool = otherwise) -> bool:
            if not _is_taken(each):
                return False
            side = is_left(each)
            return (otherwise if side is None else side) is left

        plain = of_left.taken_out(part, lambda each: wanted(each, True))
        parts.append(of_right.taken_out(plain, lambda each: wanted(each, False)))
    return (
        left.over(of_left.applied(left.plan)),
        right.over(of_right.applied(right.plan)),
        exp.and_(*parts, copy=False),
    )


def _is_taken(part: exp.Expr) -> bool:
    """Whether a column takes its place."""
    if isinstance(part, exp.In):
        return part.args.get("query") is not None
    return isinstance(part, exp.Exists) or (
        isinstance(part, exp.Subquery) and not _is_operand(part)
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


def _equal(found: Untied, wanted: Sequence[exp.Expr]) -> Untied:
    """The rows of a query tied to the row outside by equal values, too."""
    names = [f"{_IN}{place}" for place in range(len(wanted))]
    columns = zip((*found.ties, *names), (*found.tied, *found.own), strict=True)
    equal = [
        exp.EQ(this=each.copy(), expression=exp.column(_quoted(name)))
        for each, name in zip(wanted, names, strict=True)
    ]
    return Untied(
        nodes.Project(found.plan, tuple(nodes.Named(name, each) for name, each in columns)),
        (*found.ties, *names),
        (*found.conditions, *equal),
    )


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

    def any_null(values: Sequence[exp.Expr]) -> exp.Expr:
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
