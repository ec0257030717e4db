"""A query written with |> is the one that is written without."""

from __future__ import annotations

import pytest

import driftline as dl
from tests.sql.declared import plan, pointed_at
from tests.sql.test_other_spellings import E, L, by_duckdb, in_the_end


@pytest.mark.parametrize(
    ("piped", "plain"),
    [
        ("FROM e |> WHERE v > 1 |> SELECT id", "SELECT id FROM e WHERE v > 1"),
        ("TABLE e |> WHERE v > 1 |> WHERE id < 9", "SELECT * FROM e WHERE v > 1 AND id < 9"),
        (
            "FROM e |> AGGREGATE count(*) AS n, max(v) GROUP BY k AS key |> WHERE n > 1",
            "SELECT k, count(*), max(v) FROM e GROUP BY k HAVING count(*) > 1",
        ),
        ("FROM e |> AGGREGATE sum(v) AS s", "SELECT sum(v) FROM e"),
        (
            "FROM e |> SELECT id, sum(v) OVER w AS s WINDOW w AS (PARTITION BY k)",
            "SELECT id, sum(v) OVER (PARTITION BY k) FROM e",
        ),
        (
            "VALUES (1), (2) AS n (i) |> WHERE i > 1 |> JOIN e ON v = i |> SELECT /*+ MERGE */ id",
            "SELECT id FROM e WHERE v = 2",
        ),
        ("FROM e |> AGGREGATE GROUP BY k", "SELECT DISTINCT k FROM e"),
        (
            "FROM e |> EXTEND v * 2 AS w |> SET w = w + 1, id = id + w |> DROP v",
            "SELECT id + v * 2 + 1, k, v * 2 + 1 FROM e",
        ),
        (
            "FROM e |> EXTEND rank() OVER (PARTITION BY k ORDER BY id) AS r |> WHERE r = 1",
            "SELECT *, 1 FROM e QUALIFY rank() OVER (PARTITION BY k ORDER BY id) = 1",
        ),
        (
            "FROM e |> ORDER BY id DESC |> LIMIT 5 |> ORDER BY id |> LIMIT 2 |> SELECT id",
            "SELECT id FROM e ORDER BY id DESC LIMIT 2 OFFSET 3",
        ),
        (
            "FROM e |> ORDER BY id LIMIT 2 OFFSET 1 |> SELECT id",
            "SELECT id FROM e ORDER BY id LIMIT 2 OFFSET 1",
        ),
        (
            "FROM e |> AS a |> JOIN e AS b ON a.v = b.id |> SELECT a.id, b.v",
            "SELECT a.id, b.v FROM e AS a JOIN e AS b ON a.v = b.id",
        ),
        (
            "SELECT id FROM e |> UNION ALL (SELECT v FROM e) |> EXCEPT DISTINCT (SELECT 1)",
            "(SELECT id FROM e UNION ALL SELECT v FROM e) EXCEPT SELECT 1",
        ),
        (
            "WITH a AS (FROM e |> WHERE v > 1) SELECT n FROM (FROM a |> AGGREGATE count(*) AS n)",
            "SELECT count(*) FROM e WHERE v > 1",
        ),
        (
            "FROM e |> SELECT k, v |> PIVOT (count(*) FOR v IN (1, 2))",
            "SELECT k, nullif(count(*) FILTER (v = 1), 0), nullif(count(*) FILTER (v = 2), 0) "
            "FROM e GROUP BY k",
        ),
        (
            "FROM e |> SELECT id |> UNION ALL TABLE l |> WHERE id > 2",
            "SELECT id FROM e WHERE id > 2 UNION ALL SELECT lim FROM l WHERE lim > 2",
        ),
        (
            "SELECT id FROM e UNION ALL SELECT lim FROM l |> WHERE id > 2",
            "SELECT id FROM e WHERE id > 2 UNION ALL SELECT lim FROM l WHERE lim > 2",
        ),
        (
            "SELECT id FROM e UNION ALL (FROM l |> WHERE lim > 2)",
            "SELECT id FROM e UNION ALL SELECT lim FROM l WHERE lim > 2",
        ),
        ("FROM e |> SELECT DISTINCT k, v", "SELECT DISTINCT k, v FROM e"),
        ("TABLE e", "SELECT * FROM e"),
        ("SELECT v, id FROM e ORDER BY ALL DESC LIMIT 3",
         "SELECT v, id FROM e ORDER BY v DESC NULLS LAST, id DESC LIMIT 3"),
    ],
)  # fmt: skip
def test_the_answer_is_that_of_the_plain_query(piped: str, plain: str) -> None:
    streams = {"e": E} | ({"l": L} if " l" in plain else {})
    assert in_the_end(dl.sql(piped, **streams)) == by_duckdb(plain)


def test_clauses_join_where_they_can() -> None:
    assert plan("FROM t |> WHERE x > 1 |> SELECT k") == plan("SELECT k FROM t WHERE x > 1")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("FROM t |> FOO", "after |> there are WHERE, SELECT"),
        ("FROM t |>", "an operator is expected after |>"),
        ("FROM t |> WHERE", "something is missing after WHERE"),
        ("FROM t |> SELECT", "an expression is expected after SELECT"),
        ("FROM t |> EXTEND sum(x)", "EXTEND takes no aggregate: write |> AGGREGATE"),
        ("FROM t |> AGGREGATE x", "AGGREGATE without GROUP BY takes aggregates"),
        ("FROM t |> TABLESAMPLE (2 ROWS)", "a sample would be other rows each time"),
        ("FROM t |> AGGREGATE count(*) GROUP BY 1", "keys are expressions, and no places"),
        ("FROM t |> SET x", "x needs a value"),
        ("FROM t |> DROP", "a column is expected after DROP"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    assert said in pointed_at(text)
