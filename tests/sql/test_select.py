import pytest

from tests.sql.declared import TRADES, T, U, plan, pointed_at


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("SELECT * FROM t", T),
        ("SELECT k, x AS a, x + 1 AS b FROM t", T.select("k", "x AS a", "x + 1 AS b")),
        ("SELECT x * 2 FROM t", T.select("x * 2")),
        ("SELECT k FROM t WHERE x > 1 AND y < 3", T.where("x > 1 AND y < 3").select("k")),
        ("SELECT DISTINCT k FROM t", T.select("k").distinct()),
        ("SELECT a.k FROM t AS a", T.alias("a").select("a.k")),
        ("SELECT count(*) AS n FROM t", T.agg("count(*) AS n")),
        (
            "SELECT symbol, sum(price * qty) / sum(qty) AS vwap FROM trades [RANGE 5 MINUTES] "
            "GROUP BY symbol",
            TRADES.window(range="5 minutes")
            .group_by("symbol")
            .agg("sum(price * qty) / sum(qty) AS vwap"),
        ),
        (
            "SELECT x + y AS s, max(x) AS m FROM t GROUP BY x + y",
            T.group_by(s="x + y").agg("max(x) AS m"),
        ),
        ("SELECT * FROM t ORDER BY x DESC LIMIT 3", T.top(3, by="x DESC")),
        ("SELECT k, x FROM t ORDER BY x LIMIT 3", T.select("k", "x").top(3, by="x")),
        ("SELECT * FROM t JOIN u ON t.k = u.k", T.join(U, "t.k = u.k")),
        (
            "SELECT t.k, z FROM t LEFT JOIN u ON t.k = u.k AND z > 1",
            T.join(U, "t.k = u.k AND z > 1", "left").select("t.k", "z"),
        ),
        ("SELECT k FROM t UNION ALL SELECT k FROM u", T.select("k").union(U.select("k"))),
        (
            "SELECT k FROM t EXCEPT ALL SELECT k FROM u",
            T.select("k").minus(U.select("k"), all=True),
        ),
    ],
)
def test_the_plan_is_that_of_the_python_interface(text: str, query: object) -> None:
    assert plan(text) == query.plan  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT x + y AS s, count(*) AS n FROM t GROUP BY s",
         "SELECT x + y AS s, count(*) AS n FROM t GROUP BY 1"),
        ("SELECT k, count(*) AS n FROM t GROUP BY ALL",
         "SELECT k, count(*) AS n FROM t GROUP BY k"),
        ("SELECT x + 1 AS a, a * 2 AS b, b - a AS c FROM t",
         "SELECT x + 1 AS a, (x + 1) * 2 AS b, (x + 1) * 2 - (x + 1) AS c FROM t"),
        ("SELECT k, count(*) AS n FROM t GROUP BY k HAVING n > 1",
         "SELECT k, count(*) AS n FROM t GROUP BY k HAVING count(*) > 1"),
        ("SELECT k, max(x) AS m FROM t GROUP BY k ORDER BY m LIMIT 1",
         "SELECT k, max(x) AS m FROM t GROUP BY k ORDER BY 2 LIMIT 1"),
        ("SELECT k, max(x) AS m FROM t GROUP BY k ORDER BY max(x) LIMIT 1",
         "SELECT k, max(x) AS m FROM t GROUP BY k ORDER BY m LIMIT 1"),
    ],
)  # fmt: skip
def test_two_ways_to_write_it(one: str, other: str) -> None:
    assert plan(one) == plan(other)


def test_upper_and_lower_case_are_the_same() -> None:
    assert plan("select `K`, T.X from T") == T.select("k AS K", "x AS X").plan


def test_a_column_of_the_input_goes_before_a_name_of_the_list() -> None:
    assert plan("SELECT x + 1 AS y, y AS a FROM t") == T.select("x + 1 AS y", "y AS a").plan
    grouped = plan("SELECT x + 1 AS y, count(*) AS n FROM t GROUP BY x, y")
    assert "by x, y" in grouped.tree()


def test_but_not_in_order_by() -> None:
    ordered = plan("SELECT -x AS x FROM t ORDER BY x LIMIT 1")
    assert ordered == T.select("-x AS x").top(1, by="x").plan


