"""The limit of recursion is raised while something deep is done, and is the user's own before and
after."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, reduce
from pathlib import Path
from threading import Barrier
from typing import Any

import pyarrow as pa
import pytest

import driftline as dl
from driftline.engine.expressions import EvaluationError, evaluate
from driftline.engine.match.lowering import Code
from driftline.plan import ExpressionError, Schema, parse_expression
from driftline.plan.depth import SPARE, again_with_room, room
from driftline.plan.fragments import cut
from driftline.plan.nodes import DEEPEST
from driftline.sql import SqlError

USERS = 1234
"""The limit that the user has set, which nothing else would set."""


@pytest.fixture(autouse=True)
def users_limit() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(USERS)
    yield
    found = sys.getrecursionlimit()
    sys.setrecursionlimit(before)
    assert found == USERS


def limit() -> int:
    return sys.getrecursionlimit()


def down(calls: int) -> int:
    return 0 if calls == 0 else 1 + down(calls - 1)


@pytest.fixture(autouse=True, scope="module")
def nothing_kept() -> Iterator[None]:
    """Long chains are many objects, which other tests would have in memory."""
    yield
    chain.cache_clear()


# Rooms


def test_a_room_has_so_many_calls_more() -> None:
    with pytest.raises(RecursionError):
        down(5000)
    with room(5000):
        assert limit() == USERS + 5000
        assert down(5000) == 5000
    assert limit() == USERS


def test_an_error_closes_it() -> None:
    with pytest.raises(KeyError), room(5000):
        raise KeyError
    assert limit() == USERS


def test_little_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "setrecursionlimit", None)
    with room(SPARE):
        assert limit() == USERS


def test_a_room_inside_another_has_calls_of_its_own() -> None:
    with room(3000):
        with room(2000):
            assert limit() == USERS + 5000
        assert limit() == USERS + 3000


def test_of_several_threads_the_one_that_needs_most_counts() -> None:
    """
    one    |——— 3000 ———|
    other       |——— 5000 ———|
    """
    step = Barrier(2)
    seen: list[int] = []

    def note() -> None:
        step.wait()
        seen.append(limit())
        step.wait()

    def one() -> None:
        with room(3000):
            note()
            note()
        note()

    def other() -> None:
        note()
        with room(5000):
            note()
            note()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(one), pool.submit(other)]:
            done.result()
    assert seen == [USERS + each for each in (3000, 3000, 5000, 5000, 5000, 5000)]
    assert limit() == USERS


def test_many_threads_at_once() -> None:
    def deep(number: int) -> int:
        calls = 500 * (1 + number % 7)
        with room(calls):
            return down(calls)

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(deep, range(500))) == sum(500 * (1 + n % 7) for n in range(500))


@pytest.mark.parametrize("wanted", [USERS + 1000, USERS - 100, 50_000])
def test_what_the_user_sets_meanwhile_stays(wanted: int) -> None:
    with room(5000):
        sys.setrecursionlimit(wanted)
    assert limit() == wanted
    with room(5000):
        assert limit() == wanted + 5000
    assert limit() == wanted
    sys.setrecursionlimit(USERS)
    with room(3000):
        sys.setrecursionlimit(wanted)
        with room(2000):
            assert limit() == wanted + 5000
    assert limit() == wanted
    sys.setrecursionlimit(USERS)


def test_a_function_is_called_again_only_if_it_goes_too_deep() -> None:
    calls: list[int] = []

    @again_with_room
    def noted(number: int) -> int:
        calls.append(number)
        return down(number)

    assert [noted(5), noted(5000)] == [5, 5000]
    assert calls == [5, 5000, 5000]
    with pytest.raises(RecursionError):
        noted(20_000)


# Expressions

SCHEMA = Schema.of({"x": "INT", "s": "STRING"})
ROWS = pa.table({"x": pa.array([1, 2], pa.int32()), "s": ["a", None]})
LONG = " + ".join(["x"] * 1200)
NESTED = "abs(" * 199 + "x" + ")" * 199


@pytest.mark.parametrize("text", [LONG, NESTED, f"1 / (({LONG}) - 1200) + 0"])
def test_expressions(text: str) -> None:
    expression = parse_expression(text, SCHEMA)
    assert limit() == USERS
    for _ in range(3):
        if text in (LONG, NESTED):
            evaluate(expression, ROWS)
        else:
            with pytest.raises(EvaluationError, match="division by zero") as failed:
                evaluate(expression, ROWS)
            assert "x = 1" in str(failed.value)
        assert limit() == USERS
    assert evaluate(pickle.loads(pickle.dumps(parse_expression(LONG, SCHEMA))), ROWS)[0].as_py()


@pytest.mark.parametrize("text", ["(" * 300, f"{NESTED} + y", f"{LONG} +", "abs(" * 300])
def test_expressions_that_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_expression(text, SCHEMA)


def test_what_is_shallow_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    expression = parse_expression("CASE WHEN x > 1 THEN abs(x + 1) ELSE length(s) END", SCHEMA)
    monkeypatch.setattr(sys, "setrecursionlimit", None)
    assert evaluate(expression, ROWS).to_pylist() == [1, 3]


def test_conditions_of_patterns() -> None:
    long = " OR ".join(f"A.x = {number}" for number in range(1200))
    text = f"""CREATE STREAM t (x INT, ts INT) WITH (time = 'ts');
        SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(B.x) AS y, {long} AS z
            PATTERN ({"(A " * 150} A {")?" * 150} B) DEFINE B AS ({long}) AND B.x > A.x)"""
    query = dl.sql(text)
    assert limit() == USERS
    query.explain()
    found = query.run(t=[{"x": 1, "ts": 1}, {"x": 5, "ts": 2}]).history().to_pylist()
    assert [(row["y"], row["z"]) for row in found] == [(5, True)]
    Code().lower(parse_expression(" OR ".join(["true", "false"] * 600), SCHEMA))


# Plans

T = dl.stream("t", {"x": "INT", "ts": "INT"}, time="ts", disorder=0)
RECORDS = [{"x": number, "ts": number} for number in range(4)]


STEPS: dict[str, tuple[Callable[[dl.Query], dl.Query], int]] = {
    "where": (lambda query: query.where("x >= 0"), 900),
    "select": (lambda query: query.select("x + 0 AS x", "ts"), 900),
    "union": (lambda query: query.union(T.where("x < 0")), 700),
    "distinct": (lambda query: query.where("x >= 0").distinct(), 300),
    "aggregate": (lambda query: query.group_by("ts").agg("max(x) AS x"), 250),
    "join": (lambda query: query.join(T.alias("u").select("ts"), "ts", how="semi"), 150),
}


@lru_cache(maxsize=1)
def chain(name: str) -> dl.Query:
    step, count = STEPS[name]
    return reduce(lambda query, _: step(query), range(count), T)


@pytest.mark.parametrize(
    "use",
    [
        lambda query: query.run(t=RECORDS),
        lambda query: query.run(t=RECORDS, final=True),
        lambda query: query.run(t=RECORDS, heartbeat="memory"),
        lambda query: query.run(t=RECORDS, emit="eager", outputs="marked", heeding="multiset"),
        lambda query: list(query.now(t=RECORDS, emit="eager")),
        lambda query: query.explain(),
        lambda query: cut(query.plan),
    ],
    ids=["run", "final", "memory", "heeding", "now", "explain", "cut"],
)
@pytest.mark.parametrize("name", STEPS)
@pytest.mark.slow
def test_long_chains_of_operators(name: str, use: Callable[[dl.Query], Any]) -> None:
    use(chain(name))
    assert limit() == USERS


def test_nothing_is_open_from_one_update_to_the_next() -> None:
    query = chain("where").select(f"{LONG} AS y")
    found = []
    for update in query.changes(t=RECORDS, batch=1):
        assert limit() == USERS
        found.append(len(update.batch))
    assert sum(found) > 0


def test_a_node_asks_its_inputs_when_it_is_made_and_when_it_is_unpickled() -> None:
    deep = chain("where").plan
    assert (deep.schema.names, deep.timestamps, deep.is_loose) == (("x", "ts"), False, False)
    with room(8 * DEEPEST):  # for the pickler
        copy = pickle.loads(pickle.dumps(deep))
    assert (copy.schema.names, copy.timestamps, copy.is_loose) == (("x", "ts"), False, False)
    assert copy.tree() == deep.tree()


def test_scripts() -> None:
    views = "; ".join(
        f"CREATE VIEW v{number} AS SELECT x + 0 AS x FROM " + (f"v{number - 1}" if number else "t")
        for number in range(300)
    )
    query = dl.sql(f"{views}; SELECT x FROM v299", t=T)
    assert limit() == USERS
    assert query.run(t=RECORDS).history().num_rows == len(RECORDS)
    for text in ("SELECT " + "(" * 300, f"{views}; SELECT y FROM v299"):
        with pytest.raises(SqlError):
            dl.sql(text, t=T)
        assert limit() == USERS


# Values

DEPTH = 450
DEEP_JSON = '{"a":' * DEPTH + "1" + "}" * DEPTH


def test_values_that_are_nested_deeply(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(f'{{"s": {DEEP_JSON}, "ts": 1}}\n{{"s": "b", "ts": 2}}\n')
    stream = dl.stream("t", {"s": "STRING", "ts": "INT"}, time="ts")
    query = stream.select("s", "get_json_object(s, '$.a') AS a", "try_parse_json(s) AS v")
    found = query.select("s", "a", "to_json(v) AS v").run(t=path).history().to_pylist()
    assert [row["s"] for row in found] == [DEEP_JSON, "b"]
    assert [row["a"] for row in found] == [DEEP_JSON[len('{"a":') : -1], None]
    assert [row["v"] for row in found] == [DEEP_JSON, None]
    assert limit() == USERS
    rows = [{"s": json.loads(DEEP_JSON), "ts": 1}]
    assert stream.run(t=rows).history().num_rows == 1


def test_a_thousand_levels_of_json_are_a_variant_and_more_are_none() -> None:
    stream = dl.stream("t", {"s": "STRING", "ts": "INT"}, time="ts")
    query = stream.select("try_parse_json(s) IS NULL AS n")
    for depth, is_null in [(1000, False), (5000, True), (100_000, True)]:
        found = query.run(t=[{"s": "[" * depth + "]" * depth, "ts": 1}]).history().to_pylist()
        assert [row["n"] for row in found] == [is_null]
