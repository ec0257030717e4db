import pytest

from driftline.plan import nodes
from tests.sql.declared import T, U, plan, pointed_at


@pytest.mark.parametrize(
    ("words", "how"),
    [
        ("JOIN", "inner"),
        ("INNER JOIN", "inner"),
        ("LEFT JOIN", "left"),
        ("LEFT OUTER JOIN", "left"),
        ("RIGHT JOIN", "right"),
        ("FULL JOIN", "full"),
        ("FULL OUTER JOIN", "full"),
        ("LEFT SEMI JOIN", "semi"),
        ("SEMI JOIN", "semi"),
        ("LEFT ANTI JOIN", "anti"),
        ("ANTI JOIN", "anti"),
    ],
)
def test_joins(words: str, how: nodes.JoinKind) -> None:
    assert plan(f"SELECT * FROM t {words} u ON t.k = u.k") == T.join(U, "t.k = u.k", how).plan


def test_cross_joins() -> None:
    every = nodes.Join(T.plan, U.plan, "inner", None)
    for text in ("t, u", "t CROSS JOIN u", "t JOIN u", "t JOIN u ON true"):
        assert plan(f"SELECT * FROM {text}") == every


def test_using_gives_a_column_once() -> None:
    joined = plan("SELECT * FROM t JOIN u USING (k)")
    assert joined.schema.names == ("k", "x", "y", "z")
    assert plan("SELECT * FROM t NATURAL JOIN u") == joined
    assert "project t.k AS k" in joined.tree()
    assert "coalesce(t.k, u.k) AS k" in plan("SELECT k FROM t FULL JOIN u USING (k)").tree()
    assert "project u.k AS k" in plan("SELECT k FROM t RIGHT JOIN u USING (k)").tree()
    both = plan("SELECT k, t.k AS k1, u.k AS k2 FROM t JOIN u USING (k)")
    assert both.schema.names == ("k", "k1", "k2")


def test_using_three_times() -> None:
    joined = plan("SELECT * FROM t JOIN u USING (k) JOIN u AS v USING (k) WHERE k = 'a'")
    assert joined.schema.names == ("k", "x", "y", "u.z", "v.z")


def test_a_join_in_brackets_and_to_the_right() -> None:
    inner = U.alias("a").join(U.alias("b"), "a.z = b.z")
    wanted = T.join(inner, "t.k = a.k").plan
    text = "SELECT * FROM t JOIN (u a JOIN u b ON a.z = b.z) ON t.k = a.k"
    assert plan(text) == wanted
    assert plan("SELECT * FROM t JOIN u a JOIN u b ON a.z = b.z ON t.k = a.k") == wanted


def test_names_for_the_columns_of_an_alias() -> None:
    assert plan("SELECT b FROM t AS a (c, b, d)").schema.names == ("b",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT k FROM tt", "there is no stream or view tt; did you mean t? @ tt"),
        ("SELECT k FROM db.t", "a stream has a name of one part @ db.t"),
        ("SELECT k FROM t, t", "two tables have the name t @ t"),
        ("SELECT k FROM t JOIN T ON true", "two tables have the name t @ T ON"),
        ("SELECT k FROM (SELECT x FROM t), (SELECT x FROM t)", "without names @ SELECT x FROM t)"),
        ("SELECT k FROM t JOIN u ON x + z", "ON needs a condition @ x + z"),
        ("SELECT k FROM t JOIN u ON sum(x) > 1", "an aggregate cannot be in ON @ sum(x)"),
        ("SELECT k FROM t JOIN u USING (x)", "USING: the right side has no column x @ x)"),
        ("SELECT k FROM t ASOF JOIN u ON t.k = u.k", "needs one inequality of times @ u ON"),
        ("SELECT k FROM t TABLESAMPLE (10 PERCENT)", "TABLESAMPLE is not supported @ 10 PERCENT"),
        ("SELECT k FROM t, trades", "one side has integer time, the other TIMESTAMP @ trades"),
        ("SELECT v.k FROM (SELECT * FROM t JOIN u ON t.k = u.k) AS v", "v.k is ambiguous @ v.k"),
        ("SELECT * FROM t AS a (b)", "there are 1 names for 3 columns @ a (b)"),
        ("SELECT * FROM flatten(array(1))", "is not a table here @"),
    ],
)
def test_what_is_refused_and_where(text: str, said: str) -> None:
    message, place = said.split("@")
    whole = pointed_at(text)
    assert message.strip() in whole
    assert f"@{place}" in whole
