"""Heeding: labels on elements tell which output states are consistent, and nothing waits for them.

The label of an element is a vector, for each inbound stream the greatest number of its events that
have taken part, and beside it the active event, from which the element is actively derived. An
emitter labels its n-th event with n for its own stream, and active. What an operator puts out gets
the maximum of the label it works on and of the labels of stored elements that take part, and is
active for the event for which the element that it works on is. (All that comes out of one work has
one label. A join could label each pair by itself, but gains nothing: all of it is derived actively
from one event, and belongs to a prefix together or not at all.)

Let, for every inbound stream, the frontier be the last event before the first one that is active in
a queue on the way to the output, or the last one admitted if none is. The output state is
consistent for a prefix P if

    1. P is within the frontier: nothing in it is active any more;
    2. the labels of everything in the output are within P;
    3. every work that came to nothing and was active for an event of P has its label within P.

There is a greatest prefix that fulfils 1 and 3; the state is consistent if it fulfils 2. An element
counts until the work on it is done: its operator may be about to put out more. The greatest prefix
never goes back. What is within it can be forgotten: labels of works that came to nothing, numbers
in the labels of stored elements, and with them what is kept of retracted ones.

Of a batch, what comes out is active for all events that were taken. The least of each stream
stands for them: a prefix that reaches it has to hold the whole label.

Detection is due when something has come out, and, if that is wanted, when the last element that is
active for an event has left the system. Active labels are found by scanning the queues, or in a
multiset for each inbound stream.

No false positives: every mark is closed (see `definitions`). States are missed whose queues still
hold active labels of the prefix that lead to nothing in the end.

Where the paper differs (`as_printed`), the first three give false positives, and the tests have
one of each kind; with the last, nothing would be found:

    - It has no third condition. A filter behind an aggregate, an aggregate whose value does not
      change, a join whose partner has been retracted: such a work leaves no label in the output,
      though another event may be the reason that it came to nothing.
    - Its active marker says which component of the vector is active. The maximum may raise that
      component, where a stream meets itself: x1 that is joined with x2 is then active for x2, and
      x1 seems to be done. The active event needs a place of its own.
    - It keeps labels with stored elements. The label of a retracted one must stay as well, with
      that of its retraction: a row that is gone is a reason, too.
    - An event lies in its queue until all its results are put out. If detection takes place at the
      moment when one is put out, the event that is worked on is active: detection belongs after
      the work.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from driftline.model.reference.output_consistency.execution import Execution, Item, Mark
from driftline.model.reference.output_consistency.trace import Element, Inbound, Work

Vector = Counter[str]
"""For each inbound stream a number of events; none is 0."""


@dataclass(frozen=True)
class Label:
    vector: Vector
    active: Vector
    """For each inbound stream the least event for which an element is active."""

    def is_active_in(self, prefix: Vector) -> bool:
        return any(number <= prefix[stream] for stream, number in self.active.items())


class Heeding:
    """Observes the works of an execution, and marks the consistent states of one output."""

    def __init__(
        self,
        execution: Execution,
        output: str,
        detection: Literal["output", "leaving"] = "leaving",
        active: Literal["scan", "multiset"] = "multiset",
        as_printed: bool = False,
    ) -> None:
        self.execution = execution
        self.output = output
        self.detection = detection
        self.active = active
        self.as_printed = as_printed
        self.ancestors = execution.plan.ancestors(output)
        self.labels: dict[Element, Label] = {}
        self.in_queues = {stream: Counter[int]() for stream in execution.plan.streams}
        self.in_output: Vector = Counter()  # the maximum of all labels in the output
        self.came_to_nothing: list[Label] = []
        self.marks: list[Mark] = []

    def observe(self, work: Work) -> None:
        """Label what a work has put out, and look whether the output is consistent now."""
        label = self._label(work)
        self.labels.update(dict.fromkeys(work.puts, label))
        if work.operator not in self.ancestors:
            return
        taken = [self._label_of(element) for element in work.takes]
        if work.operator not in self.execution.plan.streams:
            for each in taken:
                self._count(each, -1)
        self._count(label, len(work.puts) * self._queues_behind(work.operator))
        if work.operator == self.output and work.puts:
            self.in_output |= label.vector
        if not work.puts:
            self.came_to_nothing.append(label)
        came_out = work.operator == self.output and bool(work.puts)
        if came_out or (self.detection == "leaving" and not all(map(self._is_active, taken))):
            self._detect()

    def _label(self, work: Work) -> Label:
        """The label of what comes out of a work."""
        vector, active = Vector(), Vector()
        for element in work.takes + work.uses:
            vector |= self._label_of(element).vector
        for element in work.takes:
            for stream, number in self._label_of(element).active.items():
                active[stream] = min(number, active.get(stream, number))
        if self.as_printed:
            active = Counter({stream: vector[stream] for stream in active})
        return Label(vector, active)

    def _label_of(self, element: Element) -> Label:
        if isinstance(element, Inbound):
            own = Counter({element.stream: element.number})
            return Label(own, own)
        return self.labels[element]

    def _queues_behind(self, operator: str) -> int:
        """How many queues on the way to the output take what an operator puts out."""
        if operator == self.output:
            return 0
        consumers = self.execution.consumers[operator]
        return sum(channel.target in self.ancestors for channel in consumers)

    def _count(self, label: Label, times: int) -> None:
        for stream, number in label.active.items():
            self.in_queues[stream][number] += times

    def _active_numbers(self, stream: str) -> list[int]:
        """The events of a stream that are active in queues on the way to the output."""
        if self.active == "multiset":
            return [*+self.in_queues[stream]]
        labels = [
            self._label_of(item.element)
            for channel, queue in self.execution.channels.items()
            if channel.target in self.ancestors - {*self.execution.plan.streams}
            for item in queue
            if isinstance(item, Item)
        ]
        return [label.active[stream] for label in labels if stream in label.active]

    def _is_active(self, label: Label) -> bool:
        return all(number in self._active_numbers(s) for s, number in label.active.items())

    def _frontier(self) -> Vector:
        admitted = self.execution.admitted
        return Counter(
            {
                stream: min(self._active_numbers(stream), default=admitted[stream] + 1) - 1
                for stream in admitted
            }
        )

    def _greatest_prefix(self) -> Vector:
        """The greatest prefix within the frontier whose works used nothing from outside."""
        prefix = self._frontier()
        while outside := [
            label
            for label in self.came_to_nothing
            if label.is_active_in(prefix) and not label.vector <= prefix
        ]:
            for stream, number in outside[0].active.items():
                prefix[stream] = min(prefix[stream], number - 1)
        return prefix

    def _detect(self) -> None:
        prefix = self._frontier() if self.as_printed else self._greatest_prefix()
        if not self.in_output <= prefix:
            return
        if self.as_printed:
            prefix = self.in_output
        streams = [stream for stream in self.execution.plan.streams if stream in self.ancestors]
        mark = Mark(
            self.output,
            {stream: prefix[stream] for stream in streams},
            len(self.execution.put_out[self.output]),
        )
        if not self.marks or self.marks[-1] != mark:
            self.marks.append(mark)
