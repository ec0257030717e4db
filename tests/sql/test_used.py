"""Whatever of a script's syntax has no meaning here is refused: nothing is dropped in silence."""

from collections.abc import Iterator

import pytest
from sqlglot import exp

from driftline.sql import grammar, read_script, script
from tests.sql.declared import RELATIONS, refused

SCRIPTS = """
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
""".strip().splitlines()


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
