"""Section 3.5 of the recursion paper, step by step: the traces of High-Water Mark and of Probing
over the plan of figure 1, driven by hand; and the example of section 2 while the loop runs free.

A punctuation at t says that what comes is after t. Here it is the cti t + 1.
"""

from __future__ import annotations

from functools import cache

import pytest

import driftline as dl
from driftline.api import Query
from driftline.engine.compile import BUILDERS
from driftline.engine.compile.compiler import Compiler
from driftline.engine.core.graph import Step
from driftline.engine.core.marks import Mark
from driftline.engine.core.plain import batch_of, events_of
from driftline.engine.loop.free import FreeLoop
from driftline.model.event import Cti, Event, Insert, Retract
from driftline.model.history import History, canonical_history
from driftline.model.level import Level
from driftline.model.row import Row
from driftline.model.time import INFINITY
from driftline.plan import nodes
from driftline.plan.choices import CHOICES, Loops, Scheduler
from driftline.plan.recursion import fixed_point
from driftline.plan.types import Schema
from tests.papers.test_flying_fixed_point import path

PATH = Schema.of({"n1": "STRING", "n2": "STRING", "bv": "BIGINT"})
N1, N2, N3, N4 = "n1", "n2", "n3", "n4"
BIT = {N1: 8, N2: 4, N3: 2, N4: 1}
SOURCES, LINKS = 0, 1


@cache
def figure_1() -> nodes.Node:
    """Union of the sources and what comes back, join with the links, select, project; a node's bit
    comes with it."""
    sources = dl.stream("sources", {"n": "STRING", "bit": "BIGINT"})
    links = dl.stream("links", {"a": "STRING", "b": "STRING", "bit": "BIGINT"})
    start = sources.select("n AS n1", "n AS n2", "bit AS bv")
    paths = start.union(Query(nodes.Back("paths", PATH))).alias("p")
    longer = paths.join(links, "links.a = p.n2").where("(p.bv & links.bit) = 0")
    body = longer.select("p.n1 AS n1", "links.b AS n2", "p.bv | links.bit AS bv")
    return fixed_point([nodes.Rule("paths", PATH, body.plan, distinct=False)])["paths"]


def source(vs: int, n: str) -> Event:
    return Insert(vs, INFINITY, Row(n=n, bit=BIT[n]))


def link(vs: int, a: str, b: str) -> Event:
    return Insert(vs, INFINITY, Row(a=a, b=b, bit=BIT[b]))


def dp(time: int) -> Event:
    return Cti(time + 1)


def found(events: list[Event]) -> History:
    """With visited nodes as the paper writes them."""
    return History(
        path(vs, row["n1"], row["n2"], f"{row['bv']:04b}", ve)
        for vs, ve, row in canonical_history(events)
    )


class ByHand:
    """The loop, in which nothing works but what is told to."""

    def __init__(self, method: Loops) -> None:
        loop = figure_1()
        assert isinstance(loop, nodes.Loop)
        self.schemas = [each.schema.arrow for each in loop.given]
        operator = (
            Compiler(BUILDERS, Level.EAGER, "round-robin", (), {}, method).step(loop).operator
        )
        assert isinstance(operator, FreeLoop)
        self.loop = operator
        self.ffp = operator.progress
        self.union, self.join = self._step("union"), self._step("inner join")

    def _step(self, name: str) -> Step:
        (found,) = [step for step in self.loop.graph.steps if step.name.endswith(f" {name}")]
        return found

    def receives(self, port: int, *events: Event) -> None:
        rows = [
            Insert(each.vs, each.ve, Row(n1=each.row["n"], n2=each.row["n"], bv=each.row["bit"]))
            if isinstance(each, Insert) and port == SOURCES
            else each
            for each in events
        ]
        self.loop.receive(port, batch_of(rows, self.schemas[port]))

    def works(self, *, marks_too: bool = True) -> list[tuple[str, int]]:
        """Every operator works, in the order of the plan; speculative punctuation waits in its
        queue if it is told to. Returns where it has been handed on, and with which time."""
        trace: list[tuple[str, int]] = []
        for step in self.loop.graph.steps:
            left = []
            while (taken := step.queue.take()) is not None:
                if isinstance(taken[1], Mark) and not marks_too:
                    left.append(taken)
                    continue
                if isinstance(taken[1], Mark) and step in (self.union, self.join):
                    trace.append((step.name.split()[-1], taken[1].number - 1))
                self.loop.work_on(step, *taken)
            for port, item in left:
                step.queue.put(port, item)
        return trace

    def emits(self) -> History:
        """What FFP gets next."""
        self.loop.next_level()
        return found(events_of(self.loop.taken()))

    def until_the_first_of_time_3(self) -> None:
        """Times 1 and 2, and of time 3 the link from n1 to n2."""
        self.receives(SOURCES, source(1, N2), source(1, N3), dp(5))
        self.receives(LINKS, link(2, N3, N1), dp(2))
        self.works()
        assert self.emits() == History([path(2, N3, N1, "1010")])
        self.works()
        self.receives(LINKS, link(3, N1, N2))
        self.works()
        assert self.emits() == History([path(3, N3, N2, "1110")])

    def second_of_time_3(self) -> None:
        """FFP gets (3, n2, n3, 0110) while the speculative punctuation is on its way."""
        self.receives(LINKS, link(3, N2, N3))
        self.works(marks_too=False)
        assert self.emits() == History([path(3, N2, N3, "0110")])


