"""Whatever of a script's syntax has no meaning here is refused: nothing is dropped in silence."""

from collections.abc import Iterator

import pytest
from sqlglot import exp

from driftline.sql import SqlError, grammar, read_script, script
from tests.sql.declared import RELATIONS, plan, refused

SCRIPTS = (
    """
CREATE OR REPLACE STREAM q (a INT, `b c` ARRAY<STRING>) WITH (time = 'a', disorder = 5)
CREATE VIEW v (a, b) AS SELECT k, x FROM t
CREATE STREAM v AS SELECT k FROM t
WITH c AS (SELECT k FROM t) INSERT INTO q (a) SELECT * FROM c
SET emit = eager
SELECT t.k AS j, x + 1 AS z, * FROM t WHERE x > 1 AND (y = 2 OR k LIKE 'a%')
SELECT DISTINCT k FROM t [RANGE 5 SLIDE 2] AS s (k, x, y)
SELECT k FROM t [NOW] UNION ALL SELECT k FROM u [UNBOUNDED] [FROM vs + 1 FOR 3]
(SELECT k FROM t) INTERSECT (SELECT k FROM u ORDER BY k LIMIT 2) ORDER BY 1 DESC LIMIT 3 OFFSET 1
SELECT k FROM t EXCEPT BY NAME SELECT k FROM u
SELECT k FROM TUMBLE(TABLE t, DESCRIPTOR(y), 10)
SELECT k FROM HOP(t, 5, 10) AS h
SELECT t.*, z FROM t JOIN u ON t.k = u.k LEFT JOIN (SELECT k AS j FROM u) AS w ON j = t.k
SELECT * FROM ((t LEFT JOIN u USING (k)) CROSS JOIN (u AS w))
SELECT * FROM t NATURAL FULL JOIN u
SELECT t.k FROM t LEFT SEMI JOIN u ON t.k = u.k
SELECT k, sum(x) AS n FROM t GROUP BY k HAVING sum(x) > 1 ORDER BY n DESC NULLS LAST LIMIT 3
SELECT k, count(*) FROM t GROUP BY ALL
SELECT k, x, grouping(k) FROM t GROUP BY ROLLUP (k, x)
SELECT k, x, grouping_id() FROM t GROUP BY GROUPING SETS ((k, x), (k), ())
SELECT k, x FROM t GROUP BY k, x WITH CUBE
SELECT k, x AS a FROM t GROUP BY 1, a
SELECT k, rank() OVER (PARTITION BY k ORDER BY x DESC) AS r FROM t QUALIFY r <= 2
SELECT sum(x) FILTER (WHERE y > 1) OVER (ORDER BY x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t
SELECT sum(x) OVER w FROM t WINDOW w AS (PARTITION BY k)
SELECT lag(x, 1, 0) IGNORE NULLS OVER v FROM t WINDOW w AS (PARTITION BY k), v AS (w ORDER BY y)
SELECT ntile(2) OVER (ORDER BY x), max_by(x, y) OVER (PARTITION BY k), count(*) OVER () FROM t
SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND z > 1)
SELECT k FROM t WHERE NOT (x IN (SELECT z FROM u))
SELECT k FROM t WHERE x IN (SELECT z FROM u WHERE u.k = t.k) AND x > (SELECT avg(z) FROM u)
WITH a AS (SELECT k FROM t), b (j) AS (SELECT k FROM a) SELECT * FROM b
SELECT k, part FROM t LATERAL VIEW OUTER explode(array(x, y)) p AS part
SELECT k, e FROM t, LATERAL explode(array(x)) AS p (e)
SELECT k, e FROM t CROSS JOIN UNNEST(array(x)) AS p (e)
SELECT k, explode(array(x)) AS e FROM t
SELECT k, posexplode(array(x)) AS (i, e) FROM t
SELECT t.k, v.n FROM t, LATERAL (SELECT count(*) AS n FROM u WHERE u.k = t.k) AS v
SELECT k, (SELECT max(z) FROM u WHERE u.k = t.k) AS m, EXISTS (SELECT 1 FROM u) AS e FROM t
SELECT listagg(k, ',') WITHIN GROUP (ORDER BY k) AS l, mode() WITHIN GROUP (ORDER BY x) AS m FROM t
SELECT k FROM t WHERE (k, x) IN ((1, 2), (3, 4)) AND (k, x) NOT IN (SELECT k, z FROM u)
SELECT k FROM t WHERE x BETWEEN SYMMETRIC 3 AND 1 ORDER BY x FETCH FIRST 2 ROWS WITH TIES
SELECT * EXCEPT (x) FROM t ORDER BY y LIMIT 1 + 1
SELECT n FROM t MATCH_RECOGNIZE (ORDER BY y MEASURES FINAL sum(A.x) AS n PATTERN (A B) WITHIN 5)
SELECT * FROM t AS s [NOW] MATCH_RECOGNIZE (PARTITION BY k ORDER BY y DESC, x PATTERN (A)) AS m (j)
SELECT * FROM (SELECT k, y FROM t) MATCH_RECOGNIZE (ORDER BY y ALL ROWS PER MATCH AFTER MATCH SKIP \
TO LAST U PATTERN (A B+ C) SUBSET U = (B, C) DEFINE B AS count(B.*) < 3 AND PREV(C.y, 2) IS NULL)
""".replace("\\\n", "")
    .strip()
    .splitlines()
)


