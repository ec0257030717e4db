"""Heartbeats inside a plan like the paper's Figure 5: O1 joins S1 and S2, O2 its answer with S3."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

import driftline as dl
from driftline.plan.choices import Heartbeat
from driftline.plan.errors import PlanError

COLUMNS = {"k": "BIGINT", "ts": "BIGINT"}
S1, S2, S3 = (
    dl.stream(f"s{n}", COLUMNS, time="ts", disorder=0).window(range=50) for n in (1, 2, 3)
)
FIRST = S1.alias("a").join(S2.alias("b"), "a.k = b.k").select("a.k AS k", "a.ts AS x", "b.ts AS y")
PLAN = FIRST.alias("o").join(S3.alias("c"), "o.k = c.k").select("x", "y", "c.ts AS z")
LEVELS: tuple[Heartbeat, ...] = ("source", "operator", "memory", "query")
BATCH = 10
LAG = 150


def rows(behind: int) -> Iterator[list[dict[str, int]]]:
    """Batches of one stream, whose time is so far behind that of the first."""
    for first in range(0, 600, BATCH):
        yield [{"k": n % 2, "ts": n - behind} for n in range(first, first + BATCH)]


def inputs() -> dict[str, object]:
    """S1 and S2 go together, S3 is far behind."""
    behind = {"s1": 0, "s2": 1, "s3": LAG}
    return {name: (row for part in rows(lag) for row in part) for name, lag in behind.items()}


@cache
def measured(heartbeat: Heartbeat) -> tuple[int, int, list[tuple[object, ...]]]:
    """The most rows that waited in Align, and that the operators held; and the answer."""
    waited, held = 0, 0
    table = dl.Result(PLAN.schema, snapshots_only=False)
    for update in PLAN.changes(inputs(), batch=BATCH, block="inf", heartbeat=heartbeat):
        table.add(update)
        counters = update.counters
        waited = max(waited, sum(c["state_rows"] for n, c in counters.items() if "align" in n))
        held = max(held, sum(c["state_rows"] for n, c in counters.items() if "join" in n))
    return waited, held, sorted(tuple(row.values()) for row in table.history().to_pylist())


def test_they_give_the_same_answer() -> None:
    answers = [measured(level)[2] for level in LEVELS]
    assert answers[0]
    assert all(answer == answers[0] for answer in answers)


def test_who_waits_where() -> None:
    waited, held, _ = zip(*(measured(level) for level in LEVELS), strict=True)
    source, operator, memory, query = range(4)
    # One heartbeat for all: S1 and S2 wait in front, for S3.
    assert waited[query] >= 2 * LAG - BATCH
    # One for each operator: O1 works at once, and its answers wait in O2, which are many.
    assert waited[operator] <= 2 * BATCH
    assert held[operator] > 2 * held[query]
    # O1 gives more than it takes: with an eye on memory it waits, too.
    assert held[memory] < held[operator]
    assert waited[memory] > waited[operator]
    assert waited[source] <= waited[operator]


def test_a_level_that_does_not_exist() -> None:
    with pytest.raises(PlanError, match="heartbeat is source, operator, memory or query"):
        PLAN.run(inputs(), heartbeat="plan")
