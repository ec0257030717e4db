import pytest

from driftline.plan import nodes
from tests.sql.declared import plan, pointed_at


@pytest.mark.parametrize(
    ("condition", "label"),
    [
        ("x > (SELECT avg(z) FROM u)", "semi join on (CAST(x AS DOUBLE) > `$value`)"),
        ("x = (SELECT max(z) FROM u HAVING min(z) > 0)", "semi join on (x = `$value`)"),
        ("2 * (SELECT sum(z) FROM u) <= y", "semi join on ((2L * `$value`) <= y)"),
        (
            "x > (SELECT avg(z) FROM u WHERE u.k = t.k AND z > 0)",
            "semi join on ((k = `$value tie 0`) AND (CAST(x AS DOUBLE) > `$value`))",
        ),
    ],
)
def test_a_comparison_is_a_semi_join(condition: str, label: str) -> None:
    top = plan(f"SELECT * FROM t WHERE {condition}")
    assert isinstance(top, nodes.Join)
    assert top.label() == label


def test_in_having() -> None:
    text = "SELECT k, sum(x) AS s FROM t GROUP BY k HAVING s > (SELECT avg(z) FROM u) AND k > 'a'"
    tree = plan(text).tree()
    assert "semi join on (CAST(`$0` AS DOUBLE) > `$value`)" in tree
    assert "select (k > 'a')" in tree


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (
            "x > (SELECT max(z) FROM u WHERE u.k = t.k GROUP BY z)",
            "an aggregate without GROUP BY @ SELECT max",
        ),
        ("x > (SELECT max(z), min(z) FROM u)", "the query gives 2 @ SELECT max"),
        (
            "NOT x > (SELECT DISTINCT z FROM u WHERE u.k = t.k)",
            "a subquery about the row outside is a value if it is @ SELECT DISTINCT",
        ),
    ],
)
def test_what_is_refused_and_where(condition: str, said: str) -> None:
    message, place = said.split(" @ ")
    whole = pointed_at(f"SELECT k FROM t WHERE {condition}")
    assert message in whole
    assert f" @ {place}" in whole
