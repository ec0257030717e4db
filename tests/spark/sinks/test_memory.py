from __future__ import annotations

import pytest

from driftline.model.time import INFINITY
from driftline.plan.errors import PlanError
from driftline.spark.sinks import Memory, Several
from tests.spark.saying import CURRENT, EVENTS, VOLUME, coalesced, volumes


def test_it_has_everything_once() -> None:
    memory, other = Memory(), Memory()
    sink = Several(memory, other)
    for each in volumes():
        sink(each)
        sink(each)
    assert coalesced(memory.history()) == coalesced(VOLUME.run(trades=EVENTS).history())
    assert memory.table().equals(other.table())
    current = memory.table(view="current").to_pylist()
    left = [row for row in current if row.pop("op") == "+" and {"op": "-", **row} not in current]
    assert CURRENT[1] in left
    assert memory.table(view="history").num_rows > memory.history().num_rows
    assert memory.final_up_to() == INFINITY


def test_what_is_not_there_is_refused() -> None:
    memory = Memory()
    with pytest.raises(PlanError, match=r"no micro-batch has come yet"):
        memory.table()
    memory(volumes()[0])
    with pytest.raises(PlanError, match=r"there is no result x; there are result"):
        memory.table("x")
