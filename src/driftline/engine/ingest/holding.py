"""Whose heartbeats a row waits for, while it waits in Align.

    source     those of its own source
    operator   those of all sources below the first operator above that wants its input in order
    memory     the same; but where an operator gives more than it takes, and what it gives would
               only lie about until others have come, those of them, too (see `time.labels`)
    query      those of all sources

What an operator gives and takes is counted while the query runs, so labels can change. Operators
that do not want order (`Node.wants_order`) have no part in it.

State, of `memory` alone: what operators gave and took before they were restored.
"""

from __future__ import annotations

import numpy as np

from driftline.engine.core.graph import Graph, Step
from driftline.engine.state.fields import Arrays
from driftline.model.arrays import Int64s
from driftline.model.time import INFINITY
from driftline.plan.choices import Heartbeat
from driftline.plan.depth import room
from driftline.time.labels import Labels, TreeOperator, memory_aware, operator_level, query_level

_OUTPUT = "output"
_CALLS_A_STEP = 3
"""Python's calls, at most, to go down a step of a graph."""
NOTHING_YET = np.zeros(2, np.int64)
_LEVELS = {"operator": operator_level, "memory": memory_aware, "query": query_level}


class Holding:
    """The labels of the sources of a graph: the sources whose heartbeats each waits for."""

    def __init__(self, graph: Graph, how: Heartbeat) -> None:
        self.graph, self.how = graph, how
        self.feeding: dict[int, list[Step | str]] = {}
        for name, targets in graph.sources.items():
            for target, _ in targets:
                self.feeding.setdefault(id(target), []).append(name)
        for step in graph.steps:
            for target, _ in step.outputs:
                self.feeding.setdefault(id(target), []).append(step)
        self.before: dict[str, Int64s] = {}
        self.fixed = None if how == "memory" else self._labels()

    def limits(self, complete: dict[str, int]) -> dict[str, int]:
        """How far each source is let through, if so much is complete of each."""
        if self.how == "source":
            return dict.fromkeys(complete, INFINITY)
        labels = self._labels() if self.fixed is None else self.fixed
        return {
            name: min((complete[each] for each in labels.get(name, ())), default=INFINITY)
            for name in complete
        }

    def _labels(self) -> Labels:
        if self.how == "source":
            return {}
        with room(_CALLS_A_STEP * len(self.graph.steps)):
            return self._labels_of_steps()

    def _labels_of_steps(self) -> Labels:
        readers: dict[str, set[str]] = {name: set() for name in self.graph.sources}
        children: list[TreeOperator] = []
        streams: set[str] = set()
        for step, _ in self.graph.sinks:
            found, read = self._below(step, readers)
            children += found
            streams |= read
        root = TreeOperator(_OUTPUT, tuple(children), frozenset(streams), 0.0, ordered=False)
        if self.how == "query":
            return dict.fromkeys(readers, root.inputs)
        of = _LEVELS[self.how](root)
        return {
            name: frozenset().union(*(of[reader] for reader in names))
            for name, names in readers.items()
        }

    def _below(
        self, step: Step, readers: dict[str, set[str]]
    ) -> tuple[list[TreeOperator], set[str]]:
        """The operators that want order, and the streams, next below a step's output."""
        children: list[TreeOperator] = []
        streams: set[str] = set()
        for each in self.feeding.get(id(step), ()):
            if isinstance(each, str):
                streams.add(each)
            else:
                found, read = self._below(each, readers)
                children += found
                streams |= read
        if not step.wants_order:
            return children, streams
        for name in streams:
            readers[name].add(step.name)
        given, taken = self._counted(step).tolist()
        selectivity = given / taken if taken else 1.0
        return [TreeOperator(step.name, tuple(children), frozenset(streams), selectivity)], set()

    def _counted(self, step: Step) -> Int64s:
        """How many changes an operator has given, and taken."""
        counted = step.operator.counters
        given = counted.inserts_out + counted.retracts_out
        now = np.array([given, counted.changes_in], np.int64)
        return now + self.before.get(step.name, NOTHING_YET)

    def snapshot(self) -> Arrays:
        if self.how != "memory":
            return {}
        return {step.name: self._counted(step) for step in self.graph.steps if step.wants_order}

    def restore(self, arrays: Arrays) -> None:
        """Become what `snapshot` was taken of; the operators count anew."""
        self.before = {name: each.astype(np.int64) for name, each in arrays.items()}
