"""Which columns and rows a plan reads of what comes into it.

    A column that nothing above a leaf reads can be left out: a bag of rows without it is what the
    operators see of the bag of rows with it. So can a row that the select above a leaf drops.

Each node knows what it reads (`Node.reads`). Operators that compare whole rows (distinct, set
operators, rank, over, coalesce) read all of them.
"""

from __future__ import annotations

from driftline.plan import nodes
from driftline.plan.conditions import conjuncts
from driftline.plan.expressions import Call, Column, Expression, Literal

_COMPARISONS = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})


def needed(plan: nodes.Node) -> dict[str, nodes.Places]:
    """By the name of a leaf, the places of the columns that are read. All of the result is read."""
    nothing: nodes.Places = frozenset()
    found: dict[str, nodes.Places] = {}
    wanted = {id(plan): frozenset(range(len(plan.schema)))}
    for node in reversed(plan.from_below()):
        here = wanted[id(node)]
        if isinstance(node, nodes.Leaf):
            found[node.name] = found.get(node.name, nothing) | here
        for given, places in zip(node.inputs, node.reads(here), strict=True):
            wanted[id(given)] = wanted.get(id(given), nothing) | places
    return found


def passed(plan: nodes.Node) -> dict[str, list[Expression]]:
    """By the name of a leaf, conditions that every row fulfils which is let through above it: of
    the selects that stand there with only windows in between, the comparisons of a column with a
    value. These cannot fail, whatever the row."""
    users: dict[int, list[nodes.Node]] = {id(plan): [plan]}  # its output is a use, too
    for node in plan.from_below():
        for given in node.inputs:
            users.setdefault(id(given), []).append(node)
    found: dict[str, list[Expression]] = {}
    for leaf in plan.from_below():
        if isinstance(leaf, nodes.Leaf):
            found[leaf.name] = [] if leaf.name in found else _passed_above(leaf, users)
    return found


def _passed_above(leaf: nodes.Node, users: dict[int, list[nodes.Node]]) -> list[Expression]:
    found: list[Expression] = []
    node = leaf
    while len(users[id(node)]) == 1:
        (user,) = users[id(node)]
        if user is node or not isinstance(user, nodes.Select | nodes.Window):
            break
        if isinstance(user, nodes.Select):
            found += filter(_is_comparison, conjuncts(user.predicate))
        node = user
    return found


def _is_comparison(part: Expression) -> bool:
    """Whether a condition compares a column with a value."""
    if not isinstance(part, Call) or part.function not in _COMPARISONS:
        return False
    one, other = part.args
    return (isinstance(one, Column) and isinstance(other, Literal)) or (
        isinstance(one, Literal) and isinstance(other, Column)
    )
