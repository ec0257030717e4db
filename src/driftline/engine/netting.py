"""Consolidation where it is needed: an operator skips it if every consumer of its output
consolidates, or adds up what it receives."""

from __future__ import annotations

from driftline.engine.graph import Graph
from driftline.engine.project import Project


def net_where_needed(graph: Graph) -> None:
    """Let no project and no join of a finished graph net without need."""
    said = {id(step) for step, _ in graph.sinks}
    indifferent: set[int] = set()  # the steps to which it is all one whether their input is netted
    for step in reversed(graph.steps):
        operator, targets = step.operator, [id(target) for target, _ in step.outputs]
        if operator.adds_up:
            indifferent.add(id(step))
        elif isinstance(operator, Project) or operator.nets:
            needless = bool(targets) and id(step) not in said and indifferent.issuperset(targets)
            if isinstance(operator, Project) and (operator.nets or needless):
                indifferent.add(id(step))
            operator.nets = operator.nets and not needless
