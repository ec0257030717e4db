"""Executions of a plan, element by element, in any order that its queues allow.

Operators are joined by FIFO channels, one for each port. An emitter for each inbound stream takes
its events in arrival order and hands them on. A node takes the first element of one of its channels
and puts out what that changes in its answer:

    work on x after taking H  =  function(H + x) - function(H)

so that what it has put out is, after every work, its function of all that it has taken, and in the
end the answer for all inputs, whatever the order. What goes is put out before what comes. A node
may also take several elements from a channel at once; what cancels among their results is then not
put out.

A schedule is a sequence of numbers: each chooses one of the channels from which something can be
taken now, counted around.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, repeat
from typing import NamedTuple

from driftline.model.reference.output_consistency.definitions import OutputState
from driftline.model.reference.output_consistency.plan import Bag, Change, Plan, bag
from driftline.model.reference.output_consistency.trace import Inbound, Prefix, Trace, Work


class Channel(NamedTuple):
    """The queue before a port of a node, or before an emitter (of port 0)."""

    target: str
    port: int


class Item(NamedTuple):
    """A change with the identity that it has in the trace."""

    element: Inbound | int
    change: Change


class Token(NamedTuple):
    """A mark that lies in channels among the elements (see `tokens`)."""

    number: float


@dataclass(frozen=True)
class Mark:
    """An output is the exact answer for a prefix when `so_far` elements have come out of it."""

    output: str
    prefix: Prefix
    so_far: int


class Execution:
    """A run of a plan over inputs that lie ready before the emitters."""

    def __init__(self, plan: Plan, inputs: Mapping[str, Sequence[Change]]) -> None:
        self.plan = plan
        self.inputs = inputs
        self.admitted = dict.fromkeys(plan.streams, 0)
        self.channels: dict[Channel, deque[Item | Token]] = {
            Channel(stream, 0): deque(
                Item(Inbound(stream, number), change)
                for number, change in enumerate(inputs[stream], start=1)
            )
            for stream in plan.streams
        }
        self.stored: dict[Channel, list[Item]] = {}
        self.consumers: dict[str, list[Channel]] = {name: [] for name in plan.edges}
        for name, node in plan.nodes.items():
            for port, taken in enumerate(node.takes):
                channel = Channel(name, port)
                self.channels[channel] = deque()
                self.stored[channel] = []
                self.consumers[taken].append(channel)
        self.works: list[Work] = []
        self.put_out: dict[str, list[Change]] = {name: [] for name in plan.edges}
        self._trace = Trace((), plan.edges)
        self._identities = count(1)

    @property
    def trace(self) -> Trace:
        if len(self._trace.works) < len(self.works):
            self._trace = Trace(tuple(self.works), self.plan.edges)
        return self._trace

    def output(self, name: str) -> Bag:
        """What the changes that have come out so far add up to."""
        return bag(self.put_out[name])

    def state(self, name: str, so_far: int | None = None) -> OutputState:
        """An output state of this run; the present one if no count is given."""
        return OutputState(self.trace, name, len(self.put_out[name]) if so_far is None else so_far)

    def ready(self) -> list[Channel]:
        """The channels from which something can be taken."""
        return [channel for channel, queue in self.channels.items() if queue]

    def take(self, channel: Channel, most: int = 1) -> Work | None:
        """Let an operator work on the first element of one of its channels, or on so many."""
        name = channel.target
        if name in self.plan.streams:
            self.admitted[name] += 1
            [item] = self._first(channel, 1)
            return self._hand_on(name, [item], [item.change], uses=[])
        items = self._first(channel, most)
        return self._hand_on(name, items, *self._respond(channel, items))

    def run(
        self,
        schedule: Iterable[int] = (),
        *observers: Callable[[Work], None],
        sizes: Iterable[int] = (),
    ) -> None:
        """Go on until nothing can be taken, by the schedule and then by the first of all.

        `sizes` says how many elements are taken at most, time by time; one if it has no more.
        """
        choices = chain(schedule, repeat(0))
        for choice, most in zip(choices, chain(sizes, repeat(1)), strict=False):
            ready = self.ready()
            if not ready:
                return
            work = self.take(ready[choice % len(ready)], most)
            if work is not None:
                for observe in observers:
                    observe(work)

    def _first(self, channel: Channel, most: int) -> list[Item]:
        """Remove the first elements from a channel."""
        queue = self.channels[channel]
        items: list[Item] = []
        while queue and isinstance(queue[0], Item) and len(items) < most:
            items.append(queue[0])
            queue.popleft()
        return items

    def _respond(self, channel: Channel, items: list[Item]) -> tuple[list[Change], list[Item]]:
        name, port = channel
        node = self.plan.nodes[name]
        channels = [Channel(name, each) for each in range(len(node.takes))]
        uses = [
            stored
            for each in channels
            for stored in self.stored[each]
            if any(
                node.operator.takes_part(port, item.change.row, each.port, stored.change.row)
                for item in items
            )
        ]
        before = node.operator.function(*map(self._taken, channels))
        self.stored[channel] += items
        after = node.operator.function(*map(self._taken, channels))
        changes = Counter(after)
        changes.subtract(before)
        at = max(item.change.at for item in items)
        rows = sorted(row for row, weight in changes.items() if weight)
        changed = [Change(row, changes[row], at) for row in rows]
        return sorted(changed, key=lambda change: change.weight > 0), uses

    def _taken(self, channel: Channel) -> Bag:
        return bag(item.change for item in self.stored[channel])

    def _hand_on(
        self, name: str, taken: list[Item], changes: list[Change], uses: list[Item]
    ) -> Work:
        items = [Item(next(self._identities), change) for change in changes]
        for channel in self.consumers[name]:
            self.channels[channel].extend(items)
        self.put_out[name] += changes
        work = Work(
            name,
            tuple(item.element for item in taken),
            tuple(stored.element for stored in uses),
            tuple(each.element for each in items),
        )
        self.works.append(work)
        return work
