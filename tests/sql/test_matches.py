"""MATCH_RECOGNIZE in SQL: the plans that it becomes, and what is refused where."""

from __future__ import annotations

import pytest

import driftline as dl
from driftline.plan import nodes
from tests.sql.declared import TRADES, T, U, plan, pointed_at

FALLS = {"DOWN": "price < PREV(price)", "UP": "price > PREV(price)"}
DEFINE = "DEFINE DOWN AS price < PREV(price), UP AS price > PREV(UP.price)"
V_SHAPES = TRADES.match(
    "STRT DOWN+ UP+",
    FALLS,
    {"bottom": "LAST(DOWN.ts)", "n": "count(*)"},
    per="symbol",
    by="ts",
    skip="to last UP",
    within="1 hour",
)


def test_a_pattern_after_a_stream() -> None:
    assert (
        plan(
            f"""
            SELECT * FROM trades MATCH_RECOGNIZE (
                PARTITION BY symbol
                ORDER BY ts
                MEASURES LAST(DOWN.ts) AS bottom, count(*) AS n
                ONE ROW PER MATCH
                AFTER MATCH SKIP TO LAST UP
                PATTERN (STRT DOWN+ UP+) WITHIN INTERVAL '1' HOUR
                {DEFINE}
            )"""
        )
        == V_SHAPES.plan
    )
    assert V_SHAPES.schema.names == ("symbol", "bottom", "n")


def test_what_may_be_left_out() -> None:
    found = plan("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY y MEASURES x AS n PATTERN (A))")
    assert found == T.match("A", measures="x AS n", by="y").plan
    assert isinstance(found, nodes.Match)
    assert (found.rows, str(found.skip), found.within, found.conditions) == (
        *("one", "PAST LAST ROW", None),
        (),
    )


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ("ONE ROW PER MATCH", "one"),
        ("ALL ROWS PER MATCH", "all"),
        ("ALL ROWS PER MATCH SHOW EMPTY MATCHES", "all"),
        ("ALL ROWS PER MATCH OMIT EMPTY MATCHES", "omit empty"),
        ("ALL ROWS PER MATCH WITH UNMATCHED ROWS", "with unmatched"),
    ],
)
def test_rows_per_match(rows: str, wanted: nodes.RowsPerMatch) -> None:
    text = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY y MEASURES A.x AS n {rows} PATTERN (A))"
    assert plan(text) == T.match("A", measures={"n": "A.x"}, by="y", rows=wanted).plan


@pytest.mark.parametrize(
    ("skip", "wanted"),
    [
        ("PAST LAST ROW", "past last row"),
        ("TO NEXT ROW", "to next row"),
        ("TO FIRST B", "to first B"),
        ("TO LAST B", "to last b"),
        ("TO B", "to last B"),
        ("TO FIRST U", "to first U"),
    ],
)
def test_where_the_search_goes_on(skip: str, wanted: str) -> None:
    text = f"""SELECT * FROM t MATCH_RECOGNIZE (ORDER BY y MEASURES x AS n AFTER MATCH SKIP {skip}
               PATTERN (A B C) SUBSET U = (B, C))"""
    subsets = {"U": ["B", "C"]}
    assert plan(text) == T.match("A B C", None, "x AS n", by="y", skip=wanted, subsets=subsets).plan


def test_all_rows_have_the_columns_in_the_standards_order() -> None:
    text = """SELECT * FROM t MATCH_RECOGNIZE (
        PARTITION BY x ORDER BY y MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH PATTERN (A))"""
    assert plan(text).schema.names == ("x", "y", "c", "k")


def test_the_types_of_measures() -> None:
    found = plan(
        """SELECT * FROM trades MATCH_RECOGNIZE (ORDER BY ts
        MEASURES A.price AS a, FIRST(B.qty) + 1 AS b, avg(qty) AS c, MATCH_NUMBER() AS d,
                 CLASSIFIER(U) AS e, count(DISTINCT B.symbol) AS f, LAST(ts) - FIRST(ts) AS g,
                 array_agg(A.qty) FILTER (WHERE A.price > 1) AS h, NULL AS i
        PATTERN (A B) SUBSET U = (A, B))"""
    )
    assert [str(each.type) for each in found.schema] == [
        *("double", "int32", "double", "int64", "string", "int64", "duration[us]"),
        *("list<item: int32>", "null"),
    ]


