"""The loop: the least fixed point of rules in every snapshot.

    Q*(R), at every time:  the least s with  s = Q(r, s),  r the snapshots of the inputs R

The body is a graph of ordinary operators in which the level of a change is a column, with operators
that work level by level (`levelled`) at its end, the heads, and wherever else one row depends on
several. A batch goes in; then the levels are worked off, lowest first: every operator does what it
has received, those that work by level emit what is due at this one, and what a head emits goes out
and, one level higher, round again. When no level has anything left to do the batch is done: that is
the fixed point, and what differs from the one before has been emitted.

State: that of the operators inside. When a batch is done the least cti of the inputs goes round,
and evicts what each of them would drop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch, empty, joined, latest_start
from driftline.engine.core.graph import Graph, Step
from driftline.engine.core.operator import Operator
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.join import Join
from driftline.engine.loop.circles import Circles
from driftline.engine.loop.derivations import Derivations
from driftline.engine.loop.levelled import NEVER, Levelled
from driftline.engine.state.fields import Arrays, Fields, Span, joined_span
from driftline.model.arrays import to_arrow, to_numpy
from driftline.model.time import BEGINNING


@dataclass(frozen=True)
class RuleHead:
    """The end of a rule's body. `uses`: the sources of the graph that its rows go back to, with
    their schemas; `number`: that of the rule; `before`: how many columns of other rules stand
    before its own in the output; `places`: where the operator has each of the rule's columns, if
    not in their order."""

    name: str
    step: Step
    uses: Sequence[tuple[str, pa.Schema]]
    number: int = 0
    before: int = 0
    places: Sequence[int] | None = None

    @property
    def operator(self) -> Levelled:
        assert isinstance(self.step.operator, Levelled)
        return self.step.operator

    def ordered(self, columns: list[pa.Array]) -> list[pa.Array]:
        """The columns of the operator's rows as the rule has them."""
        return columns if self.places is None else [columns[place] for place in self.places]


