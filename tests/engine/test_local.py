"""Several queries over the same inputs, as one graph."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import driftline as dl
from driftline.engine.core.plain import events_of
from driftline.engine.local import run, run_all
from driftline.engine.options import Options
from driftline.engine.plan_sources import in_order_of_work, sources_of
from driftline.plan.errors import PlanError

S = dl.stream("s", {"k": "STRING", "x": "INT"})
T = dl.stream("t", {"k": "STRING", "x": "INT"})
TOTALS = S.group_by("k").agg("sum(x) AS x")
EVENTS = [dl.Insert(t, dl.INFINITY, dl.Row(k=k, x=t)) for t, k in ((1, "a"), (4, "b"), (2, "a"))]


def test_each_says_what_it_says_alone_after_every_batch() -> None:
    queries = {"totals": TOTALS, "big": TOTALS.where("x > 2"), "all": S}
    options = Options(batch=1)
    alone = {name: list(run(each.plan, {"s": EVENTS}, options)) for name, each in queries.items()}
    plans = {name: each.plan for name, each in queries.items()}
    together = list(run_all(plans, {"s": EVENTS}, options))
    for name in queries:
        assert [events_of(step.batches[name]) for step in together] == [
            events_of(step.batch) for step in alone[name]
        ]


def test_what_they_share_is_run_once() -> None:
    plans = {"one": TOTALS.where("x > 1").plan, "other": TOTALS.where("x > 2").plan}
    [*_, last] = run_all(plans, {"s": EVENTS}, Options())
    assert len([name for name in last.counters if "group by" in name.operator]) == 1


def test_the_streams_of_several_plans() -> None:
    assert list(sources_of([S.plan, S.join(T, "s.k = t.k").plan])) == ["s", "t"]
    other = dl.stream("s", {"k": "INT"})
    with pytest.raises(PlanError, match="two definitions"):
        sources_of([S.plan, other.plan])


def test_of_an_as_of_join_the_right_side_comes_first_so_that_nothing_is_corrected_at_once() -> None:
    left, right = (
        dl.stream(name, {"k": "STRING", "x": "BIGINT"}, time="x", disorder=0) for name in "lr"
    )
    plan = left.as_of(right, "l.k = r.k AND l.x >= r.x").select("l.x AS x", "r.x AS at").plan
    assert in_order_of_work([plan, S.join(T, "s.k = t.k").plan]) == ["r", "l", "s", "t"]
    rows = {
        name: [{"k": "a", "x": x} for x in times]
        for name, times in zip("lr", ((1, 4, 5, 9), (0, 3, 5, 8)), strict=True)
    }
    [*_, last] = outputs = list(run(plan, rows, Options(batch=2)))
    found = [each for step in outputs for each in events_of(step.batch)]
    assert [(each.vs, each.row["at"]) for each in found if isinstance(each, dl.Insert)] == [
        (1, 0),
        (4, 3),
        (5, 5),
        (9, 8),
    ]
    (joined,) = (each for name, each in last.counters.items() if "as-of" in name.operator)
    assert (joined["inserts_out"], joined["retracts_out"]) == (4, 0)


def test_missing_and_unknown_inputs() -> None:
    with pytest.raises(PlanError, match="no input was given"):
        list(run_all({"a": S.plan}, {}, Options()))
    with pytest.raises(PlanError, match="reads only s"):
        list(run_all({"a": S.plan}, {"s": EVENTS, "t": EVENTS}, Options()))


def test_reading_ahead_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftline.engine.local.READS_AHEAD_FROM", 0)
    pq.write_table(pa.table({"t": [3, 1, 4, 1, 5, 9, 2, 6], "k": list("abababab")}), tmp_path / "r")
    path = (tmp_path / "r").rename(tmp_path / "r.parquet")
    late = dl.stream("r", {"t": "INT", "k": "STRING"}, time="t", disorder=4)
    plan = late.window(range=3).group_by("k").agg("count(*) AS n").plan
    steps = [
        [
            (events_of(step.batch), dict(step.counters), step.dead.keys())
            for step in run(plan, {"r": path}, Options(batch=2, reads_ahead=ahead))
        ]
        for ahead in (False, True)
    ]
    assert steps[0] == steps[1]
    assert any(dead for _, _, dead in steps[0])
