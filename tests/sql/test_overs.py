import pytest

from driftline.plan import nodes
from tests.sql.declared import T, plan, pointed_at


@pytest.mark.parametrize("method", ["row_number", "rank", "dense_rank"])
def test_ranks(method: nodes.RankMethod) -> None:
    text = f"SELECT *, {method}() OVER (PARTITION BY k ORDER BY x DESC) AS rn FROM t"
    wanted = T.rank("x DESC", per="k", method=method, name="rn").select("k", "x", "y", "rn")
    assert plan(text) == wanted.plan


@pytest.mark.parametrize("condition", ["rn <= 3", "rn < 4", "3 >= rn", "4 > rn AND rn <= 9"])
def test_a_filter_on_the_rank_is_its_limit(condition: str) -> None:
    inner = "SELECT *, row_number() OVER (PARTITION BY k ORDER BY x) AS rn FROM t"
    top = plan(f"SELECT k, x FROM ({inner}) WHERE {condition}")
    [rank] = [node for node in top.walk() if isinstance(node, nodes.Rank)]
    assert rank.limit == 3
    assert not any(isinstance(node, nodes.Select) for node in top.walk())


def test_the_first_of_each() -> None:
    inner = "SELECT k, rank() OVER (ORDER BY x) AS rn FROM t"
    first = plan(f"SELECT k FROM ({inner}) AS q WHERE q.rn = 1 AND k <> 'a'")
    [rank] = [node for node in first.walk() if isinstance(node, nodes.Rank)]
    assert rank.limit == 1
    assert "select (k <> 'a')" in first.tree()


@pytest.mark.parametrize("condition", ["rn >= 3", "rn = 2", "rn + 1 < 4", "rn <= x", "rn < 1"])
def test_other_filters_stay(condition: str) -> None:
    inner = "SELECT *, row_number() OVER (ORDER BY x) AS rn FROM t"
    filtered = plan(f"SELECT k FROM ({inner}) WHERE {condition}")
    [rank] = [node for node in filtered.walk() if isinstance(node, nodes.Rank)]
    assert rank.limit is None


def test_over_groups_in_expressions_and_by_name() -> None:
    tree = plan("SELECT k, 2 * rank() OVER (ORDER BY sum(x)) AS r FROM t GROUP BY k").tree()
    assert "rank by `$0`" in tree
    assert "aggregate sum(x) AS $0 by k" in tree
    named = "SELECT rank() OVER w AS a, dense_rank() OVER w AS b FROM t WINDOW w AS (ORDER BY x)"
    assert plan(named).schema.names == ("a", "b")
    twice = plan("SELECT rank() OVER (ORDER BY x) AS a, rank() OVER (ORDER BY x) + 1 AS b FROM t")
    assert len([node for node in twice.walk() if isinstance(node, nodes.Rank)]) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT row_number() OVER () FROM t", "row_number needs an order @ row_number"),
        ("SELECT rank(1) OVER (ORDER BY x) FROM t", "rank() takes no arguments @ rank"),
        ("SELECT rank() OVER w FROM t", "there is no WINDOW w @ rank"),
        ("SELECT lag(x) OVER (ORDER BY y) FROM t", "LAG OVER (…) is not supported yet @ lag"),
        ("SELECT sum(x) OVER (ORDER BY y) FROM t", "an aggregate OVER (…) is not supported @ sum"),
        ("SELECT ntile(2) OVER (ORDER BY y) FROM t", "ntile OVER (…) is not supported @ ntile"),
        ("SELECT k FROM t WHERE rank() OVER (ORDER BY x) = 1", "cannot be in WHERE @ rank"),
        ("SELECT rank() OVER (ORDER BY x ROWS 1 PRECEDING) FROM t", "no ROWS or RANGE @ rank"),
    ],
)
def test_what_is_refused_and_where(text: str, said: str) -> None:
    message, place = said.split(" @ ")
    whole = pointed_at(text)
    assert message in whole
    assert f" @ {place}" in whole
