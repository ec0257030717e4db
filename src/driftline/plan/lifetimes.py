"""Where a plan goes by lifetimes, and has only snapshots to go by.

    exact   in which pieces a row is said is part of the meaning: a source, what a window gives, and
            select, project, union and inner join of such
    loose   only the snapshots are: aggregates, distinct, set operators, rank, over, outer, semi and
            anti joins, whatever is computed from these, and a window by both vs and ve over such

A window, windows as columns by vs, and the aggregates that go by the start of lifetimes need exact
input. Before these, a loose one is coalesced: the answer then depends on its snapshots alone.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, replace
from typing import Literal

from driftline.plan import nodes
from driftline.plan.conditions import linear_form
from driftline.plan.explode import Explode
from driftline.plan.expressions import AggregateCall, Column, Expression

BY_START = ("first", "last", "any_value", "array_agg", "collect_set")
"""The aggregates that go by the start of lifetimes."""


def is_loose(node: nodes.Node) -> bool:
    """Whether it is left open in how many pieces a row is said."""
    match node:
        case nodes.Source() | nodes.Leaf() | nodes.Final():
            return False
        case nodes.Coalesce(part=part):
            return part == "stretches"  # which may still grow
        case nodes.Window():
            return needed(node) == "stretches" and is_loose(node.input)
        case nodes.Join(how=how) if how != "inner":
            return True
        case (
            nodes.Alias()
            | nodes.Select()
            | nodes.Project()
            | nodes.WindowColumns()
            | Explode()
            | nodes.Union()
            | nodes.Join()
        ):
            return any(map(is_loose, node.inputs))
    return True


def only_grows(node: nodes.Node, inserts_only: Collection[str]) -> bool:
    """Whether nothing is ever taken back of an answer, if nothing is of these sources."""
    match node:
        case nodes.Source() | nodes.Leaf():
            return node.name in inserts_only
        case nodes.Join(how=how) if how != "inner":
            return False
        case (
            nodes.Alias()
            | nodes.Select()
            | nodes.Project()
            | nodes.Window()
            | nodes.WindowColumns()
            | Explode()
            | nodes.Union()
            | nodes.Join()
        ):
            return all(only_grows(each, inserts_only) for each in node.inputs)
    return False


def is_stretches(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Coalesce) and node.part == "stretches"


class Coalescing:
    """Puts coalesce into plans; what plans share stays shared.

    `done`: by the id of a node, the node itself (which keeps its id taken) and what it became.
    """

    def __init__(self) -> None:
        self.done: dict[int, tuple[nodes.Node, nodes.Node]] = {}

    def of(self, node: nodes.Node) -> nodes.Node:
        if id(node) not in self.done:
            self.done[id(node)] = (node, self._rewritten(node))
        return self.done[id(node)][1]

    def _rewritten(self, node: nodes.Node) -> nodes.Node:
        changed: dict[str, nodes.Node] = {}
        for each in fields(node):
            value = getattr(node, each.name)
            if isinstance(value, nodes.Node):
                made = self.of(value)
                if made is not value:
                    changed[each.name] = made
        whole = replace(node, **changed) if changed else node
        if any(isinstance(each, nodes.Coalesce) for each in whole.inputs):
            return whole
        match whole:
            case nodes.Window(input=given) if is_loose(given):
                return _over(nodes.Coalesce(given, needed(whole)), whole)
            case nodes.WindowColumns(input=given, time=None) if is_loose(given):
                return replace(whole, input=nodes.Coalesce(given))
            case nodes.Aggregate(input=given) if is_loose(given) and _goes_by_start(whole):
                return replace(whole, input=nodes.Coalesce(given))
            case nodes.Final(input=given, windows=()) if is_loose(given):
                return replace(whole, input=nodes.Coalesce(given))
        return whole


def _over(given: nodes.Coalesce, window: nodes.Window) -> nodes.Window:
    """A window over what it needs to know; ends are lifetimes that start when a row ends."""
    if given.part != "ends":
        return replace(window, input=given)
    assert window.start is not None
    assert window.duration is not None
    return replace(
        window,
        input=given,
        start=window.start.transform(_from_the_end),
        duration=window.duration.transform(_from_the_end),
    )


def _from_the_end(part: Expression) -> Expression:
    is_end = isinstance(part, Column) and part.name.lower() == "ve"
    return Column("vs", part.type) if is_end else part


def _goes_by_start(node: nodes.Aggregate) -> bool:
    calls = (each.value for each in node.aggregates)
    return any(isinstance(call, AggregateCall) and call.function in BY_START for call in calls)


def needed(window: nodes.Window) -> Literal["stretches", "starts", "ends"]:
    """What a window looks at: only when a row starts, only when it ends, or both."""
    if window.form != "general":
        return "starts"
    assert window.start is not None
    assert window.duration is not None
    start, duration = linear_form(window.start), linear_form(window.duration)
    if start is None or duration is None:
        return "stretches"
    if start[1] == duration[1] == 0:
        return "starts"
    # A row without end then vanishes, as ends have it.
    return "ends" if start[0] == duration[0] == 0 and start[1] > 0 else "stretches"
