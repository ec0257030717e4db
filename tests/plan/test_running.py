from __future__ import annotations

from random import Random
from typing import Any

import pytest

import driftline as dl
from driftline.engine.compile import compile_plan
from driftline.plan.facts import Facts
from driftline.plan.nodes import Over
from driftline.plan.running import running

S = dl.stream("s", {"ts": "BIGINT", "k": "STRING", "x": "BIGINT"}, time="ts", disorder=30)
RUNNING = S.over("sum(x) AS total", "count(*) AS n", "max(x) AS most", per="k", by="ts")


@pytest.mark.parametrize(
    ("query", "plain"),
    [
        (S.over("sum(x) AS r", by="ts", frame="ROWS 2 PRECEDING"), True),
        (S.over("sum(x) AS r", by="ts DESC"), True),
        (S.over("sum(x) AS r", by="x"), True),
        (S.over("lag(x) AS r", by="ts"), True),
        (S.over("last_value(x) AS r", by="ts"), True),
        (S.window(range=5).over("sum(x) AS r", by="ts"), True),
        (RUNNING, False),
    ],
)
def test_what_is_no_running_aggregate(query: dl.Query, plain: bool) -> None:
    assert isinstance(query.plan, Over)
    assert running(query.plan, Facts(["s"] if plain else [])) is None


@pytest.mark.parametrize("emit", ["perfect", "ordered", "eager"])
@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_it_is_the_sum_so_far(emit: str, batch: int) -> None:
    random = Random(batch)
    rows: list[dict[str, Any]] = [
        {"ts": ts // 2, "k": random.choice(["a", "b", None]), "x": random.choice([None, 1, 2, 3])}
        for ts in range(60)
    ]
    came = sorted(rows, key=lambda row: row["ts"] + random.randrange(25))
    history = RUNNING.run(s=came, batch=batch, emit=emit).history().to_pylist()
    found = sorted(
        ((each["vs"], each["ve"], *list(each.values())[2:]) for each in history), key=repr
    )
    expected = []
    for row in rows:
        values = [each["x"] for each in rows if each["k"] == row["k"] and each["ts"] <= row["ts"]]
        known = [value for value in values if value is not None]
        total, most = (sum(known), max(known)) if known else (None, None)
        answer = (row["ts"], row["k"], row["x"], total, len(values), most)
        expected.append((row["ts"], None, *answer))
    assert found == sorted(expected, key=repr)


def test_a_cti_leaves_nothing_of_rows_that_it_has_passed() -> None:
    graph = compile_plan(RUNNING.plan, lambda batch: None, inserts_only=["s"])
    assert not any(step.name == "over" for step in graph.steps)
    assert held_after(500) == held_after(2000)


def held_after(count: int) -> int:
    """How many rows are held after so many."""
    rows = [{"ts": ts, "k": "a", "x": 1} for ts in range(count)]
    *_, update = RUNNING.changes(s=rows, batch=50, keep_open=True)
    return sum(each["state_rows"] for each in update.counters.values())
