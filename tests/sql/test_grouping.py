import pytest

import driftline as dl
from driftline.plan import nodes
from tests.sql.declared import T, plan


def test_an_aggregate_that_is_written_twice_is_computed_once() -> None:
    grouped = plan("SELECT sum(x) AS a, sum(x) + 1 AS b FROM t HAVING sum(x) > 0")
    [aggregate] = [node for node in grouped.walk() if isinstance(node, nodes.Aggregate)]
    assert len(aggregate.aggregates) == 1


def test_a_key_inside_an_aggregate_is_a_column_of_the_rows() -> None:
    grouped = plan("SELECT x AS a, sum(x) AS s FROM t GROUP BY x")
    assert grouped == T.group_by("x AS a").agg("sum(x) AS s").plan


def test_an_expression_of_keys() -> None:
    assert plan("SELECT x + y + 1 AS z FROM t GROUP BY x + y, k").schema.names == ("z",)


def test_groups_without_aggregates_are_the_distinct_keys() -> None:
    assert plan("SELECT k FROM t GROUP BY k") == T.select("k").distinct().select("k").plan


def test_two_keys_of_the_same_name() -> None:
    joined = plan("SELECT t.k AS a, u.k AS b FROM t JOIN u ON x = z GROUP BY t.k, u.k")
    assert joined.schema.names == ("a", "b")
    unnamed = plan("SELECT count(*) AS n FROM t JOIN u ON x = z GROUP BY t.k, u.k")
    assert unnamed.schema.names == ("n",)


@pytest.mark.parametrize("values", [[-0.0], [0.0], [-0.0, 0.0], [0.0, -0.0]])
def test_the_sign_of_zero_does_not_depend_on_the_order_of_arrival(values: list[float]) -> None:
    """Spark gives the zero that it has met first; here both are one value, also to a retract."""
    query = dl.sql("CREATE STREAM t (x DOUBLE); SELECT min(x) AS lo, max(x) AS hi FROM t")
    came = [dl.Insert(1, 5, dl.Row({"x": x})) for x in values]
    (row,) = query.run(t=came).history().to_pylist()
    assert (str(row["lo"]), str(row["hi"])) == ("0.0", "0.0")
    gone = [dl.Retract(1, 5, 1, dl.Row({"x": -x})) for x in values]
    assert query.run(t=[*came, *gone]).history().num_rows == 0


@pytest.mark.parametrize("values", [[-0.0], [0.0], [-0.0, 0.0], [0.0, -0.0]])
@pytest.mark.parametrize("window", ["", "ORDER BY x", "ORDER BY ts ROWS 1 PRECEDING"])
def test_the_sign_of_zero_in_a_window(values: list[float], window: str) -> None:
    query = dl.sql(
        "CREATE STREAM t (x FLOAT, ts BIGINT) WITH (time = 'ts'); "
        f"SELECT ts, min(x) OVER ({window}) AS lo, max(x) OVER ({window}) AS hi FROM t"
    )
    came = [{"x": x, "ts": number} for number, x in enumerate(values)]
    rows = query.run(t=came).history().to_pylist()
    assert {str(row[name]) for row in rows for name in ("lo", "hi")} == {"0.0"}


def test_the_row_of_an_empty_aggregate() -> None:
    s = dl.stream("s", {"x": "INT"})
    query = dl.sql("SET empty_aggregates = true; SELECT count(*) AS n, max(x) AS m FROM s", s=s)
    came = [dl.Insert(3, 7, dl.Row(x=5)), dl.Insert(5, 6, dl.Row(x=8))]
    rows = query.run(s=came).history().to_pylist()
    assert [(row["ve"], row["n"], row["m"]) for row in rows] == [
        (3, 0, None),
        (5, 1, 5),
        (6, 2, 8),
        (7, 1, 5),
        (None, 0, None),
    ]
