from __future__ import annotations

import pytest

import driftline as dl
from driftline.plan import nodes
from driftline.plan.lifetimes import Coalescing, is_loose, only_grows

S = dl.stream("s", {"k": "STRING", "x": "BIGINT"})
COUNTS = S.group_by("k").agg("count(*) AS x")


def coalesced(query: dl.Query) -> list[str]:
    plan = Coalescing().of(query.plan)
    return [node.label() for node in plan.walk() if isinstance(node, nodes.Coalesce)]


@pytest.mark.parametrize(
    ("query", "loose"),
    [
        (S.where("x > 0").select("k").union(S.select("k")), False),
        (S.join(S.alias("t"), "s.k = t.k"), False),
        (S.join(S.alias("t"), "s.k = t.k", "left"), True),
        (S.join(S, on="k", how="semi"), True),
        (S.distinct().where("x > 0"), True),
        (COUNTS.union(S), True),
        (COUNTS.window(range=3), False),
        (COUNTS.window(start="vs", duration="ve - vs + 1"), True),
        (S.window(start="vs", duration="ve - vs + 1"), False),
        (S.tumble(5), False),
        (COUNTS.tumble(5), True),
    ],
)
def test_what_has_lifetimes_of_its_own(query: dl.Query, loose: bool) -> None:
    assert is_loose(query.plan) == loose


@pytest.mark.parametrize(
    "query",
    [COUNTS.tumble(5), COUNTS.window(start="vs", duration="ve - vs"), COUNTS.window(range=3)],
)
def test_coalescing_does_not_change_what_is_loose(query: dl.Query) -> None:
    assert is_loose(Coalescing().of(query.plan)) == is_loose(query.plan)


@pytest.mark.parametrize(
    ("query", "inserted"),
    [
        (S.window(range=3), []),
        (COUNTS.window(range=3), ["starts"]),
        (COUNTS.window(range=4, slide=2).window(range="inf"), ["starts"]),
        (COUNTS.window(start="ve", duration=1), ["ends"]),
        (COUNTS.window(start="vs", duration="ve - vs"), ["coalesce"]),
        (COUNTS.tumble(5), ["coalesce"]),
        (COUNTS.tumble(5).window(range=3), ["starts", "coalesce"]),
        (COUNTS.group_by("k").agg("max(x) AS x"), []),
        (COUNTS.group_by("k").agg("last(x) AS x"), ["coalesce"]),
        (COUNTS.alias("c").join(S.alias("t"), "c.k = t.k").window(range=2), ["starts"]),
    ],
)
def test_coalesce_is_put_where_lifetimes_matter(query: dl.Query, inserted: list[str]) -> None:
    assert coalesced(query) == inserted


def test_a_shared_node_stays_shared_and_a_second_pass_changes_nothing() -> None:
    view = COUNTS.window(range=3)
    plan = Coalescing().of(view.union(view).plan)
    left, right = plan.inputs
    assert left is right
    assert Coalescing().of(plan) is plan


@pytest.mark.parametrize(
    ("query", "grows"),
    [
        (S.where("x > 0").window(range=3).select("k"), True),
        (S.tumble(5).union(S.tumble(5)), True),
        (S.join(S.alias("t"), "s.k = t.k"), True),
        (S.join(S.alias("t"), "s.k = t.k", "left"), False),
        (COUNTS, False),
        (COUNTS.window(range=3), False),
    ],
)
def test_what_only_grows(query: dl.Query, grows: bool) -> None:
    assert only_grows(query.plan, {"s"}) == grows
    assert not only_grows(query.plan, set())
