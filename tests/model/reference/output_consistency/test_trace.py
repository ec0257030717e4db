from __future__ import annotations

import pytest

from driftline.model.reference.output_consistency import Inbound, Trace, Work

A1, A2, B1 = Inbound("a", 1), Inbound("a", 2), Inbound("b", 1)

# a1 and b1 are joined while the join works on b1; a2 comes to nothing.
TRACE = Trace(
    [
        Work("filter", (A1,), puts=("f1",)),
        Work("join", ("f1",)),
        Work("join", (B1,), uses=("f1",), puts=("j1", "j2")),
        Work("filter", (A2,)),
        Work("count", ("j1",), puts=("c1",)),
        Work("count", ("j2",), uses=("j1",), puts=("c2",)),
    ],
    {"filter": ["join"], "join": ["count"], "aside": []},
)


def test_active_and_passive_derivation() -> None:
    assert TRACE.origins["f1"] == {A1}
    assert TRACE.origins["j1"] == TRACE.origins["c2"] == {B1}
    assert TRACE.lineage["j1"] == TRACE.lineage["c2"] == {A1, B1}
    assert TRACE.origins[A2] == TRACE.lineage[A2] == {A2}


def test_the_output_of_an_operator() -> None:
    assert TRACE.output("count") == ["c1", "c2"]
    assert TRACE.output("filter") == ["f1"]


def test_which_operators_lead_to_an_output() -> None:
    assert TRACE.ancestors("join") == {"filter", "join"}
    assert TRACE.ancestors("count") == {"filter", "join", "count"}
    assert TRACE.ancestors("aside") == {"aside"}


def test_within_a_prefix() -> None:
    assert A2.within({"a": 2})
    assert not A2.within({"a": 1, "b": 9})
    assert not B1.within({"a": 2})


def test_an_element_from_nowhere_is_refused() -> None:
    trace = Trace([Work("sum", ("batch 7",), puts=("answer",))], {})
    with pytest.raises(ValueError, match="takes 'batch 7' before any operator put it out"):
        trace.origins["answer"]
