import pytest

from driftline.plan import nodes
from tests.sql.declared import plan, pointed_at


@pytest.mark.parametrize(
    ("written", "descending", "nulls_first"),
    [
        ("x", False, None),
        ("x ASC NULLS FIRST", False, None),  # Spark's default
        ("x NULLS LAST", False, False),
        ("x DESC", True, None),
        ("x DESC NULLS LAST", True, None),  # Spark's default
        ("x DESC NULLS FIRST", True, True),
    ],
)
def test_where_nulls_come(written: str, descending: bool, nulls_first: bool | None) -> None:
    top = plan(f"SELECT * FROM t ORDER BY {written} LIMIT 1")
    assert isinstance(top, nodes.Rank)
    assert (top.order[0].descending, top.order[0].nulls_first) == (descending, nulls_first)


def test_all_rows_are_no_limit() -> None:
    assert plan("SELECT * FROM t ORDER BY x LIMIT ALL") == plan("SELECT * FROM t")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("SELECT x, k FROM t LIMIT 2", "SELECT x, k FROM t ORDER BY x, k LIMIT 2"),
        ("SELECT k FROM t OFFSET 1", "SELECT k FROM t ORDER BY k OFFSET 1"),
        ("(SELECT k FROM t) LIMIT 1", "(SELECT k FROM t) ORDER BY k LIMIT 1"),
        (
            "SELECT k, (SELECT z FROM u WHERE u.k = t.k LIMIT 1) AS z FROM t",
            "SELECT k, (SELECT z FROM u WHERE u.k = t.k ORDER BY z LIMIT 1) AS z FROM t",
        ),
    ],
)
def test_without_an_order_it_is_that_of_the_columns(text: str, same: str) -> None:
    assert plan(text) == plan(same)


def test_an_offset_is_a_top_without_its_beginning() -> None:
    tree = plan("SELECT k FROM t ORDER BY x LIMIT 3 OFFSET 2").tree()
    assert "top 5 by" in tree
    assert "select (`$place` > 2)" in tree
    assert plan("SELECT k FROM t ORDER BY x LIMIT 3 OFFSET 0") == plan(
        "SELECT k FROM t ORDER BY x LIMIT 3"
    )
    assert "row_number by" in plan("SELECT * FROM t ORDER BY x OFFSET 2").tree()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT * FROM t ORDER BY x LIMIT 2 OFFSET 'a'", "OFFSET takes a whole number"),
        ("SELECT x FROM t FETCH FIRST 2 ROWS WITH TIES", "WITH TIES needs ORDER BY"),
        (
            "SELECT q.* FROM t, LATERAL (SELECT * FROM u WHERE u.k = t.k LIMIT 1) q",
            "ORDER BY which",
        ),
        ("SELECT * FROM t ORDER BY parse_json(k)", "one cannot order by a VARIANT"),
        ("SELECT parse_json(k) FROM t ORDER BY 1 DESC", "one cannot order by a VARIANT"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    assert said in pointed_at(text)


def test_what_is_ordered_by_need_not_be_selected() -> None:
    top = plan("SELECT k FROM t ORDER BY x + y LIMIT 1")
    assert top.schema.names == ("k",)
    assert "top 1 by `$order0`" in top.tree()
