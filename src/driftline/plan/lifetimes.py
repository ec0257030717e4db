"""Where an operator depends on lifetimes, and its input has only snapshots.

    exact   in which pieces a row is emitted is part of the meaning: a source, the output of a
            window, and select, project, union and inner join of exact inputs
    loose   only the snapshots are: aggregates, distinct, set operators, rank, over, outer, semi and
            anti joins, all that is computed from these, and a window by both vs and ve over them

A window, windows as columns by vs, and the aggregates that depend on the start of lifetimes need
exact input (`Node.goes_by`). A loose input is coalesced before them: the answer then depends on its
snapshots alone.
"""

from __future__ import annotations

from collections.abc import Collection

from driftline.plan import nodes
from driftline.plan.depth import room
from driftline.plan.facts import Facts


def is_loose(node: nodes.Node) -> bool:
    """Whether it is left open in how many pieces a row is emitted."""
    return node.is_loose


@room(nodes.CALLS)
def only_grows(node: nodes.Node, inserts_only: Collection[str]) -> bool:
    """Whether nothing is ever retracted of an answer, if nothing is of these sources."""
    return Facts(inserts_only).only_grows(node)


def is_stretches(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Coalesce) and node.part == "stretches"


class Coalescing:
    """Puts coalesce nodes into plans; nodes that plans share stay shared.

    `done`: by the id of a node, the node itself (which keeps its id taken) and what it became.
    """

    def __init__(self) -> None:
        self.done: dict[int, tuple[nodes.Node, nodes.Node]] = {}

    def of(self, node: nodes.Node) -> nodes.Node:
        for each in node.from_below():
            if id(each) not in self.done:
                self.done[id(each)] = (each, self._rewritten(each))
        return self.done[id(node)][1]

    def _rewritten(self, node: nodes.Node) -> nodes.Node:
        made = [self.done[id(each)][1] for each in node.inputs]
        part = node.goes_by
        if part is not None and not any(isinstance(each, nodes.Coalesce) for each in made):
            loose = [each.is_loose for each in made]
            if any(loose) and part == "ends":
                assert isinstance(node, nodes.Window)  # nothing else goes by ends alone
                node = node.over_ends()
            made = [
                nodes.Coalesce(each, part) if is_loose else each
                for each, is_loose in zip(made, loose, strict=True)
            ]
        same = all(one is other for one, other in zip(made, node.inputs, strict=True))
        return node if same else node.with_inputs(made)
