"""Consolidation where it is needed: an operator skips it if every consumer of its output
consolidates, or adds up what it receives."""

from __future__ import annotations

from driftline.engine.core.graph import Graph


def consolidate_where_needed(graph: Graph) -> None:
    """Let no project and no join of a finished graph consolidate without need."""
    put_out = {id(step) for step, _ in graph.sinks}
    indifferent: set[int] = set()  # the steps whose input need not be consolidated
    for step in reversed(graph.steps):
        operator, targets = step.operator, [id(target) for target, _ in step.outputs]
        if operator.adds_up:
            indifferent.add(id(step))
        elif operator.maps_rows or operator.consolidates:
            needless = bool(targets) and id(step) not in put_out and indifferent.issuperset(targets)
            if operator.maps_rows and (operator.consolidates or needless):
                indifferent.add(id(step))
            operator.consolidates = operator.consolidates and not needless
