from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from heapq import heapify, heappop, heappush
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.compile.loops import rows_may_go
from driftline.engine.core.batch import Batch
from driftline.engine.loop.loop import Loop
from driftline.model.event import Cti, Event, Insert, Retract
from driftline.model.row import Row
from driftline.model.time import INFINITY
from driftline.testing import interleaved, streams
from driftline.testing.driving import batch_of
from tests.engine.loop.selections import OF_BOTH, SELECTIONS, labels
from tests.engine.loop.test_loop import check, operator_of, ports_of

NODES, WEIGHTS = st.integers(0, 3), st.integers(0, 3)
SIZES = st.sampled_from([1, 2, 3, 100])


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "STRING": st.sampled_from(["", "a", "B", "more than eight letters", "ä", None]),
    "DOUBLE": st.sampled_from([float("nan"), -0.0, 0.0, -7.5, float("inf"), None]),
    "DECIMAL(30, 2)": st.sampled_from([Decimal("-1.50"), Decimal("1e27"), Decimal(0), None]),
    "DECIMAL(9, 2)": st.sampled_from([Decimal("-1.50"), Decimal(7), None]),
    "DATE": st.sampled_from([date(1969, 12, 31), date(2024, 2, 29), None]),
    "TIMESTAMP": st.sampled_from(
        [datetime(1969, 12, 31, tzinfo=UTC), datetime(2024, 2, 29, 1, tzinfo=UTC)]
    ),
    "BOOLEAN": st.sampled_from([False, True, None]),
    "BIGINT": st.sampled_from([2**63 - 1, -(2**63), 0, None]),
}


@st.composite
def weighted(draw: st.DrawFn, /, **roots: st.SearchStrategy[Any]) -> list[tuple[int, Event]]:
    """Roots and edges with weights over few nodes: most edges are part of circles."""
    edges = {"a": NODES, "b": NODES, "c": WEIGHTS}
    count = draw(st.sampled_from([4, 8]))
    return draw(interleaved(streams(roots, max_size=3), streams(edges, max_size=count)))


@pytest.mark.parametrize("name", SELECTIONS)
@settings(max_examples=40)
@given(st.data(), SIZES)
def test_min_and_max_in_a_loop_are_the_reference_after_every_batch(
    name: str, data: st.DataObject, size: int
) -> None:
    program = SELECTIONS[name]
    columns = [each.name for each in program.rules[0].columns]
    arrivals = data.draw(weighted(**dict.fromkeys(columns, NODES)))
    check(program, arrivals, size)


@pytest.mark.parametrize("kind", VALUES)
@settings(max_examples=20)
@given(st.data(), SIZES, st.sampled_from(["min", "max"]))
def test_values_of_all_types_and_nulls(
    kind: str, data: st.DataObject, size: int, function: str
) -> None:
    check(labels(kind, function), data.draw(weighted(n=NODES, c=VALUES[kind])), size)


#   1 → 2 ⇄ 3, and 1 is the only root
CIRCLE = [(1, 2, 1), (2, 3, 1), (3, 2, 1)]


@pytest.mark.parametrize("name", ["of the step", "of both", "twice"])
def test_a_circle_whose_only_root_goes_dissolves(name: str) -> None:
    edges = [(1, Insert(0, INFINITY, Row(a=a, b=b, c=c))) for a, b, c in CIRCLE]
    arrivals: list[tuple[int, Event]] = [(0, Insert(0, INFINITY, Row(n=1, c=0))), *edges]
    arrivals += [(0, Retract(0, INFINITY, 5, Row(n=1, c=0))), (1, Cti(3)), (0, Cti(3))]
    arrivals += [(0, Retract(0, 5, 3, Row(n=1, c=0))), (0, Insert(4, 9, Row(n=3, c=7)))]
    for size in (1, 3, 100):
        check(SELECTIONS[name], arrivals, size)


@pytest.mark.parametrize(
    ("name", "stays"),
    [("of both", True), ("near", True), ("widest", True), ("of the step", False), ("twice", False)],
)
def test_worse_rows_stay_where_only_the_best_goes_out(name: str, stays: bool) -> None:
    assert rows_may_go(SELECTIONS[name].loop) == (not stays)


def test_a_better_value_takes_nothing_back_inside_the_loop() -> None:
    """A way of two edges is better than the one edge that is found first; its row goes out once,
    and what it leads to is not retracted on its way."""
    loop = OF_BOTH.loop
    operator = operator_of(loop)
    assert isinstance(operator, Loop)
    ports = ports_of(loop)
    rows: dict[str, list[Event]] = {
        "roots": [Insert(0, INFINITY, Row(n=0, c=0))],
        "edges": [
            Insert(0, INFINITY, Row(a=a, b=b, c=c)) for a, b, c in [(0, 2, 9), (0, 1, 1), (1, 2, 1)]
        ],
    }
    emitted = [
        operator.receive(port, batch_of(rows[name], loop.given[port].schema.arrow))
        for port, name in enumerate(ports)
    ]
    assert best_at(emitted, 5) == {0: 0, 1: 1, 2: 2}
    assert all(step.operator.counters.retracts_out == 0 for step in operator.graph.steps)
    assert (emitted[-1].weight == 1).all()


