import pytest

from driftline.plan import nodes
from tests.sql.declared import plan, pointed_at


def joins(node: nodes.Node) -> list[str]:
    return [each.label() for each in node.walk() if isinstance(each, nodes.Join)]


@pytest.mark.parametrize(
    ("condition", "labels"),
    [
        ("EXISTS (SELECT 1 FROM u WHERE u.k = t.k)", ["semi join on (`$inner0` = k)"]),
        ("NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)", ["anti join on (`$inner0` = k)"]),
        ("NOT NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)", ["semi join on (`$inner0` = k)"]),
        ("EXISTS (SELECT z FROM u)", ["semi join"]),
        ("x IN (SELECT z FROM u)", ["semi join on (x = `$inner0`)"]),
        ("(k, x) IN (SELECT k, z FROM u)",
         ["semi join on ((k = `$inner0`) AND (x = `$inner1`))"]),
        ("k IN (SELECT k FROM u WHERE z > x)",
         ["semi join on ((`$inner0` > x) AND (k = `$inner1`))"]),
        ("x IN (SELECT z FROM u GROUP BY z HAVING count(*) > 1)",
         ["semi join on (x = `$inner0`)"]),
        ("x NOT IN (SELECT z FROM u)",
         ["anti join on (x IS NULL)", "anti join", "anti join on (x = `$in`)"]),
    ],
)  # fmt: skip
def test_subqueries_are_joins(condition: str, labels: list[str]) -> None:
    assert joins(plan(f"SELECT k FROM t WHERE y > 0 AND {condition}")) == labels


def test_names_of_a_subquery_are_its_own_first() -> None:
    tree = plan("SELECT k FROM t WHERE EXISTS (SELECT 1 FROM t WHERE k = 'a')").tree()
    assert "select (k = 'a')" in tree
    assert "semi join\n" in tree


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("x > (SELECT * FROM u)", "a value is expected, and the query gives 2 @ SELECT"),
        ("x <=> ALL (SELECT z FROM u)", "ANY and ALL of a subquery come after @ SELECT z"),
        ("(k, x) IN (SELECT k FROM u)", "IN compares 2 values with 1 columns @ k, x"),
        ("EXISTS (SELECT 1 FROM u WHERE z = foo)", "there is no column foo @ foo"),
        ("EXISTS (SELECT 1 FROM trades)", "one side has integer time @ SELECT 1"),
    ],
)  # fmt: skip
def test_what_is_refused_and_where(condition: str, said: str) -> None:
    message, place = said.split(" @ ")
    whole = pointed_at(f"SELECT k FROM t WHERE {condition}")
    assert message in whole
    assert f" @ {place}" in whole