def test_names_of_columns_without_one_are_as_written() -> None:
    assert plan("SELECT  sum( x )  FROM t").schema.names == ("sum( x )",)
    assert plan("SELECT t.k, x FROM t").schema.names == ("k", "x")
    names = ("k", "(SELECT max(z) FROM u)")
    assert plan("SELECT * FROM (SELECT k, (SELECT max(z) FROM u) FROM t)").schema.names == names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT FROM t", "the select list is empty @ SELECT"),
        ("SELECT kk FROM t", "there is no column kk; did you mean k? @ kk"),
        ("SELECT k FROM t JOIN u ON t.k = u.k", "k is ambiguous: it may be t.k, u.k @ k FROM"),
        ("SELECT trades.qty FROM trades AS a", "did you mean a.qty? @ trades.qty"),
        ("SELECT zz.* FROM t", "there is no relation zz here @ zz.*"),
        ("SELECT k FROM (SELECT k, x AS K FROM t) AS s", "the column k is ambiguous @ k FROM"),
        ("SELECT x AS a FROM t WHERE a > 1", "a is a name that SELECT gives @ a > 1"),
        ("SELECT k FROM t WHERE x", "WHERE needs a condition @ x"),
        ("SELECT k FROM t WHERE sum(x) > 1", "an aggregate cannot be in WHERE @ sum(x)"),
        ("SELECT k FROM t HAVING x + 1", "HAVING needs a condition @ x + 1"),
        ("SELECT sum(max(x)) FROM t", "an aggregate function cannot take another one @ sum("),
        ("SELECT k, x FROM t GROUP BY k", "x is neither in GROUP BY nor in an aggregate @ x FROM"),
        ("SELECT * FROM t GROUP BY k", "x is neither in GROUP BY @ * FROM"),
        ("SELECT k FROM t GROUP BY 2", "there is no item 2 in the select list @ 2"),
        ("SELECT k FROM t GROUP BY sum(x)", "GROUP BY takes no aggregate @ sum(x)"),
        ("SELECT foo(x) FROM t", "there is no function foo @ foo"),
        ("SELECT upper(x, k) FROM t", "upper takes @ upper"),
        ("SELECT x AND k FROM t", "@ x AND k"),
        ("SELECT upper(str => k) FROM t", "takes its arguments by their places @ k)"),
        ("SELECT mask(k, str => 'a') FROM t", "mask has two arguments str @ 'a'"),
        ("SELECT mask(k, digit => 'a') FROM t", "mask has no argument digit: there are str @ 'a'"),
        ("SELECT mask(str => k, 'a') FROM t", "no argument without a name after one with @ 'a'"),
        ("SELECT mask(digitChar => '#') FROM t", "mask needs the argument str @ mask("),
        ("SELECT corr(DISTINCT x, y) FROM t", "take distinct rows in a subquery @ corr"),
        (
            "SELECT sum(qty) OVER (ORDER BY ts RANGE BETWEEN INTERVAL 1 MONTH PRECEDING AND "
            "INTERVAL 1 DAY FOLLOWING) FROM trades",
            "a RANGE goes by months at both ends, or at none @ sum(qty)",
        ),
        ("SELECT rand() FROM t", "has another value each time @ rand()"),
        ("SELECT k FROM t ORDER BY k LIMIT x", "LIMIT takes a whole number @ x"),
        ("SELECT k FROM t ORDER BY 2 LIMIT 1", "there is no column 2 to order by @ 2"),
        ("SELECT k FROM t ORDER BY sum(x) LIMIT 1", "ORDER BY an aggregate needs GROUP BY @ sum"),
        ("SELECT DISTINCT k FROM t ORDER BY x LIMIT 1", "takes columns of the select list @ x L"),
        ("SELECT k FROM t ORDER BY map(k, x) LIMIT 1", "one cannot order by a MAP @ map("),
        ("SELECT * EXCEPT (j) FROM t", "* EXCEPT: there is no column j @ j)"),
        ("SELECT * REPLACE (1 AS j) FROM t", "* REPLACE: there is no column j @ 1 AS j"),
        (
            "SELECT k FROM t QUALIFY k = 'a'",
            "QUALIFY is about window functions: use WHERE or HAVING @ QUALIFY k",
        ),
        ("SELECT (SELECT * FROM u) FROM t", "a value is expected, and the query gives 2 @ SELECT"),
        (
            "SELECT k FROM t LATERAL VIEW explode(k) e AS f",
            "explode takes an ARRAY or a MAP, and k is a STRING @ exp",
        ),
    ],
)
def test_what_is_refused_and_where(text: str, said: str) -> None:
    message, place = said.split("@ ")
    whole = pointed_at(text)
    assert message.strip() in whole
    assert f"@ {place}" in whole


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT k, x AS K FROM t", ["k", "K_2"]),
        ("SELECT t.k, u.k FROM t JOIN u ON t.k = u.k", ["k", "k_2"]),
        ("SELECT t.*, u.* FROM t JOIN u USING (k)", ["k", "x", "y", "k_2", "z"]),
        ("SELECT *, x FROM (SELECT k, k, x FROM t) AS s", ["k", "k_2", "x", "x_2"]),
        ("SELECT x FROM (SELECT k, k, x FROM t) AS s", ["x"]),
        ("SELECT * FROM (SELECT k, k FROM t) AS s (a, b)", ["a", "b"]),
        ("SELECT k AS k_2, k, k FROM t", ["k_2", "k", "k_3"]),
        ("SELECT k, k FROM t UNION SELECT k, k FROM u", ["k", "k_2"]),
        ("SELECT * FROM (SELECT * FROM t JOIN u ON t.k = u.k) AS v", ["k", "x", "y", "k_2", "z"]),
        ("SELECT count(*), count(*) FROM t", ["count(*)", "count(*)_2"]),
    ],
)
def test_columns_of_one_name_are_told_apart(text: str, names: list[str]) -> None:
    assert list(plan(text).schema.names) == names