def test_tables_of_all_kinds_and_matches_of_matches() -> None:
    text = "SELECT m.n FROM {} MATCH_RECOGNIZE (ORDER BY y MEASURES A.x AS n PATTERN (A)) AS m"
    simple = "A", None, "A.x AS n"

    def wanted(rows: dl.Query) -> nodes.Node:
        return rows.match(*simple, by="y").alias("m").select("n").plan

    assert plan(text.format("t")) == wanted(T)
    assert plan(text.format("t [RANGE 5]")) == wanted(T.window(range=5))
    assert plan(text.format("t AS s [RANGE 1]")) == wanted(T.window(range=1).alias("s"))
    assert plan(text.format("(SELECT x, y FROM t)")) == wanted(T.select("x", "y"))
    assert plan(text.format("TUMBLE(t, 5)")) == wanted(T.tumble(5))
    assert plan("CREATE VIEW v AS SELECT * FROM t; " + text.format("v")) == wanted(T.alias("v"))
    twice = plan(
        """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY y MEASURES A.x AS n PATTERN (A)) AS m
           MATCH_RECOGNIZE (ORDER BY n MEASURES B.n AS o PATTERN (B)) AS p (q)"""
    )
    assert twice.schema.names == ("q",)
    assert [type(node).__name__ for node in twice.walk()].count("Match") == 2


def test_a_match_is_a_table_like_any_other() -> None:
    text = """SELECT m.k, count(*) AS c FROM u JOIN t MATCH_RECOGNIZE (
                  PARTITION BY k ORDER BY y MEASURES count(*) AS n PATTERN (A+)
              ) AS m ON u.k = m.k AND n > 2 GROUP BY m.k"""
    rows = T.match("A+", None, "count(*) AS n", per="k", by="y").alias("m")
    joined = U.join(rows, "u.k = m.k AND n > 2")
    assert plan(text).tree().replace("m.k AS k", "") == (
        joined.group_by("m.k").agg("count(*) AS c").plan.tree().replace("m.k AS k", "")
    )


def test_variables_are_one_whatever_their_case_and_are_spelled_as_in_the_pattern() -> None:
    text = """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY y MEASURES last(DOWN.x) AS n
              PATTERN (Strt down+ DOWN) DEFINE Down AS STRT.x < dOWN.x)"""
    wanted = T.match("Strt down+ down", {"DOWN": "strt.x < x"}, {"n": "DOWN.x"}, by="y").plan
    assert plan(text) == wanted
    assert isinstance(wanted, nodes.Match)
    assert wanted.pattern.variables() == ("Strt", "down")
    assert [each.name for each in wanted.conditions] == ["down"]


def test_names_of_variables_win_over_those_of_tables() -> None:
    text = """SELECT * FROM t AS a MATCH_RECOGNIZE (
        ORDER BY a.y MEASURES FIRST(a.x) AS n, FIRST(x) AS o PATTERN (B A))"""
    (match,) = (node for node in plan(text).walk() if isinstance(node, nodes.Match))
    assert [str(each.value) for each in match.measures] == [
        "FINAL FIRST(A.x)",
        "FINAL FIRST(x)",
    ]


def test_days_of_dates() -> None:
    text = """SELECT * FROM (SELECT CAST(ts AS DATE) AS d FROM trades)
              MATCH_RECOGNIZE (ORDER BY d MEASURES d AS e PATTERN (A) WITHIN INTERVAL '2' DAYS)"""
    (match,) = (node for node in plan(text).walk() if isinstance(node, nodes.Match))
    assert match.within == 2
    assert "within 2 d" in match.label()
    assert "WITHIN takes whole days" in pointed_at(text.replace("DAYS", "HOURS"))


