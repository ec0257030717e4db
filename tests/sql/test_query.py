import pytest

from tests.sql.declared import T, U, plan, pointed_at

K, L = T.select("k"), U.select("k")


@pytest.mark.parametrize(
    ("operation", "query"),
    [
        ("UNION ALL", K.union(L)),
        ("UNION", K.union(L, distinct=True)),
        ("UNION DISTINCT", K.union(L, distinct=True)),
        ("INTERSECT", K.intersect(L)),
        ("INTERSECT ALL", K.intersect(L, all=True)),
        ("EXCEPT", K.minus(L)),
        ("MINUS", K.minus(L)),
        ("EXCEPT ALL", K.minus(L, all=True)),
    ],
)
def test_set_operations(operation: str, query: object) -> None:
    text = f"SELECT k FROM t {operation} SELECT k FROM u"
    assert plan(text) == query.plan  # type: ignore[attr-defined]
    assert plan(f"({text})") == plan(text)


def test_intersect_binds_tighter() -> None:
    text = "SELECT k FROM t UNION ALL SELECT k FROM u INTERSECT SELECT k FROM t"
    assert plan(text) == K.union(L.intersect(K)).plan
    text = "(SELECT k FROM t UNION ALL SELECT k FROM u) INTERSECT SELECT k FROM t"
    assert plan(text) == K.union(L).intersect(K).plan


def test_a_long_chain_of_unions_is_a_tree_of_little_depth() -> None:
    many = plan(" UNION ALL ".join(["SELECT k FROM t", "SELECT k FROM u"] * 500))
    assert max(len(line) - len(line.lstrip("│├└─ ")) for line in many.tree().split("\n")) < 45
    three = "SELECT k FROM t UNION ALL SELECT k FROM u UNION SELECT k FROM u UNION ALL {}"
    assert plan(three.format("SELECT k FROM t")) == K.union(L).union(L).distinct().union(K).plan
    assert plan(three.format("SELECT x FROM t")).schema.fields[0].type == "int64"


def test_both_sides_get_the_wider_type() -> None:
    widened = plan("SELECT x FROM t UNION ALL SELECT y FROM t")
    assert widened == T.select("x").select("CAST(x AS BIGINT) AS x").union(T.select("y")).plan


def test_order_and_limit_of_the_whole() -> None:
    text = "SELECT k FROM t UNION ALL SELECT k FROM u ORDER BY k DESC LIMIT 2"
    assert plan(text) == K.union(L).top(2, by="k DESC").plan
    assert plan(text.replace("ORDER BY k", "ORDER BY 1")) == plan(text)
    assert plan("SELECT k FROM t UNION ALL SELECT k FROM u ORDER BY 1") == K.union(L).plan


def test_by_name() -> None:
    text = "SELECT k, x FROM t UNION ALL BY NAME SELECT z AS x, k FROM u"
    assert plan(text).schema.names == ("k", "x")


def test_ctes() -> None:
    text = "WITH a AS (SELECT k FROM t), b (c) AS (SELECT k FROM a) SELECT c FROM b"
    assert plan(text).schema.names == ("c",)
    hides = "WITH t AS (SELECT k FROM u) SELECT * FROM t"
    assert plan(hides) == L.alias("t").plan
    assert plan("SELECT * FROM (WITH a AS (SELECT k FROM t) SELECT * FROM a)").schema.names == (
        "k",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT k FROM t UNION SELECT k, z FROM u", "has 1 columns, the right side 2 @ SELECT k,"),
        ("SELECT x FROM t UNION SELECT array(k) FROM u", "column 1 is INT on the left @ SELECT a"),
        ("WITH a AS (SELECT k FROM t), a AS (SELECT k FROM u) SELECT k FROM a", "two CTEs a @ a"),
        ("SELECT k FROM t UNION SELECT k FROM u ORDER BY t.k LIMIT 1", "without a table @ t.k"),
        ("SELECT k FROM t UNION SELECT k FROM u ORDER BY 2 LIMIT 1", "there is no column 2 @ 2"),
        ("SELECT k FROM t UNION ALL BY NAME SELECT z FROM u", "has no column k @ SELECT z"),
        ("SELECT k FROM t INTERSECT SELECT qty FROM trades", "one side has integer time @ SELECT"),
    ],
)
def test_what_is_refused_and_where(text: str, said: str) -> None:
    message, place = said.split(" @ ")
    whole = pointed_at(text)
    assert message in whole
    assert f" @ {place}" in whole
