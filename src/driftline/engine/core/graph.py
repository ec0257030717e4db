"""Operators joined by queues, which a scheduler runs.

A graph has named sources and one or more sinks. It is run in one of two ways:

    push           a batch goes in and runs to the sinks before `push` returns: what has come out
                   is the answer for exactly what has gone in
    admit, turn    batches and marks go in while the queues still hold work (free running); what
                   has come out is the answer for a prefix of the input where a token comes out
                   (see `marks`), or when `drain` has worked everything off

The scheduler decides which operator works next:

    drain          depth first: the newest batch goes on before anything else (the fastest)
    round-robin    every operator in turn, with a quantum in proportion to its queue (see `turns`)
    threads        every operator in a thread of its own, with bounded queues (see `threads`)

An operator that runs free (a loop) may have work left when its queue is empty. The last two let it
do a quantum of that after what was in its queue; where a state has to be the answer for a prefix,
at a token and with labels, it does all of it.

With `branches`, drain lets branches that do not wait for each other work at the same time when
much lies in their queues (see `branches`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch, empty, has_removals, joined, latest_start
from driftline.engine.core.branches import branch_by_branch, is_worth_threads
from driftline.engine.core.held_marks import HeldMarks
from driftline.engine.core.labels import greatest
from driftline.engine.core.marks import Mark, MarkKind
from driftline.engine.core.operator import Operator
from driftline.engine.core.queues import Item, Queue
from driftline.engine.core.threads import Threads
from driftline.engine.core.turns import depth_first, work_a_round
from driftline.engine.expressions.expansion import TooLarge, check, full_column, row_bytes
from driftline.engine.limits import DEFAULT_LIMITS, limited
from driftline.engine.state.fields import Arrays
from driftline.model.time import BEGINNING
from driftline.plan.choices import Expiry, Scheduler

if TYPE_CHECKING:
    from driftline.engine.outputs.heeding import Heeding

_QUEUE = "queue of "
"""Before the name of a step, in a snapshot. Names of steps begin with a number."""

_HELD = "marks at sources"


@dataclass(eq=False)
class Step:
    """An operator in a graph: its name, its queue, and the ports that take its output.
    `wants_order`: whether rows wait for one another before they come to it (see `Holding`);
    `passes_silently`: what follows has other ports, and has to hear of every time, also if nothing
    ends. If outputs are heeded, `raises_labels`: whether what it puts out may have a greater label
    than what it works on; `only_passes`: whether that goes into one queue, and no more is noted."""

    name: str
    operator: Operator
    queue: Queue
    wants_order: bool = True
    passes_silently: bool = False
    raises_labels: bool = False
    only_passes: bool = False
    outputs: list[tuple[Step, int]] = field(default_factory=list)

    def leads_to(self, other: Step) -> bool:
        waiting = [self]
        while waiting:
            for step, _ in waiting.pop().outputs:
                if step is other:
                    return True
                waiting.append(step)
        return False


class Graph:
    """`passed`: called with a step, after all that a token has before it has gone through it."""

    def __init__(self, scheduler: Scheduler = "drain") -> None:
        self.steps: list[Step] = []
        self.sources: dict[str, list[tuple[Step, int]]] = {}
        self.sinks: list[tuple[Step, Callable[[Batch], None]]] = []
        self.mark_sinks: dict[Step, list[Callable[[Mark], None]]] = {}
        self.passed: Callable[[Step, Mark], None] | None = None
        self.scheduler = scheduler
        self.branches = False
        self.limits = DEFAULT_LIMITS
        self.emitted = -1  # bytes put out since a batch was split, if one was
        self.running: Threads | None = None
        self.heeding: Heeding | None = None
        self.expiry: Expiry = "ita"
        self.held = HeldMarks()

    def add(self, name: str, operator: Operator, *, wants_order: bool = True) -> Step:
        queue = Queue(operator.ports)
        step = Step(f"{len(self.steps)} {name}", operator, queue, wants_order)
        self.steps.append(step)
        return step

    def connect(self, source: Step, target: Step, port: int) -> None:
        source.outputs.append((target, port))

    def leave_out(self, step: Step) -> None:
        """Have what leads to a step of one port lead to those behind it."""
        self.steps.remove(step)
        for outputs in (*(each.outputs for each in self.steps), *self.sources.values()):
            outputs[:] = [
                following
                for target, port in outputs
                for following in (step.outputs if target is step else [(target, port)])
            ]

    def feed(self, source: str, target: Step, port: int) -> None:
        """Let a source go into a port of an operator."""
        self.sources.setdefault(source, []).append((target, port))

    def end_with(self, step: Step, sink: Callable[[Batch], None]) -> None:
        """What the step puts out is an output of the graph."""
        self.sinks.append((step, sink))

    def hear_marks(self, step: Step, sink: Callable[[Mark], None]) -> None:
        """Let a sink have the marks that a step hands on."""
        self.mark_sinks.setdefault(step, []).append(sink)

    def push(self, source: str, batch: Batch) -> None:
        """Let a batch in at a source, and run until nothing is left to do."""
        self.admit(source, batch)
        self.drain()

    def admit(self, source: str, item: Item) -> None:
        """Put a batch or a mark into the queues behind a source; with `threads`, when there is
        room for it."""
        if isinstance(item, Batch) and item.now > BEGINNING and self.expiry == "ita":
            item = replace(item, now=BEGINNING)
            if item.is_empty:
                if self.heeding is not None:
                    assert item.label is not None
                    self.heeding.leave_out(item.label)
                return
        if self.scheduler == "round-robin" and self.piggybacks and source in self.sources:
            if isinstance(item, Mark):
                self._let_in(source)
            elif item.is_only_now:
                self.held.hold(source, item.now)
                return
            else:
                self.held.rows_came(source, item.now)
        self._enter(source, item)
        if self.heeding is not None and self.heeding.scans and isinstance(item, Batch):
            assert item.label is not None
            self.heeding.release(item.label)

    def _enter(self, source: str, item: Item) -> None:
        for step, port in self.sources.get(source, ()):
            self._put(step, port, item)

    def _let_in(self, *sources: str) -> None:
        """Put the now-marks that wait at sources into the queues."""
        for source in sources:
            if (time := self.held.take(source)) is not None:
                self._enter(source, self._mark(source, time))

    def _mark(self, source: str, now: int) -> Batch:
        (first, _), *_ = self.sources[source]
        return empty(first.operator.schema, now=now)

    def begin_turn(self) -> None:
        """With round-robin, before operators have their turns: let the now-marks in that wait no
        longer."""
        if self.piggybacks:
            has_rows = any(step.queue and not step.queue.has_only_now_marks for step in self.steps)
            self._let_in(*self.held.due(has_rows))

    def advance(self, clock: int) -> None:
        """Let all sources hear that application time has come to a clock."""
        for source in self.sources:
            self.admit(source, self._mark(source, clock))

    @property
    def piggybacks(self) -> bool:
        """Whether now-marks are put together with other batches in the queues. Labels keep them
        apart: a batch has one."""
        return self.expiry == "piggyback" and self.heeding is None

    def turn(self) -> None:
        """Let every operator work off its quantum once; with `drain`, everything."""
        if self.scheduler == "drain":
            self.drain()
        elif self.running is not None:
            self.running.check()
        else:
            self._do(self._work_a_round)

    def drain(self) -> None:
        """Run until nothing is left that can be worked on."""
        if self.running is not None:
            self.running.drain()
            return
        self.emitted = -1
        if self.scheduler == "drain" and not any(step.queue.items for step in self.steps):
            return
        self._do(self._work_off)

    def _work_off(self) -> None:
        if self.scheduler == "round-robin":
            self._let_in(*self.held.times)
            while any(step.queue or step.operator.has_work() for step in self.steps):
                work_a_round(self)
        elif self.branches and is_worth_threads(self.steps):
            branch_by_branch(self)
        else:
            depth_first(self)

    def _work_a_round(self) -> None:
        self.begin_turn()
        work_a_round(self)

    def close(self) -> None:
        """Stop the threads, if there are any. What lies in queues stays there."""
        if self.running is not None:
            self.running.stop()
            self.running = None

    def work_on(self, step: Step, port: int, item: Item) -> None:
        """Let a step work on what was taken from its queue, and hand on what comes out."""
        if isinstance(item, Mark):
            merged = self._merged(step, port, item)
            if merged is not None:
                self._hand_on_token(step, merged)
        elif self.heeding is not None:
            self._heeded_work(self.heeding, step, port, item)
        elif (output := self._received(step, port, item)) is not None:
            self._emit(step, output)
            self.hand_on(step, output)

    def _heeded_work(self, heeding: Heeding, step: Step, port: int, batch: Batch) -> None:
        """Work on a batch, and label what comes out."""
        active = batch.label
        assert active is not None
        label, operator = active, step.operator
        if operator.uses_state:
            operator.label = active.vector
            operator.participants = active.vector if operator.keeps_labels else None
        output = self._received(step, port, batch)
        if operator.runs_free:  # what it still did later would have no label
            output = _with(output, operator.finish())
        if step.raises_labels:
            label = heeding.labelled(step, batch, active)
        if output is None:
            step.queue.in_use = None
            heeding.done(active, label)
            return
        if output.label is not label:
            output = output.labelled(label)
        if step.only_passes:
            target, at = step.outputs[0]
            self._put(target, at, output)
            return
        with heeding.lock:
            if step in heeding.emitted:
                heeding.emitted[step] = greatest(heeding.emitted[step], label.vector)
                self._emit(step, output)
            if not step.outputs:
                step.queue.in_use = None
                if heeding.active.leave(active):
                    heeding.detect()
                return
            times = len(step.outputs)
            if self.expiry == "time-message":
                times *= len(self._apart(output))
            is_over = heeding.active.passes_on(active, times)
        self.hand_on(step, output)
        step.queue.in_use = None
        if is_over:
            heeding.release(active)

    def work(self, step: Step) -> None:
        """Let an operator that runs free go on with the work that it has left."""
        self._put_out(step, step.operator.work())

    def _put_out(self, step: Step, output: Batch) -> None:
        if not output.is_empty:
            self._emit(step, output)
            self.hand_on(step, output)

    def _do(self, work: Callable[[], None]) -> None:
        """Do work in this thread; if it fails, nothing is left in the queues."""
        try:
            with limited(self.limits):
                work()
        except Exception:
            for step in self.steps:
                step.queue.clear()
            self.held.clear()
            raise

    def _put(self, step: Step, port: int, item: Item) -> None:
        if self.scheduler != "threads":
            piggyback = self.expiry == "piggyback" and self.piggybacks
            step.queue.put(port, item, piggyback=piggyback)
            return
        if self.running is None:
            self.running = Threads(self)
        self.running.put(step, port, item)

    def hand_on(self, step: Step, item: Item) -> None:
        """Put what a step has put out into the queues behind it."""
        if isinstance(item, Mark):
            self._hand_on_token(step, item)
            return
        if self.expiry != "time-message":
            for target, port in step.outputs:
                self._put(target, port, item)
            return
        for target, port in step.outputs:
            for each in self._apart(item):
                self._put(target, port, each)

    def _hand_on_token(self, step: Step, token: Mark) -> None:
        for target, port in step.outputs:
            if self.running is None:
                target.queue.append(port, token)
            else:
                self.running.put(target, port, token)

    def _apart(self, item: Batch) -> tuple[Batch, ...]:
        """A batch, and by itself the now-mark that came with it."""
        if item.now == BEGINNING or item.is_only_now:
            return (item,)
        mark = empty(item.payload.schema, now=item.now)
        return replace(item, now=BEGINNING), replace(mark, label=item.label)

    def output_of(self, step: Step, port: int, item: Item) -> Item | None:
        """What comes out of a step for an item, if there is something; the sinks have it, too."""
        if isinstance(item, Mark):
            return self._merged(step, port, item)
        output = self._received(step, port, item)
        if output is not None:
            self._emit(step, output)
        return output

    def _merged(self, step: Step, port: int, mark: Mark) -> Mark | None:
        """The mark that a step hands on when one has come at a port; the sinks have it, too."""
        merged = step.queue.mark(port, mark)
        if merged is not None:
            self.has_passed(step, merged)
        return merged

    def has_passed(self, step: Step, token: Mark) -> None:
        """All that a token has before it has gone through a step."""
        if step.operator.runs_free:
            self._put_out(step, step.operator.finish())
        if self.passed is not None:
            self.passed(step, token)
        for mark_sink in self.mark_sinks.get(step, ()):
            mark_sink(token)

    def _received(self, step: Step, port: int, batch: Batch) -> Batch | None:
        """What an operator returns for a batch, if that is something."""
        now = step.queue.now(port, batch.now)
        try:
            if batch.is_only_now:
                is_news = now > step.queue.passed_on
                output = step.operator.receive_now(now) if is_news else empty(step.operator.schema)
            else:
                came = batch if batch.now == now else replace(batch, now=now)
                output = step.operator.receive(port, came)
        except TooLarge:
            if not step.operator.expands or len(batch) == 1 or has_removals(batch.weight):
                raise
            halves = list(_halves(batch))
            if self.heeding is not None and batch.label is not None:
                self.heeding.split(batch.label, len(halves))
            if self.running is None:
                step.queue.put_back(port, halves)
            else:
                self.running.put_back(step, port, halves)
            self.emitted = max(self.emitted, 0)
            return None
        except pa.ArrowCapacityError:
            raise full_column(step.name.partition(" ")[2]) from None
        passed_on = self._time_after(step, now)
        if output.now != passed_on:
            output = replace(output, now=passed_on)
        return None if output.is_empty else output

    def _time_after(self, step: Step, now: int) -> int:
        """The time that a step hands on, when it has come so far; BEGINNING: none."""
        if now <= step.queue.passed_on:
            return BEGINNING
        is_due = step.operator.is_due(now)
        if not is_due and not step.passes_silently:
            return BEGINNING
        step.queue.passed_on = now
        return BEGINNING if not is_due and self._advance_silently(step, now) else now

    def _advance_silently(self, step: Step, now: int) -> bool:
        """Let what follows know of a time at which nothing ends, without a mark in its queue, if
        that is possible. (Threads have their queues for themselves, and labels want a batch.)"""
        if self.scheduler == "threads" or self.heeding is not None:
            return False
        if not all(target.queue.may_hear(port, now) for target, port in step.outputs):
            return False
        for target, port in step.outputs:
            target.queue.hear(port, now)
        return True

    def _emit(self, step: Step, output: Batch) -> None:
        """Let the sinks have what a step has put out, if it is the last before one."""
        if self.emitted >= 0 and any(step is last for last, _ in self.sinks):
            self.emitted += int(len(output) * row_bytes(output.payload))
            check(
                "the answer to one batch is too large",
                self.emitted,
                "take smaller batches (--batch)",
            )
        for last, sink in self.sinks:
            if step is last and not output.is_only_now:
                sink(output)
        if output.now > BEGINNING:
            for mark_sink in self.mark_sinks.get(step, ()):
                mark_sink(Mark(MarkKind.NOW, output.now))

    def backlog(self) -> int:
        """How many changes lie in queues."""
        waiting = [each for step in self.steps for each in step.queue.waiting()]
        return sum(len(item) for _, item in waiting if isinstance(item, Batch))

    def counters(self) -> dict[str, dict[str, int]]:
        """What every operator has done, and what it holds."""
        return {step.name: step.operator.counts() for step in self.steps}

    def snapshot(self) -> dict[str, Arrays]:
        """The state of all operators, and what lies in their queues."""
        with nullcontext() if self.running is None else self.running.paused():
            states = {step.name: step.operator.snapshot() for step in self.steps}
            queues = {_QUEUE + step.name: step.queue.snapshot() for step in self.steps}
            queues[_HELD] = self.held.snapshot([*self.sources])
        return states | {name: stored for name, stored in queues.items() if stored}

    def snapshot_at(self, token: int, take: Callable[[dict[str, Arrays]], None]) -> None:
        """Have a snapshot taken as a token goes through, without stopping: each operator's state
        is stored when it hands the token on, and all of them together are the state after exactly
        the events before it. `take` is given it when the last operator has handed the token on."""
        states: dict[str, Arrays] = {}

        def passed(step: Step, mark: Mark) -> None:
            if mark.kind is not MarkKind.TOKEN or mark.number < token or step.name in states:
                return
            stored = {
                step.name: step.operator.snapshot(),
                _QUEUE + step.name: step.queue.after(mark),
            }
            states.update(stored)
            if len(states) == 2 * len(self.steps):
                self.passed = None
                take(states)

        self.passed = passed

    def restore(self, states: dict[str, Arrays]) -> None:
        """Become what a snapshot was taken of; the graph has not run yet."""
        names = {step.name for step in self.steps}
        if not names <= states.keys() <= {_HELD} | names | {_QUEUE + name for name in names}:
            raise ValueError("the state is that of another plan")
        for step in self.steps:
            step.operator.restore(states[step.name])
            step.queue.restore(states.get(_QUEUE + step.name, {}))
        if _HELD in states:
            self.held.restore([*self.sources], states[_HELD])


def _halves(batch: Batch) -> tuple[Batch, Batch]:
    """A batch of additions as two, one after the other."""
    middle = len(batch) // 2
    first = replace(batch.take(np.arange(middle)), cti=BEGINNING, now=BEGINNING)
    second = batch.take(np.arange(middle, len(batch)))
    return replace(first, high=latest_start(first.vs, first.weight)), second


def _with(output: Batch | None, more: Batch) -> Batch | None:
    """What an operator has returned, and what it has left to do, if that is something."""
    whole = more if output is None else joined([output, more])
    return None if whole.is_empty else whole
