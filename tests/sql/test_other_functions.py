"""Functions of other engines, over late rows and retractions: the answer in the end is DuckDB's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import driftline as dl
from driftline.engine.expressions.errors import EvaluationError
from tests.sql.declared import plan, pointed_at
from tests.sql.test_other_spellings import E, L, by_duckdb, in_the_end

KNOWN = "FILTER (v IS NOT NULL)"


@pytest.mark.parametrize(
    ("query", "usual"),
    [
        ("SELECT k, countif(v > 1), logical_or(v > 1), logical_and(v > 1) FROM e GROUP BY k",
         "SELECT k, count_if(v > 1), bool_or(v > 1), bool_and(v > 1) FROM e GROUP BY k"),
        ("SELECT k, arg_max(id, v * 100 + id), count_distinct(v) FROM e GROUP BY k",
         "SELECT k, arg_max(id, v * 100 + id), count(DISTINCT v) FROM e GROUP BY k"),
        ("SELECT k, array_agg(v ORDER BY id DESC) AS l FROM e GROUP BY k",
         f"SELECT k, list(v ORDER BY id DESC) {KNOWN} FROM e GROUP BY k"),
        ("SELECT k, array_agg(id ORDER BY v DESC, id LIMIT 3) AS l FROM e GROUP BY k",
         "SELECT k, list(id ORDER BY v DESC NULLS LAST, id)[1:3] FROM e GROUP BY k"),
        ("SELECT k, array_agg(id ORDER BY v NULLS LAST, id) FILTER (WHERE id > 9) AS l FROM e "
         "GROUP BY k",
         "SELECT k, list(id ORDER BY v NULLS LAST, id) FILTER (id > 9) FROM e GROUP BY k"),
        ("SELECT k, array_agg(DISTINCT v ORDER BY v) FROM e GROUP BY k",
         f"SELECT k, list(DISTINCT v ORDER BY v) {KNOWN} FROM e GROUP BY k"),
        ("SELECT k, array_agg(id ORDER BY id LIMIT 1)[OFFSET(0)] FROM e GROUP BY k",
         "SELECT k, min(id) FROM e GROUP BY k"),
        ("SELECT k, first_value(v ORDER BY id), last_value(v ORDER BY v, id) FROM e GROUP BY k",
         "SELECT k, first(v ORDER BY id), last(v ORDER BY v NULLS FIRST, id) FROM e GROUP BY k"),
        ("SELECT k, any_value(v HAVING MAX id), any_value(v HAVING MIN id) FROM e GROUP BY k",
         "SELECT k, last(v ORDER BY id), first(v ORDER BY id) FROM e GROUP BY k"),
        ("SELECT k, v, grouping(k, v), count(*) FROM e GROUP BY ROLLUP (k, v)",
         "SELECT k, v, grouping_id(k, v), count(*) FROM e GROUP BY ROLLUP (k, v)"),
        ("SELECT id, safe_divide(v, v - 1), div(id, 3), safe_cast(k AS INT64) FROM e",
         "SELECT id, CASE WHEN v <> 1 THEN v / (v - 1) END, id // 3, NULL FROM e"),
        ("SELECT id, strpos(k, 'p'), starts_with(k, 'q'), k ~ '^P', k ~* '^P', k !~ 'p' FROM e",
         "SELECT id, strpos(k, 'p'), k = 'q', k = 'P', k = 'p', k <> 'p' FROM e"),
        ("SELECT id FROM e WHERE v = ANY (ARRAY[1, 4]) AND v <> ALL (ARRAY[4, 5])",
         "SELECT id FROM e WHERE v = 1"),
        ("SELECT id, v = ANY (l), v < SOME (l), v > ALL (1, 2), v >= ALL (VALUES (1), (NULL)) "
         "FROM (SELECT id, v, ARRAY[id, 4, NULL] AS l FROM e)",
         "SELECT id, v IN (id, 4, NULL), v < id OR v < 4 OR NULL, v > 2, v >= 1 AND NULL FROM e"),
        ("SELECT id, v = ANY ('{1, NULL}'::int[]), string_to_array('a.b', '.'), "
         "array_length(ARRAY[id], 1) FROM e",
         "SELECT id, v IN (1, NULL), ['a', 'b'], 1 FROM e"),
        ("SELECT k, ARRAY(SELECT x.v FROM e AS x WHERE x.k = y.k ORDER BY x.id DESC LIMIT 3) AS l, "
         "ARRAY(SELECT DISTINCT lim FROM l WHERE lim > 2 UNION ALL SELECT 9 ORDER BY 1) AS m, "
         "ARRAY(SELECT max(lim) FROM l GROUP BY lim ORDER BY 1 DESC) AS n, "
         "ARRAY(SELECT lim FROM l WHERE lim > 9) AS o FROM (SELECT DISTINCT k FROM e) AS y",
         "SELECT k, coalesce((SELECT list(v ORDER BY id DESC)[1:3] FROM e WHERE e.k = y.k), []), "
         "[3, 9], [3, 2, NULL], [] FROM (SELECT DISTINCT k FROM e) AS y"),
        ("SELECT DISTINCT ON (v) k AS v, id FROM e ORDER BY v, id",
         "SELECT k, min(id) FROM e GROUP BY k"),
        ("SELECT id, n FROM e, generate_series(v, id, v - 3) AS n WHERE v <> 3 AND id < 9",
         "SELECT id, unnest(generate_series(v, id, v - 3)) FROM e WHERE v <> 3 AND id < 9"),
        ("SELECT e.id, n FROM e LEFT JOIN LATERAL generate_series(1, v) AS n ON n > 2 AND id > n",
         "SELECT id, n FROM e LEFT JOIN (VALUES (3), (4)) AS x (n) ON n <= v AND id > n"),
        ("SELECT id, x.a FROM e LEFT JOIN UNNEST(ARRAY[ROW(v, k)]) AS x (a, b) "
         "ON b = 'p' AND a > 1",
         "SELECT id, CASE WHEN k = 'p' AND v > 1 THEN v END FROM e"),
        ("SELECT e.id, column2, lim FROM l, e JOIN (VALUES (1, 7), (4, 8)) ON column1 = v",
         "SELECT e.id, w, lim FROM e, l, (VALUES (1, 7), (4, 8)) AS x (u, w) WHERE u = v"),
        ("SELECT e.id, n FROM e JOIN (VALUES (1) UNION VALUES (2), (2)) AS x (n) ON n = v",
         "SELECT id, v FROM e WHERE v IN (1, 2)"),
        ("SELECT id, x FROM e LEFT JOIN LATERAL unnest(ARRAY[v]) AS x ON x > 1",
         "SELECT id, CASE WHEN v > 1 THEN v END FROM e"),
        ("SELECT id, v IN UNNEST(ARRAY[1, NULL]) FROM e", "SELECT id, v IN (1, NULL) FROM e"),
        ("SELECT id, array_length(ARRAY[id, v]), ARRAY[id, v][SAFE_OFFSET(2)] FROM e",
         "SELECT id, 2, NULL FROM e"),
        ("SELECT id, n FROM e, generate_series(1, v) AS n",
         "SELECT id, unnest(range(1, v + 1)) FROM e WHERE v IS NOT NULL"),
        ("SELECT id, unnest(ARRAY[id, v]) AS u FROM e", "SELECT id, unnest([id, v]) FROM e"),
        ("SELECT id, u, o FROM e, UNNEST(ARRAY[id, v]) AS u WITH OFFSET AS o",
         "SELECT id, unnest([id, v]), unnest([0, 1]) FROM e"),
        ("SELECT id, u, o FROM e CROSS JOIN UNNEST(ARRAY[id, v]) WITH ORDINALITY AS x (u, o)",
         "SELECT id, unnest([id, v]), unnest([1, 2]) FROM e"),
        ("SELECT id, a, b FROM e CROSS JOIN UNNEST(ARRAY[ROW(id, v)]) AS x (a, b)",
         "SELECT id, id, v FROM e"),
        ("SELECT e.id, n FROM UNNEST([2, 3]) AS n JOIN e ON e.v = n",
         "SELECT id, 2 FROM e WHERE v = 2"),
        ("SELECT id FROM e WHERE EXISTS (SELECT 1 FROM UNNEST(ARRAY[id, v]) AS x WHERE x = 4)",
         "SELECT id FROM e WHERE id = 4 OR v = 4"),
        ("SELECT id, ARRAY(SELECT x + 1 FROM UNNEST(ARRAY[id, v]) AS x WHERE x > 1) AS l, "
         "(SELECT max(t.x) FROM UNNEST(ARRAY[id, v]) AS t (x)) AS m, "
         "(SELECT count(*) FROM UNNEST(ARRAY[id, v]) AS x WHERE x > 1) AS n FROM e",
         "SELECT id, [x + 1 for x in [id, v] if x > 1], greatest(id, v), "
         "len([x for x in [id, v] if x > 1]) FROM e"),
        ("SELECT id, split_index('a.b', '.', v - 1) FROM e",
         "SELECT id, CASE v WHEN 1 THEN 'a' WHEN 2 THEN 'b' END FROM e"),
        ("SELECT a.id, x.id FROM e AS a OUTER APPLY (SELECT b.id FROM e AS b WHERE b.v = a.id "
         "ORDER BY b.id LIMIT 1) AS x",
         "SELECT a.id, (SELECT min(b.id) FROM e AS b WHERE b.v = a.id) FROM e AS a"),
        ("SELECT a.id, x.id FROM e AS a CROSS APPLY (SELECT b.id FROM e AS b WHERE b.v = a.id) "
         "AS x",
         "SELECT a.id, b.id FROM e AS a JOIN e AS b ON b.v = a.id"),
        ("SELECT k, id FROM e ORDER BY v DESC, 2 LIMIT 2 OFFSET 1 BY k LIMIT 4",
         "SELECT k, id FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY v DESC NULLS "
         "LAST, id) AS n FROM e) WHERE n IN (2, 3) ORDER BY v DESC NULLS LAST, id LIMIT 4"),
        ("SELECT k, v, sum(id) AS s FROM e GROUP BY k, v ORDER BY s DESC LIMIT 1 BY k",
         "SELECT DISTINCT ON (k) k, v, sum(id) AS s FROM e GROUP BY k, v ORDER BY k, s DESC"),
        ("SELECT lim, (SELECT AS STRUCT count(*) AS n, max(id) FROM e WHERE v = lim) AS s, "
         "ARRAY(SELECT AS STRUCT x, 1 AS o FROM UNNEST([lim]) AS x) AS a FROM l",
         "SELECT lim, {'n': (SELECT count(*) FROM e WHERE v = lim), '_field_2': "
         "(SELECT max(id) FROM e WHERE v = lim)}, [{'x': lim, 'o': 1}] FROM l"),
        ("SELECT id FROM e WHERE v >= (SELECT count(*) / count(DISTINCT lim) FROM l)",
         "SELECT id FROM e WHERE v >= 1.5"),
        # Stars
        ("SELECT * EXCEPT (k) REPLACE (-id AS id) FROM e ORDER BY id LIMIT 9",
         "SELECT -id, v FROM e ORDER BY id DESC LIMIT 9"),
        ("SELECT * EXCEPT (k) RENAME (v AS k, id AS v) FROM e ORDER BY v LIMIT 9",
         "SELECT id, v FROM e ORDER BY id LIMIT 9"),
        ("SELECT coalesce(*) AS c, array(id, v)[1] AS i FROM (SELECT v, id FROM e)",
         "SELECT coalesce(v, id), v FROM e"),
        ("SELECT k, m.* FROM (SELECT k, max(struct(id, v)) AS m FROM e GROUP BY k)",
         "SELECT k, max(id), arg_max_null(v, id) FROM e GROUP BY k"),
        ("SELECT q.s.* EXCEPT (id) FROM (SELECT struct(*) AS s FROM e) AS q", "SELECT k, v FROM e"),
        # Subqueries of one row, and in keys
        ("SELECT id, (SELECT x.v FROM e AS x WHERE x.id = e.id + 1) AS n FROM e",
         "SELECT id, (SELECT x.v FROM e AS x WHERE x.id = e.id + 1) FROM e"),
        ("SELECT id FROM e WHERE v > (SELECT lim FROM l WHERE lim < 3)",
         "SELECT id FROM e WHERE v > 2"),
        ("SELECT v IN (SELECT lim FROM l WHERE lim > 0) AS i, count(*) FROM e GROUP BY i",
         "SELECT v IN (2, 3), count(*) FROM e GROUP BY 1"),
        ("SELECT count(*), EXISTS (SELECT 1 FROM l WHERE lim = v) FROM e GROUP BY ALL",
         "SELECT count(*), coalesce(v IN (2, 3), false) AS i FROM e GROUP BY i"),
        ("SELECT count(*) FROM e GROUP BY EXISTS (SELECT 1 FROM l WHERE lim = v)",
         "SELECT count(*) FROM e GROUP BY coalesce(v IN (2, 3), false)"),
    ],
)  # fmt: skip
def test_the_answer_is_the_usual_one(query: str, usual: str) -> None:
    streams = {"e": E} | ({"l": L} if "FROM l" in query else {})
    assert in_the_end(dl.sql(query, **streams)) == by_duckdb(usual)


@pytest.mark.parametrize(
    "rows",
    [
        "SELECT lim FROM l",
        "SELECT lim FROM l QUALIFY row_number() OVER (PARTITION BY lim ORDER BY lim) = 1",
    ],
)
def test_a_value_of_several_rows_is_an_error(rows: str) -> None:
    with pytest.raises(EvaluationError, match="has more than one row: take an aggregate"):
        in_the_end(dl.sql(f"SELECT id, ({rows}) AS x FROM e", e=E, l=L))


T = dl.stream("t", {"ts": "TIMESTAMP", "k": "STRING", "x": "INT"}, time="ts")
START = datetime(2024, 5, 1, tzinfo=UTC)
ROWS: list[dict[str, Any]] = [
    {"ts": START + timedelta(minutes=at), "k": "ab"[at % 2], "x": at} for at in (1, 31, 4, 7, 2, 33)
]


def alike(one: str, other: str) -> None:
    found, expected = (dl.sql(each, t=T).run(t=ROWS, batch=2) for each in (one, other))
    assert found.history().to_pylist() == expected.history().to_pylist()
    assert found.history().num_rows


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("timestamp_trunc(ts, HOUR)", "date_trunc('HOUR', ts)"),
        ("FLOOR(ts TO HOUR)", "date_trunc('HOUR', ts)"),
        ("FLOOR(x / 2)", "floor(x / 2)"),
        ("date_trunc(ts, MONTH)", "trunc(ts, 'MONTH')"),
        ("date_trunc(ts, DAY)", "to_date(ts)"),
        ("timestamp_add(ts, INTERVAL 5 MINUTE)", "ts + INTERVAL 5 MINUTE"),
        ("date_sub(to_date(ts), INTERVAL 1 MONTH)", "to_date(ts) - INTERVAL 1 MONTH"),
        ("timestamp_diff(ts, lag(ts) OVER (ORDER BY ts), MINUTE)",
         "timestampdiff(MINUTE, lag(ts) OVER (ORDER BY ts), ts)"),
        ("date_diff(ts, TIMESTAMP '2024-01-01', DAY)", "datediff(ts, TIMESTAMP '2024-01-01')"),
        ("date_bin('5 minutes', ts, '2000-01-01')",
         "time_bucket(INTERVAL 5 MINUTES, ts, TIMESTAMP '2000-01-01')"),
        ("time_bucket('5 minutes', ts)", "time_bucket(INTERVAL 5 MINUTES, ts)"),
        ("timestamp_bucket(ts, INTERVAL 5 MINUTE)", "time_bucket(INTERVAL 5 MINUTES, ts)"),
        ("extract(epoch FROM ts)", "CAST(unix_micros(ts) AS DOUBLE) / 1000000"),
        ("extract(isodow FROM ts)", "extract(DOW_ISO FROM ts)"),
        ("extract(date FROM ts)", "to_date(ts)"),
        ("ts + '1 day'::interval", "ts + INTERVAL 1 DAY"),
        ("ts - INTERVAL '1 hour 30 minutes'", "ts - INTERVAL 90 MINUTES"),
        ("CAST(x AS FLOAT64)", "CAST(x AS DOUBLE)"),
        ("CAST(k AS BYTES)", "CAST(k AS BINARY)"),
        ("CEIL(ts TO HOUR)", "date_trunc('HOUR', ts) + INTERVAL 1 HOUR"),
        ("CEIL(date_trunc('DAY', ts) TO DAY) = date_trunc('DAY', ts)", "true"),
        ("to_char(ts, 'YYYY-MM-DD\"T\"HH24:MI')", "date_format(ts, \"yyyy-MM-dd'T'HH:mm\")"),
        ("to_timestamp('2024 07:05 PM', 'YYYY HH:MI AM')",
         "to_timestamp('2024 07:05 PM', 'yyyy hh:mm a')"),
        ("format_timestamp('%F at %H:%M', ts)", "date_format(ts, \"yyyy-MM-dd 'at' HH:mm\")"),
        ("strftime(ts, '%j%%')", "date_format(ts, 'DDD%')"),
        ("parse_date('%d.%m.%Y', '01.02.2024')", "DATE '2024-02-01'"),
        ("strptime('2024', '%Y')", "TIMESTAMP '2024-01-01'"),
        ("epoch(ts) + epoch_ms(ts)", "unix_micros(ts) / 1000000 + unix_millis(ts)"),
        ("array(json_value('{\"a\": [1]}', '$.a'), json_value('{\"a\": [1]}', '$.a[0]'), "
         "json_value('{\"a\": \"{\"}', '$.a'))", "array(NULL, '1', '{')"),
        ("array(json_exists('{\"a\": null}', '$.a'), json_exists('{\"a\": null}', '$.b'))",
         "array(true, false)"),
        ("k SIMILAR TO '[a-c]?|_x%' AND NOT k SIMILAR TO '.'", "true"),
        ("list_transform(array(x), y -> y + 1)", "array(x + 1)"),
        ("CAST(parse_json('{\"a\": {\"b c\": 7}}')['a']['b c'] AS INT)", "7"),
        ("parse_json('[1]')['a'] IS NULL", "true"),
        ("(regexp_match(k || '7', '(a|b)([0-9])'))[2]", "'7'"),
        ("(regexp_match(k, '[(]?a'))[1]", "if(k = 'a', k, NULL)"),
        ("MAP['x', x]", "map('x', x)"),
        ("to_timestamp_ltz(x * 1000, 3)", "to_timestamp_ltz(x, 0)"),
        ("array(truncate(-x - 0.129, 2), truncate(x + 0.129, 2))", "array(-x - 0.12, x + 0.12)"),
        ("iif(x > 4, week(ts), array_upper(array(x), 1))", "if(x > 4, weekofyear(ts), 1)"),
        ("jsonb_extract_path_text('{\"a\": [7]}', 'a', '0') || "
         "jsonb_extract_path('{\"a\": [7]}', 'a')", "'7[7]'"),
        ("array(named_struct('a', x, 'b', k)).b", "array(k)"),
    ],
)  # fmt: skip
def test_expressions(one: str, other: str) -> None:
    alike(f"SELECT x, {one} AS y FROM t", f"SELECT x, {other} AS y FROM t")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT k, TUMBLE_START(ts, INTERVAL 5 MINUTES) AS s, "
         "TUMBLE_END(ts, INTERVAL 5 MINUTES) AS e, count(*) AS n FROM t "
         "GROUP BY TUMBLE(ts, INTERVAL 5 MINUTES), k",
         "SELECT k, window.start AS s, window.end AS e, count(*) AS n FROM t "
         "GROUP BY window(ts, '5 minutes'), k"),
        ("SELECT HOP_END(ts, INTERVAL 5 MINUTES, INTERVAL 10 MINUTES) AS e, sum(x) AS n FROM t "
         "GROUP BY HOP(ts, INTERVAL 5 MINUTES, INTERVAL 10 MINUTES)",
         "SELECT window.end AS e, sum(x) AS n FROM t "
         "GROUP BY window(ts, '10 minutes', '5 minutes')"),
        ("SELECT k, SESSION_START(ts, INTERVAL 5 MINUTES) AS s, count(*) AS n FROM t "
         "GROUP BY k, SESSION(ts, INTERVAL 5 MINUTES)",
         "SELECT k, session_window.start AS s, count(*) AS n FROM t "
         "GROUP BY k, session_window(ts, '5 minutes')"),
        ("SELECT window_start, sum(x) AS n FROM TUMBLE(TABLE t, DESCRIPTOR(ts), "
         "INTERVAL 5 MINUTES, INTERVAL 2 MINUTES) GROUP BY window_start",
         "SELECT window.start AS window_start, sum(x) AS n FROM t "
         "GROUP BY window(ts, '5 minutes', '5 minutes', '2 minutes')"),
        ("SELECT window_time, count(*) AS n FROM TUMBLE(TABLE t, INTERVAL 5 MINUTES) "
         "GROUP BY window_start, window_end, window_time",
         "SELECT window_end - INTERVAL '0.001' SECOND AS window_time, count(*) AS n "
         "FROM TUMBLE(TABLE t, INTERVAL 5 MINUTES) GROUP BY window_start, window_end"),
        ("SELECT x FROM t WHERE ts BETWEEN now() - INTERVAL 9 MINUTES "
         "AND now() - INTERVAL 2 MINUTES",
         "SELECT x FROM t WHERE ts >= mz_now() - INTERVAL 9 MINUTES "
         "AND mz_now() >= ts + INTERVAL 2 MINUTES"),
        ("SELECT k, first(x, ts) AS f, array_agg(x) WITHIN GROUP (ORDER BY x DESC) AS l FROM t "
         "GROUP BY k",
         "SELECT k, min_by(x, ts) AS f, array_agg(x ORDER BY x DESC) AS l FROM t GROUP BY k"),
        ("SELECT x, y FROM t, LATERAL TABLE(explode(array(x, 1))) AS l (y)",
         "SELECT x, y FROM t, LATERAL explode(array(x, 1)) AS l (y)"),
        ("SELECT x, y FROM (SELECT x, array(x, 1) AS l FROM t) AS q, q.l AS y",
         "SELECT x, y FROM (SELECT x, array(x, 1) AS l FROM t) AS q, UNNEST(q.l) AS y"),
        ("SELECT x, sum(x) OVER (ORDER BY ts RANGE '5 minutes' PRECEDING) AS s FROM t",
         "SELECT x, sum(x) OVER (ORDER BY ts RANGE INTERVAL 5 MINUTES PRECEDING) AS s FROM t"),
        ("SELECT window_start, count(*) AS n FROM TUMBLE(TABLE t, 'ts', INTERVAL 5 MINUTE) "
         "GROUP BY window_start",
         "SELECT window_start, count(*) AS n FROM TUMBLE(TABLE t, DESCRIPTOR(ts), "
         "INTERVAL 5 MINUTE) GROUP BY window_start"),
        ("SELECT n FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES MATCH_ROWTIME() AS n PATTERN (A B) "
         "DEFINE B AS B.x > A.x)",
         "SELECT n FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES B.ts AS n PATTERN (A B) "
         "DEFINE B AS B.x > A.x)"),
        ("CREATE MATERIALIZED VIEW v (k, n) AS SELECT k, sum(x) FROM t GROUP BY k; SELECT * FROM v",
         "SELECT k, sum(x) AS n FROM t GROUP BY k"),
        ("SELECT k, percentile_disc(0.5) WITHIN GROUP (ORDER BY x) AS p FROM t GROUP BY k",
         "SELECT k, approx_percentile(0.5, 0.1) WITHIN GROUP (ORDER BY x) AS p FROM t GROUP BY k"),
        ("SELECT k, ts, a.x, b.x AS y FROM t AS a ASOF JOIN (SELECT * FROM t WHERE x < 9) AS b "
         "USING (k, ts)",
         "SELECT a.k, a.ts, a.x, b.x AS y FROM t AS a ASOF JOIN (SELECT * FROM t WHERE x < 9) AS b "
         "ON a.k = b.k AND a.ts >= b.ts"),
        ("SELECT * FROM t AS a ASOF LEFT JOIN (SELECT k, ts AS at FROM t) AS b "
         "MATCH_CONDITION (a.ts > b.at) USING (k)",
         "SELECT a.k, a.ts, x, at FROM t AS a ASOF LEFT JOIN (SELECT k, ts AS at FROM t) AS b "
         "MATCH_CONDITION (a.ts > b.at) ON a.k = b.k"),
        ("SELECT a.x, b.x AS y FROM t AS a LEFT ASOF JOIN t AS b MATCH_CONDITION (a.ts > b.ts) "
         "ON a.k = b.k",
         "SELECT a.x, b.x AS y FROM t AS a ASOF LEFT JOIN t AS b MATCH_CONDITION (a.ts > b.ts) "
         "ON a.k = b.k"),
    ],
)  # fmt: skip
def test_queries(one: str, other: str) -> None:
    alike(one, other)


def test_what_has_two_meanings_keeps_that_of_spark() -> None:
    """A column may have the name of a unit, or of a constructor."""
    s = dl.stream("s", {"month": "TIMESTAMP", "array": "ARRAY<INT>"}, time="month")
    rows = [{"month": START, "array": [7, 8]}]
    query = dl.sql("SELECT date_trunc('DAY', month) AS d, array[1] AS i FROM s", s=s)
    (row,) = query.run(s=rows).history().to_pylist()
    assert (row["d"], row["i"]) == (START, 8)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT ts AT TIME ZONE 'CET' FROM trades", "is written from_utc_timestamp(ts, 'zone')"),
        ("SELECT ARRAY(SELECT z, k FROM u) FROM t", "has one column, which is named"),
        ("SELECT ARRAY(SELECT DISTINCT z FROM u ORDER BY k) FROM t", "goes by the column of its"),
        ("SELECT array_length(array(x), 2) FROM t", "counts the items of a list"),
        ("SELECT DISTINCT ON (rank() OVER (ORDER BY x)) x FROM t", "compute it in a subquery"),
        ("SELECT TUMBLE_END(ts, INTERVAL 9 MINUTES) FROM trades "
         "GROUP BY TUMBLE(ts, INTERVAL 5 MINUTES)", "takes the arguments that tumble has"),
        ("SELECT x.* FROM t", "x.* is about a STRUCT or a table, and x a INT"),
        ("SELECT ARRAY[1, 2][1] FROM t", "counts from 1 elsewhere"),
        ("SELECT array_agg(x LIMIT 2) FROM t", "LIMIT without ORDER BY would be any items"),
        ("SELECT array_agg(x ORDER BY y) OVER () FROM t", "has no OVER (…)"),
        ("SELECT string_agg(k, ORDER BY x) FROM t", "ORDER BY in a call stands after a value"),
        ("SELECT k.sum(x) FROM t", "a function has no name before it: SUM(x)"),
        ("SELECT t.true FROM t", "there is no column t.true"),
        ("SELECT x FROM t WHERE x > ANY (SELECT k FROM t)", "would compare strings as they are"),
        ("SELECT first_value(x ORDER BY y, x DESC) FROM t", "an ORDER BY of one direction"),
        ("SELECT date_diff(ts, ts, MONTH) FROM trades", "is timestampdiff(UNIT, a, b)"),
        ("SELECT to_char(ts, 'YYYY Dy') FROM trades", "Dy in 'YYYY Dy' is not a part of a time"),
        ("SELECT strftime(ts, '%U') FROM trades", "%U in '%U' is not a part of a time here"),
        ("SELECT proctime() FROM t", "has another value each time"),
        ("SELECT k FROM t EMIT UPDATES", "there are EMIT CHANGES, EMIT FINAL and EMIT ON WINDOW"),
        ("SELECT k FROM t WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY k", "windows stand in FROM"),
        ("WITH MUTUALLY RECURSIVE r (n STRING) AS (SELECT 1) SELECT * FROM r",
         "n is a INT by its query: CAST it there, or declare it so"),
        ("SELECT AS STRUCT k, x FROM t", "for a subquery that is a value: leave it out"),
        ("SELECT k FROM t LIMIT 1 BY k", "LIMIT without ORDER BY would be any rows"),
        ("SELECT k FROM t ORDER BY x LIMIT x BY k", "LIMIT takes a whole number"),
        ("SELECT DISTINCT k FROM t ORDER BY k LIMIT 1 BY k", "SELECT DISTINCT … into a subquery"),
        ("SELECT (regexp_match(k, '(a)|b'))[1] FROM t", "is written regexp_extract(text, pattern"),
        ("SELECT (regexp_match(k, '(a(b)?)'))[2] FROM t", "is written regexp_extract(text, patt"),
        ("SELECT * RENAME (q AS z) FROM t", "* RENAME: there is no column q"),
        ("SELECT DISTINCT ON (4) k FROM t", "there is no column 4 in the select list"),
        ("SELECT x FROM t JOIN u WITHIN 7 DAYS ON t.k = u.k",
         "a join within a time has a condition"),
        ("SELECT k FROM TUMBLE(TABLE t, 5, 1)", "goes by a column: DESCRIPTOR(ts)"),
        ("SELECT INTERVAL '1 month 2 days' FROM t", "months and days differ in length"),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, said: str) -> None:
    assert said in pointed_at(text)


def test_a_materialized_view_is_put_out() -> None:
    made = plan("CREATE MATERIALIZED VIEW v AS SELECT k FROM t")
    assert made == plan("CREATE STREAM v AS SELECT k FROM t")
