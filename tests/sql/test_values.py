from typing import Any

import pytest

import driftline as dl
from tests.sql.declared import pointed_at

STREAM = "CREATE STREAM t (k INT, x INT);"


def answers(text: str) -> list[tuple[Any, ...]]:
    query = dl.sql(STREAM + text)
    rows: list[dict[str, Any]] = [{"k": 1, "x": 1}, {"k": None, "x": 2}, {"k": 3, "x": 3}]
    events = [dl.Insert(number, dl.INFINITY, dl.Row(row)) for number, row in enumerate(rows)]
    inputs = {"t": events} if "t" in query.plan.sources() else {}
    history = query.run(inputs).history().to_pylist()
    return sorted((tuple(row.values())[2:] for row in history if row["ve"] is None), key=str)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT 1 AS a, 'b' AS b", [(1, "b")]),
        ("SELECT 1 WHERE 1 > 2", []),
        ("VALUES (1, 2), (3, 4)", [(1, 2), (3, 4)]),
        ("SELECT * FROM VALUES (1, 'a'), (2 + 1, NULL) AS v (n, s)", [(1, "a"), (3, None)]),
        ("SELECT x FROM t UNION ALL SELECT 5", [(1,), (2,), (3,), (5,)]),
        ("SELECT x, w FROM t JOIN (VALUES (1, 'one')) AS v (k, w) USING (k)", [(1, "one")]),
        (
            "SELECT v.k, count(x) AS n FROM (VALUES (1), (2)) AS v (k) LEFT JOIN t ON t.k = v.k "
            "GROUP BY v.k",
            [(1, 1), (2, 0)],
        ),
        ("WITH v AS (VALUES (1), (2)) SELECT sum(col1) AS s FROM v", [(3,)]),
    ],
)
def test_rows_of_a_query_itself(text: str, rows: list[tuple[Any, ...]]) -> None:
    assert answers(text) == rows


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT * FROM VALUES (1, 2), (3)", "a row of VALUES has 1 columns, the first has 2"),
        ("SELECT * FROM VALUES (k)", "VALUES takes constants"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    assert said in pointed_at(text)


@pytest.mark.parametrize(
    "how",
    [
        {"batch": 1},
        {"scheduler": "round-robin", "heeding": "multiset"},
        {"scheduler": "round-robin", "tokens": 1},
        {"scheduler": "threads", "heeding": "multiset"},
    ],
)
def test_rows_of_a_query_are_there_before_the_first_event(how: dict[str, Any]) -> None:
    query = dl.sql(
        "CREATE STREAM s (k STRING);"
        "SELECT s.k FROM s LEFT ANTI JOIN (VALUES ('x'), ('y'), ('z')) AS v (b) ON s.k = v.b"
    )
    events = [dl.Insert(number, dl.INFINITY, dl.Row(k=k)) for number, k in enumerate("za")]
    updates = list(query.changes({"s": events}, outputs="held", **how))
    assert [row for update in updates for row in update.batch.payload.to_pylist()] == [{"k": "a"}]
