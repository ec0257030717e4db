"""Heeding: which output states of a graph that runs free are consistent; nothing waits for it.

Let the frontier be, for each source, the last input before the first one that is active in a queue
or being worked on. What has been emitted is the answer for the frontier if

    1. the labels of everything emitted are within it, and
    2. the labels of every work that came to nothing and was active for an input within it are, too

(see `model.reference.output_consistency.heeding` for why the second is needed). The frontier only
moves forward, so a work within it needs to be remembered no longer.

An operator says what of its state took part in a batch (`Operator.took_part`); where it does not
know, that is all that it has ever received. Active inputs are counted as they enter and leave the
queues, in a multiset for each source; `naive` scans the queues instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from heapq import heappop, heappush
from threading import RLock
from typing import TYPE_CHECKING

from driftline.engine.core.batch import Batch
from driftline.engine.core.labels import Label, Vector, greatest, is_within
from driftline.plan.choices import Heeding as How

if TYPE_CHECKING:
    from driftline.engine.core.graph import Graph, Step


class Heeding:
    """`admitted`: how much every source has let in; `received`: by operator, the labels of all that
    it was given; `emitted`: by output, those of all that came out; `consistent`: called with an
    output and a vector when what the output has emitted is the answer for that."""

    def __init__(self, graph: Graph, how: How, consistent: Callable[[Step, Vector], None]) -> None:
        self.graph, self.how, self.consistent = graph, how, consistent
        self.sources = {name: number for number, name in enumerate(graph.sources)}
        nothing: Vector = (0,) * len(self.sources)
        self.admitted = list(nothing)
        self.received: dict[int, Vector] = {id(step): nothing for step in graph.steps}
        self.emitted: dict[int, Vector] = {id(step): nothing for step, _ in graph.sinks}
        self.is_new = {id(step): True for step, _ in graph.sinks}  # something since the last mark
        self.came_to_nothing: list[Label] = []
        self.in_work: Counter[tuple[int, int]] = Counter()
        self.in_queues: list[Counter[int]] = [Counter() for _ in self.sources]
        self.least: list[list[int]] = [[] for _ in self.sources]  # heaps, some of it gone
        self.frontier = nothing
        self.lock = RLock()
        graph.heeding = self

    def admit(self, source: str) -> Label:
        """The label of what a source lets in next. It is active from now on, until it lies in its
        queues and `release` is called: other threads must not take it for done."""
        number = self.sources[source]
        with self.lock:
            self.admitted[number] += 1
            own = self.admitted[number]
            self.in_work[number, own] += 1
        vector = tuple(own if each == number else 0 for each in range(len(self.admitted)))
        return Label(vector, number, own)

    def entered(self, label: Label) -> None:
        """A batch has been put into a queue."""
        if self.how == "naive":
            return
        with self.lock:
            counts = self.in_queues[label.source]
            if counts[label.number] == 0:
                heappush(self.least[label.source], label.number)
            counts[label.number] += 1

    def begun(self, label: Label) -> None:
        """A batch has been taken from its queue; it is active until its work is done."""
        with self.lock:
            self.in_work[label.source, label.number] += 1

    def labelled(self, step: Step, batch: Batch) -> Label:
        """The label of what comes out when a step has worked on a batch, or of its coming to
        nothing."""
        assert batch.label is not None
        took_part = step.operator.took_part()
        with self.lock:
            received = greatest([self.received[id(step)], batch.label.vector])
            self.received[id(step)] = received
        if took_part is None:
            return batch.label._replace(vector=received)
        return batch.label._replace(vector=greatest([took_part, batch.label.vector]))

    def emit(self, step: Step, label: Label) -> None:
        """A batch comes out of the graph; whoever calls this holds the lock until it is out."""
        self.emitted[id(step)] = greatest([self.emitted[id(step)], label.vector])
        self.is_new[id(step)] = True

    def done(self, label: Label, nothing: Label | None) -> None:
        """The work on a batch is done, and what came out is in its queues; or nothing came out."""
        with self.lock:
            if self.how == "multiset":
                self.in_queues[label.source][label.number] -= 1
            if nothing is not None and not is_within(nothing.vector, self.frontier):
                self.came_to_nothing.append(nothing)
            self.release(label)

    def release(self, label: Label) -> None:
        """What was active for an input while it was put into queues, or worked on, no longer is."""
        with self.lock:
            key = label.source, label.number
            self.in_work[key] -= 1
            if not self.in_work[key]:
                del self.in_work[key]
            self.detect()

    def detect(self) -> None:
        """See whether what has been emitted is consistent now."""
        frontier = self._frontier()
        if frontier == self.frontier and not any(self.is_new.values()):
            return
        self.frontier = frontier
        self.came_to_nothing = [
            each for each in self.came_to_nothing if not is_within(each.vector, frontier)
        ]
        if any(each.number <= frontier[each.source] for each in self.came_to_nothing):
            return
        for step, _ in self.graph.sinks:
            if is_within(self.emitted[id(step)], frontier):
                self.is_new[id(step)] = False
                self.consistent(step, frontier)

    def _frontier(self) -> Vector:
        first = [count + 1 for count in self.admitted]
        for source, number in self.in_work:
            first[source] = min(first[source], number)
        if self.how == "naive":
            for step in self.graph.steps:
                for _, item in step.queue.waiting():
                    if isinstance(item, Batch) and item.label is not None:
                        label = item.label
                        first[label.source] = min(first[label.source], label.number)
        else:
            for source, heap in enumerate(self.least):
                counts = self.in_queues[source]
                while heap and not counts[heap[0]]:
                    del counts[heappop(heap)]
                if heap:
                    first[source] = min(first[source], heap[0])
        return tuple(number - 1 for number in first)
