"""The conditions of the recursion paper's theorem, for every operator that may stand in a loop:

    S1  it speculates correctly: a speculative punctuation at i is followed by one at j ≤ i; if the
        first holds, so does the second; it does not back up from definite punctuation
    S2  it does not block on definite punctuation
    S3  it is forward moving: what a change leads to is not before it

Each is taken out of a loop and driven by itself. What it hands on goes to two operators, which get
the same (multicast).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.core.batch import Batch
from driftline.engine.core.graph import Step
from driftline.engine.core.marks import Mark, MarkKind
from driftline.engine.core.plain import batch_of, events_of
from driftline.engine.core.queues import Queue
from driftline.engine.join.join import Join
from driftline.engine.loop.best import Best
from driftline.engine.loop.change_times import change_times
from driftline.engine.loop.derivations import Derivations
from driftline.engine.loop.free import FreeLoop
from driftline.engine.loop.least_level import LeastLevel
from driftline.engine.loop.levelled import NEVER, Levelled
from driftline.engine.stateless.explode import Explode
from driftline.engine.stateless.project import Project
from driftline.engine.stateless.select import Select
from driftline.engine.stateless.union import Union
from driftline.model.event import CLOSE, Cti, Event, Insert, Retract
from driftline.model.history import canonical_history
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.choices import CHOICES, Loops
from driftline.testing import interleaved, streams
from tests.engine.loop.programs import NODE, PROGRAMS, ROOTS, Program, back, rule
from tests.engine.loop.selections import SELECTIONS
from tests.engine.loop.test_free import free_loop

FORKS = Program(
    (
        rule(
            "s",
            NODE,
            ROOTS.union(
                back("s", NODE).explode("array(n, n + 1)", "m").where("m < 3").select("m AS n")
            ),
        ),
    ),
    {},
)
TAKEN = {
    "forks": FORKS,
    "several": PROGRAMS["several"],
    "closure": PROGRAMS["closure"],
    "around": PROGRAMS["around"],
    **{f"{name}, min or max": each for name, each in list(SELECTIONS.items())[:2]},
}


@cache
def places() -> list[tuple[str, str]]:
    """The operators inside loops: by the name of the program and the step."""
    return [(name, step) for name in TAKEN for step in free_loop(TAKEN[name], "hybrid").merges]


def test_the_operators_are_all_that_may_stand_in_a_loop() -> None:
    found: set[type] = set()
    for program in TAKEN.values():
        loop = free_loop(program, "hybrid")
        found |= {type(each.operator) for each in loop.graph.steps if each.name in loop.merges}
    assert found == {Select, Project, Explode, Union, Join, LeastLevel, Derivations, Best}


class Alone:
    """An operator out of a loop. `batches`, `marks`: what it has handed on; `at_mark`: how many
    batches it had, when it handed a speculative punctuation on."""

    def __init__(self, name: str, place: str, method: Loops) -> None:
        self.loop: FreeLoop = free_loop(TAKEN[name], method)
        (self.step,) = (each for each in self.loop.graph.steps if each.name == place)
        self.merge = self.loop.merges[place]
        self.schemas = [self._schema(port) for port in range(self.step.operator.ports)]
        nobody = self.loop.graph.steps[0].operator
        self.sinks = [Step("a sink", nobody, Queue(1)), Step("another", nobody, Queue(1))]
        self.step.outputs = [(sink, 0) for sink in self.sinks]
        self.batches: list[Batch] = []
        self.marks: list[int] = []
        self.at_mark = 0

    def _schema(self, port: int) -> pa.Schema:
        if isinstance(self.step.operator, Join):  # one of its inputs may come from outside
            return self.step.operator.sides[port].schema
        before = [
            each.operator.schema
            for each in self.loop.graph.steps
            if any(target is self.step and at == port for target, at in each.outputs)
        ]
        back = {name: schema for head in self.loop.heads for name, schema in head.uses}
        before += [
            back[name]
            for name, targets in self.loop.graph.sources.items()
            if name in back and any(step is self.step and at == port for step, at in targets)
        ]
        return before[0] if before else self.step.operator.schema

    def events(self) -> st.SearchStrategy[list[tuple[int, Event]]]:
        return interleaved(*(streams(_values(schema), max_size=4) for schema in self.schemas))

    def receives(self, port: int, *events: Event) -> None:
        """Definite punctuation comes in a loop when nothing before it is held back."""
        if any(isinstance(each, Cti) for each in events):
            self.finish()
        self.takes(port, batch_of(events, self.schemas[port]))

    def takes(self, port: int, item: Batch | Mark) -> None:
        self.loop.work_on(self.step, port, item)
        self._look()

    def _look(self) -> None:
        """Gather what was handed on, and let nobody else work on it."""
        one, other = (sink.queue.waiting() for sink in self.sinks)
        assert one == other
        for sink in self.sinks:
            sink.queue.clear()
        for _, item in one:
            if isinstance(item, Batch):
                self.batches.append(item)
            elif item.kind is MarkKind.SPECULATIVE:
                self.marks.append(item.number)
                self.at_mark = len(self.batches)
        for step in self.loop.graph.steps:
            step.queue.clear()

    def next_level(self) -> bool:
        """Let it emit what is due at its lowest level, if it works by level."""
        operator = self.step.operator
        if not isinstance(operator, Levelled) or operator.due() == NEVER:
            return False
        held, due = self.loop.held[self.step.name], operator.due()
        earliest = held.earliest()
        output = operator.turn(due)
        held.turned(due)
        if output is not None:
            assert change_times(output)[0] >= earliest  # S3
            self.batches.append(output)
        return True

    def releases(self) -> None:
        """Hand on a speculative punctuation that lodges, if it may go."""
        self.loop._release(self.step)
        self._look()

    def finish(self) -> None:
        while self.next_level():
            pass

    def changes(self) -> list[Event]:
        return [event for batch in self.batches for event in events_of(batch)]


def _values(schema: pa.Schema) -> dict[str, st.SearchStrategy[Any]]:
    small = st.integers(0, 2)
    return {
        each.name: st.tuples(small, small) if pa.types.is_list(each.type) else small
        for each in schema
    }


def ports_inside(alone: Alone) -> Iterator[int]:
    return (port for port in range(len(alone.schemas)) if alone.merge.inside[port])


@settings(max_examples=60)
@given(st.data(), st.sampled_from(CHOICES["loop"]), st.randoms(use_true_random=False))
def test_it_speculates_correctly_and_moves_forward(
    data: st.DataObject, method: Loops, random: Random
) -> None:
    alone = Alone(*data.draw(st.sampled_from(places())), method)
    events = data.draw(alone.events())
    middle = data.draw(st.integers(0, len(events)))
    for port, event in events[:middle]:
        before = len(alone.batches)
        alone.receives(port, event)
        if isinstance(event, (Insert, Retract)):
            for batch in alone.batches[before:]:
                assert change_times(batch)[0] >= event.sync  # S3
        if random.random() < 0.3:
            alone.next_level()
    left = events[middle:]
    times = {
        port: min(
            (each.sync for at, each in left if at == port and isinstance(each, (Insert, Retract))),
            default=INFINITY,
        )
        for port in ports_inside(alone)
    }
    promised = max((batch.cti for batch in alone.batches), default=BEGINNING)
    for port, time in times.items():
        alone.takes(port, Mark(MarkKind.SPECULATIVE, time))
    least = min(times.values())
    for port, event in [*left, *((port, CLOSE) for port in range(len(alone.schemas)))]:
        alone.receives(port, event)
        if random.random() < 0.3:
            alone.next_level()
            alone.releases()
    alone.finish()
    alone.releases()
    (handed_on,) = alone.marks  # once
    assert min(least, promised) <= handed_on <= least
    if method == "hwm":
        assert handed_on == least
    for batch in alone.batches[alone.at_mark :]:
        assert change_times(batch)[0] >= handed_on


@settings(max_examples=40)
@given(st.data())
def test_it_does_not_block_on_definite_punctuation(data: st.DataObject) -> None:
    place = data.draw(st.sampled_from(places()))
    events = data.draw(Alone(*place, "hybrid").events())
    found = []
    for with_ctis in (True, False):
        alone = Alone(*place, "hybrid")
        for port, event in events:
            if with_ctis or not isinstance(event, Cti):
                alone.receives(port, event)
        alone.finish()
        found.append(canonical_history(alone.changes()))
    assert found[0].same_snapshots(found[1])
