"""A query without brackets says in the end what Spark SQL says of the table of all rows."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

import driftline as dl
from tests.sql.random_queries import TABLES, Queries

pytestmark = pytest.mark.spark

QUERIES = 30
STREAMS = "".join(
    f"CREATE STREAM {name} ({', '.join(f'{c} {kind}' for c, kind in columns.items())});\n"
    for name, columns in TABLES.items()
)


WINDOWED = [
    "sum(x) OVER (PARTITION BY k ORDER BY y)",
    "avg(y) OVER (ORDER BY y RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)",
    "count(*) OVER (PARTITION BY k)",
    "max(x) OVER (ORDER BY y DESC NULLS FIRST RANGE BETWEEN 2 PRECEDING AND 1 PRECEDING)",
    "min(y) OVER (ORDER BY k, x, y ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)",
    "count(x) FILTER (WHERE x > 0) OVER (ORDER BY y)",
    "first_value(x) IGNORE NULLS OVER (ORDER BY k, y, x)",
    "last_value(x) OVER (ORDER BY k, y, x ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
    "nth_value(x, 2) OVER (ORDER BY k, y, x)",
    "lag(x, 2, -5) OVER (PARTITION BY k ORDER BY y, x)",
    "lead(k) OVER (ORDER BY k, y, x)",
    "lag(x, -1, 0.5) OVER (ORDER BY k, y, x)",
    "lag(x) IGNORE NULLS OVER (PARTITION BY k ORDER BY y, x)",
    "lag(x, 2, -5) IGNORE NULLS OVER (ORDER BY k, y, x)",
    "lead(x, 2) IGNORE NULLS OVER (ORDER BY k, y, x)",
    "lead(k, 1, 'none') IGNORE NULLS OVER (ORDER BY y, x, k)",
    "lag(x, -1) IGNORE NULLS OVER (ORDER BY k, y, x)",
    "nth_value(x, 2) IGNORE NULLS OVER (ORDER BY k, y, x)",
    "x - sum(x) OVER (ORDER BY x RANGE BETWEEN CURRENT ROW AND 1 FOLLOWING)",
    "ntile(3) OVER (ORDER BY k, y, x)",
    "ntile(2) OVER (PARTITION BY k ORDER BY y, x) + 1",
    "percent_rank() OVER (PARTITION BY k ORDER BY y)",
    "cume_dist() OVER (ORDER BY x DESC, y)",
    "sum(x) OVER (ORDER BY date_add(DATE '2024-01-30', CAST(30 * y AS INT)) "
    "RANGE BETWEEN INTERVAL '1' MONTH PRECEDING AND INTERVAL '2' MONTH FOLLOWING)",
    "count(*) OVER (PARTITION BY k ORDER BY timestamp_seconds(y * 2678400) DESC "
    "RANGE BETWEEN INTERVAL 1 MONTH PRECEDING AND CURRENT ROW)",
    "count(*) OVER (ORDER BY make_ym_interval(0, x) RANGE INTERVAL '1' MONTH PRECEDING)",
]
"""Window functions of t that have one answer, whatever the order of equal rows."""


GROUPED = [
    "SELECT k, x, sum(y) AS s FROM t GROUP BY ROLLUP (k, x)",
    "SELECT k, x, count(*) AS n, grouping(k) AS gk, grouping_id() AS g FROM t GROUP BY CUBE (k, x)",
    "SELECT k, x, max(y) AS m FROM t GROUP BY GROUPING SETS ((k, x), k, (x), ())",
    "SELECT k, x, y, count(*) AS n FROM t GROUP BY k, ROLLUP ((x, y))",
    "SELECT k, x + 1 AS z, count(DISTINCT y) AS n FROM t GROUP BY ROLLUP (k, x + 1)",
    "SELECT k, x, sum(x) AS s FROM t GROUP BY k, x WITH ROLLUP",
    "SELECT k, x, sum(x) AS s FROM t GROUP BY k, x WITH CUBE HAVING grouping(x) = 1",
    "SELECT k, x, count(*) AS n FROM t GROUP BY k, x GROUPING SETS ((k, x), (x))",
    "SELECT k, x FROM t GROUP BY CUBE (k, x)",
    "SELECT grouping_id(k, x) AS g, count(*) AS n FROM t GROUP BY ROLLUP (k, x) HAVING true",
    "SELECT coalesce(k, 'all') AS k2, sum(y) AS s FROM t GROUP BY ROLLUP (k) HAVING sum(y) > 0",
    "SELECT k, x, sum(y) AS s FROM t GROUP BY ROLLUP (k), ROLLUP (x)",
    "SELECT k, x, sum(y) AS s, rank() OVER (PARTITION BY x ORDER BY sum(y), k) AS r "
    "FROM t GROUP BY GROUPING SETS ((k, x), (k))",
    "SELECT u.k, t.x, count(*) AS n FROM t JOIN u ON t.k = u.k GROUP BY CUBE (u.k, t.x)",
    "SELECT k, sum(x) AS s FROM t GROUP BY ROLLUP (k) ORDER BY grouping(k) DESC, s, k LIMIT 3",
    "SELECT k, max_by(y, struct(x, y)) AS a, min_by(x, struct(y, x)) AS b FROM t GROUP BY k",
    "SELECT k, count_if(x > 0) AS a, bool_and(x > 0) AS b, some(y > 1) AS c FROM t GROUP BY k",
    "SELECT k, round(covar_pop(x, y), 9) AS a, round(covar_samp(x, y), 9) AS b FROM t GROUP BY k",
    "SELECT k, round(corr(x, y + x * 2), 6) AS a FROM t GROUP BY k HAVING var_pop(x) > 0",
    "SELECT k, percentile_disc(0.3) WITHIN GROUP (ORDER BY x) AS a, "
    "percentile_cont(0.3) WITHIN GROUP (ORDER BY x) AS b, "
    "percentile(y, array(0.25, 0.9))[1] AS c FROM t GROUP BY k",
    "SELECT k, approx_count_distinct(x) AS a, sum(DISTINCT x) AS b, avg(DISTINCT y) AS c "
    "FROM t GROUP BY k",
    "SELECT k, i FROM t LATERAL VIEW explode(array(x, y)) e AS i",
    "SELECT k, p, i FROM t LATERAL VIEW OUTER posexplode(if(x > 0, array(x, y), NULL)) AS p, i",
    "SELECT y, explode(map(k, x)) AS (a, b) FROM t WHERE k IS NOT NULL",
    "SELECT i, count(*) AS n FROM t, LATERAL explode(array(x, y)) AS e (i) GROUP BY i",
]
OFFSETS = [
    "SELECT * FROM t ORDER BY k, x, y LIMIT 3 OFFSET 2",
    "SELECT k FROM t ORDER BY y DESC, x, k LIMIT 2 OFFSET 4",
    "SELECT * FROM t ORDER BY k, x, y OFFSET 5",
    "SELECT k, x, y FROM t ORDER BY k, x, y LIMIT 3 OFFSET 0",
    "SELECT k FROM t UNION ALL SELECT k FROM u ORDER BY k LIMIT 4 OFFSET 7",
    "SELECT DISTINCT k FROM t ORDER BY k LIMIT 2 OFFSET 1",
    "SELECT k, sum(x) AS s FROM t GROUP BY k ORDER BY s, k LIMIT 2 OFFSET 1",
    "SELECT k FROM (SELECT * FROM t ORDER BY k, x, y LIMIT 5 OFFSET 2) AS q WHERE x > 0",
    "SELECT * FROM t ORDER BY k, x, y LIMIT 3 OFFSET 100",
]

MORE = [
    "SELECT t.k, z FROM t JOIN u ON t.k = u.k AND x > (SELECT avg(z) FROM u)",
    "SELECT t.k, z FROM t JOIN u ON x IN (SELECT z FROM u) AND t.k = u.k "
    "LEFT JOIN (SELECT k AS j FROM u) v ON v.j = t.k",
    "SELECT k, (SELECT x) AS a, (SELECT (SELECT 2 AS q)) + x AS b FROM t WHERE x > (SELECT 1)",
    "SELECT * FROM t WHERE x NOT IN (VALUES 1, 2)",
    "SELECT k, bit_and(x) AS a, bit_or(y) AS b, bit_xor(x) AS c, try_sum(y) AS d FROM t GROUP BY k",
    "SELECT k, round(skewness(x), 9) AS a, round(kurtosis(x + y), 9) AS b FROM t GROUP BY k",
    "SELECT k, regr_count(x, y) AS a, regr_avgx(x, y) AS b, regr_avgy(x, y) AS c, "
    "round(regr_sxx(x, y), 9) AS d, round(regr_syy(x, y), 9) AS e, round(regr_sxy(x, y), 9) AS f, "
    "round(regr_slope(x, y), 9) AS g, round(regr_intercept(x, y), 9) AS h, "
    "round(regr_r2(x, y), 9) AS i FROM t GROUP BY k",
    "SELECT k, percentile_disc(0.3) WITHIN GROUP (ORDER BY x DESC) AS a FROM t GROUP BY k",
    "SELECT percentile(x, array(0.0, 1.0, 0.25)) AS a FROM t",
    "SELECT k, sum(timestamp_seconds(x) - timestamp_seconds(y)) AS a, "
    "avg(timestamp_seconds(x) - timestamp_seconds(1)) AS b FROM t GROUP BY k",
    "SELECT k, listagg(x, ',') WITHIN GROUP (ORDER BY x DESC) AS l FROM t GROUP BY k",
    "SELECT listagg(k, ';') WITHIN GROUP (ORDER BY y DESC NULLS FIRST, x NULLS LAST, k) FROM t",
    "SELECT listagg(DISTINCT x) WITHIN GROUP (ORDER BY x) AS l FROM t",
    "SELECT mode() WITHIN GROUP (ORDER BY x), mode() WITHIN GROUP (ORDER BY x DESC) FROM t",
    "SELECT k, percentile_cont(1 - 0.75) WITHIN GROUP (ORDER BY x DESC) AS p FROM t GROUP BY k",
    "SELECT percentile(x, 0.25 * 2) AS p, percentile(x, array(1 - 0.5D, 0.9D))[1] AS q FROM t",
    "SELECT k, x FROM t ORDER BY k, x, y LIMIT 1 + 2 * 2 OFFSET 3 - 2",
    "SELECT lag(x, 3 - 2, 1 + 1) OVER (ORDER BY k, y, x) AS l FROM t",
    "SELECT * FROM t WHERE (k, x) IN (('a', 1), ('b', 2), ('c', CAST(NULL AS INT)))",
    "SELECT *, (x, y) NOT IN ((1, 2L), (CAST(NULL AS INT), 1L)) AS i FROM t",
    "SELECT * FROM t WHERE (k, x) NOT IN (SELECT k, z FROM u)",
    "SELECT * FROM t WHERE (k, x) NOT IN (SELECT k, z FROM u WHERE u.z = t.y)",
    "SELECT sum(sum(x)) OVER () AS s, k, rank() OVER (ORDER BY sum(x)) AS r FROM t GROUP BY k",
    "SELECT k, k, x + 1, x + 1 FROM t",
    "SELECT * FROM t, LATERAL (SELECT count(*) AS n, max(z) AS m FROM u WHERE u.k = t.k) AS s",
    "SELECT * FROM t, LATERAL (SELECT z FROM u WHERE u.k = t.k ORDER BY z LIMIT 2) AS s",
    "SELECT *, (SELECT count(*) FROM u WHERE u.k = t.k) AS n FROM t",
    "SELECT * FROM t WHERE x > (SELECT avg(z) FROM u WHERE u.k = t.k) OR y IN (SELECT z FROM u)",
    "SELECT * FROM t WHERE x > 2 OR NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k) OR k NOT IN "
    "(SELECT k FROM u WHERE k IS NOT NULL)",
    "SELECT k, (SELECT max(z) FROM u WHERE u.k = t.k) - (SELECT min(z) FROM u) AS d FROM t",
    "SELECT * FROM t CROSS JOIN LATERAL (SELECT z FROM u WHERE u.k = t.k ORDER BY z DESC LIMIT 3)",
    "SELECT * EXCEPT (x), x + 1 AS x FROM t WHERE k LIKE ANY ('a%', 'b') AND k LIKE ALL ('a', '%')",
    "SELECT k, y, inline(array(struct(x, y AS b), NULL)) FROM t",
    "SELECT t.k, a FROM t "
    "LATERAL VIEW OUTER inline(if(x > 1, array(struct(x, y)), NULL)) s AS a, b",
    "SELECT k, stack(2, x, y, 7) AS (a, b) FROM t",
    "SELECT json_tuple(concat('{\"x\":', x, ',\"a.b\":[1,\"', k, '\"]}'), 'x', 'a.b', 'z') FROM t",
    "SELECT k, x, y, listagg(x, ',') OVER (PARTITION BY k ORDER BY x, y) AS l, "
    "round(corr(x, y + 2 * x) OVER (ORDER BY y, x, k), 9) AS c, "
    "round(regr_slope(x, y) FILTER (WHERE x > 0) OVER (PARTITION BY k), 9) AS s, "
    "percentile(x, array(0.5, 1.0)) OVER (PARTITION BY k) AS p FROM t",
    "SELECT k, transform(array(x, y), (v, i) -> v + i + x) AS a, "
    "exists(array(x, y), v -> v > 1) AS b, filter(array(k, 'a'), v -> v = k) AS c, "
    "aggregate(array(x, y), k, (s, v) -> concat(s, v)) AS d FROM t",
    "SELECT k, count(*) / (SELECT count(*) FROM t) AS a, sum(y) % (2 * (SELECT count(x) FROM t)) "
    "AS b FROM t GROUP BY k",
    "SELECT k, y DIV (SELECT count(*) FROM t AS i WHERE i.k = t.k) AS a FROM t WHERE k IS NOT NULL",
    "SELECT * FROM (SELECT k, (SELECT max(z) FROM u), x > (SELECT min(z) FROM u) FROM t)",
    "SELECT array((SELECT max(z) FROM u), (SELECT min(z) FROM u WHERE u.k = t.k)) AS a FROM t",
    "SELECT IDENTIFIER('t.' || 'k'), IDENTIFIER('abs')(IDENTIFIER('x')) AS a FROM IDENTIFIER('t')",
    "SELECT k, mask(concat(k, x), digitChar => '#') AS a, mask(otherChar => '*', str => k) AS b "
    "FROM t",
    "SELECT t.k, i FROM t JOIN LATERAL explode(array(x, y, 2)) AS e (i) ON i > t.x",
    "SELECT * FROM t JOIN LATERAL (SELECT x + y AS s) ON s > 1",
    "SELECT t.k, s.i FROM t JOIN LATERAL (SELECT explode(filter(array(x, y), v -> v > 1))) "
    "AS s (i)",
    "SELECT t.k, m FROM t, LATERAL (SELECT max(i) AS m FROM explode(array(t.x, t.y)) AS e (i) "
    "WHERE i < 3)",
    "SELECT t.k, i + j AS s FROM t, LATERAL (SELECT * FROM explode(array(x, y)) AS e (i) "
    "JOIN posexplode(array(y, x)) AS f (p, j) ON i = j)",
    "SELECT t.k, r.id FROM LATERAL (SELECT * FROM t) AS t, LATERAL range(2) AS r",
    "SELECT map_keys(m) AS a, count(*) AS n FROM (SELECT if(x > 0, map('b', 1, 'a', 2), "
    "map('a', 2, 'b', 1)) AS m FROM t) GROUP BY m",
    "SELECT count(*) AS n FROM (SELECT struct(array(if(x > 0, map(2, k, 1, k), map(1, k, 2, k)))) "
    "AS s FROM t) GROUP BY s",
    "SELECT t.k, x, i FROM t LEFT JOIN LATERAL explode(array(x, y, 2)) AS e (i) ON i > t.x",
    "SELECT x, p, i FROM t LEFT JOIN LATERAL posexplode(if(x > 0, array(x, y), NULL)) AS e (p, i) "
    "ON p + i > 2",
    "SELECT x, s FROM t LEFT JOIN LATERAL (SELECT x + y AS s) ON s > 1",
    "SELECT t.k, s.* FROM t, LATERAL (SELECT t.*, u.z FROM u WHERE u.k = t.k) AS s",
    "SELECT k, x, any(y > 1) OVER (PARTITION BY k ORDER BY x) AS a FROM t",
    "SELECT k, x, grouping__id FROM t GROUP BY CUBE (k, x) HAVING grouping__id < 3",
    "SELECT k, string(listagg(binary(string(x)), X'2C') WITHIN GROUP (ORDER BY x DESC)) AS l, "
    "listagg(x, NULL) WITHIN GROUP (ORDER BY x) AS m FROM t GROUP BY k",
    "SELECT k, explode(array(min(x), max(y))) AS m, count(*) FROM t GROUP BY k",
    "SELECT k, x FROM t DISTRIBUTE BY k SORT BY x",
    "SELECT k FROM t CLUSTER BY k",
    "SELECT k, (SELECT max(z) FROM u WHERE u.k = t.k LIMIT 1) AS m FROM t",
    "SELECT * FROM t LIMIT ALL OFFSET 0",
    "FROM t |> SELECT sum(x) AS s |> SELECT ALL s + 1",
    "SELECT k, aggregate(array(x, y), (0L AS s, 0 AS n), (a, v) -> (a.s + v, a.n + 1), a -> a.s) "
    "AS a FROM t",
    "SELECT k, string(from_utc_timestamp(timestamp_seconds(x), 'PST')) AS a, "
    "median(make_dt_interval(x)) OVER (PARTITION BY k) AS b FROM t",
    "SELECT k, median(make_dt_interval(x)) AS a, percentile_disc(0.3) WITHIN GROUP (ORDER BY "
    "make_dt_interval(x) DESC) AS b, string(percentile_disc(0.3) WITHIN GROUP (ORDER BY "
    "make_ym_interval(x) DESC)) AS c FROM t GROUP BY k",
]

TIMED = [
    "SELECT string(window.start) AS s, string(window.end) AS e, k, count(*) AS n, sum(x) AS v "
    "FROM q GROUP BY window(ts, '2 seconds', '1 second'), k",
    "SELECT k, string(window(ts, '2 seconds', '2 seconds', '1 second').start) AS s, max(y) AS m "
    "FROM q GROUP BY 1, 2 HAVING max(y) > 0",
    "SELECT string(window_time(w)) AS w, n FROM (SELECT window AS w, count(*) AS n FROM q "
    "GROUP BY window(ts, '3 seconds'))",
    "SELECT string(window(w, '4 seconds').end) AS e, sum(n) AS n FROM (SELECT window AS w, "
    "count(*) AS n FROM q GROUP BY window(ts, '2 seconds')) GROUP BY window(w, '4 seconds')",
    "SELECT k, x, y, string(window(ts, '2 seconds', '1 second').start) AS s FROM q",
    "SELECT CAST(window AS STRING) AS w, k, sum(x) AS v FROM q "
    "GROUP BY ROLLUP (window(ts, '2 seconds'), k)",
    "SELECT k, string(session_window.start) AS s, string(session_window.end) AS e, sum(x) AS v "
    "FROM q GROUP BY k, session_window(ts, '1 second')",
    "SELECT string(session_window(ts, '900 milliseconds').end) AS e, count(*) AS n FROM q "
    "GROUP BY session_window(ts, '900 milliseconds')",
    "SELECT k, string(max(session_window.end)) AS e, sort_array(collect_list(x)) AS l, "
    "count(DISTINCT y) AS d, max_by(x, struct(y, x)) AS m FROM q "
    "GROUP BY k, session_window(ts, '700 milliseconds') HAVING count(*) > 1",
    "SELECT k, string(session_window.end) AS e, count(*) AS n FROM q GROUP BY k, "
    "session_window(ts, CASE WHEN x > 1 THEN '2 seconds' WHEN x > 0 THEN '0 seconds' "
    "WHEN x = 0 THEN '500 milliseconds' END)",
]
"""Windows as Spark writes them, over t with times."""

RESHAPED = [
    "SELECT * FROM (SELECT k, x, y FROM t) PIVOT (sum(y) FOR k IN ('a', 'b', NULL))",
    "SELECT * FROM t PIVOT (sum(y) AS s, count(*) AS n FOR k IN ('a' AS aa, 'b')) AS p WHERE x > 0",
    "SELECT * FROM t PIVOT (count(1) FOR (k, x) IN (('a', 1) AS one, ('b', 2)))",
    "SELECT * FROM t PIVOT (max(y) AS m FOR x IN (1, 2, 3)) ORDER BY k LIMIT 3",
    "SELECT * FROM t PIVOT (max(y) + 1 AS m, 2 * count(x) AS c FOR k IN ('a', 'b'))",
    "SELECT * FROM t UNPIVOT (v FOR name IN (x, y))",
    "SELECT * FROM t UNPIVOT INCLUDE NULLS (v FOR name IN (x AS xx, y)) AS u WHERE u.name <> 'y'",
    "SELECT * FROM t UNPIVOT ((v, w) FOR name IN ((x, y) AS xy, (y, x)))",
]
"""PIVOT and UNPIVOT; the columns have Spark's names, too."""

