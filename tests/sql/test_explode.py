from __future__ import annotations

import pytest

import driftline as dl
from driftline.plan.nodes import Explode
from tests.sql.declared import T, plan, pointed_at

EVENTS = [dl.Insert(1, 5, dl.Row(k="a", x=1, y=2)), dl.Insert(1, 5, dl.Row(k="b", x=None, y=3))]


def answered(text: str) -> list[str]:
    rows = dl.sql(text, t=T).run(t=EVENTS).history().drop(["vs", "ve"]).to_pylist()
    return sorted(str(tuple(row.values())) for row in rows)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k, i FROM t LATERAL VIEW explode(array(x, y)) e AS i",
        "SELECT k, e.i FROM t LATERAL VIEW explode(array(x, y)) e AS i",
        "SELECT k, explode(array(x, y)) AS i FROM t",
        "SELECT t.k, e.i FROM t, LATERAL explode(array(x, y)) AS e (i)",
        "SELECT t.k, e.i FROM t CROSS JOIN UNNEST(array(x, y)) AS e (i)",
    ],
)
def test_all_ways_to_write_it(text: str) -> None:
    assert answered(text) == ["('a', 1)", "('a', 2)", "('b', 3)", "('b', None)"]


def test_names_and_places() -> None:
    assert answered("SELECT k, posexplode(array(x, y)) FROM t WHERE k = 'a'") == [
        "('a', 0, 1)",
        "('a', 1, 2)",
    ]
    names = dl.sql("SELECT k, posexplode(map(k, x)) FROM t", t=T).schema.names
    assert names == ("k", "pos", "key", "value")
    assert answered("SELECT *, explode(array(y)) AS i FROM t") == [
        "('a', 1, 2, 2)",
        "('b', None, 3, 3)",
    ]


def test_outer() -> None:
    lists = "CASE WHEN x > 0 THEN array(x) END"
    assert answered(f"SELECT k, explode({lists}) AS i FROM t") == ["('a', 1)"]
    both = ["('a', 1)", "('b', None)"]
    assert answered(f"SELECT k, explode_outer({lists}) AS i FROM t") == both
    assert answered(f"SELECT k, i FROM t LATERAL VIEW OUTER explode({lists}) AS i") == both
    assert (
        answered(f"SELECT k, i FROM t LEFT JOIN LATERAL explode({lists}) AS e (i) ON true") == both
    )
    joined = f"SELECT k, i FROM t LEFT JOIN LATERAL (SELECT explode({lists})) AS e (i)"
    assert answered(joined) == both
    assert answered(f"{joined.replace('LEFT JOIN', 'JOIN')} ON i < 1") == []


def test_one_after_another_and_in_groups() -> None:
    text = (
        "SELECT j, count(*) AS n FROM t LATERAL VIEW explode(array(y)) AS i "
        "LATERAL VIEW explode(array(i, i + 1)) AS j GROUP BY j"
    )
    assert answered(text) == ["(2, 1)", "(3, 2)", "(4, 1)"]
    assert sum(isinstance(node, Explode) for node in plan(text).walk()) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT explode(x) FROM t", "explode takes an ARRAY or a MAP, and x is a INT"),
        ("SELECT explode(array(x)) + 1 FROM t", "explode stands alone in the select list"),
        ("SELECT explode(array(x)), explode(array(y)) FROM t", "one explode in a select list"),
        ("SELECT posexplode(array(x)) AS i FROM t", "posexplode gives 2 columns, and has 1 names"),
        ("SELECT k FROM t LATERAL VIEW inline(array(x)) AS i", "inline takes an ARRAY of STRUCTs"),
        ("SELECT explode(array_agg(x)) FROM t ORDER BY 1 LIMIT 1", "explode of an aggregate"),
        (
            "SELECT * FROM t NATURAL JOIN LATERAL (SELECT x + 1 AS x)",
            "LATERAL goes with CROSS JOIN, JOIN or LEFT JOIN, and ON",
        ),
    ],
)
def test_mistakes(text: str, said: str) -> None:
    assert pointed_at(text).startswith(said)
