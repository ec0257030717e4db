"""The loop that runs free: input is let in while it still has work, a quantum of which is done at a
time; answers leave as they arise, and Flying Fixed-Point finds how far they are final.

The levels stay in order: before an operator emits what is due at a level, no batch lies in a queue
of the loop, and no lower level is due. New input makes lower levels due again, and these are next.
So whenever a level is worked off, everything below it is what it would be if the loop had been
computed afresh from the input so far: that the work was left for a while makes no difference, and
nothing is derived that would not be derived from that input. When no level has anything left, the
answer is the fixed point for all that came in; and as the levels of an input that has been let in
are finitely many, that comes when the input pauses. It must also come if the input never does. So
the quantum is doubled while input comes before the fixed point does, and halved when it has come.

At every time the loop is the same function of the input at that time. What has come to its end up
to a time stays so whatever happens after it: that is why progress can be found while it runs.

Marks are in the queues of the loop, in order with the batches (see `core.marks`). A speculative
punctuation is sent to all edges back at once, and is back when it has come to all heads. Operators
by level hold changes back, so they revise it down to the earliest, or it lodges there. A head that
no edge back leads to has it at once.

State: that of the operators, their queues and marks, and how far progress has come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from driftline.engine.core.batch import Batch, empty
from driftline.engine.core.graph import Graph, Step
from driftline.engine.core.marks import Mark, MarkKind, Speculation
from driftline.engine.core.operator import Counters, Operator
from driftline.engine.core.queues import Item
from driftline.engine.join.join import Join
from driftline.engine.loop.change_times import change_times
from driftline.engine.loop.flying_fixed_point import FlyingFixedPoint
from driftline.engine.loop.held import Held
from driftline.engine.loop.levelled import NEVER
from driftline.engine.loop.loop import Loop, RuleHead
from driftline.engine.state.fields import Fields
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.choices import Loops

MOST_TURNS = 1 << 16
"""The longest quantum."""


@dataclass
class LoopCounters(Counters):
    """What else a loop counts. `speculative`, `definite`: punctuations that were sent round; `lag`:
    how far the ctis of its inputs are ahead of its own; `join_rows`: what its joins hold;
    `turns`: how often it has worked; `silence`: the most turns between two outputs."""

    speculative: int = 0
    definite: int = 0
    lag: int = 0
    join_rows: int = 0
    turns: int = 0
    silence: int = 0


class FreeLoop(Loop):
    """`merges`: of every operator in the loop, how marks have come; `held`: what those by level
    hold back; `progress`: Flying Fixed-Point; `found`: what the heads have emitted, and what was
    not taken yet; `quantum`: how many turns it has at a time; `has_input`: whether a batch has come
    since the last quantum."""

    fields = Loop.fields | Fields(
        numbers=("quantum", "has_input", "silent"), parts=("merges", "held", "progress")
    )
    runs_free = True

    def __init__(
        self,
        schema: pa.Schema,
        ports: int,
        graph: Graph,
        heads: Sequence[RuleHead],
        limit: int,
        restated: Operator | None,
        method: Loops,
    ) -> None:
        super().__init__(schema, ports, graph, heads, limit, restated)
        self.circles = None  # rounds of several inputs are under way at the same time
        self.counters: LoopCounters = LoopCounters()
        self.head_of = {head.step.name: number for number, head in enumerate(heads)}
        self.merges = _merges(graph, heads)
        self.held = {step.name: Held(operator) for step, operator in self.by_level}
        external = [int(self.merges[head.step.name].external.min()) for head in heads]
        self.progress = FlyingFixedPoint(method, external)
        self.found: list[Batch] = []
        self.quantum, self.has_input, self.silent = 1, False, 0

    def process(self, port: int, batch: Batch) -> Batch:
        self.has_input = True
        self.ctis[port] = max(int(self.ctis[port]), batch.cti)
        self.graph.admit(f"input {port}", replace(batch, label=None, now=BEGINNING))
        return empty(self.schema)

    def has_work(self) -> bool:
        if self._has_changes():
            return True
        if self.progress.method == "probing":  # which always has a punctuation on its way
            return self._external() > self.progress.definite
        has_marks = any(step.queue for step in self.graph.steps)
        return has_marks or self._next() is not None

    def work(self) -> Batch:
        """A quantum of the work."""
        for _ in range(self.quantum):
            self.turn()
            if not self.has_work():
                break
        if not self._has_changes():
            self.quantum = max(1, self.quantum // 2)
        elif self.has_input:
            self.quantum = min(MOST_TURNS, 2 * self.quantum)
        self.has_input = False
        return self.taken()

    def finish(self) -> Batch:
        """All of the work."""
        while self.has_work():
            self.turn()
        return self.taken()

    def turn(self) -> None:
        """Let every operator work off its queue, and then the lowest level that is due, if nothing
        lies in queues."""
        self.counters.turns += 1
        self.silent += 1
        self.speculate()
        for step in self.graph.steps:
            while (taken := step.queue.take()) is not None:
                self.work_on(step, *taken)
        self.next_level()

    def taken(self) -> Batch:
        """What the loop has emitted since it was taken last, with the cti that holds after it."""
        cti = self.progress.definite
        is_news, self.cti = cti > self.cti, max(self.cti, cti)
        found, self.found = [*self.found, *self._outgoing()], []
        output = self._output(found, cti if is_news else BEGINNING)
        self.counters.silence = max(self.counters.silence, self.silent)
        if is_news or len(output):
            self.silent = 0
        self._count()
        return self.counted(output, 0, 0)

    def _count(self) -> None:
        counters, external = self.counters, self._external()
        counters.speculative = self.progress.speculative
        counters.definite = self.progress.promised
        known = self.progress.definite > BEGINNING and external < INFINITY
        counters.lag = max(0, external - self.progress.definite) if known else 0
        joins = (step.operator for step in self.graph.steps if isinstance(step.operator, Join))
        counters.join_rows = sum(join.state_size()[0] for join in joins)

    def _external(self) -> int:
        """How far all inputs have come."""
        return int(self.ctis.min())

    def _has_batches(self) -> bool:
        queues = (step.queue.items for step in self.graph.steps)
        return any(isinstance(item, Batch) for items in queues for _, item in items)

    def _has_changes(self) -> bool:
        return self._has_batches() or any(each.due() < NEVER for _, each in self.by_level)

    def _next(self) -> int | None:
        """The time with which a speculative punctuation is to leave now, if one is."""
        held = min(self.held[head.step.name].earliest() for head in self.heads)
        return self.progress.next(self._external(), held)

    def speculate(self) -> None:
        """Send a speculative punctuation round, if it is time for one."""
        time = self._next()
        if time is None:
            return
        self.progress.leaves(time)
        mark = Mark(MarkKind.SPECULATIVE, time)
        for head in self.heads:
            for name, _ in head.uses:
                self.graph.admit(name, mark)
        for head in self.heads:
            merge = self.merges[head.step.name]
            if len(merge.inside) > head.step.operator.ports:
                merge.speculate(head.step.operator.ports, time)
                self._release(head.step)

    def work_on(self, step: Step, port: int, item: Item) -> None:
        """Let a step work on what was taken from its queue."""
        if isinstance(item, Mark):
            self._marked(step, port, item)
            return
        held = self.held.get(step.name)
        if held is not None and len(item):
            held.take_in(item)
        self.graph.work_on(step, port, item)
        merge = self.merges.get(step.name)
        if merge is not None and not merge.inside[port] and item.cti > BEGINNING:
            self._external_progress(step, port, item.cti)
            self._release(step)

    def next_level(self) -> None:
        """Let the first operator that has something due at the lowest level emit it, if no batch
        lies in a queue."""
        if self._has_batches():
            return
        step, operator = min(self.by_level, key=lambda each: each[1].due())
        due = operator.due()
        if due == NEVER:
            return
        output = operator.turn(due)
        self.held[step.name].turned(due)
        number = self.head_of.get(step.name)
        if output is not None and number is not None:
            self.progress.emitted(*change_times(output))
            self.found += self._round(self.heads[number], output, due)
        elif output is not None:
            self.graph.hand_on(step, output)
        self._release(step)

    def _marked(self, step: Step, port: int, mark: Mark) -> None:
        if mark.kind is MarkKind.EXTERNAL:
            self._external_progress(step, port, mark.number)
        else:
            self.merges[step.name].speculate(port, mark.number)
            self._release(step)

    def _external_progress(self, step: Step, port: int, time: int) -> None:
        """External progress has come so far at a port; what all ports have come to is passed on."""
        known = self.merges[step.name].progress(port, time)
        if known is None or self.progress.method != "hybrid":
            return
        self.graph.hand_on(step, Mark(MarkKind.EXTERNAL, known))
        if step.name in self.head_of:
            self.progress.progress(self.head_of[step.name], known)

    def _release(self, step: Step) -> None:
        """Hand a speculative punctuation on, if it has come at all ports and does not lodge."""
        held = self.held.get(step.name)
        earliest = INFINITY if held is None else held.earliest()
        earliest = max(earliest, self.progress.definite)
        time = self.merges[step.name].released(earliest, lodges=self.progress.lodges)
        if time is None:
            return
        self.graph.hand_on(step, Mark(MarkKind.SPECULATIVE, time))
        number = self.head_of.get(step.name)
        if number is not None:
            definite = self.progress.returns(number, time)
            if definite is not None:
                self._promise(definite)

    def _promise(self, cti: int) -> None:
        """Nothing changes any more before a time: let that go round."""
        for head in self.heads:
            for name, schema in head.uses:
                self.graph.admit(name, empty(schema, cti))
        for _, operator in self.by_level:
            operator.evict(cti)


def _merges(graph: Graph, heads: Sequence[RuleHead]) -> dict[str, Speculation]:
    """By the name of a step, how marks are merged there, of all that an edge back leads to, and of
    heads: one that none leads to has a port more, for the loop itself. External progress is known
    from the beginning where no input of the loop can hold it back."""
    edges = {
        (target.name, port): INFINITY
        for head in heads
        for name, _ in head.uses
        for target, port in graph.sources[name]
    }
    merges: dict[str, Speculation] = {}
    for step in graph.steps:  # in which every step comes after those that lead to it
        ports = [(step.name, port) for port in range(step.operator.ports)]
        inside = [port in edges for port in ports]
        external = [edges.get(port, BEGINNING) for port in ports]
        if not any(inside):
            if all(step is not head.step for head in heads):
                continue
            inside, external = [*inside, True], [*external, INFINITY]
        merges[step.name] = Speculation(inside, external)
        edges |= {(target.name, port): min(external) for target, port in step.outputs}
    return merges
