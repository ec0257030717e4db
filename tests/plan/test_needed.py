"""Which columns of its leaves a plan reads."""

from __future__ import annotations

import pytest

import driftline as dl
from driftline.plan.fragments import cut
from driftline.plan.needed import needed, passed

S = dl.stream("s", {"k": "STRING", "x": "BIGINT", "y": "BIGINT"})
T = dl.stream("t", {"k": "STRING", "z": "BIGINT", "w": "BIGINT"})


@pytest.mark.parametrize(
    ("query", "read"),
    [
        (S, {"s": {0, 1, 2}}),
        (S.select("x + 1 AS x"), {"s": {1}}),
        (S.where("y > 0").select("x"), {"s": {1, 2}}),
        (S.agg("count(*) AS n"), {"s": set()}),
        (S.group_by("k").agg("sum(x) AS x"), {"s": {0, 1}}),
        (S.group_by("k").agg("sum(x) FILTER (WHERE y > 1) AS x"), {"s": {0, 1, 2}}),
        (S.window(range=3).group_by("k").agg("count(*) AS n"), {"s": {0}}),
        (S.join(T, on="k").select("z"), {"s": {0}, "t": {0, 1}}),
        (S.join(T, "s.k = t.k AND s.x < t.w").select("s.y AS y"), {"s": {0, 1, 2}, "t": {0, 2}}),
        (S.join(T, on="k", how="semi").select("x"), {"s": {0, 1}, "t": {0}}),
        (S.select("k", "x").union(T.select("k", "w")).select("x"), {"s": {1}, "t": {2}}),
        (S.tumble(5, time="y").group_by("window_end", "k").agg("count(*) AS n"), {"s": {0, 2}}),
        (S.distinct().select("x"), {"s": {0, 1, 2}}),
        (S.top(1, by="x").select("k"), {"s": {0, 1, 2}}),
    ],
)
def test_columns(query: dl.Query, read: dict[str, set[int]]) -> None:
    found: dict[str, frozenset[int]] = {}
    for fragment in cut(query.plan):
        for name, places in needed(fragment.plan).items():
            if name in query.plan.sources():
                found[name] = found.get(name, frozenset()) | places
    assert found == read


@pytest.mark.parametrize(
    ("query", "conditions"),
    [
        (S, []),
        (S.where("x > 3"), ["(x > 3L)"]),
        (S.window(range=3).where("x > 3 AND 1 < y AND x / y > 1").select("k"),
         ["(x > 3L)", "(1L < y)"]),
        (S.where("x > 3").window(range=3).where("y = 4").distinct(), ["(x > 3L)", "(y = 4L)"]),
        (S.where("x > 3 OR y > 1"), []),
        (S.select("x + 1 AS x").where("x > 3"), []),
        (S.distinct().where("x > 3"), []),
        (S.where("x > 3").union(S), []),
    ],
)  # fmt: skip
def test_rows(query: dl.Query, conditions: list[str]) -> None:
    (fragment,) = (each for each in cut(query.plan) if each.level == 1)
    (found,) = passed(fragment.plan).values()
    assert list(map(str, found)) == conditions
