"""The scheduler `threads`: every operator of a graph works in a thread of its own.

Kernels release the interpreter's lock, so that operators work at the same time. Every port has
room for a few items; a producer that has more waits (back-pressure), down to the source. That
cannot come to a standstill: a graph has no way back, and a port that a token blocks waits only for
tokens that were put into every queue before anything behind them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Thread
from typing import TYPE_CHECKING, Literal

from driftline.engine.core.batch import Batch
from driftline.engine.core.queues import Item, Queue
from driftline.engine.limits import limited

if TYPE_CHECKING:
    from driftline.engine.core.graph import Graph, Step

ROOM = 4
"""So many batches and marks wait at a port before their producer has to."""


GOES_ON: Literal["goes on"] = "goes on"


class Threads:
    """`waiting`: how much waits at every port; `working`: how many operators are at work."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.changed = Condition()  # whatever is below, and every queue
        self.waiting: Counter[tuple[int, int]] = Counter()
        self.working = 0
        self.is_paused = False
        self.is_stopped = False
        self.failure: BaseException | None = None
        for step in graph.steps:
            self.waiting.update((id(step), port) for port, _ in step.queue.items)
            Thread(
                target=self._run, args=(step,), name=f"driftline {step.name}", daemon=True
            ).start()

    def put(self, step: Step, port: int, item: Item) -> None:
        """Put an item into a step's queue, when there is room at its port."""
        key = id(step), port
        with self.changed:
            while self.waiting[key] >= ROOM and not self.is_paused and not self.is_stopped:
                self.changed.wait()
            self.waiting[key] += step.queue.put(port, item, piggyback=self.graph.piggybacks)
            self.changed.notify_all()

    def put_back(self, step: Step, port: int, batches: list[Batch]) -> None:
        with self.changed:
            self.waiting[id(step), port] += len(batches)
            step.queue.put_back(port, batches)

    def drain(self) -> None:
        """Wait until nothing is left that can be worked on; raises what an operator has raised."""
        with self.changed:
            while not self.is_stopped and (self.working or self._has_work()):
                self.changed.wait()
        self.check()

    def check(self) -> None:
        """Raise what an operator has raised."""
        if self.failure is not None:
            self.stop()
            raise self.failure

    @contextmanager
    def paused(self) -> Iterator[None]:
        """While no operator is at work, whatever waits in the queues."""
        with self.changed:
            self.is_paused = True
            self.changed.notify_all()
            while self.working:
                self.changed.wait()
        try:
            yield
        finally:
            with self.changed:
                self.is_paused = False
                self.changed.notify_all()

    def stop(self) -> None:
        with self.changed:
            self.is_stopped = True
            self.changed.notify_all()
            while self.working:
                self.changed.wait()

    def _has_work(self) -> bool:
        """Whether something waits in a queue, or inside an operator; while none is at work."""
        return any(len(step.queue) or step.operator.has_work() for step in self.graph.steps)

    def _run(self, step: Step) -> None:
        with limited(self.graph.limits):
            while (taken := self._taken(step, step.queue)) is not None:
                try:
                    if taken != GOES_ON:
                        self.graph.work_on(step, *taken)
                    if step.operator.runs_free:
                        self.graph.work(step)
                except BaseException as failure:
                    with self.changed:
                        self.failure, self.is_stopped = failure, True
                finally:
                    with self.changed:
                        self.working -= 1
                        self.changed.notify_all()

    def _taken(self, step: Step, queue: Queue) -> tuple[int, Item] | Literal["goes on"] | None:
        """The next item of a step; or that it goes on with the work it has left; or nothing more
        if it is to stop."""
        with self.changed:
            while True:
                if self.is_stopped:
                    return None
                had_work = len(queue) > 0
                taken = None if self.is_paused else queue.take()
                if taken is not None:
                    self.waiting[id(step), taken[0]] -= 1
                if taken is not None or (not self.is_paused and step.operator.has_work()):
                    self.working += 1
                    self.changed.notify_all()
                    return taken or GOES_ON
                if had_work and not self.is_paused:
                    self.changed.notify_all()  # all of it is blocked: that is no work
                self.changed.wait()
