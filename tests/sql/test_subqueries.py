"""Subqueries anywhere in an expression, against DuckDB over the table of all rows."""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random
from typing import Any

import duckdb
import pytest

import driftline as dl
from driftline.sql import SqlError

STREAMS = " ".join(
    f"CREATE STREAM {name} (k INT, {column} INT);" for name, column in ("tx", "uz", "vy")
)


def rows_of(random: Random) -> dict[str, list[tuple[int | None, int | None]]]:
    def value() -> int | None:
        return random.choice([None, 1, 2, 3, 4, 5])

    return {name: [(value(), value()) for _ in range(14)] for name in "tuv"}


@cache
def planned(text: str) -> dl.Query:
    return dl.sql(STREAMS + text)


def answers(text: str, rows: dict[str, list[Any]], random: Random) -> Counter[Any]:
    query = planned(text)
    inputs = {}
    for name, source in query.plan.sources().items():
        if name not in rows:  # a row that the query brings itself
            continue
        names = source.columns.names
        events: list[Any] = [
            dl.Insert(random.randrange(9), dl.INFINITY, dl.Row(dict(zip(names, row, strict=True))))
            for row in rows[name]
        ]
        random.shuffle(events)
        wrong = dl.Row(dict.fromkeys(names, 2))
        events.insert(random.randrange(9), dl.Insert(3, dl.INFINITY, wrong))
        inputs[name] = [*events, dl.Retract(3, dl.INFINITY, 3, wrong)]
    history = query.run(inputs, batch=5).history().to_pylist()
    return Counter(tuple(row.values())[2:] for row in history if row["ve"] is None)


