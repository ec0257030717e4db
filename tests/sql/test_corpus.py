"""Queries in the manner of sqllogictests: over all rows at once, the answer is that of DuckDB."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

import driftline as dl

TABLES: dict[str, tuple[dict[str, str], list[tuple[Any, ...]]]] = {
    "l": (
        {"k": "STRING", "a": "INT"},
        [("x", 1), ("x", 2), ("y", 3), ("y", 3), ("z", None), (None, 4), ("w", 5)],
    ),
    "r": (
        {"k": "STRING", "b": "INT"},
        [("x", 10), ("y", 11), ("y", 12), ("v", 13), (None, 2)],
    ),
    "s": ({"k": "STRING", "c": "INT"}, [("x", 20), ("v", 21), ("v", 21), ("u", 22)]),
    "e": ({"k": "STRING", "d": "INT"}, []),
}
STREAMS = {name: dl.stream(name, columns) for name, (columns, _) in TABLES.items()}
EVENTS = {
    name: [dl.Insert(0, dl.INFINITY, dl.Row(dict(zip(columns, row, strict=True)))) for row in rows]
    for name, (columns, rows) in TABLES.items()
}


def section(name: str) -> list[str]:
    """The queries of a file of the corpus, one a line."""
    lines = (Path(__file__).parent / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("--")]


@pytest.fixture(scope="module")
def database() -> Any:
    connection = duckdb.connect()
    connection.execute("SET default_null_order = 'NULLS_FIRST_ON_ASC_LAST_ON_DESC'")
    for name, (columns, rows) in TABLES.items():
        declared = ", ".join(f"{column} {kind}" for column, kind in columns.items())
        connection.execute(f"CREATE TABLE {name} ({declared})")
        for row in rows:
            connection.execute(f"INSERT INTO {name} VALUES (?, ?)", row)
    return connection


def in_order(rows: Any) -> list[list[Any]]:
    plain = [[float(each) if isinstance(each, Decimal) else each for each in row] for row in rows]
    return sorted(plain, key=repr)


def answer(text: str) -> list[list[Any]]:
    """The rows that are alive in the end."""
    query = dl.sql(text, **STREAMS)
    history = query.run({name: EVENTS[name] for name in query.plan.sources()}).history()
    return [
        [value for column, value in row.items() if column not in ("vs", "ve")]
        for row in history.to_pylist()
    ]


@pytest.mark.parametrize("text", section("corpus.sql"))
def test_the_answer_is_that_of_duckdb(text: str, database: Any) -> None:
    theirs = text.replace("<=>", "IS NOT DISTINCT FROM").replace("`", '"')
    assert in_order(answer(text)) == in_order(database.execute(theirs).fetchall())


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT a FROM l WHERE a BETWEEN SYMMETRIC 3 AND 2", [[2], [3], [3]]),
        ("SELECT a FROM l WHERE a BETWEEN ASYMMETRIC 3 AND 2", []),
        ("SELECT a FROM l WHERE a > 1 ORDER BY a LIMIT 2 WITH TIES", [[2], [3], [3]]),
        ("SELECT a FROM l WHERE a > 1 ORDER BY a FETCH FIRST 2 ROWS WITH TIES", [[2], [3], [3]]),
        ("SELECT a FROM l WHERE a > 1 ORDER BY a FETCH NEXT ROW ONLY", [[2]]),
        ("SELECT a FROM l LEFT SEMI JOIN r USING (k)", [[1], [2], [3], [3]]),
        ("SELECT a FROM l QUALIFY sum(a) OVER w > 4 WINDOW w AS (PARTITION BY k)", [[3], [3], [5]]),
        ("SELECT count(*) AS n FROM (SELECT a FROM l) p NATURAL JOIN (SELECT b FROM r) q", [[35]]),
        ("SELECT 1 AS one FROM l LIMIT ALL", [[1]] * 7),
    ],
)
def test_what_duckdb_does_not_read(text: str, rows: list[list[Any]]) -> None:
    assert in_order(answer(text)) == rows
