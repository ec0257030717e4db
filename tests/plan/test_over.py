from __future__ import annotations

import pytest

import driftline as dl
from driftline.plan.errors import PlanError
from driftline.plan.expressions import Column
from driftline.plan.fragments import cut
from driftline.plan.lifetimes import is_loose
from driftline.plan.needed import needed
from driftline.plan.nodes import Frame, Over, OverColumn
from driftline.plan.types import INT

TRADES = dl.stream("trades", {"symbol": "STRING", "price": "INT", "day": "INT"})


def test_it_is_drawn() -> None:
    query = TRADES.over("sum(price) AS s", "lag(price) AS l", per="symbol", by="day DESC")
    assert query.plan.tree().splitlines()[0] == (
        "sum(price) over range first to current AS s, price at 1 over rows -1 to -1 AS l "
        "per symbol by day DESC"
    )


def test_a_distance_needs_one_order() -> None:
    column = OverColumn("s", Column("price", INT), Frame("range", -1, 0), 1)
    with pytest.raises(PlanError, match="one item"):
        Over(TRADES.plan, (), (), (column,))


def test_it_is_spread_by_its_partitions() -> None:
    spread = cut(TRADES.over("sum(price) AS s", per="symbol", by="day").plan)
    assert [[key.sql() for key in each.keys] for each in spread[-1].inputs] == [["symbol"]]
    together = cut(TRADES.over("sum(price) AS s", by="day").plan)
    assert [each.keys for each in together[-1].inputs] == [()]


def test_a_group_by_its_partition_needs_no_exchange() -> None:
    query = TRADES.over("sum(price) AS s", per="symbol", by="day").group_by("symbol")
    assert len(cut(query.agg("max(s) AS m").plan)) == 1
    by_day = TRADES.over("sum(price) AS s", per="symbol", by="day").group_by("day")
    assert len(cut(by_day.agg("max(s) AS m").plan)) == 2


def test_it_reads_whole_rows_and_has_only_snapshots_to_go_by() -> None:
    plan = TRADES.over("sum(price) AS s", per="symbol", by="day").plan
    assert is_loose(plan)
    (fragment,) = cut(plan)
    assert needed(fragment.plan) == {"trades": frozenset({0, 1, 2})}
