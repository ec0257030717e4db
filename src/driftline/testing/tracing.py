"""Records the trace of a graph, so that its output states can be held to the definitions.

    recorder = Recorder(graph)
    recorder.admit("orders", batch, events=3)      # instead of graph.admit
    …
    is_closed(OutputState(recorder.trace, recorder.output, so_far), {"orders": 3})

Every batch is one element. What an operator uses is not known from outside: everything it has taken
before stands for it, so that a state may be closed that the recorder does not find to be. A batch
that is split because its result would be too large cannot be followed.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from driftline.engine.core.batch import Batch
from driftline.engine.core.graph import Graph, Step
from driftline.model.reference.output_consistency import Inbound, Trace, Work


class Recorder:
    """Stands before every operator of a graph that has not run yet."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.works: list[Work] = []
        self._events: dict[str, int] = {}
        self._elements: dict[int, tuple[Inbound | int, ...]] = {}  # by the identity of the batch
        self._batches: list[Batch] = []  # kept, so that no identity is given twice
        self._numbers = count(1)
        for step in graph.steps:
            step.operator.receive = self._recorded(step)  # type: ignore[method-assign, assignment]

    @property
    def trace(self) -> Trace:
        edges = {
            step.name: [target.name for target, _ in step.outputs] for step in self.graph.steps
        }
        return Trace(tuple(self.works), edges)

    @property
    def output(self) -> str:
        """The operator whose output is that of the graph."""
        return self.graph.sinks[0][0].name

    @property
    def so_far(self) -> int:
        """How many elements have come out."""
        return sum(len(work.puts) for work in self.works if work.operator == self.output)

    def admit(self, source: str, batch: Batch, events: int) -> None:
        """Admit a batch that holds so many events of its stream."""
        first = self._events.get(source, 0) + 1
        self._events[source] = first + events - 1
        numbers = range(first, first + events)
        self._keep(batch, tuple(Inbound(source, number) for number in numbers))
        self.graph.admit(source, batch)

    def _keep(self, batch: Batch, elements: tuple[Inbound | int, ...]) -> None:
        self._batches.append(batch)
        self._elements[id(batch)] = elements

    def _recorded(self, step: Step) -> Callable[[int, Batch], Batch]:
        receive = step.operator.receive
        stored: list[Inbound | int] = []

        def recorded(port: int, batch: Batch) -> Batch:
            output = receive(port, batch)
            takes = self._elements[id(batch)]
            puts = () if output.is_empty else (next(self._numbers),)
            if puts:
                self._keep(output, puts)
            self.works.append(Work(step.name, takes, tuple(stored), puts))
            stored.extend(takes)
            return output

        return recorded
