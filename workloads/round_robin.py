"""A graph that runs round-robin in simulated time.

Batches are let in when their time has come. Operators have their turns in order; each works until
its slot is over or its queue is empty, and what it works on takes the time that `cost` says. So
queues grow and answers are late as they are in a system of that speed, on whatever machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from driftline.engine.core.graph import Graph, Step
from driftline.engine.core.queues import Item


class RoundRobin(ABC):
    """`time`: in ticks, of which there are `length`; `unit`: the ticks that a unit of work takes;
    `slot`: the units that an operator works before the next has its turn."""

    def __init__(self, graph: Graph, length: int, unit: float, slot: float) -> None:
        self.graph, self.length, self.unit, self.slot = graph, length, unit, slot
        self.time = 0.0

    @abstractmethod
    def admit(self, now: int) -> None:
        """Let in what has arrived."""

    @abstractmethod
    def cost(self, step: Step, item: Item) -> float:
        """The units of work that an item is for an operator."""

    def next_moment(self, now: int) -> int:
        """The next tick at which something may come, if there is nothing to do."""
        return now + 1

    def go(self) -> None:
        """Run until the end of time; what lies in queues then stays there."""
        while self.time < self.length:
            now = int(self.time)
            self.admit(now)
            self.graph.begin_turn()
            before = self.time
            for step in self.graph.steps:
                self._turn(step)
            if self.time == before:
                self.time = float(self.next_moment(now))

    def _turn(self, step: Step) -> None:
        done = 0.0
        while done < self.slot and (taken := step.queue.take()) is not None:
            units = self.cost(step, taken[1])
            done, self.time = done + units, self.time + units * self.unit
            self.graph.work_on(step, *taken)