def test_the_trace_of_high_water_mark() -> None:
    run = ByHand("hwm")
    run.until_the_first_of_time_3()
    assert run.ffp.high == 3 + 1
    run.loop.speculate()
    assert run.ffp.current == 3 + 1  # sp(3) leaves
    run.second_of_time_3()
    assert run.ffp.earliest == 3  # not converged

    # sp(3) comes to the join and lodges: the latest punctuation of the links is dp(2).
    assert run.works() == [("union", 3), ("join", 3)]
    assert not run.loop.merges[run.join.name].missing.any()
    # Regular events pass it: (3, n2, n3, 0110) has met the link from n3 to n1.
    assert run.emits() == History([path(3, N2, N1, "1110")])
    assert run.works() == []
    assert run.ffp.current == 3 + 1

    # Right after (4, n3, n4) the join gets dp(4) and releases sp(3).
    run.receives(LINKS, link(4, N3, N4), dp(4))
    run.works()
    assert run.ffp.current is None
    assert run.ffp.again == 3 + 1
    assert run.ffp.promised == 0
    run.loop.speculate()  # it goes round again
    assert run.ffp.current == 3 + 1
    assert run.ffp.earliest == INFINITY
    assert run.emits() == History([path(4, N3, N4, "0011")])
    run.works(marks_too=False)
    assert run.emits() == History([path(4, N2, N4, "0111")])

    # Only events of time 4 circulate: sp(3) comes back at once and becomes dp(3).
    assert run.works() == [("union", 3), ("join", 3)]
    assert run.ffp.definite == 3 + 1
    assert run.ffp.promised == 1
    assert events_of(run.loop.taken()) == [dp(3)]
    run.loop.speculate()
    assert run.ffp.current == 4 + 1  # the next is sp(4)
    run.works()
    assert run.loop.merges[run.join.name].external.tolist()[1] == 4 + 1
    assert run.ffp.speculative == 3


def test_the_trace_of_probing() -> None:
    run = ByHand("probing")
    run.until_the_first_of_time_3()
    run.loop.speculate()
    assert run.ffp.current == INFINITY
    assert run.ffp.earliest == INFINITY
    run.second_of_time_3()
    assert run.ffp.earliest == 3

    # The union has dp(5) of the sources and makes it sp(5), the join dp(2) of the links: sp(2).
    assert run.works() == [("union", INFINITY - 1), ("join", 5)]
    assert run.ffp.definite == 2 + 1
    assert run.ffp.current is None
    assert events_of(run.loop.taken()) == [dp(2)]

    # FFP speculates again; as sp(∞) comes back as sp(2) once more, nothing new is definite.
    run.loop.speculate()
    assert run.ffp.current == INFINITY
    run.works()
    assert run.ffp.current is None
    assert run.ffp.promised == 1
    assert events_of(run.loop.taken()) == []
    assert run.ffp.speculative == 2


def test_hybrid_speculates_when_external_progress_has_come_to_ffp() -> None:
    # Section 5.3: ep events tell FFP of the least punctuation of both inputs.
    run = ByHand("hybrid")
    run.until_the_first_of_time_3()
    assert run.ffp.external.tolist() == [2 + 1]
    run.loop.speculate()
    assert run.ffp.current == INFINITY
    run.second_of_time_3()
    assert run.works()[-1] == ("join", 5)
    assert events_of(run.loop.taken()) == [dp(2)]
    run.loop.speculate()
    assert run.ffp.current is None  # no ep later than dp(2) has come
    run.receives(LINKS, dp(4))
    run.works()
    assert run.ffp.external.tolist() == [4 + 1]
    run.loop.speculate()
    assert run.ffp.current is None  # (3, n2, n1, 1110) has not come to FFP: it would stop at 3
    assert run.emits() == History([path(3, N2, N1, "1110")])
    run.loop.speculate()
    assert run.ffp.current == INFINITY


@pytest.mark.parametrize("method", CHOICES["loop"])
@pytest.mark.parametrize("scheduler", ["round-robin", "threads"])
def test_reachability_at_times_1_to_4_and_the_retraction_at_5_while_it_runs_free(
    scheduler: Scheduler, method: Loops
) -> None:
    given = {
        "sources": [source(1, N2), source(1, N3), Cti(6)],
        "links": [
            link(2, N3, N1),
            link(3, N1, N2),
            link(3, N2, N3),
            Cti(4),
            link(4, N3, N4),
            Retract(2, INFINITY, 5, Row(a=N3, b=N1, bit=BIT[N1])),
            Cti(6),
        ],
    }
    result = Query(figure_1()).run(given, batch=1, scheduler=scheduler, loop=method)
    events = [each for update in result.updates for each in events_of(update.batch)]
    assert events[-1] == Cti(INFINITY)
    assert found(events) == History(
        [
            path(2, N3, N1, "1010", ve=5),
            path(3, N3, N2, "1110", ve=5),
            path(3, N2, N3, "0110"),
            path(3, N2, N1, "1110", ve=5),
            path(4, N3, N4, "0011"),
            path(4, N2, N4, "0111"),
        ]
    )
