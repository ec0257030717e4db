"""Unused columns are not built: a join before projections emits the columns that these read."""

from __future__ import annotations

from driftline.engine.core.graph import Graph, Step
from driftline.engine.stateless.project import Project


def narrow_joins(graph: Graph) -> None:
    """Let no join of a finished graph put out more columns than are read."""
    put_out = {id(step) for step, _ in graph.sinks}
    for step in graph.steps:
        read = [_read(target) for target, _ in step.outputs]
        known = [names for names in read if names]
        if known and len(known) == len(read) and id(step) not in put_out:
            step.operator.build_only(frozenset[str]().union(*known))


def _read(step: Step) -> frozenset[str] | None:
    """The columns that a step reads; None if that is not known."""
    return step.operator.reads if isinstance(step.operator, Project) else None