QUERIES = [
    "SELECT k, x, (SELECT max(z) FROM u) AS m FROM t",
    "SELECT k, x, (SELECT max(z) FROM u WHERE u.k = t.k) AS m FROM t",
    "SELECT *, (SELECT count(*) FROM u WHERE u.k = t.k) AS n FROM t",
    "SELECT * FROM t WHERE (SELECT count(*) FROM u WHERE u.k = t.k) < 2",
    "SELECT * FROM t WHERE x > (SELECT count(*) FROM u WHERE z > 100)",
    "SELECT * FROM t WHERE x >= (SELECT coalesce(sum(z), 0) FROM u WHERE u.k = t.k)",
    "SELECT k, (SELECT count(*) FROM u WHERE u.z < t.x) AS n FROM t",
    "SELECT k, (SELECT sum(z) FROM u WHERE u.z < t.x OR t.x IS NULL) AS n FROM t",
    "SELECT k, (SELECT sum(z) FROM u WHERE u.k = t.k AND z < t.x) + 1 AS n FROM t",
    "SELECT k, (SELECT sum(z + t.x) FROM u WHERE u.k = t.k) AS n FROM t",
    "SELECT k, (SELECT z FROM u WHERE u.k = t.k ORDER BY z DESC NULLS LAST LIMIT 1) AS n FROM t",
    "SELECT k, (SELECT z + 1 AS o FROM u WHERE u.k = t.k ORDER BY o NULLS FIRST LIMIT 1 OFFSET 1) "
    "FROM t",
    "SELECT * FROM t WHERE x = 1 OR EXISTS (SELECT * FROM u WHERE u.k = t.k)",
    "SELECT * FROM t WHERE x = 1 OR NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND z > x)",
    "SELECT * FROM t WHERE x = 1 OR k IN (SELECT z FROM u)",
    "SELECT * FROM t WHERE NOT (x = 1 OR k IN (SELECT z FROM u))",
    "SELECT * FROM t WHERE NOT (x = 1 OR k IN (SELECT z FROM u WHERE z IS NOT NULL))",
    "SELECT k, k IN (SELECT z FROM u WHERE u.k = t.x) AS i FROM t",
    "SELECT k, k NOT IN (SELECT z FROM u WHERE u.k = t.x), EXISTS (SELECT 1 FROM u) AS e FROM t",
    "SELECT k, sum(x) AS s, (SELECT max(z) FROM u WHERE u.k = t.k) AS m FROM t GROUP BY k",
    "SELECT k, sum(x) AS s, (SELECT count(*) FROM u) AS m FROM t GROUP BY k",
    "SELECT k FROM t GROUP BY k HAVING count(*) > (SELECT count(*) FROM u WHERE u.k = t.k)",
    "SELECT k FROM t GROUP BY k HAVING max(x) < (SELECT max(z) FROM u WHERE u.k = t.k) OR k = 1",
    "SELECT * FROM t WHERE x > (SELECT avg(z) FROM u WHERE u.k = t.k) - 1 AND k < 5",
    "SELECT * FROM t WHERE x > (SELECT avg(x) FROM t AS i WHERE i.k = t.k)",
    "SELECT * FROM t WHERE x < (SELECT max(z) FROM u WHERE u.k = t.k HAVING count(*) > 1)",
    "SELECT * FROM t WHERE (SELECT count(*) FROM u WHERE u.k = t.k HAVING count(*) <> 1) IS NULL",
    "SELECT * FROM t WHERE x BETWEEN (SELECT min(z) FROM u) AND (SELECT max(z) - 1 FROM u)",
    "SELECT * FROM t WHERE (k, x) IN (SELECT k, z FROM u)",
    "SELECT * FROM t WHERE (k, x) NOT IN (SELECT k, z FROM u)",
    "SELECT * FROM t WHERE (k, x) NOT IN (SELECT k, z FROM u WHERE z > 2 AND k > 1)",
    "SELECT * FROM t WHERE k NOT IN (SELECT z FROM u WHERE u.k = t.x)",
    "SELECT * FROM t WHERE k IN (SELECT max(z) FROM u WHERE u.k = t.k)",
    "SELECT * FROM t WHERE k NOT IN (SELECT max(z) FROM u WHERE u.k = t.k)",
    "SELECT k, k NOT IN (SELECT max(z) FROM u WHERE u.k = t.k) FROM t",
    "SELECT * FROM t WHERE x NOT IN (SELECT count(*) FROM u WHERE z > 9)",
    "SELECT * FROM t WHERE x IN (SELECT z + t.k FROM u)",
    "SELECT * FROM t WHERE EXISTS (SELECT k FROM u WHERE z = x GROUP BY k)",
    "SELECT sum((SELECT max(z) FROM u WHERE u.k = t.k)) AS s, count(*) FROM t",
    "SELECT k, sum(CASE WHEN x IN (SELECT z FROM u) THEN 1 ELSE 0 END) AS n FROM t GROUP BY k",
    "SELECT k, count(DISTINCT x) FILTER (WHERE x IN (SELECT z FROM u)) AS c FROM t GROUP BY k",
    "SELECT k, max(x + (SELECT count(*) FROM u WHERE u.k = t.k)) - (SELECT min(z) FROM u WHERE "
    "u.k = t.k) AS n FROM t GROUP BY k HAVING sum(CASE WHEN EXISTS (SELECT 1 FROM u WHERE z = t.x) "
    "THEN 1 END) > 0",
    "SELECT k, x > ANY (SELECT z FROM u WHERE u.k = t.k) AS a, x <> ANY (SELECT z FROM u WHERE "
    "u.k = t.k) AS b, x = ALL (SELECT z FROM u WHERE u.k = t.k) AS c FROM t",
    "SELECT k, x IN (SELECT z FROM u) AS a, x IN (SELECT z FROM u) AS b FROM t",
    "SELECT t.k, l.k, l.z FROM t, LATERAL (SELECT k, z FROM u WHERE u.z < t.x "
    "ORDER BY z DESC, k NULLS LAST LIMIT 1) AS l",
    "SELECT t.k, l.k, m.k FROM t LEFT JOIN LATERAL (SELECT max(u.k) AS k FROM u WHERE u.z > t.x "
    "AND u.k <> t.k) AS l ON true, LATERAL (SELECT l.k + t.k AS k) AS m",
    "SELECT t.x, l.c, l.d FROM t, LATERAL (SELECT t.x + t.k AS c, t.x * 2 AS d) AS l",
    "SELECT t.x, l.e FROM t LEFT JOIN LATERAL (SELECT t.x + 1) AS l (e) ON true",
    "SELECT t.k, m.s FROM t, LATERAL (SELECT t.x + t.k AS c) AS l, "
    "LATERAL (SELECT sum(z) AS s FROM u WHERE u.k = t.k AND u.z < l.c) AS m",
    "SELECT k, (SELECT string_agg(CAST(z AS VARCHAR(9)), '-' ORDER BY z) FROM u WHERE u.k = t.k) "
    "AS s FROM t",
    "SELECT * FROM t WHERE EXISTS (SELECT k FROM u GROUP BY k HAVING max(z) > x)",
    "SELECT * FROM t WHERE EXISTS (SELECT count(*) FROM u WHERE u.k = t.k)",
    "SELECT * FROM t, LATERAL (SELECT z, k AS j FROM u WHERE u.k = t.k) AS s",
    "SELECT t.x, s.* FROM t LEFT JOIN LATERAL (SELECT z FROM u WHERE z > t.x) s ON true",
    "SELECT t.x, s.z FROM t JOIN LATERAL (SELECT z + x AS z FROM u WHERE u.k = t.k) s ON z > 3",
    "SELECT * FROM t, LATERAL (SELECT count(*) AS n, sum(z) AS m FROM u WHERE u.k = t.k) AS s",
    "SELECT * FROM t, LATERAL (SELECT count(*), max(z) FROM u WHERE z > x) AS s (n, m)",
    "SELECT * FROM t, LATERAL (SELECT max(z) AS m FROM u WHERE z > x HAVING count(*) < 3) AS s",
    "SELECT * FROM t, LATERAL (SELECT u.z % 2 AS o, count(*) AS n FROM u WHERE z > x GROUP BY 1) s",
    "SELECT * FROM t, LATERAL (SELECT z FROM u WHERE u.k = t.k ORDER BY z DESC NULLS LAST LIMIT 2)",
    "SELECT t.k, s.z, r.n FROM t, LATERAL (SELECT z FROM u WHERE u.k = t.k) AS s, "
    "LATERAL (SELECT count(*) AS n FROM t AS o WHERE o.x = s.z) AS r",
    "SELECT * FROM t, LATERAL (SELECT DISTINCT z FROM u WHERE u.k = t.k) AS s WHERE x > 1",
    "SELECT * FROM t, LATERAL (SELECT t.x + 1 AS y, u.z FROM u WHERE u.k = 1) AS s",
    "SELECT * FROM t, LATERAL (SELECT sum(z) OVER (ORDER BY z NULLS FIRST) FROM u WHERE u.k = x)",
    "SELECT count(*) AS n, (SELECT count(*) FROM u) AS m FROM t",
    "SELECT CASE WHEN x > (SELECT avg(z) FROM u) THEN 'a' ELSE 'b' END AS c FROM t",
]


