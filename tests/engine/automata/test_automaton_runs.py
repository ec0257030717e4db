"""The runs of automata: the operator, and the loop, are held to the reference after every batch."""

from __future__ import annotations

from typing import Any, get_args

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.automata import By
from driftline.engine.automata.automaton_runs import AutomatonRuns
from driftline.model.automaton import Automaton, Transition
from driftline.model.event import Event
from driftline.model.history import History, Lifetime, canonical_history
from driftline.model.reference import automaton_runs
from driftline.model.row import Row
from driftline.model.stream import breaches
from driftline.testing.driving import drive
from driftline.testing.streams import interleaved, streams
from tests.build import cti, history, insert, retract

STATES, SYMBOLS = ("S", "P", "Q", "F"), ("a", "b")
ROWS = {
    "k": st.sampled_from(["x", "y"]),
    "n": st.integers(1, 5),
    "on": st.sampled_from([1, 2, 3]),
}
INPUT = pa.schema([("k", pa.string()), ("n", pa.int64()), ("on", pa.int64())])
OUTPUT = pa.schema(
    [
        ("k", pa.string()),
        ("begins", pa.int64()),
        ("ends", pa.int64()),
        ("state", pa.string()),
        ("m", pa.int64()),
    ]
)


@st.composite
def automata(draw: st.DrawFn) -> Automaton:
    bound = st.one_of(st.just({}), st.builds(lambda m: {"m": m}, st.integers(-1, 2)))
    state = st.sampled_from(STATES)
    moves = st.builds(Transition, state, state, st.sampled_from(SYMBOLS), bound, bound, bound)
    return Automaton("S", ["F"], draw(st.lists(moves, max_size=6)), {"m": 0}, {"a": "1", "b": "2"})


def bits(row: Row) -> list[str]:
    return [symbol for place, symbol in enumerate(SYMBOLS) if row["on"] >> place & 1]


def wanted(runs: History, automaton: Automaton, *, partial: bool) -> History:
    states = STATES if partial else automaton.finals
    return History(each for each in runs if each.row["state"] in states)


@given(automata(), streams(ROWS, max_size=7), st.booleans(), st.sampled_from([1, 3, 100]))
def test_the_operator_equals_its_reference(
    automaton: Automaton, events: list[Event], partial: bool, size: int
) -> None:
    operator = AutomatonRuns(OUTPUT, 1, automaton, partial=partial)
    for came, emitted in drive(operator, [(0, event) for event in events], [INPUT], size):
        runs = automaton_runs(canonical_history(e for _, e in came), automaton, bits, "n", ["k"])
        assert breaches(emitted) == []
        assert canonical_history(emitted) == wanted(runs, automaton, partial=partial)


def test_a_late_row_joins_two_runs_and_a_retraction_parts_them() -> None:
    moves = [Transition("S", "P", "a"), Transition("P", "P", "a"), Transition("P", "F", "b")]
    operator = AutomatonRuns(
        pa.schema([("begins", pa.int64()), ("ends", pa.int64()), ("state", pa.string())]),
        0,
        Automaton("S", ["F"], moves, symbols={"a": "1", "b": "2"}),
        partial=False,
    )
    arrivals: list[Event] = [
        insert(1, 31, {"n": 1, "on": 1}),
        insert(3, 33, {"n": 3, "on": 2}),
        insert(2, 32, {"n": 2, "on": 1}),
        retract(2, 32, 20, {"n": 2, "on": 1}),
        retract(2, 20, 2, {"n": 2, "on": 1}),
        cti(40),
    ]
    schema = pa.schema([("n", pa.int64()), ("on", pa.int64())])
    found = [
        canonical_history(emitted)
        for _, emitted in drive(operator, [(0, each) for each in arrivals], [schema], 1)
    ]
    whole = {"begins": 1, "ends": 3, "state": "F"}
    later = {"begins": 2, "ends": 3, "state": "F"}
    assert found == [
        history(),
        history(),
        history((3, 31, whole), (3, 32, later)),
        history((3, 20, whole), (3, 20, later)),
        history(),
        history(),
    ]
    assert operator.state_size()[0] == 0


TAPE = dl.stream("tape", {"k": "STRING", "n": "INT", "on": "INT"})


def spelt(automaton: Automaton) -> Automaton:
    """The automaton with conditions for the symbols of the tape."""
    conditions = {"a": "`on` & 1 = 1", "b": "`on` & 2 = 2"}
    return Automaton(
        automaton.start, automaton.finals, automaton.transitions, automaton.registers, conditions
    )


@settings(max_examples=20)
@given(automata(), streams(ROWS, max_size=6), st.booleans(), st.integers(1, 4))
def test_operator_and_loop_find_the_same_runs(
    automaton: Automaton, events: list[Event], partial: bool, size: int
) -> None:
    runs = automaton_runs(canonical_history(events), automaton, bits, "n", ["k"])
    for by in get_args(By):
        query = TAPE.automaton(spelt(automaton), sequence="n", per="k", partial=partial, by=by)
        found = query.run(tape=events, batch=size).history().to_pylist()
        assert History(map(lifetime, found)).same_snapshots(
            wanted(runs, automaton, partial=partial)
        )


