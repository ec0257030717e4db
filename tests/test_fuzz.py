"""Whatever is given to the Python interface: it works, or one clear line says why not."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import driftline as dl
from driftline.engine.expressions.errors import EvaluationError
from driftline.event_log.bad import BadInput, UnreadableLog, Unsayable
from driftline.model.automaton import InvalidAutomaton
from driftline.plan.errors import LONGEST, ExpressionError, PlanError
from driftline.sql import SqlError

CLEAR = (
    PlanError, ExpressionError, EvaluationError, SqlError, BadInput, UnreadableLog, Unsayable,
    InvalidAutomaton,
)  # fmt: skip
SHARE = 3
"""Each argument gets every third value, the next one the others: it is to be quick."""
COLUMNS: dict[str, Any] = {"k": "STRING", "x": "INT", "t": "BIGINT", "ts": "TIMESTAMP"}
FRAME = pd.DataFrame({"k": ["a", "b"], "x": [1, 2], "t": [1, 2]})
ROWS: list[Any] = [{"k": "a", "x": 1, "t": 1}, {"k": "b", "x": 2, "t": 2}]
T = dl.stream("t", {"k": "STRING", "x": "INT", "t": "BIGINT"}, time="t")
U = dl.stream("u", {"k": "STRING", "x": "INT"})

ODD: list[Any] = [
    None, True, 0, -1, 2**70, 1.5, float("nan"), float("inf"), Decimal("1.5"), complex(1, 2),
    "", " ", "k", "K", "nope", "x + 1", "x +", "(", "'", "`", "a.b", "t.k", "select", "k AS k",
    "x AS `a b`", "sum(x)", "count(*) AS n", "x > 1", "inf", "-5", "5 minutes", "10", "😀", "é",
    "\0", "\n", "x" * 5000, b"x",
    [], ["k"], ["k", 1], [None], (), ("k",), {}, {"a": 1}, {"k": "STRING"}, {1: 2}, {"k"},
    object(), object, len, int, Exception("x"), ..., range(3), lambda: 1,
    FRAME, FRAME.dtypes.to_dict(), FRAME.x, np.array([1]), np.int64(3), np.datetime64("2024-01-01"),
    datetime.datetime(2024, 1, 1), datetime.timedelta(days=-1), datetime.timedelta(seconds=5),
    pa.table({"k": ["a"], "x": [1], "t": [1]}), pa.int64(), pa.array([1]),
    T, T.plan, T.group_by("k"), dl.Cti(5), dl.Row(a=1), dl.Insert(1, 2, dl.Row(k="a", x=1)),
]  # fmt: skip


def of_streams() -> Iterator[Any]:
    yield lambda v: dl.stream(v, {"k": "STRING"})
    yield lambda v: dl.stream("s", v)
    yield lambda v: dl.stream("s", {"k": v})
    yield lambda v: dl.stream("s", {str(v) if v.__hash__ is None else v: "INT"})
    for name in (
        "time", "timestamps", "disorder", "source", "sources", "skew", "latency", "timeout",
        "arrival", "heartbeats", "late", "time_unit",
    ):  # fmt: skip
        for known in ({}, {"time": "ts", "disorder": "5s", "source": "k"}):
            yield lambda v, o=name, known=known: dl.stream("s", COLUMNS, **{**known, o: v})


def of_queries() -> Iterator[Any]:
    for name in ("select", "with_columns", "where", "alias", "explode", "group_by", "agg", "join",
                 "union", "intersect", "minus", "over", "tumble"):  # fmt: skip
        yield lambda v, name=name: getattr(T, name)(v)
    for name in ("select", "with_columns", "group_by", "agg", "over"):
        yield lambda v, name=name: getattr(T, name)("k", a=v)
    yield lambda v: T.over("sum(x) AS s", by=v)
    yield lambda v: T.over("sum(x) AS s", per=v)
    yield lambda v: T.over("sum(x) AS s", by="t", frame=v)
    yield lambda v: T.top(v, "x")
    yield lambda v: T.top(1, v)
    yield lambda v: T.top(1, "x", v)
    yield lambda v: T.rank("x", method=v)
    yield lambda v: T.rank("x", name=v)
    yield lambda v: T.join(U, v)
    yield lambda v: T.join(U, "k", how=v)
    yield lambda v: T.select("k").union(U.select("k"), distinct=v)
    yield lambda v: T.select("k").minus(U.select("k"), all=v)
    yield lambda v: T.with_columns("array(x) AS a").explode("a", v)
    yield lambda v: T.with_columns("array(x) AS a").explode("a", outer=v)
    machine = dl.Automaton("S", ["F"], [dl.Transition("S", "F", "a")])
    for name in ("sequence", "symbol", "per", "partial", "by", "transitions"):
        known: dict[str, Any] = {"sequence": "x", "symbol": "k"}
        yield lambda v, o=name, known=known: T.automaton(machine, **{**known, o: v})
    yield lambda v: T.automaton(v, sequence="x", symbol="k")
    yield lambda v: dl.Automaton("S", ["F"], v)
    yield lambda v: dl.Automaton(v, [v], [], {"m": v}, {"a": v})
    yield lambda v: dl.Transition("S", "F", v, v)
    yield lambda v: T.window(range=v)
    yield lambda v: T.window(range=5, slide=v)
    yield lambda v: T.window(start=v, duration=5)
    yield lambda v: T.window(start="vs", duration=v)
    yield lambda v: T.hop(v, v)
    yield lambda v: T.hop(5, 5, v)
    yield lambda v: T.agg(a=dl.UserDefined(v, "x", "INT"))
    yield lambda v: T.agg(a=dl.UserDefined(object(), v, "INT"))
    yield lambda v: T.agg(a=dl.UserDefined(object(), "x", v))
    yield lambda v: dl.Query(v).explain()
    yield dl.sql
    yield lambda v: dl.sql("SELECT * FROM t", t=v)
    yield lambda v: dl.on_spark(v, {"t": v})
    yield lambda v: dl.on_spark(T, v)
    for name in ("emit", "block", "remember", "final", "shards", "heartbeat"):
        yield lambda v, name=name: dl.on_spark(T, {"t": FRAME}, **{name: v})


def of_runs() -> Iterator[Any]:
    yield T.run
    yield lambda v: T.run(t=v)
    yield lambda v: T.run(t=[v])
    yield lambda v: T.run(t=[ROWS[0], v])
    for name in ("k", "x", "t"):
        yield lambda v, name=name: T.run(t=[{**ROWS[0], name: v}])
    yield lambda v: T.run(t=ROWS, nope=v)
    yield lambda v: T.run({"t": ROWS, "z": v})
    for name in ("batch", "emit", "block", "remember", "scheduler", "keep_open", "heartbeat"):
        yield lambda v, name=name: T.run(t=ROWS, **{name: v})
    yield lambda v: U.run(u=[dl.Insert(1, 2, v)])
    yield lambda v: U.run(u=[dl.Insert(v, v, dl.Row(k="a", x=1))])
    yield lambda v: U.run(u=[dl.Insert(1, 2, dl.Row(k=v, x=v))])
    yield lambda v: U.run(u=[dl.Retract(1, 5, v, dl.Row(k="a", x=1))])
    yield lambda v: U.run(u=[dl.Cti(v)])
    yield lambda v: U.run(u=[dl.ExternalCti(v, v, v)])


@pytest.mark.parametrize("given", [of_streams, of_queries, of_runs])
def test_it_works_or_says_why_not(given: Callable[[], Iterator[Any]]) -> None:
    warnings.simplefilter("ignore")
    for number, use in enumerate(given()):
        for value in ODD[number % SHARE :: SHARE]:
            try:
                use(value)
            except CLEAR as error:
                emitted = str(error)
            except Exception as error:
                shown = " ".join(repr(value).split())[:80]
                raise AssertionError(f"{given.__name__} {number}, {shown}: {error!r}") from error
            else:
                continue
            assert emitted.strip(), (number, value)
            assert len(emitted) < LONGEST + 200, (number, value, emitted)
            assert "\n" not in emitted.strip(), (number, value, emitted)
