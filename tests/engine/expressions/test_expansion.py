"""What would become larger than memory is refused before it does, in one line with the number."""

from __future__ import annotations

import numpy as np
import pytest

import driftline as dl
from driftline.engine.expressions import EvaluationError
from driftline.engine.expressions.expansion import too_large
from driftline.engine.limits import Limits, limited
from driftline.plan.errors import PlanError

S = dl.stream("s", {"k": "STRING", "x": "INT"})
U = dl.stream("u", {"k": "STRING", "y": "INT"})


def rows(name: str, count: int) -> list[dl.Insert]:
    return [dl.Insert(n, dl.INFINITY, dl.Row(k="a", **{name: n})) for n in range(count)]


def run(text: str, left: int = 3, right: int = 0, **options: object) -> dl.Result:
    inputs = {"s": rows("x", left)} | ({"u": rows("y", right)} if right else {})
    return dl.sql(text, s=S, u=U).run(inputs, **options)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT k FROM HOP(s, 1, 100000000)", "100,000,000 rows of 1, about 5 GB"),
        ("SELECT explode(sequence(1, 1000000000)) AS y FROM s", "items of 3 rows, about 72 GB"),
        ("SELECT size(sequence(x, 1000000000)) AS y FROM s", "items of 3 rows, about 72 GB"),
        ("SELECT repeat(k, 1000000000) AS y FROM s", "about 3 GB"),
        ("SELECT repeat('abc', 1000000) || k AS y FROM s", None),
        ("SELECT lpad(k, 1000000000, 'é') AS y FROM s", "about 12 GB"),
        ("SELECT rpad(k, 1000000000) AS y FROM s", "about 3 GB"),
        ("SELECT space(x + 1000000000) AS y FROM s", "about 3 GB"),
        ("SELECT replace(repeat(k, 9000000), 'a', repeat('b', 100)) AS y FROM s", "2.7"),
        ("SELECT regexp_replace(repeat(k, 9000000), 'a', repeat('b', 100)) AS y FROM s", "2.7"),
        ("SELECT CASE WHEN x < 0 THEN repeat(k, 1000000000) END AS y FROM s", None),
    ],
)
def test_what_expands_without_end_is_refused(text: str, said: str | None) -> None:
    if said is None:
        run(text)
        return
    with pytest.raises(EvaluationError, match="max_expansion is 2 GB") as refused:
        run(text)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_constant_in_every_row_counts() -> None:
    with pytest.raises(EvaluationError, match="a constant in each of 200 rows makes texts"):
        run("SELECT repeat('a', 1000000) AS y FROM s", 200, max_expansion="50MB")


def test_a_cross_join_is_refused() -> None:
    with pytest.raises(EvaluationError, match="a join makes more than 113 pairs"):
        run("SELECT x, y FROM s CROSS JOIN u", 200, 1, max_expansion="10KB")
    with pytest.raises(EvaluationError, match="the answer to one batch is too large"):
        run("SELECT x, y FROM s CROSS JOIN u", 100, 100, max_expansion="100KB")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) AS n FROM HOP(s, 1, 100)",
        "SELECT count(*) AS n FROM (SELECT explode(sequence(1, 100)) AS y FROM s)",
        "SELECT count(*) AS n FROM s JOIN u ON s.k = u.k",
        "SELECT count(*) AS n FROM s JOIN u ON s.k = u.k AND x < y",
    ],
)
def test_a_batch_that_becomes_too_large_is_taken_in_parts(text: str) -> None:
    right = 100 if " u " in text else 0
    whole, parts = (run(text, 100, right, max_expansion=size) for size in ("2GB", "200KB"))
    assert parts.history() == whole.history()


def test_pairs_are_held_against_a_condition_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "SELECT x, y FROM s LEFT JOIN u ON s.k = u.k AND x < y - 90"
    whole = run(text, 100, 100)
    monkeypatch.setattr("driftline.engine.join.join._PIECE", 150)
    assert run(text, 100, 100).history() == whole.history()


def test_the_limit_can_be_set() -> None:
    text = "SELECT k FROM HOP(s, 1, 1000)"
    with pytest.raises(EvaluationError, match="max_expansion is 20 KB"):
        run(text, max_expansion="20KB")
    assert len(run(text, max_expansion="inf").history()) == 3000
    with pytest.raises(PlanError, match="max_expansion is a number of bytes"):
        run(text, max_expansion="lots")


def test_threads_have_the_limit_of_their_query() -> None:
    seven = limited(Limits(max_expansion=7))
    with seven, pytest.raises(EvaluationError, match="EXPANSION_TOO_LARGE"):
        raise too_large(str(np.int64(7)))