def distances(roots: dict[int, int], edges: dict[tuple[int, int], int]) -> dict[int, int]:
    """Dijkstra's algorithm."""
    onwards: dict[int, list[tuple[int, int]]] = {}
    for (a, b), cost in edges.items():
        onwards.setdefault(a, []).append((b, cost))
    found: dict[int, int] = {}
    waiting = [(cost, n) for n, cost in roots.items()]
    heapify(waiting)
    while waiting:
        cost, n = heappop(waiting)
        if n in found:
            continue
        found[n] = cost
        for b, more in onwards.get(n, ()):
            heappush(waiting, (cost + more, b))
    return found


@pytest.mark.parametrize("name", ["of the step", "of both"])
def test_thousands_of_nodes_against_dijkstra(name: str) -> None:
    """Edges are alive for a while; some are taken back, some come late. After every batch the
    distances are right at all times that are looked at."""
    random, nodes, length = Random(7), 3_000, 40
    program = SELECTIONS[name]
    loop = program.loop
    ports = [("roots", "edges").index(each) for each in ports_of(loop)]
    operator = operator_of(loop)
    schemas = [each.schema.arrow for each in loop.given]
    batches: list[tuple[int, list[Event]]] = [
        (0, [Insert(0, INFINITY, Row(n=n, c=n)) for n in range(3)])
    ]
    alive: list[list[tuple[int, int, int, int, int]]] = []  # after each batch: a, b, cost, vs, ve
    held: list[tuple[int, int, int, int, int]] = []
    for _ in range(4):
        changes: list[Event] = []
        for _ in range(nodes):
            vs = random.randrange(length)
            ve = random.choice([INFINITY, vs + random.randint(5, length)])
            a, b, cost = random.randrange(nodes), random.randrange(nodes), random.randint(0, 9)
            held.append((a, b, cost, vs, ve))
            changes.append(Insert(vs, ve, Row(a=a, b=b, c=cost)))
        random.shuffle(held)
        gone, held = held[: nodes // 3], held[nodes // 3 :]
        changes += [Retract(vs, ve, vs, Row(a=a, b=b, c=cost)) for a, b, cost, vs, ve in gone]
        batches.append((1, changes))
        alive.append(list(held))
    emitted: list[Batch] = []
    for number, (stream, events) in enumerate(batches):
        port = ports.index(stream)
        emitted.append(operator.receive(port, batch_of(events, schemas[port])))
        for t in (0, 17, length, 3 * length) if stream else ():
            edges: dict[tuple[int, int], int] = {}
            for a, b, cost, vs, ve in alive[number - 1]:
                if vs <= t < ve:
                    edges[a, b] = min(cost, edges.get((a, b), cost))
            assert best_at(emitted, t) == distances({n: n for n in range(3)}, edges)


def best_at(emitted: list[Batch], t: int) -> dict[int, int]:
    """The least cost of each node that is alive at a time."""
    there: Counter[tuple[int, int]] = Counter()
    for batch in emitted:
        rows = zip(*(column.to_pylist() for column in batch.payload.columns), strict=True)
        times = zip(batch.vs.tolist(), batch.ve.tolist(), batch.weight.tolist(), rows, strict=True)
        for vs, ve, weight, row in times:
            if vs <= t < ve:
                there[row] += weight
    found: dict[int, int] = {}
    for (n, cost), count in there.items():
        assert count in (0, 1)
        if count:
            found[n] = min(cost, found.get(n, cost))
    return found


def test_a_group_of_texts_that_change_for_ever_is_held_in_bounds() -> None:
    """Values that do not fit a word are dropped when no group has them any more."""
    loop = labels("STRING", "min").loop
    operator = operator_of(loop)
    sizes = []
    for time in range(0, 6_000, 100):
        rows: list[Event] = [
            Insert(t, t + 50, Row(n=t % 7, c=f"label {t}")) for t in range(time, time + 100)
        ]
        for port, name in enumerate(ports_of(loop)):
            own = [*rows, Cti(time)] if name == "roots" else [Cti(time)]
            operator.receive(port, batch_of(own, loop.given[port].schema.arrow))
        sizes.append(operator.state_size()[1])
    assert max(sizes[30:]) <= 1.5 * max(sizes[:30])


def test_what_came_over_a_wire_is_read_only() -> None:
    loop = labels("BIGINT", "min").loop
    operator, port = operator_of(loop), ports_of(loop).index("roots")
    rows: list[Event] = [Insert(t, t + 5, Row(n=0, c=t)) for t in range(30)]
    batch = batch_of(rows, loop.given[port].schema.arrow)
    for numbers in (batch.vs, batch.ve, batch.weight):
        numbers.flags.writeable = False
    emitted = [operator.receive(port, batch)]
    assert [best_at(emitted, t) for t in (0, 3, 20, 33)] == [{0: 0}, {0: 0}, {0: 16}, {0: 29}]