PLACES = [
    "SELECT k, x FROM t QUALIFY row_number() OVER (PARTITION BY k ORDER BY x NULLS LAST) = 1 "
    "AND EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
    "SELECT DISTINCT k, x FROM t QUALIFY rank() OVER (PARTITION BY k ORDER BY x NULLS LAST) "
    "<= (SELECT count(*) FROM u WHERE u.k = t.k)",
    "SELECT DISTINCT k, x FROM t QUALIFY rank() OVER (PARTITION BY k ORDER BY x NULLS LAST) "
    "IN (SELECT z FROM u)",
    "SELECT DISTINCT k, x FROM t QUALIFY rank() OVER (PARTITION BY k ORDER BY x NULLS LAST) "
    "IN (SELECT z FROM u WHERE u.k = t.x)",
    "SELECT DISTINCT k, x FROM t QUALIFY rank() OVER (PARTITION BY k ORDER BY x NULLS LAST) "
    "NOT IN (SELECT z FROM u)",
    "SELECT DISTINCT k, x FROM t QUALIFY rank() OVER (PARTITION BY k ORDER BY x NULLS LAST) "
    "> ANY (SELECT z FROM u)",
    "SELECT k, x, rank() OVER (PARTITION BY k ORDER BY x NULLS LAST) IN (SELECT z FROM u) AS "
    "i FROM t",
    "SELECT k, x, rank() OVER (PARTITION BY k ORDER BY x NULLS LAST) NOT IN (SELECT z FROM u "
    "WHERE u.k = t.k) AS i FROM t",
    "SELECT k, x, rank() OVER (PARTITION BY k ORDER BY x NULLS LAST) <= ALL (SELECT z FROM "
    "u) AS i FROM t",
    "SELECT k, x, rank() OVER (PARTITION BY k ORDER BY x NULLS LAST) = ANY (SELECT z FROM u) "
    "AS i FROM t",
    "SELECT k, x, sum(x) OVER (PARTITION BY k) > (SELECT max(z) FROM u WHERE u.k = t.k) AS i "
    "FROM t",
    "SELECT k, count(*) AS n FROM t GROUP BY k QUALIFY rank() OVER (ORDER BY count(*)) IN "
    "(SELECT z FROM u)",
    "SELECT k, count(*) AS n FROM t GROUP BY k QUALIFY rank() OVER (ORDER BY count(*)) <= "
    "(SELECT count(*) FROM u WHERE u.k = t.k)",
    "SELECT k, count(*) AS n, rank() OVER (ORDER BY count(*)) IN (SELECT z FROM u) AS i FROM "
    "t GROUP BY k",
    "SELECT k, rank() OVER (PARTITION BY k ORDER BY x NULLS LAST) AS r FROM t QUALIFY r IN "
    "(SELECT z FROM u)",
    "SELECT k, x, rank() OVER (PARTITION BY (SELECT max(z) FROM u WHERE u.k = t.k) ORDER BY "
    "x NULLS LAST) AS r FROM t",
    "SELECT k, x, rank() OVER (PARTITION BY k ORDER BY (SELECT max(z) FROM u WHERE u.k = "
    "t.x) NULLS LAST) AS r FROM t",
    "SELECT k, x, sum((SELECT max(z) FROM u WHERE u.k = t.x)) OVER (PARTITION BY k) AS r FROM t",
    "SELECT k FROM t GROUP BY k HAVING EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
    "SELECT k FROM t GROUP BY k HAVING NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
    "SELECT k FROM t GROUP BY k HAVING k IN (SELECT z FROM u)",
    "SELECT k FROM t GROUP BY k HAVING max(x) IN (SELECT z FROM u)",
    "SELECT k FROM t GROUP BY k HAVING max(x) NOT IN (SELECT z FROM u WHERE u.k = t.k)",
    "SELECT k FROM t GROUP BY k HAVING (k, max(x)) IN (SELECT k, z FROM u)",
    "SELECT k FROM t GROUP BY k HAVING count(*) > 1 OR max(x) IN (SELECT z FROM u)",
    "SELECT k FROM t GROUP BY k HAVING max(x) > ALL (SELECT z FROM u WHERE u.k = t.k)",
    "SELECT k FROM t GROUP BY k HAVING EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.z = max(t.x))",
    "SELECT count(*) AS n FROM t GROUP BY k HAVING (SELECT count(*) FROM u WHERE u.k = t.k) "
    "+ count(*) > 3",
    "SELECT t.k, t.x, u.z FROM t LEFT JOIN u ON t.k = u.k AND u.z IN (SELECT y FROM v)",
    "SELECT t.k, t.x, u.z FROM t LEFT JOIN u ON t.k = u.k AND t.x IN (SELECT y FROM v)",
    "SELECT t.k, t.x, u.z FROM t LEFT JOIN u ON t.k = u.k AND EXISTS (SELECT 1 FROM v WHERE "
    "v.k = u.z)",
    "SELECT t.k, t.x, u.z FROM t LEFT JOIN u ON t.k = u.k AND EXISTS (SELECT 1 FROM v WHERE "
    "v.k = t.k)",
    "SELECT t.k, t.x, u.z FROM t LEFT JOIN u ON t.k = u.k AND NOT EXISTS (SELECT 1 FROM v "
    "WHERE v.k = t.k)",
    "SELECT t.k, t.x, u.z FROM t LEFT JOIN u ON t.k = u.k AND u.z > (SELECT min(y) FROM v)",
    "SELECT t.k, t.x, u.z FROM t LEFT JOIN u ON t.k = u.k AND u.z > (SELECT min(y) FROM v "
    "WHERE v.k = t.k)",
    "SELECT t.k, t.x, u.z FROM t RIGHT JOIN u ON t.k = u.k AND u.z IN (SELECT y FROM v)",
    "SELECT t.k, t.x, u.z FROM t FULL JOIN u ON t.k = u.k AND u.z IN (SELECT y FROM v)",
    "SELECT t.k, t.x, u.z FROM t FULL JOIN u ON t.k = u.k AND t.x > (SELECT avg(y) FROM v)",
    "SELECT t.k, t.x FROM t SEMI JOIN u ON t.k = u.k AND u.z IN (SELECT y FROM v)",
    "SELECT t.k, t.x FROM t ANTI JOIN u ON t.k = u.k AND u.z IN (SELECT y FROM v)",
    "SELECT t.k, t.x, u.z FROM t JOIN u ON t.k = u.k OR u.z IN (SELECT y FROM v)",
    "SELECT t.k, t.x, u.z FROM t JOIN u ON t.k = u.k AND EXISTS (SELECT 1 FROM v WHERE v.k = "
    "t.x AND v.y = u.z)",
    "SELECT t.k, t.x, u.z, v.y FROM t LEFT JOIN u ON t.k = u.k LEFT JOIN v ON v.k = u.k AND "
    "v.y IN (SELECT x FROM t)",
    "SELECT count(*) AS n, x > (SELECT avg(z) FROM u) AS b FROM t GROUP BY x > (SELECT "
    "avg(z) FROM u)",
    "SELECT count(*) AS n, (SELECT max(z) FROM u WHERE u.k = t.k) AS b FROM t GROUP BY b",
    "SELECT count(*) AS n, EXISTS (SELECT 1 FROM u WHERE u.k = t.k) AS b FROM t GROUP BY 2",
    "SELECT count(*) AS n, (SELECT max(z) FROM u WHERE u.k = t.k) AS b FROM t GROUP BY ALL",
    "SELECT k, count(*) AS n FROM t GROUP BY k, (SELECT max(z) FROM u WHERE u.k = t.x)",
    "SELECT k, x FROM t ORDER BY (SELECT max(z) FROM u WHERE u.k = t.k) NULLS LAST, x NULLS "
    "LAST, k NULLS LAST LIMIT 3",
    "SELECT k, x, (SELECT max(z) FROM u WHERE u.k = t.k) AS m FROM t ORDER BY m NULLS LAST, "
    "x NULLS LAST, k NULLS LAST LIMIT 3",
    "SELECT k, count(*) AS n FROM t GROUP BY k ORDER BY (SELECT count(*) FROM u WHERE u.k = "
    "t.k) DESC, k NULLS LAST LIMIT 2",
    "SELECT k FROM t GROUP BY k HAVING (k, max(x)) IN (SELECT k, z FROM u WHERE u.z > 1) AND "
    "count(*) > 0",
    "SELECT k FROM t GROUP BY k HAVING (SELECT max(z) FROM u WHERE u.k = t.k) IN (SELECT y FROM v)",
    "SELECT * FROM t LEFT JOIN u ON t.k = u.k AND u.z IN (SELECT y FROM v)",
    "SELECT a.*, b.z FROM t a LEFT JOIN u b ON a.k = b.k AND (b.z IN (SELECT y FROM v) OR "
    "a.x > (SELECT avg(y) FROM v))",
    "SELECT a.*, b.z FROM t a LEFT JOIN u b ON a.k = b.k AND (b.z NOT IN (SELECT y FROM v) "
    "AND NOT EXISTS (SELECT 1 FROM v WHERE v.k = a.x))",
    "SELECT t.k, u.z, v.y FROM t JOIN u ON t.k = u.k AND u.z IN (SELECT y FROM v) RIGHT JOIN "
    "v ON v.k = t.k",
    "SELECT t.k, u.z, v.y FROM t LEFT JOIN u ON t.k = u.k AND u.z IN (SELECT y FROM v) LEFT "
    "JOIN v ON v.k = t.k AND v.y IN (SELECT z FROM u) AND EXISTS (SELECT 1 FROM t AS w WHERE "
    "w.x = u.z)",
    "SELECT s.k, s.z FROM (SELECT t.k, u.z FROM t LEFT JOIN u ON t.k = u.k AND u.z = (SELECT "
    "max(z) FROM u AS w WHERE w.k = u.k)) AS s WHERE s.k IN (SELECT k FROM v)",
    "SELECT t.k, (SELECT count(*) FROM u LEFT JOIN v ON u.k = v.k AND v.y IN (SELECT x FROM "
    "t) WHERE u.k = t.k) AS c FROM t",
    "SELECT k, x, sum(x) OVER (PARTITION BY k) AS s FROM t QUALIFY s > (SELECT avg(z) FROM u "
    "WHERE u.k = t.k) OR s IN (SELECT y FROM v)",
    "SELECT k, count(*) AS n FROM t GROUP BY k QUALIFY rank() OVER (ORDER BY (SELECT "
    "count(*) FROM u WHERE u.k = t.k)) = 1",
    "SELECT k, count(*) AS n, sum(count(*)) OVER () IN (SELECT z + 9 FROM u) AS s FROM t "
    "GROUP BY k",
    "SELECT k, x, rank() OVER (ORDER BY x NULLS LAST) AS r, r IN (SELECT z FROM u) AS i, r "
    "NOT IN (SELECT z FROM u WHERE u.k = t.k) AS j FROM t",
    "SELECT * FROM t QUALIFY dense_rank() OVER (ORDER BY x NULLS LAST) = (SELECT min(z) FROM u)",
    "SELECT k, x FROM t QUALIFY row_number() OVER (PARTITION BY k, x ORDER BY x) = 1 AND x "
    "NOT IN (SELECT y FROM v WHERE y IS NOT NULL)",
    "SELECT (SELECT max(z) FROM u WHERE u.k = t.k) AS m, x, count(*) AS n FROM t GROUP BY m, "
    "x HAVING count(*) >= (SELECT min(y) FROM v)",
    "SELECT CASE WHEN x IN (SELECT z FROM u) THEN 'in' ELSE 'out' END AS c, count(*) AS n, "
    "sum(k) AS s FROM t GROUP BY 1",
    "SELECT CASE WHEN x IN (SELECT z FROM u) THEN 'in' ELSE 'out' END AS c, count(*) AS n "
    "FROM t GROUP BY CASE WHEN x IN (SELECT z FROM u) THEN 'in' ELSE 'out' END HAVING "
    "count(*) > 1",
    "SELECT k, (SELECT count(*) FROM u WHERE u.k = t.k) AS c, count(*) AS n FROM t GROUP BY "
    "ROLLUP (k, (SELECT count(*) FROM u WHERE u.k = t.k))",
    "SELECT k, x FROM t ORDER BY EXISTS (SELECT 1 FROM u WHERE u.k = t.k) DESC, x NULLS "
    "LAST, k NULLS LAST LIMIT 4",
    "SELECT k, sum(x) AS s FROM t GROUP BY k ORDER BY s + (SELECT count(*) FROM u WHERE u.k "
    "= t.k) DESC NULLS LAST, k NULLS LAST LIMIT 2",
    "SELECT * FROM t ORDER BY x IN (SELECT z FROM u) NULLS LAST, x NULLS LAST, k NULLS LAST "
    "LIMIT 5",
    "SELECT count(*) AS n FROM t HAVING count(*) > (SELECT count(*) FROM u) OR EXISTS "
    "(SELECT 1 FROM v)",
    "SELECT k, x FROM t WHERE x IN (SELECT z FROM u) AND k NOT IN (SELECT y FROM v WHERE y > "
    "2) AND EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
    "SELECT EXISTS (SELECT count(*) FROM u) AS e, count(*) AS n FROM t GROUP BY e",
    "SELECT k, x, x IN (SELECT z FROM u) AS i FROM t ORDER BY i, k IN (SELECT y FROM v)",
]
"""In QUALIFY, HAVING, GROUP BY, ORDER BY and ON, and about window functions."""