OF_NOTHING = [
    "SELECT count(*) AS n, sum(x) AS s, max(k) AS m, collect_list(x) AS l FROM t WHERE x > 9",
    "SELECT count(*) + 1 AS n FROM t WHERE x > 9 HAVING max(x) IS NULL",
    "SELECT n, k FROM (SELECT count(*) AS n FROM u WHERE z > 9) JOIN t ON n = t.x",
    "SELECT sum(x) AS s FROM t WHERE x > 0",
    "SELECT k, (SELECT count(*) FROM u WHERE z > 9) AS n FROM t",
]
"""Aggregates without GROUP BY, with SET empty_aggregates = true."""


def rows_of(seed: int) -> dict[str, list[dict[str, Any]]]:
    random = Random(seed)

    def value(kind: str) -> Any:
        if random.random() < 0.15:
            return None
        return random.choice("abc") if kind == "STRING" else random.randint(-1, 3)

    return {
        name: [{column: value(kind) for column, kind in columns.items()} for _ in range(size)]
        for (name, columns), size in zip(TABLES.items(), (9, 7), strict=True)
    }


def driftline_says(sql: str, rows: dict[str, list[dict[str, Any]]]) -> Counter[Any]:
    query = dl.sql(STREAMS + sql)
    inputs = {name: arrivals(rows[name]) for name in query.plan.sources() if name in rows}
    history = query.run(inputs, batch=3).history().to_pylist()
    return Counter(
        _hashable([value for name, value in row.items() if name not in ("vs", "ve")])
        for row in history
        if row["ve"] is None
    )


