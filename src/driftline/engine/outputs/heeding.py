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
    """Counts, for every source, how often each of its inputs is active. `queues`: the number of
    queues that each input goes into; `latest`: the last that was let in; `before`: the last before
    the first that is active."""

    def __init__(self, queues: list[int]) -> None:
        self.queues = queues
        self.counts: list[dict[int, int]] = [{} for _ in queues]
        self.latest, self.before = [0] * len(queues), [0] * len(queues)

    def admit(self, label: Label) -> None:
        _, source, number = label
        self.latest[source] = number
        self.counts[source][number] = self.queues[source]

    def leave_out(self, label: Label) -> bool:
        self.counts[label.source][label.number] = 1
        return self.leave(label)

    def more(self, label: Label, times: int) -> None:
        """It is active so often more."""
        self.counts[label.source][label.number] += times

    def passes_on(self, label: Label, times: int) -> bool:
        """One of those that come of a batch counts instead of it."""
        self.counts[label.source][label.number] += times - 1
        return False

    def leave(self, label: Label) -> bool:
        """One less: whether the first of its source is another now."""
        _, source, number = label
        counts = self.counts[source]
        if counts[number] > 1:
            counts[number] -= 1
            return False
        del counts[number]
        if number != self.before[source] + 1:
            return False
        last = self.latest[source]
        while number < last and number + 1 not in counts:
            number += 1
        self.before[source] = number
        return True

    def frontier(self, admitted: list[int]) -> Vector:
        return tuple(self.before)


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

    def leave_out(self, label: Label) -> bool:
        return self.leave(label)

    def more(self, label: Label, times: int) -> None:
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
    `scans`: whether queues are looked through;
    `emitted`: by output, the labels of all that came out; `consistent`: called with an output and
    a prefix when what the output has emitted is the answer for that."""

    def __init__(
        self, graph: Graph, how: Active, consistent: Callable[[Step, Vector], None]
    ) -> None:
        self.graph, self.consistent = graph, consistent
        self.sources = {name: number for number, name in enumerate(graph.sources)}
        nothing: Vector = (0,) * len(self.sources)
        self.admitted = [0] * len(nothing)
        self.received: dict[Step, Vector] = dict.fromkeys(graph.steps, nothing)
        self.emitted: dict[Step, Vector] = {step: nothing for step, _ in graph.sinks}
        self.came_to_nothing: list[Label] = []
        queues = [len(targets) for targets in graph.sources.values()]
        self.active = Multiset(queues) if how == "multiset" else Scan(graph)
        self.scans = how == "naive"
        self.prefix = nothing
        self.lock = RLock()
        going = [step for step in graph.steps if step.operator.goes_by_ctis]
        self.hears_time = graph.expiry != "ita"
        self.merges = {
            step
            for step in graph.steps
            if self.hears_time
            or (step.operator.ports > 1 and any(step.leads_to(other) for other in going))
        }
        for step in graph.steps:
            step.raises_labels = step in self.merges or step.operator.uses_state
            step.only_passes = (
                how == "multiset"
                and graph.expiry != "time-message"
                and len(step.outputs) == 1
                and step not in self.emitted
            )
        graph.heeding = self

    def admit(self, source: str) -> Label:
        """The label of what a source lets in next. It is active from now on, so that other threads
        do not take it for done. It is then given to the graph, or left out."""
        number = self.sources[source]
        with self.lock:
            own = self.admitted[number] = self.admitted[number] + 1
            vector = [0] * len(self.admitted)
            vector[number] = own
            label = Label(tuple(vector), number, own)
            self.active.admit(label)
        return label

    def leave_out(self, label: Label) -> None:
        """What a source lets in goes into no queue, as there is nothing in it."""
        with self.lock:
            if self.active.leave_out(label):
                self.detect()

    def split(self, label: Label, parts: int) -> None:
        """A batch will be put back as so many; then its work is done, and has come to nothing."""
        with self.lock:
            self.active.more(label, parts)

    def labelled(self, step: Step, batch: Batch, label: Label) -> Label:
        """The label of what comes out when a step has worked on a batch, or of its coming to
        nothing."""
        own, took_part = label.vector, step.operator.participants
        if took_part is None or step in self.merges:
            received = greatest(self.received[step], own)  # a step works on a batch at a time
            self.received[step] = received
            if took_part is None or batch.cti > BEGINNING or self.hears_time:
                took_part = received
        return label if took_part == own else Label(took_part, label.source, label.number)

    def done(self, label: Label, nothing: Label) -> None:
        """The work on a batch is done, and has come to nothing, which has a label, too."""
        with self.lock:
            if not is_within(nothing.vector, self.prefix):
                self.came_to_nothing.append(nothing)
            if self.active.leave(label):
                self.detect()

    def release(self, label: Label) -> None:
        """What was active for an input while it was worked on, or put into queues, is no longer."""
        with self.lock:
            if self.active.leave(label):
                self.detect()

    def detect(self) -> None:
        """See whether what has been emitted is consistent now."""
        prefix = self.active.frontier(self.admitted)
        if self.came_to_nothing:
            prefix = self._greatest_prefix(prefix)
        if prefix == self.prefix:
            return
        self.prefix = prefix
        if self.came_to_nothing:
            self.came_to_nothing = [
                each for each in self.came_to_nothing if not is_within(each.vector, prefix)
            ]
        for step, _ in self.graph.sinks:
            if is_within(self.emitted[step], prefix):
                self.consistent(step, prefix)

    def _greatest_prefix(self, frontier: Vector) -> Vector:
        """The greatest within the frontier whose works that came to nothing used nothing else."""
        prefix = list(frontier)
        is_less = True
        while is_less:
            is_less = False
            for vector, source, number in self.came_to_nothing:
                if number <= prefix[source] and not is_within(vector, tuple(prefix)):
                    prefix[source], is_less = number - 1, True
        return tuple(prefix)
