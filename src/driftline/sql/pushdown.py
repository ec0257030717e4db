"""Conditions of WHERE that belong into a join: `FROM a, b WHERE a.id = b.id`.

A join without a condition of its own would make all pairs first. Plans whose joins all have their
conditions are left as they were written.
"""

from __future__ import annotations

from dataclasses import replace

from driftline.plan import nodes
from driftline.plan.conditions import conjuncts, together
from driftline.plan.expressions import Column, Expression

_LEFT_ONLY = ("left", "semi", "anti")


def has_bare_join(plan: nodes.Node) -> bool:
    """Whether the plan begins with an inner join without a condition."""
    if not isinstance(plan, nodes.Join):
        return False
    if plan.how == "inner":
        return plan.condition is None or any(map(has_bare_join, plan.inputs))
    return plan.how in _LEFT_ONLY and has_bare_join(plan.left)


def pushed_down(plan: nodes.Node, parts: list[Expression]) -> nodes.Node:
    """The rows that fulfil all conditions, each tested as early as it can be."""
    if not isinstance(plan, nodes.Join) or plan.how not in ("inner", *_LEFT_ONLY):
        condition = together(parts)
        return plan if condition is None else nodes.Select(plan, condition)
    left, right = plan.left.schema, plan.right.schema
    names = (left + right).names if plan.how in ("inner", "left") else left.names
    to_left = dict(zip(names, left.names, strict=False))
    to_right = (
        dict(zip(names[len(left) :], right.names, strict=True)) if plan.how == "inner" else {}
    )
    on_left: list[Expression] = []
    on_right: list[Expression] = []
    here: list[Expression] = []
    for part in parts:
        columns = part.columns()
        if columns and columns <= to_left.keys():
            on_left.append(_renamed(part, to_left, plan.left))
        elif columns and columns <= to_right.keys():
            on_right.append(_renamed(part, to_right, plan.right))
        else:
            here.append(part)
    new_left, new_right = pushed_down(plan.left, on_left), pushed_down(plan.right, on_right)
    if plan.how == "inner":
        condition = together([*conjuncts(plan.condition), *here])
        return replace(plan, left=new_left, right=new_right, condition=condition)
    joined = replace(plan, left=new_left, right=new_right)
    rest = together(here)
    return joined if rest is None else nodes.Select(joined, rest)


def _renamed(value: Expression, names: dict[str, str], plan: nodes.Node) -> Expression:
    """The expression with the columns' names among the columns of one side."""
    schema = plan.schema
    qualifiers = dict(zip(schema.names, (each.qualifier for each in schema), strict=True))

    def change(part: Expression) -> Expression:
        if isinstance(part, Column):
            name = names[part.name]
            return Column(name, part.type, qualifiers[name])
        return part

    return value.transform(change)
