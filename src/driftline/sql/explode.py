"""explode in SQL: LATERAL VIEW, LATERAL explode(…) and UNNEST in FROM, and in the select list."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from driftline.plan.errors import PlanError
from driftline.plan.nodes import Explode
from driftline.plan.resolver import GENERATORS
from driftline.plan.used import uses
from driftline.sql.errors import at, refuse
from driftline.sql.scope import Scope, walked

_OTHERS = ("inline", "inline_outer", "stack", "json_tuple")


def generator(node: exp.Expr) -> tuple[exp.Expr, bool, bool] | None:
    """The argument of a call of explode, whether rows without items are kept, and whether places
    are given; None if it is no such call."""
    if not isinstance(node, exp.Anonymous):
        return None
    name = str(node.this).lower()
    if name in _OTHERS:
        raise refuse(f"{name} is not supported: there are {', '.join(GENERATORS)}", node)
    if name not in GENERATORS:
        return None
    uses(node, "this", "expressions")
    if len(node.expressions) != 1:
        raise refuse(f"{name} takes one ARRAY or MAP", node)
    return (node.expressions[0], *GENERATORS[name])


def exploded(
    scope: Scope,
    node: exp.Expr,
    what: tuple[exp.Expr, bool, bool],
    names: Sequence[str] = (),
    qualifier: str | None = None,
) -> Scope:
    """The rows of a scope, each with the items of what it holds."""
    inner, outer, position = what
    value = scope.resolve(inner)
    if value.aggregates():
        raise refuse("explode of an aggregate: compute it in a subquery", node)
    try:
        with at(node):
            plan = Explode(scope.plan, value, tuple(names), outer, position, qualifier)
    except PlanError as error:
        raise refuse(str(error), node) from None
    seen: set[str] = {
        each.name.lower()
        for each in scope.schema
        if (each.qualifier or "").lower() == (qualifier or "").lower()
    }
    for each in plan.added:
        if each.name.lower() in seen:
            raise refuse(f"there is a column {each.name} already: give another name", node)
        seen.add(each.name.lower())
    return scope.over(plan)


def lateral(scope: Scope, node: exp.Expr, *, outer: bool = False) -> Scope:
    """The rows with those of LATERAL VIEW explode(…), LATERAL explode(…) or UNNEST(…)."""
    uses(node, "this", "expressions", "alias", "outer", "view", "offset")
    alias = node.args.get("alias")
    if alias is not None:
        uses(alias, "this", "columns")
    names = [each.name for each in (alias.args.get("columns") if alias else None) or ()]
    qualifier = alias.name if alias is not None and alias.this is not None else None
    if isinstance(node, exp.Unnest):
        if len(node.expressions) != 1 or node.args.get("offset"):
            raise refuse("UNNEST takes one ARRAY or MAP; posexplode gives places", node)
        return exploded(scope, node, (node.expressions[0], outer, False), names, qualifier)
    what = generator(node.this)
    if what is None:
        raise refuse("LATERAL takes explode(…), and no subquery", node)
    inner, keeps, position = what
    keeps = keeps or outer or bool(node.args.get("outer"))
    return exploded(scope, node, (inner, keeps, position), names, qualifier)


def of_select_list(scope: Scope, items: Sequence[exp.Expr]) -> tuple[Scope, list[exp.Expr]]:
    """The rows with the items of an explode(…) in the select list, and the list with columns in its
    place."""
    found: list[exp.Expr] = []
    for item in items:
        names: list[str] = []
        call = item
        if isinstance(item, exp.Alias):
            uses(item, "this", "alias")
            call, names = item.this, [item.alias]
        elif isinstance(item, exp.Aliases):
            uses(item, "this", "expressions")
            call, names = item.this, [each.name for each in item.expressions]
        what = generator(call)
        if what is None:
            for part in walked(item):
                if part is not call and generator(part) is not None:
                    raise refuse(f"{part.name} stands alone in the select list", part)
            found.append(item)
            continue
        width = len(scope.schema)
        if any(each.name.startswith("$explode") for each in scope.schema):
            raise refuse("one explode in a select list: use LATERAL VIEW for more", item)
        with at(call):
            plain = Explode(scope.plan, scope.resolve(what[0]), (), *what[1:]).added
        given = names or [each.name for each in plain]
        if len(given) != len(plain):
            raise refuse(
                f"{call.name} gives {len(plain)} columns, and has {len(given)} names", item
            )
        inside = [f"$explode{place}" for place in range(len(given))]
        scope = exploded(scope, item, what, inside)
        keys = scope.schema.names[width:]
        scope = Scope(scope.plan, scope.merged, scope.hidden | frozenset(keys))
        for name, own in zip(given, inside, strict=True):
            column = exp.column(exp.to_identifier(own, quoted=True))
            column.this.meta.update(call.meta)
            found.append(exp.alias_(column, name, quoted=True))
    return scope, found