def lifetime(row: dict[str, Any]) -> Lifetime:
    vs, ve, *_ = row.values()
    return Lifetime(vs, dl.INFINITY if ve is None else ve, Row(dict(list(row.items())[2:])))


MOVES = {
    "source": st.sampled_from(STATES),
    "target": st.sampled_from(STATES),
    "symbol": st.sampled_from(SYMBOLS),
    "add_m": st.sampled_from([None, 1]),
    "at_least_m": st.sampled_from([None, 1]),
    "at_most_m": st.sampled_from([None, 0]),
}
LETTERS = {"n": st.integers(1, 4), "letter": st.sampled_from(SYMBOLS)}


@settings(max_examples=20)
@given(interleaved(streams(LETTERS, max_size=5), streams(MOVES, max_size=4)))
def test_transitions_come_and_go(arrivals: list[tuple[int, Event]]) -> None:
    tape = dl.stream("tape", {"n": "INT", "letter": "STRING"})
    bare = Automaton("S", ["F"], [], {"m": 0})
    moves = dl.stream("moves", bare.columns())
    query = tape.automaton(bare, sequence="n", symbol="letter", partial=True, transitions=moves)
    events = {name: [e for port, e in arrivals if port == p] for p, name in enumerate(INPUTS)}
    found = query.run(events).history().to_pylist()
    rows, table = (canonical_history(events[name]) for name in INPUTS)
    for t in {*rows.endpoints, *table.endpoints} - {dl.INFINITY}:
        now = Automaton("S", ["F"], [move(each.row) for each in table.alive(t)], {"m": 0})
        runs = automaton_runs(History(rows.alive(t)), now, lambda row: [row["letter"]], "n")
        alive = [r for r in found if r["vs"] <= t and (r["ve"] is None or t < r["ve"])]
        assert sorted(tuple(r.values())[2:] for r in alive) == sorted(
            tuple(each.row.values()) for each in runs
        )


INPUTS = ("tape", "moves")


def move(row: Row) -> Transition:
    def bound(name: str) -> dict[str, int]:
        return {} if row[name] is None else {"m": row[name]}

    return Transition(
        row["source"], row["target"], row["symbol"],
        bound("add_m"), bound("at_least_m"), bound("at_most_m"),
    )  # fmt: skip


def test_a_window_bounds_what_is_held() -> None:
    letters = dl.stream("tape", {"n": "INT", "letter": "STRING"}, time="n", disorder=0)
    moves = [Transition("S", "S", "a"), Transition("S", "F", "b")]
    query = letters.window(range=10).automaton(
        Automaton("S", ["F"], moves), sequence="n", symbol="letter", partial=True
    )
    rows = [{"n": n, "letter": "aab"[n % 3]} for n in range(2_000)]
    held = [
        counted["state_rows"]
        for update in query.changes(tape=rows, batch=100)
        for name, counted in update.counters.items()
        if "automaton" in name
    ]
    assert 0 < max(held) < 200


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Transition("", "b", "x"), "the source of a transition is a text"),
        (lambda: Automaton("S", "F", []), "the final states are a list"),
        (lambda: Automaton("S", ["F"], [("a", "b", "c")]), "transitions are a list"),  # type: ignore[list-item]
        (lambda: Automaton("S", [], [], {"state": 1}), "a register cannot be called state"),
        (lambda: Automaton("S", [], [Transition("S", "F", "x", {"m": 1})]), "the register m"),
        (lambda: Automaton("S", [], [Transition("S", "F", "x")], symbols={"y": "1=1"}), "is on x"),
        (lambda: Automaton("S", [], [], {"m": 1.5}), "registers are whole numbers"),  # type: ignore[dict-item]
    ],
)
def test_what_is_no_automaton_is_refused(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sequence": "n"}, "symbol names the column"),
        ({"sequence": "letter", "symbol": "letter"}, "integers, and letter is a STRING"),
        ({"sequence": "n", "symbol": "nope"}, "nope"),
        ({"sequence": "n", "symbol": "letter", "per": "nope"}, "no column nope"),
        ({"sequence": "n", "symbol": "letter", "by": "magic"}, "magic"),
        ({"sequence": "n", "symbol": "letter", "transitions": TAPE}, "no column source"),
    ],
)
def test_queries_that_cannot_be_run(options: dict[str, object], message: str) -> None:
    tape = dl.stream("tape", {"n": "INT", "letter": "STRING"})
    automaton = Automaton("S", ["F"], [Transition("S", "F", "a")])
    with pytest.raises(ValueError, match=message):
        tape.automaton(automaton, **options)  # type: ignore[arg-type]
