"""Recursive queries: from rules that use their own names to a loop.

The body of a rule is a plan in which an edge back (`nodes.Back`) stands for the name of a rule.
What does not depend on one is computed before the loop and becomes one of its inputs. What is left,
from the edges back up to the body, goes round. It may not take a row back because of another one,
unless for a better one, and may not move rows in time:

    select, project, explode, union all, inner join, distinct; an outer, semi or anti join in which
    only the side goes round whose rows are kept; min and max, if all else only gets better with
    them (see `improving`)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from driftline.plan import nodes
from driftline.plan.expressions import Column, Literal
from driftline.plan.functions.operators import compare
from driftline.plan.improving import NotRecursive, check_improving
from driftline.plan.types import INT

LIMIT = 10_000
"""The deepest level at which a row may be derived, if no other limit is given."""

GOES_ROUND = (nodes.Alias, nodes.Select, nodes.Project, nodes.Explode, nodes.Union, nodes.Distinct)
"""The nodes whose answer for a row does not depend on which others there are, nor moves in time."""

JOINED = 0
"""Where a leaf is used that is joined to what goes round: all such uses are one."""


def fixed_point(rules: Sequence[nodes.Rule], limit: int = LIMIT) -> dict[str, nodes.Node]:
    """By the name of a rule, the plan of its rows; the bodies use `nodes.Back`."""
    cut = _Cut(frozenset(rule.name for rule in rules))
    made = [replace(rule, body=cut.of(rule.body)) for rule in rules]
    check_improving(made)
    loop = nodes.Loop(tuple(cut.inputs), tuple(made), limit)
    return {rule.name: _answer(loop, number) for number, rule in enumerate(rules)}


def _answer(loop: nodes.Loop, number: int) -> nodes.Node:
    """The rows of one of the rules of a loop."""
    rule = loop.rules[number]
    plan: nodes.Node = loop
    if len(loop.rules) > 1:
        own = compare("equal", Column(nodes.RULE, INT), Literal(number, INT))
        columns = tuple(
            nodes.Named(each.name, Column(f"{rule.name} {each.name}", each.type))
            for each in rule.columns
        )
        plan = nodes.Project(nodes.Select(loop, own), columns)
    return nodes.Distinct(plan, of_a_set=True) if rule.distinct else plan


@dataclass
class _Cut:
    """Bodies with leaves in place of what does not depend on a rule. `inputs`: these parts;
    `leaves`: by their id, the leaf; a base has one of its own, which is partitioned on Spark, also
    if the same rows are joined to what goes round, and are copied."""

    names: frozenset[str]
    inputs: list[nodes.Node] = field(default_factory=list)
    leaves: dict[tuple[int, int], nodes.Leaf] = field(default_factory=dict)

    def of(self, body: nodes.Node) -> nodes.Node:
        made: dict[int, nodes.Node] = {}
        going_round: set[int] = set()
        for node in body.from_below():
            is_back = isinstance(node, nodes.Back) and node.name in self.names
            if not is_back and not any(id(each) in going_round for each in node.inputs):
                continue
            going_round.add(id(node))
            check(node, [id(each) in going_round for each in node.inputs])
            user = JOINED if isinstance(node, nodes.Join) else id(node)
            inputs = [
                made[id(each)] if id(each) in going_round else self._leaf(each, user)
                for each in node.inputs
            ]
            made[id(node)] = node.with_inputs(inputs)
        return made[id(body)] if id(body) in going_round else self._leaf(body, id(self.inputs))

    def _leaf(self, node: nodes.Node, user: int) -> nodes.Leaf:
        found = self.leaves.get((id(node), user))
        if found is None:
            name = nodes.leaf_name(len(self.inputs))
            found = nodes.Leaf(name, node.schema, node.timestamps)
            self.leaves[id(node), user] = found
            self.inputs.append(node)
        return found


def check(node: nodes.Node, goes_round: Sequence[bool]) -> None:
    """An error if a node cannot go round; `goes_round`: which of its inputs do."""
    if isinstance(node, (nodes.Back, *GOES_ROUND)):
        return
    if isinstance(node, nodes.Join):
        # A row that is derived may lack a partner, but may not be the partner that others lack.
        safe = {
            "left": (True, False),
            "right": (False, True),
            "full": None,
            "inner": tuple(goes_round),
        }
        if safe.get(node.how, (True, False)) == tuple(goes_round):
            return
        named = {"semi": "IN or EXISTS", "anti": "NOT IN or NOT EXISTS"}
        what = named.get(node.how, "an outer join")
        why = ": a row that is derived would change what others lack"
        if node.how == "semi":
            why = ": write a join, and DISTINCT or UNION where it gives rows twice"
        raise NotRecursive(
            f"{what} cannot ask inside a loop which rows of its recursive name are there{why}",
            node,
        )
    if isinstance(node, nodes.SetOperation):
        kind = "EXCEPT" if node.kind == "minus" else "INTERSECT"
        raise NotRecursive(f"{kind} of a recursive name cannot be inside its loop", node)
    if isinstance(node, nodes.Aggregate):
        return  # which of them can: see `improving`
    if isinstance(node, (nodes.Window, nodes.WindowColumns, nodes.Clip)):
        raise NotRecursive("a window cannot be inside a loop: put it before or after", node)
    what = "a window function" if isinstance(node, nodes.Over) else node.label().split()[0]
    raise NotRecursive(f"{what} of a recursive name cannot be inside its loop", node)
