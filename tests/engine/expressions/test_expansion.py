"""What would become larger than memory is refused before it does, in one line with the number."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
        ("SELECT repeat(k, 1000000000) AS y FROM s", "about 6 GB"),
        ("SELECT repeat('abc', 1000000) || k AS y FROM s", None),
        ("SELECT lpad(k, 1000000000, 'é') AS y FROM s", "about 24 GB"),
        ("SELECT rpad(k, 1000000000) AS y FROM s", "about 6 GB"),
        ("SELECT space(x + 1000000000) AS y FROM s", "about 6 GB"),
        ("SELECT size(array_repeat(repeat(k, 1000000), 5000)) AS y FROM s", "about 15 GB"),
        ("SELECT replace(repeat(k, 9000000), 'a', repeat('b', 100)) AS y FROM s", "5.4"),
        ("SELECT regexp_replace(repeat(k, 9000000), 'a', repeat('b', 100)) AS y FROM s", "5.4"),
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
    with pytest.raises(EvaluationError, match="a constant in each of 200 rows makes strings"):
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


SIZE = 30_000_000


@pytest.mark.parametrize(
    "made",
    [
        "repeat(k, {n})", "repeat('x', {n})", "rpad(k, {n})", "lpad('x', {n}, 'ab')", "space({n})",
        "format_string('%{n}d', x)", "format_string('%-{n}s', k)", "format_string('%0{n}d', x)",
        "format_string('%.{n}f', 1.5D)", "format_string('%.{n}e', 1.5D)", "printf('%1${n}s', k)",
        "format_string(concat('%', {n}, 'd'), x)", "format_string('%{n}n')",
        "format_number(1.5D, {n})",
        "format_number(1e300, {n})", "array_repeat(k, {n})", "sequence(0, {n})",
        "replace(repeat(k, 10000), k, repeat(k, 10000))",
        "replace(repeat('x', 10000), 'x', repeat('y', 10000))",
        "regexp_replace(repeat(k, 10000), k, repeat(k, 10000))",
        "regexp_replace(repeat(k, 10000), '(.)', repeat('$1', 10000))",
        "aggregate(array_repeat(1, 25), 'x', (a, y) -> concat(a, a))",
        "array_insert(array(1), {n}, 1)",
    ],
)  # fmt: skip
@given(data=st.data())
@settings(max_examples=2, deadline=None)
def test_nothing_is_made_before_its_size_is_known(made: str, data: st.DataObject) -> None:
    """As a constant, and as what is known only of each row."""
    size = data.draw(st.integers(SIZE, 4 * SIZE))
    number = data.draw(st.sampled_from([str(size), f"x + {size}"]))
    if "%{n}" in made or "%." in made or "%0" in made or "%-" in made or "${n}" in made:
        number = str(size)
    tracemalloc.start()
    try:
        with pytest.raises(EvaluationError, match="EXPANSION_TOO_LARGE"):
            run(f"SELECT {made.format(n=number)} AS y FROM s", 1, max_expansion="1MB")
        assert tracemalloc.get_traced_memory()[1] < SIZE
    finally:
        tracemalloc.stop()


def test_far_places_of_numbers() -> None:
    found = run("SELECT round(1.5BD, 2000000000) AS a, bround(15, -2000000000) AS b FROM s", 1)
    assert [(str(row["a"]), row["b"]) for row in found.history().to_pylist()] == [("1.5", 0)]
    (row,) = run("SELECT format_number(1e300, 1000) AS x FROM s", 1).history().to_pylist()
    assert row["x"].endswith("." + "0" * 1000)


def test_a_number_with_very_many_places() -> None:
    text = "SELECT length(format_number(x + 0.5, '#,##0.' || repeat('0', 100000))) AS y FROM s"
    assert run(text, 1).history()["y"].to_pylist() == [100_002]