@pytest.mark.parametrize(
    ("clauses", "said"),
    [
        ("MEASURES x AS n PATTERN (A)", "MATCH_RECOGNIZE needs ORDER BY @ MATCH_RECOGNIZE"),
        ("ORDER BY y PATTERN (A)", "a match gives no column @ MATCH_RECOGNIZE"),
        ("ORDER BY y MEASURES A.z AS n PATTERN (A)", "there is no column z @ A.z"),
        ("ORDER BY y MEASURES A.x PATTERN (A)", "a measure needs a name @ A.x PATTERN"),
        ("ORDER BY y MEASURES A.x + 1 ALL ROWS PER MATCH PATTERN (A)", "needs a name @ A.x"),
        ("ORDER BY y MEASURES x AS n ONE ROW PATTERN (A)", "PER MATCH is expected here @ ROW PAT"),
        ("ORDER BY y MEASURES x AS n DEFINE A AS x > 1", "PATTERN is expected here @ DEFINE"),
        ("ORDER BY y PATTERN (A) MEASURES x AS n", "in this order: PARTITION BY @ MEASURES"),
        ("ORDER BY y MEASURES x AS n PATTERN (A ! B)", "'!' has no meaning here @ ! B"),
        ("ORDER BY y MEASURES x AS n PATTERN (A B{2)", "PATTERN: a } is missing @ )"),
        ("ORDER BY y MEASURES x AS n PATTERN ()", "there is none: write () @ )"),
        ("ORDER BY y MEASURES x AS n PATTERN (())", "PATTERN has no variable @ MATCH_RECOGNIZE"),
        ("ORDER BY y MEASURES x AS n PATTERN (A) DEFINE B AS x > 1", "B is not a variable @ B AS"),
        ("ORDER BY y MEASURES x AS n PATTERN (A) DEFINE A AS x", "needs a condition @ x)"),
        ("ORDER BY y MEASURES x AS n PATTERN (A) DEFINE A AS x > 1, a AS x < 1", "twice @ a AS x"),
        ("ORDER BY y MEASURES x AS n PATTERN (A) DEFINE A AS FINAL LAST(x) > 1",
         "cannot look at the FINAL match @ FINAL"),
        ("ORDER BY y MEASURES x AS n PATTERN (A) DEFINE A AS x > (SELECT max(z) FROM u)",
         "not supported in an expression @ "),
        ("ORDER BY y MEASURES LAST(PREV(x)) AS n PATTERN (A)", "PREV cannot be inside LAST @ PREV"),
        ("ORDER BY y MEASURES sum(LAST(x)) AS n PATTERN (A)", "LAST cannot be inside SUM @ LAST"),
        ("ORDER BY y MEASURES PREV(sum(x)) AS n PATTERN (A)", "SUM cannot be inside PREV @ sum"),
        ("ORDER BY y MEASURES sum(A.x + B.x) AS n PATTERN (A B)", "of one variable @ sum"),
        ("ORDER BY y MEASURES LAST(A.x + x) AS n PATTERN (A B)", "of one variable @ LAST"),
        ("ORDER BY y MEASURES LAST(1) AS n PATTERN (A B)", "LAST needs a column @ LAST"),
        ("ORDER BY y MEASURES LAST(x, y) AS n PATTERN (A B)", "a whole number of rows @ LAST"),
        ("ORDER BY y MEASURES PREV(x, -1) AS n PATTERN (A B)", "a whole number of rows @ PREV"),
        ("ORDER BY y MEASURES LAST(x, NULL) AS n PATTERN (A B)", "a whole number of rows @ LAST"),
        ("ORDER BY y MEASURES LAST(x, 1, 2) AS n PATTERN (A)", "LAST takes at most 2 @ LAST"),
        ("ORDER BY y MEASURES FIRST() AS n PATTERN (A)", "FIRST takes a value @ FIRST"),
        ("ORDER BY y MEASURES LAST(x) IGNORE NULLS AS n PATTERN (A)", "no IGNORE NULLS @ LAST"),
        ("ORDER BY y MEASURES CLASSIFIER(Z) AS n PATTERN (A)", "Z is not a variable @ CLASS"),
        ("ORDER BY y MEASURES CLASSIFIER(A.x) AS n PATTERN (A)", "takes a variable @ CLASS"),
        ("ORDER BY y MEASURES count(Z.*) AS n PATTERN (A)", "Z is not a variable @ count"),
        ("ORDER BY y MEASURES RUNNING abs(x) AS n PATTERN (A)", "RUNNING comes before FIRST @ RUN"),
        ("ORDER BY y MEASURES sum(x) OVER () AS n PATTERN (A)", "not supported in an @ sum(x)"),
        ("ORDER BY y MEASURES x AS n, y AS N PATTERN (A)", "columns would have the name N @ MAT"),
        ("ORDER BY y MEASURES x AS k ALL ROWS PER MATCH PATTERN (A)", "have the name k @ MAT"),
        ("PARTITION BY k ORDER BY y MEASURES x AS k PATTERN (A)", "would have the name k @ MATCH_"),
        ("PARTITION BY x + 1 ORDER BY y PATTERN (A)", "takes columns: compute others @ x + 1"),
        ("ORDER BY y MEASURES x AS n PATTERN (A) WITHIN 5 MINUTES", "write a number @ 5 MINUTES"),
        ("ORDER BY y MEASURES x AS n PATTERN (A) WITHIN 0", "a duration that is not 0 @ MATCH_"),
        ("ORDER BY k MEASURES x AS n PATTERN (A) WITHIN 5", "a time or a whole number @ MATCH_"),
        ("ORDER BY y MEASURES x AS n PATTERN (A) SUBSET A = (A)", "A already @ A = (A)"),
        ("ORDER BY y MEASURES x AS n PATTERN (A) SUBSET U (A)", "SUBSET is written @ U (A)"),
        ("ORDER BY y MEASURES x AS n PATTERN (A) SUBSET U = (B)", "B is not a variable @ U = (B)"),
        ("ORDER BY y MEASURES x AS n AFTER MATCH SKIP TO FIRST A PATTERN (A B)",
         "is where each match begins @ MATCH_RECOGNIZE"),
        ("ORDER BY y MEASURES x AS n AFTER MATCH SKIP TO LAST C PATTERN (A B)", "C is no @ C PAT"),
        ("ORDER BY y MEASURES x AS n AFTER MATCH SKIP PATTERN (A)", "expected here @ PATTERN"),
        ("ORDER BY y MEASURES x AS n ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A {- B -})",
         "WITH UNMATCHED ROWS does not go with it @ MATCH_RECOGNIZE"),
        ("ORDER BY y MEASURES x AS n PATTERN (A) DEFINE A", "AS is expected here @ )"),
        ("ORDER BY y MEASURES x AS n PATTERN (A) DEFINE A AS", "a condition of A is expected @ )"),
    ],
)  # fmt: skip
def test_what_is_refused_and_where(clauses: str, said: str) -> None:
    message, place = said.split(" @ ")
    whole = pointed_at(f"SELECT 1 FROM t MATCH_RECOGNIZE ({clauses})")
    assert message in whole
    assert f" @ {place}" in whole


def test_functions_of_matches_have_no_meaning_elsewhere() -> None:
    assert "RUNNING and FINAL have a meaning in" in pointed_at("SELECT FINAL sum(x) FROM t")
    assert "there is no function prev" in pointed_at("SELECT prev(x) FROM t")
    named = plan("SELECT final, running FROM (SELECT x AS final, y AS running FROM t)")
    assert named.schema.names == ("final", "running")


def test_a_recursive_name_cannot_be_matched_in_its_loop() -> None:
    text = """WITH RECURSIVE r(k, y) AS (SELECT k, y FROM t UNION SELECT k, y FROM r
              MATCH_RECOGNIZE (ORDER BY y ALL ROWS PER MATCH PATTERN (A))) SELECT * FROM r"""
    assert "match of a recursive name cannot be inside its loop" in pointed_at(text)