def mutated(text: str) -> Iterator[tuple[exp.Expr, str]]:
    """The tree of a statement with one more argument, at each of its nodes in turn."""
    count = sum(1 for _ in grammar.parse_script(text)[0].walk())
    for place in range(count):
        tree = grammar.parse_script(text)[0]
        node = list(tree.walk())[place]
        node.args["unheard_of"] = True
        yield tree, type(node).__name__


@pytest.mark.parametrize("text", SCRIPTS)
def test_every_argument_of_every_node_counts(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read_script(text, RELATIONS)
    for tree, where in mutated(text):
        monkeypatch.setattr(script, "parse_script", lambda _, tree=tree: [tree])
        assert "UNHEARD OF is not supported here" in refused(text).message, where


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k FROM t *",
        "SELECT k FROM . t",
        "SELECT k FROM t , WHERE x > 1",
        "SELECT k FROM t WHERE x > 1 , ORDER BY k",
        "SELECT AS k FROM t",
        "SELECT k AS FROM t",
        "SELECT k AS , x FROM t",
        "SELECT k FROM t AS",
        "SELECT sum(x AS) FROM t",
        "AS SELECT k FROM t",
        "+ SELECT k FROM t",
        "SELECT k FROM t ORDER BY x ASC DESC LIMIT 1",
        "SELECT k FROM t ORDER BY x NULLS FIRST NULLS LAST LIMIT 1",
        "SELECT k FROM t ORDER BY x LIMIT , 3",
        "SELECT k FROM t ORDER BY x LIMIT 50 PERCENT",
        "SELECT k FROM t ORDER BY x LIMIT 1 BY k WITH TIES",
        "SELECT sum(x) OVER (ORDER BY x ROWS BETWEEN BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t",
        "SELECT sum(x) OVER (PARTITION BY ORDER BY x) FROM t",
        "SELECT sum(x) OVER (ORDER BY x ROWS 1 PRECEDING EXCLUDE CURRENT ROW) FROM t",
        "SELECT sum(x) OVER (ORDER BY x GROUPS 1 PRECEDING) FROM t",
        "SELECT rank(DISTINCT) OVER (ORDER BY x) FROM t",
        "SELECT rank() FILTER (WHERE x > 1) OVER (ORDER BY x) FROM t",
        "SELECT rank() IGNORE NULLS OVER (ORDER BY x) FROM t",
        "SELECT CAST(x AS BIGINT FORMAT) FROM t",
        "SELECT CAST(x AS BIGINT FORMAT 'x') FROM t",
        "SELECT JSON 1 FROM t",
        "SELECT x FROM t WHERE x IN k",
        "SELECT * EXCEPT FROM t",
        "SELECT * ILIKE 'x%' FROM t",
        "SELECT STRUCT k FROM t",
        "SELECT TOP 3 k FROM t",
        "SELECT k INTO z FROM t",
        "SELECT k FROM t NATURAL UNION ALL SELECT k FROM u",
        "SELECT k FROM t LEFT UNION SELECT k FROM u",
        "SELECT k FROM t UNION CORRESPONDING SELECT k FROM u",
        "FROM t |> TABLESAMPLE (3 ROWS)",
        "SELECT k, e FROM t JOIN LATERAL VIEW explode(array(x)) p AS e",
        "SELECT k FROM t GROUP BY",
        "SELECT k FROM t GROUP BY k WITH TOTALS",
        "SELECT k FROM t GROUP BY DISTINCT k",
        "SELECT k FROM t GROUP BY ALL k",
        "SELECT k FROM t GROUP BY ROLLUP (k) WITH ROLLUP",
        "WITH c AS MATERIALIZED (SELECT k FROM t) SELECT * FROM c",
        "WITH c AS NOT MATERIALIZED (SELECT k FROM t) SELECT * FROM c",
        "SELECT k FROM t TABLESAMPLE (3 ROWS)",
        "SELECT k FROM t WITH (nolock)",
        "SELECT k FROM t PIVOT (sum(x) FOR k IN ('a'))",
        "SELECT k FROM t FOR UPDATE",
        "SELECT k FROM t FOR SYSTEM_TIME AS OF '2024-05-01'",
        "SELECT k FROM (t ORDER BY k LIMIT 1)",
        "SELECT k FROM t START WITH x = 1 CONNECT BY PRIOR x = y",
        "SELECT k FROM t SETTINGS a = 1",
        "SELECT k FROM t NATURAL JOIN u USING (k)",
        "SELECT k FROM t ASOF JOIN u ON t.k = u.k",
        "SELECT k FROM t@v",
        "SELECT k FROM t PARTITION (x = 1)",
        "SELECT sum(x ORDER BY y) FROM t",
        "SELECT array_agg(x LIMIT 3) FROM t",
        "SELECT abs(DISTINCT x) FROM t",
        "SELECT k COLLATE unicode FROM t",
        "SELECT k.* EXCEPT (a) FROM t",
        "INSERT INTO q PARTITION (a = 1) SELECT k FROM t",
        "CREATE TEMPORARY STREAM q (a INT)",
        "CREATE STREAM q (a INT) PARTITIONED BY (a)",
        "CREATE VIEW v COMMENT 'x' AS SELECT k FROM t",
    ],
)
def test_what_other_dialects_say_is_refused(text: str) -> None:
    refused(text)


WORDS = (
    *("AS", "ALL", "ASC", "BETWEEN", "CROSS", "DISTINCT", "EXCEPT", "FROM", "IGNORE NULLS", "IN"),
    *(
        "LEFT",
        "LIMIT",
        "NATURAL",
        "NOT",
        "NULLS LAST",
        "ON",
        "ONLY",
        "PERCENT",
        "ROWS",
        "SYMMETRIC",
    ),
    *("UNION", "WITH TIES", "WITH TOTALS", "*", ",", ".", "+", "(", "="),
)
HARMLESS = {"ALL", "NULLS LAST", "+", "ROWS", "ONLY"}
"""What is the default, or may be emitted without meaning anything."""


def test_a_word_more_is_refused_or_means_something() -> None:
    text = "SELECT k , sum ( x ) AS s FROM t WHERE x > 1 GROUP BY k ORDER BY s DESC LIMIT 3"
    parts, meant = text.split(), plan(text)
    for place in range(len(parts) + 1):
        for word in WORDS:
            more = " ".join([*parts[:place], word, *parts[place:]])
            try:
                same = plan(more) == meant
            except SqlError:
                same = False
            assert not same or word in HARMLESS, more
