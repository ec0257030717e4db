from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.compile import BUILDERS
from driftline.engine.compile.compiler import Compiler
from driftline.engine.core.operator import Operator
from driftline.model.event import Event
from driftline.model.history import History, Lifetime, canonical_history
from driftline.model.level import Level
from driftline.model.reference import recursive_together
from driftline.model.row import Row
from driftline.model.stream import breaches
from driftline.plan import nodes
from driftline.testing import interleaved, streams
from driftline.testing.driving import drive
from tests.engine.loop.programs import PROGRAMS, Program

SIZES = st.sampled_from([1, 2, 3, 100])


def operator_of(loop: nodes.Loop) -> Operator:
    compiler = Compiler(BUILDERS, Level.EAGER, "drain", (), {})
    return compiler.step(loop).operator


def ports_of(loop: nodes.Loop) -> list[str]:
    """The stream behind each input."""
    return ["edges" if "edges" in each.sources() else "roots" for each in loop.given]


def answers(program: Program, said: list[Event]) -> dict[str, History]:
    """What a loop has emitted, by rule."""
    loop = program.loop
    names = [rule.name for rule in loop.rules]
    if len(names) == 1:
        return {names[0]: canonical_history(said)}
    found: dict[str, list[Lifetime]] = {name: [] for name in names}
    for vs, ve, row in canonical_history(said):
        name = names[int(row[nodes.RULE])]
        columns = [each.name for each in loop.rules[names.index(name)].columns]
        found[name].append(
            Lifetime(vs, ve, Row({column: row[f"{name} {column}"] for column in columns}))
        )
    return {name: History(lifetimes) for name, lifetimes in found.items()}


def check(program: Program, arrivals: list[tuple[int, Event]], size: int) -> None:
    """Hold the loop to the reference after every batch; stream 0 has the roots, 1 the edges."""
    loop = program.loop
    streams_of = [("roots", "edges").index(name) for name in ports_of(loop)]
    schemas = [each.schema.arrow for each in loop.given]
    fed = [
        (port, event)
        for stream, event in arrivals
        for port, of in enumerate(streams_of)
        if of == stream
    ]
    for came, said in drive(operator_of(loop), fed, schemas, size):
        by_port = [[event for at, event in came if at == port] for port in range(len(streams_of))]
        so_far = {of: canonical_history(by_port[port]) for port, of in enumerate(streams_of)}
        if any(
            by_port[port] != by_port[streams_of.index(of)] for port, of in enumerate(streams_of)
        ):
            continue  # an event of a stream that two inputs read has come to one of them
        expected = recursive_together(
            program.bodies, so_far.get(0, History()), so_far.get(1, History())
        )
        for name, found in answers(program, said).items():
            assert found.same_snapshots(expected[name]), (name, found.coalesced(), expected[name])
        assert not breaches(said)


@st.composite
def graphs(draw: st.DrawFn, acyclic: bool) -> list[tuple[int, Event]]:
    """Roots and edges over few nodes: most edges are part of circles, some of rings."""
    numbers = st.integers(0, 3)
    pair = {"a": numbers, "b": numbers}
    roots = streams({"n": numbers}, max_size=3)
    edges = streams(pair, max_size=draw(st.sampled_from([4, 8])))
    if acyclic:
        edges = edges.map(lambda events: [each for each in map(_upwards, events) if each])
    return draw(interleaved(roots, edges))


def _upwards(event: Event) -> Event | None:
    row = getattr(event, "row", None)
    return None if row is not None and row["a"] >= row["b"] else event


@pytest.mark.parametrize("name", PROGRAMS)
@given(st.data())
def test_a_loop_is_its_reference_after_every_batch(name: str, data: st.DataObject) -> None:
    program = PROGRAMS[name]
    arrivals = data.draw(graphs(program.acyclic))
    check(program, arrivals, data.draw(SIZES))
