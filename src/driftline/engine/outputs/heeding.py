"""Heeding: which output states of a graph that runs free are consistent; nothing waits for it.

Let the frontier be, for each source, the last input before the first one that is active: in a queue
or being worked on. What has been emitted is the answer for a prefix P if

    1. P is within the frontier,
    2. the labels of everything emitted are within P, and
    3. so is the label of every work that came to nothing and was active for an input within P

(see `model.reference.output_consistency.heeding` for why the third is needed). The greatest prefix
with 1 and 3 only moves forward: a label within it need not be remembered. It moves only when the
frontier does, so that is when one looks: whatever was emitted since is active for an input that was
beyond the frontier.

An operator says what of its state took part in a batch (`Operator.participants`); where it does not
know, that is all that it has ever received. It is, too, if the batch has a cti and comes to one of
several ports, before an operator that goes by ctis: the least of all ports' is handed on, and every
batch at another port may be the reason for that. Now-marks are merged likewise, by every operator.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Literal

from driftline.engine.core.batch import Batch
from driftline.engine.core.labels import Label, Vector, greatest, is_within
from driftline.model.time import BEGINNING

if TYPE_CHECKING:
    from driftline.engine.core.graph import Graph, Step

Active = Literal["multiset", "naive"]


class Multiset:
    """Counts, for every source, how often each of its inputs is active. `first`: the least that is,
    or comes next."""

    def __init__(self, sources: int) -> None:
        self.counts: list[dict[int, int]] = [{} for _ in range(sources)]
        self.first = [1] * sources

    def admit(self, label: Label) -> None:
        self.enter(label, 1)

    def enter(self, label: Label, times: int) -> None:
        counts = self.counts[label.source]
        counts[label.number] = counts.get(label.number, 0) + times

    def passes_on(self, label: Label, times: int) -> bool:
        """One of those that come of a batch counts instead of it."""
        if times > 1:
            self.enter(label, times - 1)
        return times == 0

    def leave(self, label: Label) -> bool:
        """One less: whether the first of its source is another now."""
        source, number = label.source, label.number
        counts = self.counts[source]
        if counts[number] > 1:
            counts[number] -= 1
            return False
        del counts[number]
        return number == self.first[source]

    def frontier(self, admitted: list[int]) -> Vector:
        for source, counts in enumerate(self.counts):
            while self.first[source] <= admitted[source] and self.first[source] not in counts:
                self.first[source] += 1
        return tuple(first - 1 for first in self.first)


class Scan:
    """Looks through all queues, from the sources on: what moves on meanwhile is found further on.
    `admitting`: what is being put into the first of them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.admitting: set[tuple[int, int]] = set()
        for step in graph.steps:
            step.queue.is_scanned = True

    def admit(self, label: Label) -> None:
        self.admitting.add((label.source, label.number))

    def enter(self, label: Label, times: int) -> None:
        """It is in its queues."""

    def passes_on(self, label: Label, times: int) -> bool:
        """It is seen in use until its work is done."""
        return True

    def leave(self, label: Label) -> bool:
        self.admitting.discard((label.source, label.number))
        return True

    def frontier(self, admitted: list[int]) -> Vector:
        first = [count + 1 for count in admitted]
        for source, number in self.admitting:
            first[source] = min(first[source], number)
        for step in self.graph.steps:
            for item in step.queue.scanned():
                if isinstance(item, Batch) and item.label is not None:
                    _, source, number = item.label
                    first[source] = min(first[source], number)
        return tuple(number - 1 for number in first)


