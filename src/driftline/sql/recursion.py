"""WITH RECURSIVE: names that use themselves or each other, as loops.

    WITH RECURSIVE name [(column, …)] [MAX RECURSION LEVEL n] AS (base UNION [ALL] step)

The names of one WITH that depend on each other are one loop; the others are CTEs as ever. A branch
of a UNION that uses none of them gives the columns of the name, also if the UNION is in a subquery,
below a min or max; the types become those that can hold the values of all branches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.combining import with_common_types
from driftline.plan.errors import PlanError
from driftline.plan.improving import NotRecursive, only_selects, reachable
from driftline.plan.recursion import LIMIT, fixed_point
from driftline.plan.types import Field, Schema
from driftline.plan.used import place_of, uses
from driftline.sql.errors import at, refuse
from driftline.sql.scope import Relations
from driftline.sql.tables import same_time

BindQuery = Callable[[exp.Expr, Relations], nodes.Node]

_WIDENINGS = 8
"""So often the types of a recursive name may become wider."""
_BLAMED: dict[type[nodes.Node], tuple[type[exp.Expr], ...]] = {
    nodes.Select: (exp.Where, exp.Having),
    nodes.Rank: (exp.Window, exp.Order),
    nodes.Over: (exp.Window,),
    nodes.SetOperation: (exp.Except, exp.Intersect),
}
"""By the class of a node that cannot be in a loop, how it is written."""


def in_order(ctes: Sequence[exp.CTE]) -> Iterator[list[exp.CTE]]:
    """The CTEs of a WITH RECURSIVE, those that depend on each other together, each group after
    those that it reads."""
    by_name = {cte.alias.lower(): cte for cte in ctes}
    reads = {name: _names_in(cte.this) & by_name.keys() for name, cte in by_name.items()}
    below = {name: reachable(name, reads) for name in by_name}
    done: set[str] = set()
    waiting = list(by_name)
    while waiting:
        name = next(
            each for each in waiting if all(n in done or each in below[n] for n in below[each])
        )
        group = [
            each
            for each in waiting
            if each == name or (each in below[name] and name in below[each])
        ]
        done |= set(group)
        waiting = [each for each in waiting if each not in done]
        yield [by_name[each] for each in group]


def is_recursive(group: Sequence[exp.CTE]) -> bool:
    """Whether the CTEs of a group use their own names."""
    names = {cte.alias.lower() for cte in group}
    return any(_names_in(cte.this) & names for cte in group)


def _names_in(query: exp.Expr) -> set[str]:
    return {table.name.lower() for table in query.find_all(exp.Table)}


def _without(query: exp.Expr, names: set[str]) -> exp.Expr:
    """A query without those branches of the UNIONs in it that use some names, where the others do
    not. The innermost goes first: of three branches the first two are a UNION of their own."""
    if not _names_in(query) & names:
        return query
    query = query.copy()
    for union in reversed(list(query.find_all(exp.Union))):
        branches = (union.this, union.expression)
        kept = [each for each in branches if not _names_in(each) & names]
        if len(kept) == 1 and union is not query:
            union.replace(_named_as(kept[0], union.this))
    return query


def _named_as(branch: exp.Expr, first: exp.Expr) -> exp.Expr:
    """A branch of a UNION with the columns named as in the first one, whose names a UNION has."""
    names = first.named_selects if isinstance(first, exp.Query) else []
    if branch is first or not isinstance(branch, exp.Select) or "*" in names:
        return branch
    if len(branch.selects) == len(names):
        pairs = zip(branch.selects, names, strict=True)
        named = [exp.alias_(each.unalias(), name, quoted=True) for each, name in pairs if name]
        if len(named) == len(names):
            branch.set("expressions", named)
    return branch


@dataclass
class _Rule:
    """A recursive name: its branches, and what is known of its columns."""

    cte: exp.CTE
    branches: list[exp.Expr]
    distinct: bool
    columns: Schema | None = None

    @property
    def name(self) -> str:
        return str(self.cte.alias)


def bind_loop(group: Sequence[exp.CTE], names: Relations, bind: BindQuery) -> dict[str, nodes.Node]:
    """The plans of CTEs that use each other, by name."""
    return _Loop([_rule(cte) for cte in group], names, bind).plans()


def _rule(cte: exp.CTE) -> _Rule:
    query, unions = cte.this, []
    while isinstance(query, exp.Union):
        uses(query, "this", "expression", "distinct")
        unions.append(query)
        query = query.this
    kinds = [bool(each.args.get("distinct")) for each in unions]
    if True in kinds[1:] and not kinds[0]:
        raise refuse("a recursive query is all UNION, or all UNION ALL", unions[0].expression)
    branches = [query, *(each.expression for each in reversed(unions))]
    return _Rule(cte, branches, kinds[0] if kinds else False)


class _Loop:
    def __init__(self, rules: list[_Rule], names: Relations, bind: BindQuery) -> None:
        self.rules, self.names, self.bind = rules, names, bind
        self.own = {rule.name.lower() for rule in rules}
        self.timestamps = names.timestamps

    def plans(self) -> dict[str, nodes.Node]:
        self._begin()
        for _ in range(_WIDENINGS):
            before = [rule.columns for rule in self.rules]
            bodies = [self._body(rule) for rule in self.rules]
            if before == [rule.columns for rule in self.rules]:
                break
        else:
            rule = self.rules[0]
            raise refuse(
                f"the types of {rule.name} grow with every step: CAST its columns", rule.cte
            )
        made = [
            nodes.Rule(rule.name, _known(rule), body, rule.distinct)
            for rule, body in zip(self.rules, bodies, strict=True)
        ]
        with at(self.rules[0].cte):
            try:
                return fixed_point(made, self._limit())
            except NotRecursive as error:
                raise refuse(str(error), self._blamed(error.node)) from None

    def _begin(self) -> None:
        """Find the columns of all names, from branches that use only names that are known."""
        unknown = list(self.rules)
        while unknown:
            known = {rule.name.lower() for rule in self.rules if rule.columns is not None}
            for rule in unknown:
                begun = (_without(b, self.own - known) for b in rule.branches)
                start = next((b for b in begun if not _names_in(b) & self.own - known), None)
                if start is not None:
                    plan = self.bind(start, self._names())
                    self.timestamps = plan.timestamps
                    rule.columns = self._columns(rule, plan.schema)
                    break
            else:
                raise refuse(
                    f"{unknown[0].name} has nothing to begin with: a branch of its UNION has to do "
                    "without recursive names",
                    unknown[0].cte,
                )
            unknown = [rule for rule in unknown if rule.columns is None]

    def _names(self) -> Relations:
        inner = Relations(self.names)
        for rule in self.rules:
            if rule.columns is not None:
                inner.define(rule.name, nodes.Back(rule.name, rule.columns, self.timestamps))
        return inner

    def _columns(self, rule: _Rule, schema: Schema) -> Schema:
        given = rule.cte.args["alias"].args.get("columns")
        names = [each.name for each in given or schema]
        if len(names) != len(schema):
            raise refuse(f"there are {len(names)} names for {len(schema)} columns", rule.cte)
        if len({name.lower() for name in names}) < len(names):
            raise refuse(f"two columns of {rule.name} have the same name", rule.cte)
        pairs = zip(names, schema, strict=True)
        return Schema(tuple(Field(name, each.type) for name, each in pairs))

    def _body(self, rule: _Rule) -> nodes.Node:
        """The union of the branches; the columns of the rule get the types of all of them."""
        inner = self._names()
        known = _known(rule)
        body: nodes.Node | None = None
        for branch in rule.branches:
            plan = self.bind(branch, inner)
            if body is None:
                body = plan
                continue
            same_time(body, plan, branch)
            try:
                body = nodes.Union(*with_common_types(body, plan, "UNION"))
            except PlanError as error:
                raise refuse(str(error), branch) from None
        assert body is not None
        wider = zip(known, body.schema, strict=True)
        rule.columns = Schema(tuple(Field(own.name, each.type) for own, each in wider))
        return body

    def _limit(self) -> int:
        limits = [rule.cte.args["alias"].args.get("limit") for rule in self.rules]
        return min((int(each) for each in limits if each), default=LIMIT)

    def _blamed(self, node: nodes.Node) -> exp.Expr:
        """What is written where a node comes from, as far as that can be found."""
        kinds = _BLAMED.get(type(node), ())
        for rule in self.rules:
            for branch in rule.branches:
                if not _names_in(branch) & self.own:
                    continue
                for part in branch.walk():
                    if isinstance(part, kinds) or _is_blamed(part, node):
                        return part if place_of(part)[0] is not None else branch
        return self.rules[0].cte


def _is_blamed(part: exp.Expr, node: nodes.Node) -> bool:
    if isinstance(node, nodes.Aggregate) and isinstance(part, (exp.AggFunc, exp.Anonymous)):
        return not isinstance(part, (exp.Min, exp.Max)) or only_selects(node)
    if isinstance(node, nodes.Aggregate):
        return only_selects(node) and isinstance(part, exp.Group)
    if isinstance(node, nodes.Join) and isinstance(part, exp.Join):
        return (
            node.how == "inner"
            or bool(part.args.get("side"))
            or part.args.get("kind") in ("SEMI", "ANTI")
        )
    if isinstance(node, nodes.Join):
        return node.how in ("semi", "anti") and isinstance(part, (exp.Exists, exp.In))
    if isinstance(node, (nodes.Window, nodes.WindowColumns)) and isinstance(part, exp.Table):
        alias = part.args.get("alias")
        return alias is not None and bool(alias.args.get("brackets"))
    return False


def _known(rule: _Rule) -> Schema:
    assert rule.columns is not None
    return rule.columns
