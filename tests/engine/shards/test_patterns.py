"""Patterns and automata on shards against the local runner: partitioned by the columns of PARTITION
BY, or in one shard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.model.event import Event
from driftline.testing import streams
from tests.engine.automata.test_automaton_runs import MOVES, ROWS, TAPE, automata, spelt
from tests.engine.shards.test_loops import DRAWN, check
from tests.sql.test_match_answers import EVENTS, ORDERS, S, clauses


@st.composite
def patterns(draw: st.DrawFn) -> dl.Query:
    """A query with MATCH_RECOGNIZE over the stream s."""
    return dl.sql(f"SELECT * FROM s MATCH_RECOGNIZE ({draw(clauses(ORDERS))})", s=S)


BARE = spelt(dl.Automaton("S", ["F"], [], {"m": 0}, {"a": "1", "b": "2"}))
TRANSITIONS = dl.stream("moves", BARE.columns())
WAYS: dict[str, Callable[[dl.Automaton], dict[str, Any]]] = {
    "operator": lambda automaton: {"automaton": automaton},
    "loop": lambda automaton: {"automaton": automaton, "by": "loop"},
    "table": lambda automaton: {"automaton": BARE, "transitions": TRANSITIONS},
}


@st.composite
def runs(draw: st.DrawFn, *ways: str) -> dl.Query:
    """The runs of an automaton over the stream tape, or the complete ones, in one of some ways."""
    return TAPE.automaton(
        **WAYS[draw(st.sampled_from(ways))](spelt(draw(automata()))),
        sequence="n",
        per=draw(st.sampled_from([[], ["k"]])),
        partial=draw(st.booleans()),
    )


@settings(max_examples=40)
@given(query=patterns(), events=EVENTS, how=st.fixed_dictionaries(DRAWN))
def test_random_patterns(query: dl.Query, events: list[Event], how: dict[str, Any]) -> None:
    check(query, {"s": events}, **how)


@settings(max_examples=30)
@given(
    query=runs(*WAYS),
    tape=streams(ROWS, max_size=6),
    moves=streams(MOVES, max_size=4),
    how=st.fixed_dictionaries(DRAWN),
)
def test_random_automata(
    query: dl.Query, tape: list[Event], moves: list[Event], how: dict[str, Any]
) -> None:
    check(query, {"tape": tape, "moves": moves}, **how)
