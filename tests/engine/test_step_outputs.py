"""Counters of a step: what operators hold is added up when somebody looks."""

from __future__ import annotations

import pytest

import driftline as dl
from driftline.engine.additive.sums_operator import AdditiveOperator
from driftline.engine.local import run
from driftline.engine.options import Options

ROWS = [{"t": t, "k": t % 2} for t in range(5)]


def test_what_is_held_is_added_up_only_where_somebody_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, size = [], AdditiveOperator.state_size

    def state_size(operator: AdditiveOperator) -> tuple[int, int]:
        asked.append(operator)
        return size(operator)

    monkeypatch.setattr(AdditiveOperator, "state_size", state_size)
    source = dl.stream("s", {"t": "BIGINT", "k": "BIGINT"}, time="t")
    plan = source.group_by("k").agg("count(*) AS n").plan
    held = []
    for number, step in enumerate(run(plan, {"s": ROWS}, Options(batch=1, keep_open=True))):
        if number in (1, 3):
            (counted,) = (step.counters[key] for key in step.counters if "group" in key.operator)
            held.append(counted["changes_in"])
            assert len(step.counters) == len([*step.counters])
    assert held == [2, 4]
    assert len(asked) == len(held)