def arrivals(rows: list[dict[str, Any]]) -> list[Any]:
    """The rows out of order, among others that go again."""
    random = Random(len(rows))
    came = [dl.Insert(number, dl.INFINITY, dl.Row(row)) for number, row in enumerate(rows)]
    random.shuffle(came)
    events: list[Any] = list(came)
    for each in random.sample(came, 3):
        place = random.randrange(len(events))
        events.insert(place, dl.Insert(each.vs + 1, dl.INFINITY, each.row))
        after = random.randrange(place + 1, len(events) + 1)
        events.insert(after, dl.Retract(each.vs + 1, dl.INFINITY, each.vs + 1, each.row))
    return events


def _hashable(value: Any) -> Any:
    """A value with tuples for its lists."""
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


@pytest.fixture(scope="module")
def uncompiled(spark: Any) -> Any:
    """A session that compiles no query: for one of few rows that takes longer than to answer it."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    return session


def test_random_queries(uncompiled: Any) -> None:
    compare(uncompiled, [Queries(seed).query().sql for seed in range(QUERIES)])


def test_window_functions(uncompiled: Any) -> None:
    compare(uncompiled, [f"SELECT k, x, y, {each} AS w FROM t" for each in WINDOWED])


def test_windows_as_spark_writes_them(uncompiled: Any) -> None:
    rows = "WITH q AS (SELECT *, timestamp_seconds(y) AS ts FROM t) "
    compare(uncompiled, [rows + each for each in TIMED])


def test_grouping_sets(uncompiled: Any) -> None:
    compare(uncompiled, GROUPED)


def test_offsets(uncompiled: Any) -> None:
    compare(uncompiled, OFFSETS)


def test_what_spark_accepts(uncompiled: Any) -> None:
    compare(uncompiled, MORE)


def test_pivot_and_unpivot(uncompiled: Any) -> None:
    compare(uncompiled, RESHAPED, names=True)


def test_aggregates_of_nothing(uncompiled: Any) -> None:
    compare(uncompiled, OF_NOTHING, before="SET empty_aggregates = true;\n")


def compare(spark: Any, queries: list[str], before: str = "", names: bool = False) -> None:
    rows = rows_of(7)
    for name, columns in TABLES.items():
        schema = ", ".join(f"{column} {kind}" for column, kind in columns.items())
        spark.createDataFrame(
            [tuple(row.values()) for row in rows[name]], schema
        ).createOrReplaceTempView(name)
    wrong = []
    for number, sql in enumerate(queries):
        theirs = spark.sql(sql)
        expected = Counter(_hashable(list(row)) for row in theirs.collect())
        if (emitted := driftline_says(before + sql, rows)) != expected:
            wrong.append(f"{number}: {sql}\n  says {emitted}\n  Spark {expected}")
        if names and list(dl.sql(STREAMS + sql).schema.names) != theirs.columns:
            wrong.append(f"{number}: {sql}\n  Spark's columns: {theirs.columns}")
    assert not wrong, "\n".join(wrong)