@pytest.fixture(scope="module")
def rows() -> dict[str, list[Any]]:
    return rows_of(Random(4))


@cache
def database() -> Any:
    """To open one takes longer than to ask it."""
    return duckdb.connect()


def tables(rows: dict[str, list[Any]]) -> Any:
    """The database, with tables of these rows and no others."""
    made = database()
    made.execute(STREAMS.replace("CREATE STREAM", "CREATE OR REPLACE TABLE"))
    for name, each in rows.items():
        if each:
            values = ", ".join(map(str, each)).replace("None", "NULL")
            made.execute(f"INSERT INTO {name} VALUES {values}")
    return made


@pytest.mark.parametrize("text", QUERIES)
def test_the_end_of_the_streams_is_the_answer_for_the_tables(
    text: str, rows: dict[str, list[Any]]
) -> None:
    expected = Counter(tables(rows).execute(text).fetchall())
    assert answers(text, rows, Random(text)) == expected


def inputs(text: str) -> list[dict[str, list[Any]]]:
    """Random rows; and with no rows of one of the streams that subqueries are about."""
    random = Random(text)
    first, second = rows_of(random), rows_of(random)
    return [first, {**second, random.choice("uv"): []}]


@pytest.mark.parametrize("text", PLACES)
def test_a_subquery_in_any_clause(text: str) -> None:
    for rows in inputs(text):
        expected = Counter(tables(rows).execute(text).fetchall())
        assert answers(text, rows, Random(text)) == expected


@pytest.mark.parametrize(
    "condition",
    ["EXISTS (SELECT 1 FROM v WHERE v.k = t.x AND v.y = u.z)", "t.x + u.z IN (SELECT y FROM v)"],
)
def test_a_subquery_in_on_of_an_outer_join_is_about_one_side(condition: str) -> None:
    with pytest.raises(SqlError, match="is about one of the two sides"):
        dl.sql(f"{STREAMS} SELECT t.k FROM t LEFT JOIN u ON t.k = u.k AND {condition}")


def test_an_order_that_decides_nothing_joins_nothing() -> None:
    query = dl.sql(f"{STREAMS} SELECT k, x FROM t ORDER BY (SELECT max(z) FROM u WHERE u.k = t.k)")
    assert "join" not in query.explain()


def test_the_limit_of_a_rank_stays_where_it_is() -> None:
    query = dl.sql(
        f"{STREAMS} SELECT k, x FROM t QUALIFY row_number() OVER (PARTITION BY k ORDER BY x) <= 2 "
        "AND EXISTS (SELECT 1 FROM u WHERE u.k = t.k)"
    )
    assert "top 2 per k by x" in query.explain()