class Loop(Operator):
    """`graph`: the bodies, with a source `input n` for each port; `ctis`: those of the ports;
    `limit`: the deepest level at which a row may be derived; `restated`: what adds up the rounds,
    if a row may go again in a later one."""

    fields = Fields(numbers=("cti",), arrays=("ctis",), parts=("restated",))
    sets_ends = True

    def __init__(
        self,
        schema: pa.Schema,
        ports: int,
        graph: Graph,
        heads: Sequence[RuleHead],
        limit: int,
        restated: Operator | None = None,
    ) -> None:
        super().__init__(schema)
        self.restated = restated
        self.ports, self.graph, self.heads, self.limit = ports, graph, heads, limit
        self.by_level = [
            (step, step.operator) for step in graph.steps if isinstance(step.operator, Levelled)
        ]
        self.head_at = {head.step.name: head for head in heads}
        self.ctis = np.full(ports, BEGINNING, np.int64)
        self.cti = BEGINNING
        self.circles = Circles() if self._repeats_itself() else None
        for step in graph.steps:
            step.operator.reports_state = False

    def _repeats_itself(self) -> bool:
        """Whether what goes round next is a function of what goes round now."""
        (head, *others), steps = self.heads, self.graph.steps
        return (
            not others
            and len(head.uses) == 1
            and isinstance(head.operator, Derivations)
            and all(
                step is head.step or isinstance(step.operator, Join) or not step.operator.uses_state
                for step in steps
            )
        )

    def process(self, port: int, batch: Batch) -> Batch:
        self.graph.admit(f"input {port}", replace(batch, label=None, now=BEGINNING))
        found = self._fixed_point() + self._outgoing()
        self.ctis[port] = max(int(self.ctis[port]), batch.cti)
        cti = self._advance()
        return self._output(found, cti)

    def _output(self, found: list[Batch], cti: int) -> Batch:
        """What the heads have emitted, and how far that is final."""
        if self.restated is not None:
            output = joined(found) if found else empty(self.schema)
            return self.restated.process(0, replace(output, cti=cti))
        if not found:
            return empty(self.schema, cti)
        output = joined(found).consolidated()
        return replace(output, cti=cti, high=latest_start(output.vs, output.weight))

    def _fixed_point(self) -> list[Batch]:
        """Work off all levels; returns what the heads have emitted."""
        found: list[Batch] = []
        level = 0
        if self.circles is not None:
            self.circles.start()
        while True:
            found += self._turn(level)
            if any(step.queue for step in self.graph.steps):
                level += 1
            elif (level := min(operator.due() for _, operator in self.by_level)) == NEVER:
                return found

    def _turn(self, level: int) -> list[Batch]:
        """Let every operator work, in the order of the graph, those by level up to this one."""
        found: list[Batch] = []
        for step in self.graph.steps:
            while (taken := step.queue.take()) is not None:
                self.graph.work_on(step, *taken)
            if not isinstance(step.operator, Levelled):
                continue
            output = step.operator.turn(level)
            if output is None:
                continue
            if step.name in self.head_at:
                found += self._round(self.head_at[step.name], output, level)
            else:
                self.graph.hand_on(step, output)
        return found

    def _outgoing(self) -> list[Batch]:
        """What goes out of the heads that compare their last round with what has gone out."""
        found: list[Batch] = []
        for head in self.heads:
            output = head.operator.take_outgoing() if head.operator.keeps_outgoing else None
            if output is not None:
                found.append(self._outside(head, output, head.ordered(output.payload.columns)))
        return found

    def _round(self, head: RuleHead, output: Batch, level: int) -> list[Batch]:
        """Send what a head emits round, one level higher; returns what goes out at once."""
        if level > self.limit:
            raise EvaluationError(
                "RECURSION_LEVEL_LIMIT_EXCEEDED",
                f"the recursion of {head.name} goes on after level {self.limit}: rows may lead "
                "back to themselves (UNION drops such repetitions, UNION ALL counts them for ever)"
                + (", or values get better for ever" if self._improves() else "")
                + "; a deeper one needs MAX RECURSION LEVEL",
            )
        if self.circles is not None and head.operator.due() == NEVER:
            same = self.circles.repeated(output, level)
            if same is not None:
                raise EvaluationError(
                    "RECURSION_LEVEL_LIMIT_EXCEEDED",
                    f"the recursion of {head.name} has no end: level {level} has the rows of level "
                    f"{same}, which lead back to themselves; UNION ALL counts them for ever, UNION "
                    "drops such repetitions",
                )
        *columns, levels = output.payload.columns
        columns = head.ordered(columns)
        further = to_arrow(to_numpy(levels) + 1)
        for name, schema in head.uses:
            payload = pa.RecordBatch.from_arrays([*columns, further], schema=schema)
            self.graph.admit(name, output.with_payload(payload))
        return [] if head.operator.keeps_outgoing else [self._outside(head, output, columns)]

    def _improves(self) -> bool:
        return any(operator.improves for _, operator in self.by_level)

    def _outside(self, head: RuleHead, output: Batch, columns: list[pa.Array]) -> Batch:
        """What goes out of a rule, its rows among those of the others."""
        length = len(output)
        if len(self.heads) == 1:
            return replace(output, payload=pa.RecordBatch.from_arrays(columns, schema=self.schema))
        numbers = to_arrow(np.full(length, head.number, np.int32))
        places = range(1 + head.before, 1 + head.before + len(columns))
        filled = dict(zip(places, columns, strict=True))
        values = (
            filled[place] if place in filled else pa.nulls(length, self.schema.field(place).type)
            for place in range(1, len(self.schema))
        )
        payload = pa.RecordBatch.from_arrays([numbers, *values], schema=self.schema)
        return replace(output, payload=payload)

    def _advance(self) -> int:
        """Let the least cti of the inputs go round, if it has advanced; it is the output's."""
        cti = int(self.ctis.min())
        if cti <= self.cti:
            for _, operator in self.by_level:
                operator.evict(self.cti)
            return BEGINNING
        self.cti = cti
        for head in self.heads:
            for name, schema in head.uses:
                self.graph.admit(name, empty(schema, cti))
        self._turn(0)
        for _, operator in self.by_level:
            operator.evict(cti)
        return cti

    def state_size(self) -> tuple[int, int]:
        sizes = [each.state_size() for each in self.inside()]
        return sum(rows for rows, _ in sizes), sum(nbytes for _, nbytes in sizes)

    def state_span(self) -> Span:
        return joined_span(*(each.state_span() for each in self.inside()))

    def inside(self) -> list[Operator]:
        """The operators that the loop is made of."""
        restated = [] if self.restated is None else [self.restated]
        return [*(step.operator for step in self.graph.steps), *restated]

    def snapshot(self) -> Arrays:
        inside = {
            f"{name}: {array}": value
            for name, arrays in self.graph.snapshot().items()
            for array, value in arrays.items()
        }
        return super().snapshot() | inside

    def restore(self, arrays: Arrays) -> None:
        super().restore(arrays)
        inside: dict[str, Arrays] = {step.name: {} for step in self.graph.steps}
        for name, value in arrays.items():
            step, found, array = name.partition(": ")
            if found:
                inside.setdefault(step, {})[array] = value
        self.graph.restore(inside)
