from __future__ import annotations

import pytest
from sqlglot import exp

from driftline.plan import nodes
from driftline.sql.grammar import parse_script
from driftline.sql.grouping_sets import MOST_SETS, grouping_sets
from tests.sql.declared import T, plan, pointed_at


def sets(written: str) -> list[str]:
    (select,) = parse_script(f"SELECT 1 FROM t GROUP BY {written}")
    group = select.args["group"]
    assert isinstance(group, exp.Group)
    found = grouping_sets(group)
    assert found is not None
    return ["".join(key.name for key in each) for each in found[1]]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("ROLLUP (a, b, c)", ["abc", "ab", "a", ""]),
        ("ROLLUP ((a, b), c)", ["abc", "ab", ""]),
        ("CUBE (a, b)", ["ab", "a", "b", ""]),
        ("GROUPING SETS ((a, b), (a), b, ())", ["ab", "a", "b", ""]),
        ("GROUPING SETS (ROLLUP (a, b), CUBE (c))", ["ab", "a", "", "c", ""]),
        ("a, ROLLUP (b)", ["ab", "a"]),
        ("ROLLUP (a), CUBE (b)", ["ab", "a", "b", ""]),
        ("a, b WITH ROLLUP", ["ab", "a", ""]),
        ("a, b WITH CUBE", ["ab", "a", "b", ""]),
        ("a, b GROUPING SETS ((a, b), b)", ["ab", "b"]),
    ],
)
def test_what_they_stand_for(written: str, meant: list[str]) -> None:
    assert sets(written) == meant


def test_one_grouping_is_no_set() -> None:
    (select,) = parse_script("SELECT 1 FROM t GROUP BY a, b")
    assert grouping_sets(select.args["group"]) is None


def test_the_plan_is_a_union_of_aggregates_over_the_same_rows() -> None:
    rolled = plan("SELECT k, sum(x) AS s FROM t GROUP BY ROLLUP (k)")
    aggregates = [node for node in rolled.walk() if isinstance(node, nodes.Aggregate)]
    assert [len(node.keys) for node in aggregates] == [1, 0]
    assert all(node.input == T.plan for node in aggregates)
    assert len({id(node.input) for node in aggregates}) == 1


def test_keys_without_an_aggregate() -> None:
    assert plan("SELECT k, x FROM t GROUP BY CUBE (k, x)").schema.names == ("k", "x")


MANY = ", ".join(f"x + {number}" for number in range(9))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT grouping(k) AS g FROM t GROUP BY k", "needs GROUPING SETS @ grouping"),
        ("SELECT k, grouping(x) AS g FROM t GROUP BY ROLLUP (k)", "one of the keys @ grouping"),
        ("SELECT grouping_id(x) AS g FROM t GROUP BY ROLLUP (k, x)", "all keys @ grouping_id"),
        ("SELECT k FROM t GROUP BY k GROUPING SETS ((k), (x))", "takes keys of GROUP BY @ x"),
        ("SELECT y FROM t GROUP BY ROLLUP (k)", "neither in GROUP BY @ y"),
        ("SELECT k FROM t GROUP BY ROLLUP (sum(x))", "GROUP BY takes no aggregate @ sum"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    message, place = said.split("@ ")
    told, at = pointed_at(text).split("@ ")
    assert message.strip() in told
    assert at.startswith(place)


def test_too_many_sets() -> None:
    told = pointed_at(f"SELECT count(*) AS n FROM t GROUP BY CUBE ({MANY})")
    assert f"more than {MOST_SETS} grouping sets" in told
