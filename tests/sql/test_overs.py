import pytest

from driftline.plan import nodes
from driftline.plan.nodes import Over
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


def test_functions_of_one_window_are_one_operator() -> None:
    window = "OVER (PARTITION BY k ORDER BY y)"
    text = f"SELECT k, sum(x) {window} AS s, lag(x, 2, 0) {window} AS l FROM t"
    wanted = T.over("sum(x) AS s", "lag(x, 2, 0) AS l", per="k", by="y").select("k", "s", "l")
    assert plan(text) == wanted.plan
    two = plan(f"SELECT sum(x) {window} AS s, count(*) OVER () + 1 AS n FROM t")
    assert len([node for node in two.walk() if isinstance(node, Over)]) == 2


def test_an_aggregate_of_an_aggregate_goes_over_groups() -> None:
    tree = plan("SELECT k, sum(sum(x)) OVER (ORDER BY k) AS r FROM t GROUP BY k").tree()
    assert "sum(`$0`) over range first to current AS r by k" in tree
    assert "aggregate sum(x) AS $0 by k" in tree


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
        (
            "SELECT row_number(1) OVER (ORDER BY x) FROM t",
            "row_number() takes no arguments @ row_number",
        ),
        ("SELECT rank() OVER w FROM t", "there is no WINDOW w @ rank"),
        ("SELECT lag(x) OVER () FROM t", "LAG needs an order @ lag"),
        ("SELECT lead(x) OVER (ORDER BY y ROWS 1 PRECEDING) FROM t", "no ROWS or RANGE @ lead"),
        ("SELECT lag(x, y) OVER (ORDER BY y) FROM t", "distance of LAG is a whole number @ y"),
        ("SELECT lag(DISTINCT x) OVER (ORDER BY y) FROM t", "LAG takes no DISTINCT @ lag"),
        ("SELECT lag(x, 1, array(k)) OVER (ORDER BY y) FROM t", "cannot be cast to @ array"),
        ("SELECT nth_value(x, 0) OVER (ORDER BY y) FROM t", "is 1 or more @ 0"),
        ("SELECT sum(x) OVER (RANGE 1 PRECEDING) FROM t", "ORDER BY with one item @ sum"),
        ("SELECT sum(x) OVER (ORDER BY k RANGE 1 PRECEDING) FROM t", "can be added to it @ 1"),
        ("SELECT sum(x) OVER (ORDER BY y ROWS 1.5 PRECEDING) FROM t", "a whole number @ 1.5"),
        (
            "SELECT sum(x) OVER (ORDER BY y ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING) FROM t",
            "the frame ends before it starts @ sum",
        ),
        ("SELECT sum(z) OVER (ORDER BY y) FROM t", "there is no column z @ z"),
        ("SELECT sum(k, x) OVER (ORDER BY y) FROM t", "sum takes 1 arguments @ sum"),
        ("SELECT upper(k) OVER (ORDER BY y) FROM t", "upper OVER (…) is not supported @ upper"),
        ("SELECT k FROM t WHERE rank() OVER (ORDER BY x) = 1", "cannot be in WHERE @ rank"),
        ("SELECT rank() OVER (ORDER BY x ROWS 1 PRECEDING) FROM t", "no ROWS or RANGE @ rank"),
    ],
)
def test_what_is_refused_and_where(text: str, said: str) -> None:
    message, place = said.split(" @ ")
    whole = pointed_at(text)
    assert message in whole
    assert f" @ {place}" in whole
