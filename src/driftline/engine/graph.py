"""Operators joined by queues, and the schedulers that run them.

A graph has named sources and one or more sinks. A batch that is pushed into a source runs to the
sinks before `push` returns, so that what has come out is the answer for exactly what has gone in.

Schedulers decide who works next while batches lie in queues:

    drain        depth first: the newest batch goes on before anything else (the fastest)
    round-robin  every operator in turn, with a quantum in proportion to its queue
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from driftline.engine.batch import Batch
from driftline.engine.operator import Arrays, Operator

Scheduler = Literal["drain", "round-robin"]

QUANTUM = 0.5
"""The share of its queue that an operator works off in one turn of round-robin."""


@dataclass
class Step:
    """An operator in a graph: its name, its queue of (port, batch), and who takes its output."""

    name: str
    operator: Operator
    queue: deque[tuple[int, Batch]] = field(default_factory=deque)
    outputs: list[tuple[Step, int]] = field(default_factory=list)


class Graph:
    def __init__(self, scheduler: Scheduler = "drain") -> None:
        self.steps: list[Step] = []
        self.sources: dict[str, list[tuple[Step, int]]] = {}
        self.sinks: list[tuple[Step, Callable[[Batch], None]]] = []
        self._run = self._drain if scheduler == "drain" else self._round_robin

    def add(self, name: str, operator: Operator) -> Step:
        step = Step(f"{len(self.steps)} {name}", operator)
        self.steps.append(step)
        return step

    def connect(self, source: Step, target: Step, port: int) -> None:
        source.outputs.append((target, port))

    def feed(self, source: str, target: Step, port: int) -> None:
        """Let a source go into a port of an operator."""
        self.sources.setdefault(source, []).append((target, port))

    def end_with(self, step: Step, sink: Callable[[Batch], None]) -> None:
        """What the step puts out is an output of the graph."""
        self.sinks.append((step, sink))

    def push(self, source: str, batch: Batch) -> None:
        """Let a batch in at a source, and run until nothing is left to do."""
        for step, port in self.sources.get(source, ()):
            step.queue.append((port, batch))
        self._run()

    def _work(self, step: Step) -> list[Step]:
        """Take one batch from a step's queue; returns who has got something."""
        port, batch = step.queue.popleft()
        output = step.operator.receive(port, batch)
        if output.is_empty:
            return []
        for last, sink in self.sinks:
            if step is last:
                sink(output)
        for target, target_port in step.outputs:
            target.queue.append((target_port, output))
        return [target for target, _ in step.outputs]

    def _drain(self) -> None:
        waiting = [step for step in reversed(self.steps) if step.queue]
        while waiting:
            step = waiting[-1]
            if not step.queue:
                waiting.pop()
                continue
            waiting += reversed(self._work(step))

    def _round_robin(self) -> None:
        while any(step.queue for step in self.steps):
            for step in self.steps:
                for _ in range(max(1, int(QUANTUM * len(step.queue))) if step.queue else 0):
                    self._work(step)

    def counters(self) -> dict[str, dict[str, int]]:
        """What every operator has done, and what it holds."""
        return {step.name: step.operator.counters.as_dict() for step in self.steps}

    def snapshot(self) -> dict[str, Arrays]:
        """The state of all operators; nothing lies in queues between pushes."""
        return {step.name: step.operator.snapshot() for step in self.steps}

    def restore(self, states: dict[str, Arrays]) -> None:
        if states.keys() != {step.name for step in self.steps}:
            raise ValueError("the state is that of another plan")
        for step in self.steps:
            step.operator.restore(states[step.name])
