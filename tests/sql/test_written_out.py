"""QUALIFY, and window functions that are written with others."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import driftline as dl
from tests.sql.declared import T, plan, pointed_at
from tests.sql.test_subqueries import answers, rows_of

ROWS = [("a", 1, 1), ("a", 2, 2), ("a", 2, 3), ("b", 5, 4), ("a", None, 5), ("b", 5, 4)]
EVENTS = [dl.Insert(0, 9, dl.Row(k=k, x=x, y=y)) for k, x, y in ROWS]


def answered(text: str) -> list[tuple[Any, ...]]:
    rows = dl.sql(text, t=T).run(t=EVENTS).history().to_pylist()
    found = [
        tuple(value for name, value in row.items() if name not in ("vs", "ve")) for row in rows
    ]
    return sorted(found, key=repr)


def test_the_shares_of_a_partition() -> None:
    over = "OVER (PARTITION BY k ORDER BY x)"
    text = f"SELECT k, y, percent_rank() {over} AS p, cume_dist() {over} AS c FROM t"
    assert answered(text) == [
        ("a", 1, 1 / 3, 0.5),
        ("a", 2, 2 / 3, 1.0),
        ("a", 3, 2 / 3, 1.0),
        ("a", 5, 0.0, 0.25),
        ("b", 4, 0.0, 1.0),
        ("b", 4, 0.0, 1.0),
    ]


@pytest.mark.parametrize(
    ("buckets", "expected"),
    [
        (1, [1, 1, 1, 1, 1, 1]),
        (2, [1, 1, 1, 2, 2, 2]),
        (4, [1, 1, 2, 2, 3, 4]),
        (9, [1, 2, 3, 4, 5, 6]),
    ],
)
def test_ntile(buckets: int, expected: list[int]) -> None:
    text = f"SELECT y, ntile({buckets}) OVER w AS n FROM t WINDOW w AS (ORDER BY y)"
    assert [bucket for _, bucket in answered(text)] == expected


def test_max_by_over_a_frame() -> None:
    text = "SELECT y, max_by(k, x) OVER (ORDER BY y) AS m, min_by(y, x) OVER () AS l FROM t"
    assert answered(text) == [
        (1, "a", 1), (2, "a", 1), (3, "a", 1), (4, "b", 1), (4, "b", 1), (5, "b", 1),
    ]  # fmt: skip


def test_qualify_keeps_the_first_of_each() -> None:
    over = "row_number() OVER (PARTITION BY k ORDER BY x DESC, y DESC)"
    assert answered(f"SELECT k, x, y FROM t QUALIFY {over} = 1") == [("a", 2, 3), ("b", 5, 4)]
    assert answered(f"SELECT * FROM t QUALIFY {over} = 1 AND k = 'a'") == [("a", 2, 3)]
    assert answered(f"SELECT k, {over} AS rn FROM t QUALIFY rn = 2") == [("a", 2), ("b", 2)]
    limited = plan(f"SELECT k, x FROM t QUALIFY {over} <= 2").tree()
    assert "select" not in limited  # the rank has the limit


def test_qualify_over_groups() -> None:
    text = "SELECT k, sum(x) AS s FROM t GROUP BY k QUALIFY rank() OVER (ORDER BY sum(x)) = 1"
    assert answered(text) == [("a", 5)]


@pytest.mark.parametrize(
    "function",
    [
        "listagg(CAST(x AS STRING), ',') WITHIN GROUP (ORDER BY x)",
        "listagg(CAST(x AS STRING), '-') WITHIN GROUP (ORDER BY x DESC) FILTER (WHERE x > 1)",
        "listagg(DISTINCT CAST(x AS STRING)) WITHIN GROUP (ORDER BY CAST(x AS STRING))",
        "string_agg(CAST(x AS STRING), ',' ORDER BY x % 2 DESC, x)",
        "percentile_cont(0.3) WITHIN GROUP (ORDER BY x)",
        "percentile_cont(0.3) WITHIN GROUP (ORDER BY x DESC)",
        "percentile_disc(0.3) WITHIN GROUP (ORDER BY x) FILTER (WHERE x > 2)",
        "percentile_disc(0.3) WITHIN GROUP (ORDER BY x DESC)",
        "mode() WITHIN GROUP (ORDER BY x)",
        "mode() WITHIN GROUP (ORDER BY x DESC)",
    ],
)
def test_in_an_order_over_a_partition_as_in_a_group(function: str) -> None:
    rows = rows_of(Random(function))
    over = f"SELECT k, {function} OVER (PARTITION BY k) AS f FROM t"
    grouped = (
        f"SELECT t.k, g.f FROM t JOIN (SELECT k, {function} AS f FROM t GROUP BY k) AS g "
        "ON g.k <=> t.k"
    )
    found, expected = (answers(text, rows, Random(text)) for text in (over, grouped))
    assert found == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "SELECT avg(ts) OVER () FROM trades",
            "argument 1 of avg must be a number: ts has the type TIMESTAMP",
        ),
        ("SELECT percentile(x, 0.5, y) FROM t", "percentile does not take frequencies"),
        (
            "SELECT listagg(k) WITHIN GROUP (ORDER BY x) OVER (ORDER BY y) FROM t",
            "listagg WITHIN GROUP (…) takes no ORDER BY in OVER (…)",
        ),
        (
            "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) OVER (ROWS 1 PRECEDING) FROM t",
            "percentile_cont WITHIN GROUP (…) takes no frame in OVER (…)",
        ),
        (
            "SELECT sum(x) WITHIN GROUP (ORDER BY x) OVER () FROM t",
            "sum does not take WITHIN GROUP",
        ),
        ("SELECT k FROM t QUALIFY x > 1", "QUALIFY is about window functions"),
        ("SELECT k FROM t QUALIFY rank() OVER (ORDER BY x)", "QUALIFY needs a condition"),
        ("SELECT ntile(x) OVER (ORDER BY y) FROM t", "NTILE takes a constant number of buckets"),
        ("SELECT ntile(2) OVER () FROM t", "ntile needs an order"),
        ("SELECT cume_dist(x) OVER (ORDER BY y) FROM t", "cume_dist() takes no arguments"),
    ],
)
def test_mistakes(text: str, said: str) -> None:
    assert pointed_at(text).startswith(said)