class Heeding:
    """`admitted`: how much every source has let in; `received`: by operator, the labels of all that
    it was given; `merges`: the operators that merge ctis for others that go by them, or now-marks;
    `raising`: those whose output may have a greater label than what they work on; `scans`: whether
    queues are looked through;
    `emitted`: by output, the labels of all that came out; `consistent`: called with an output and
    a prefix when what the output has emitted is the answer for that."""

    def __init__(
        self, graph: Graph, how: Active, consistent: Callable[[Step, Vector], None]
    ) -> None:
        self.graph, self.consistent = graph, consistent
        self.sources = {name: number for number, name in enumerate(graph.sources)}
        nothing: Vector = (0,) * len(self.sources)
        self.admitted = list(nothing)
        self.received: dict[int, Vector] = {id(step): nothing for step in graph.steps}
        self.emitted: dict[int, Vector] = {id(step): nothing for step, _ in graph.sinks}
        self.came_to_nothing: list[Label] = []
        self.active = Multiset(len(nothing)) if how == "multiset" else Scan(graph)
        self.scans = how == "naive"
        self.prefix = nothing
        self.lock = RLock()
        going = [step for step in graph.steps if step.operator.goes_by_ctis]
        self.hears_time = graph.expiry != "ita"
        self.merges = {
            id(step)
            for step in graph.steps
            if self.hears_time
            or (step.operator.ports > 1 and any(step.leads_to(other) for other in going))
        }
        self.raising = self.merges | {id(step) for step in graph.steps if step.operator.uses_state}
        graph.heeding = self

    def admit(self, source: str) -> Label:
        """The label of what a source lets in next. It is active from now on, until it lies in its
        queues and `release` is called: other threads must not take it for done."""
        number = self.sources[source]
        with self.lock:
            self.admitted[number] += 1
            own = self.admitted[number]
            before, after = (0,) * number, (0,) * (len(self.admitted) - number - 1)
            vector = (*before, own, *after)
            label = Label(vector, number, own)
            self.active.admit(label)
        return label

    def entered(self, label: Label, times: int) -> None:
        """A batch is put into so many queues; it is active until its work is done there."""
        with self.lock:
            self.active.enter(label, times)

    def passes_on(self, label: Label, times: int) -> bool:
        """What comes of a batch is put into so many queues, with the same active label. Returns
        whether `release` has to be called for the batch itself when that is done. (Of one queue,
        unless these are scanned, nothing has to be said.)"""
        with self.lock:
            return self.active.passes_on(label, times)

    def labelled(self, step: Step, batch: Batch, label: Label) -> Label:
        """The label of what comes out when a step has worked on a batch, or of its coming to
        nothing."""
        own, merges, took_part = label.vector, id(step) in self.merges, step.operator.participants
        if merges or took_part is None:
            received = greatest(self.received[id(step)], own)  # a step works on a batch at a time
            self.received[id(step)] = received
            if took_part is None or batch.cti > BEGINNING or self.hears_time:
                took_part = received
        return label if took_part == own else Label(took_part, label.source, label.number)

    def emit(self, step: Step, label: Label) -> None:
        """A batch comes out of the graph; whoever calls this holds the lock until it is out."""
        self.emitted[id(step)] = greatest(self.emitted[id(step)], label.vector)

    def done(self, label: Label, nothing: Label) -> None:
        """The work on a batch is done, and has come to nothing, which has a label, too."""
        with self.lock:
            if not is_within(nothing.vector, self.prefix):
                self.came_to_nothing.append(nothing)
            if self.active.leave(label):
                self.detect()

    def release(self, label: Label) -> None:
        """What was active for an input while it was put into queues, or worked on, no longer is."""
        with self.lock:
            if self.active.leave(label):
                self.detect()

    def detect(self) -> None:
        """See whether what has been emitted is consistent now."""
        prefix = self._greatest_prefix(self.active.frontier(self.admitted))
        if prefix == self.prefix:
            return
        self.prefix = prefix
        self.came_to_nothing = [
            each for each in self.came_to_nothing if not is_within(each.vector, prefix)
        ]
        for step, _ in self.graph.sinks:
            if is_within(self.emitted[id(step)], prefix):
                self.consistent(step, prefix)

    def _greatest_prefix(self, frontier: Vector) -> Vector:
        """The greatest within the frontier whose works that came to nothing used nothing else."""
        if not self.came_to_nothing:
            return frontier
        prefix = list(frontier)
        is_less = True
        while is_less:
            is_less = False
            for vector, source, number in self.came_to_nothing:
                if number <= prefix[source] and not is_within(vector, tuple(prefix)):
                    prefix[source], is_less = number - 1, True
        return tuple(prefix)
