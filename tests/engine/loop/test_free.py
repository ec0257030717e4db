"""Loops that run free: whatever works when, the answer is that of the reference in the end, and on
the way only true progress is promised, and always some."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.compile import BUILDERS
from driftline.engine.compile.compiler import Compiler
from driftline.engine.core.plain import batch_of, events_of
from driftline.engine.loop.free import FreeLoop
from driftline.model.event import CLOSE, Cti, Event, Insert
from driftline.model.history import canonical_history
from driftline.model.level import Level
from driftline.model.reference import recursive_together
from driftline.model.row import Row
from driftline.model.stream import breaches
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.choices import CHOICES, Loops
from driftline.testing.driving import take_over
from tests.engine.loop.programs import PROGRAMS, Program
from tests.engine.loop.selections import SELECTIONS
from tests.engine.loop.test_best import NODES, weighted
from tests.engine.loop.test_loop import answers, graphs, ports_of

METHODS = st.sampled_from(CHOICES["loop"])


def free_loop(program: Program, method: Loops) -> FreeLoop:
    compiler = Compiler(BUILDERS, Level.EAGER, "round-robin", (), {}, method)
    operator = compiler.step(program.loop).operator
    assert isinstance(operator, FreeLoop)
    return operator


@dataclass
class Run:
    """A loop that runs: what was let in from the roots (0) and from the edges (1), and what has
    come out."""

    program: Program
    method: Loops
    came: list[list[Event]] = field(default_factory=lambda: [[], []])
    out: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.loop = free_loop(self.program, self.method)
        plan = self.program.loop
        self.streams = [("roots", "edges").index(name) for name in ports_of(plan)]
        self.schemas = [each.schema.arrow for each in plan.given]

    def admit(self, stream: int, events: list[Event]) -> None:
        self.came[stream] += events
        for port, of in enumerate(self.streams):
            if of == stream:
                self.loop.receive(port, batch_of(events, self.schemas[port]))

    def work_at_random(self, random: Random) -> None:
        """Let operators that are chosen at random work on one item each."""
        for _ in range(random.randrange(8)):
            self.loop.speculate()
            step = random.choice(self.loop.graph.steps)
            if (taken := step.queue.take()) is not None:
                self.loop.work_on(step, *taken)
            elif random.random() < 0.5:
                self.loop.next_level()
        self.out += events_of(self.loop.taken())

    def restart(self) -> None:
        take_over(self.loop, free_loop(self.program, self.method))

    def finish(self) -> None:
        self.out += events_of(self.loop.finish())
        self.check()

    def check(self) -> None:
        """What has come out is the answer for all that was let in, and every promise was kept."""
        assert not breaches(self.out)
        expected = recursive_together(self.program.bodies, *map(canonical_history, self.came))
        for name, found in answers(self.program, self.out).items():
            assert found.same_snapshots(expected[name]), name

    @property
    def promised(self) -> int:
        return max((each.t for each in self.out if isinstance(each, Cti)), default=BEGINNING)

    @property
    def external(self) -> int:
        """The least of what the inputs have promised."""
        ctis = [[each.t for each in events if isinstance(each, Cti)] for events in self.came]
        return min(max(ctis[of], default=BEGINNING) for of in self.streams)


ALL = {**PROGRAMS, **{f"{name}, min or max": each for name, each in SELECTIONS.items()}}


def arrivals_of(name: str) -> st.SearchStrategy[list[tuple[int, Event]]]:
    if name in PROGRAMS:
        return graphs(PROGRAMS[name].acyclic)
    return weighted(**{each.name: NODES for each in ALL[name].rules[0].columns})


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=8)
@given(st.data(), METHODS, st.randoms(use_true_random=False), st.booleans())
def test_only_true_progress_and_the_right_answer_whatever_works_when(
    name: str, data: st.DataObject, method: Loops, random: Random, move: bool
) -> None:
    run = Run(ALL[name], method)
    for stream, event in data.draw(arrivals_of(name)):
        run.admit(stream, [event])
        if random.random() < 0.8:
            run.work_at_random(random)
        if move and random.random() < 0.2:
            run.restart()
    run.finish()
    if method != "hwm":
        assert run.promised == run.external
    run.admit(0, [CLOSE])
    run.admit(1, [CLOSE])
    run.finish()
    assert run.promised == INFINITY
    if run.loop.restated is None:  # which keeps what never ends
        assert run.loop.state_size()[0] == 0


@pytest.mark.parametrize("method", CHOICES["loop"])
def test_there_is_progress_although_input_never_pauses(method: Loops) -> None:
    """A root for every time, along a chain of twelve edges: each needs more turns than there are
    from one to the next."""
    run = Run(PROGRAMS["reach"], method)
    chain = [Insert(0, INFINITY, Row(a=node, b=node + 1)) for node in range(12)]
    run.admit(1, [*chain, Cti(1000)])
    promised = []
    for time in range(30):
        run.admit(0, [Insert(time, time + 1, Row(n=0)), Cti(time + 1)])
        run.out += events_of(run.loop.work())
        promised.append(run.promised)
        assert run.promised <= run.external
    assert promised[29] > promised[20] > promised[10] > BEGINNING
    run.out += events_of(run.loop.finish())
    assert not breaches(run.out)
    assert len(canonical_history(run.out).coalesced()) == 13  # from 0 to 30, every node


@pytest.mark.parametrize("method", CHOICES["loop"])
def test_while_only_ctis_come_the_high_water_mark_is_silent_and_the_others_are_not(
    method: Loops,
) -> None:
    run = Run(PROGRAMS["reach"], method)
    run.admit(1, [Insert(1, INFINITY, Row(a=0, b=1)), Cti(100)])
    run.admit(0, [Insert(1, INFINITY, Row(n=0)), Cti(2)])
    run.finish()
    assert run.promised == 2
    speculated = []
    for time in range(3, 9):
        run.admit(0, [Cti(time)])
        for _ in range(10):
            run.out += events_of(run.loop.work())
        assert run.promised == (2 if method == "hwm" else time)
        speculated.append(run.loop.counters.speculative)
    most = {"hybrid": 6, "probing": 60, "hwm": 0}[method]
    assert speculated[-1] - speculated[0] <= most
    run.finish()
