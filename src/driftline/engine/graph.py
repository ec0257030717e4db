"""Operators joined by queues, and the schedulers that run them.

A graph has named sources and one or more sinks. A batch that is pushed into a source runs to the
sinks before `push` returns, so that what has come out is the answer for exactly what has gone in.

Schedulers decide who works next while batches lie in queues:

    drain        depth first: the newest batch goes on before anything else (the fastest)
    round-robin  every operator in turn, with a quantum in proportion to its queue

With `threads`, drain lets branches that do not wait for each other work at the same time when much
lies in their queues (kernels let other threads run). Where branches meet, what they bring is
queued in the order of the plan: what comes out does not depend on who was first.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal

import numpy as np
import pyarrow as pa

from driftline.engine.batch import Batch, has_removals, latest_start
from driftline.engine.expressions.expansion import TooLarge, check, full_column, limited, row_bytes
from driftline.engine.operator import Arrays, Operator
from driftline.model.time import BEGINNING
from driftline.plan.sizes import DEFAULT_EXPANSION, size_of

Scheduler = Literal["drain", "round-robin"]

QUANTUM = 0.5
"""The share of its queue that an operator works off in one turn of round-robin."""

WORTH_A_THREAD = 10_000
"""The number of changes in a queue from which on branches run in threads."""


@dataclass(eq=False)
class Step:
    """An operator in a graph: its name, its queue of (port, batch), and who takes its output."""

    name: str
    operator: Operator
    queue: deque[tuple[int, Batch]] = field(default_factory=deque)
    outputs: list[tuple[Step, int]] = field(default_factory=list)

    def hand_on(self, output: Batch) -> None:
        for target, port in self.outputs:
            target.queue.append((port, output))

    def leads_to(self, other: Step) -> bool:
        return any(step is other or step.leads_to(other) for step, _ in self.outputs)


class Graph:
    def __init__(self, scheduler: Scheduler = "drain") -> None:
        self.steps: list[Step] = []
        self.sources: dict[str, list[tuple[Step, int]]] = {}
        self.sinks: list[tuple[Step, Callable[[Batch], None]]] = []
        self.scheduler = scheduler
        self.threads = False
        self.max_expansion = size_of(DEFAULT_EXPANSION)
        self.emitted = -1  # bytes put out since a batch was split, if one was

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
        self.emitted = -1
        try:
            with limited(self.max_expansion):
                self._push(source, batch)
        except Exception:
            for step in self.steps:
                step.queue.clear()
            raise

    def _push(self, source: str, batch: Batch) -> None:
        for step, port in self.sources.get(source, ()):
            step.queue.append((port, batch))
        if self.scheduler == "round-robin":
            self._round_robin()
        elif self.threads and len(batch) >= WORTH_A_THREAD:
            self._branch_by_branch()
        else:
            self._drain()

    def _work(self, step: Step) -> Batch | None:
        """Take one batch from a step's queue; returns what comes out, if there is something."""
        port, batch = step.queue.popleft()
        try:
            output = step.operator.receive(port, batch)
        except TooLarge:
            if not step.operator.expands or len(batch) == 1 or has_removals(batch.weight):
                raise
            step.queue.extendleft((port, half) for half in reversed(_halves(batch)))
            self.emitted = max(self.emitted, 0)
            return None
        except pa.ArrowCapacityError:
            raise full_column(step.name.partition(" ")[2]) from None
        if output.is_empty:
            return None
        if self.emitted >= 0 and any(step is last for last, _ in self.sinks):
            self.emitted += int(len(output) * row_bytes(output.payload))
            check(
                "the answer to one batch is too large",
                self.emitted,
                "take smaller batches (--batch)",
            )
        for last, sink in self.sinks:
            if step is last:
                sink(output)
        return output

    def _drain(self) -> None:
        waiting = [step for step in reversed(self.steps) if step.queue]
        while waiting:
            step = waiting[-1]
            if not step.queue:
                waiting.pop()
                continue
            output = self._work(step)
            if output is not None:
                step.hand_on(output)
                waiting += reversed([target for target, _ in step.outputs])

    def _branch_by_branch(self) -> None:
        """Let the first steps that have something to do work all of it off, each with those after
        it that have no other input, and the longest of them in threads."""
        while waiting := [step for step in self.steps if step.queue]:
            ready = [step for step in waiting if not any(each.leads_to(step) for each in waiting)]
            futures = [
                _pool().submit(copy_context().run, self._work_off, step) for step in ready[1:]
            ]
            try:
                brought = [self._work_off(ready[0])]
            finally:
                wait(futures)
            brought += [future.result() for future in futures]
            for last, outputs in brought:
                for output in outputs:
                    last.hand_on(output)

    def _work_off(self, step: Step) -> tuple[Step, list[Batch]]:
        """Work off a queue, through the chain of steps that are fed by nothing else. Returns the
        last of these, and what it has put out."""
        while True:
            outputs = []
            while step.queue:
                output = self._work(step)
                if output is not None:
                    outputs.append(output)
            following = [target for target, _ in step.outputs]
            if len(following) != 1 or following[0].operator.ports != 1:
                return step, outputs
            for output in outputs:
                step.hand_on(output)
            step = following[0]

    def _round_robin(self) -> None:
        while any(step.queue for step in self.steps):
            for step in self.steps:
                for _ in range(max(1, int(QUANTUM * len(step.queue))) if step.queue else 0):
                    output = self._work(step)
                    if output is not None:
                        step.hand_on(output)

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


def _halves(batch: Batch) -> tuple[Batch, Batch]:
    """A batch of additions as two, one after the other."""
    middle = len(batch) // 2
    first = replace(batch.take(np.arange(middle)), cti=BEGINNING)
    second = replace(batch.take(np.arange(middle, len(batch))), cti=batch.cti, high=batch.high)
    return replace(first, high=latest_start(first.vs, first.weight)), second


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="driftline")
