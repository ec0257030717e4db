"""The Python interface, as a user would try it."""

from __future__ import annotations

import datetime
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import driftline as dl
from driftline.event_log.bad import BadEvent, BadInput
from driftline.plan.errors import PlanError
from driftline.sql.errors import SqlError

TRADES = dl.stream(
    "trades", {"symbol": "STRING", "price": "DOUBLE", "qty": "INT", "ts": "TIMESTAMP"}, time="ts"
)
ROWS = [
    {"symbol": "A", "price": 10.0, "qty": 2, "ts": "2024-05-01T09:30:00Z"},
    {"symbol": "A", "price": 13.0, "qty": 1, "ts": "2024-05-01T09:31:00Z"},
    {"symbol": "B", "price": 7.5, "qty": 4, "ts": "2024-05-01T09:30:30Z"},
]
TABLE = pa.table(
    {
        "symbol": [row["symbol"] for row in ROWS],
        "price": [row["price"] for row in ROWS],
        "qty": [row["qty"] for row in ROWS],
        "ts": pa.array([row["ts"] for row in ROWS]).cast(pa.timestamp("us", "UTC")),
    }
)
TOTALS = TRADES.group_by("symbol").agg("sum(qty) AS shares", "count(*) AS n")
NUMBERS = dl.stream("s", {"k": "STRING", "x": "INT"})


ONE = dl.Row(k="a", x=1)


def final(result: dl.Result) -> list[dict[str, Any]]:
    """What holds at the end of time."""
    rows = result.history().to_pylist()
    alive = [row for row in rows if row.pop("ve") is None and row.pop("vs") is not None]
    return sorted(alive, key=str)


EXPECTED = [{"symbol": "A", "shares": 3, "n": 2}, {"symbol": "B", "shares": 4, "n": 1}]


def inputs(folder: Path) -> dict[str, Any]:
    pyarrow.parquet.write_table(TABLE, folder / "t.parquet")
    pyarrow.csv.write_csv(TABLE, folder / "t.csv")
    with (folder / "t.jsonl").open("w") as file:
        pl.DataFrame(ROWS).write_ndjson(file)
    frame = pd.DataFrame(ROWS).assign(ts=lambda rows: pd.to_datetime(rows["ts"]))
    return {
        "rows": ROWS,
        "iterator": iter(ROWS),
        "arrow": TABLE,
        "pandas": frame,
        "polars": pl.from_arrow(TABLE),
        "parquet": folder / "t.parquet",
        "csv": str(folder / "t.csv"),
        "json lines": folder / "t.jsonl",
    }


@pytest.mark.parametrize(
    "kind", ["rows", "iterator", "arrow", "pandas", "polars", "parquet", "csv", "json lines"]
)
@pytest.mark.parametrize("batch", [1, 2, 100])
def test_a_query_over_whatever_the_user_has(kind: str, batch: int, tmp_path: Path) -> None:
    assert final(TOTALS.run(trades=inputs(tmp_path)[kind], batch=batch)) == EXPECTED


def test_an_event_log_with_a_correction(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    log.write_text(
        '{"stream":"s","kind":"insert","vs":1,"ve":null,"row":{"k":"a","x":1}}\n'
        '{"stream":"s","kind":"insert","vs":2,"ve":null,"row":{"k":"a","x":5}}\n'
        '{"stream":"s","kind":"retract","vs":2,"ve":null,"vn":2,"row":{"k":"a","x":5}}\n'
        '{"stream":"s","kind":"cti","t":3}\n'
    )
    emitted = list(NUMBERS.agg("sum(x) AS total").changes(s=log, batch=1, keep_open=True))
    changes = [row for part in emitted for row in part.table().to_pylist()]
    assert [(row["kind"], row["vs"], row["ve"], row["vn"], row["total"]) for row in changes] == [
        ("insert", 1, None, None, 1),
        ("retract", 1, None, 2, 1),
        ("insert", 2, None, None, 6),
        ("retract", 2, None, 2, 6),
        ("insert", 2, None, None, 1),
    ]
    assert emitted[-1].final_up_to == 3


def test_every_part_of_a_query() -> None:
    query = (
        NUMBERS.where("x IS NOT NULL")
        .with_columns(y="x * 2")
        .select("k", "y", "y > 2 AS big")
        .group_by("k", "big")
        .agg("max(y) AS top", "median(y) AS middle")
        .where("top > 0")
    )
    rows = [dl.Insert(1, 9, dl.Row(k="a", x=x)) for x in (1, 2, 3, None)]
    assert query.run(s=rows).history().to_pylist() == [
        {"vs": 1, "ve": 9, "k": "a", "big": False, "top": 2, "middle": 2.0},
        {"vs": 1, "ve": 9, "k": "a", "big": True, "top": 6, "middle": 5.0},
    ]


def test_joins_on_a_name_give_the_column_once() -> None:
    other = dl.stream("t", {"k": "STRING", "y": "INT"})
    events = {
        "s": [dl.Insert(1, 9, dl.Row(k="a", x=1)), dl.Insert(1, 9, dl.Row(k="b", x=2))],
        "t": [dl.Insert(3, 5, dl.Row(k="a", y=7))],
    }
    assert NUMBERS.join(other, on="k").run(events).history().to_pylist() == [
        {"vs": 3, "ve": 5, "k": "a", "x": 1, "y": 7}
    ]
    left = NUMBERS.join(other, on=["k"], how="left").run(events).history().to_pylist()
    assert [(row["vs"], row["ve"], row["k"], row["y"]) for row in left] == [
        (1, 3, "a", None),
        (1, 9, "b", None),
        (3, 5, "a", 7),
        (5, 9, "a", None),
    ]


def test_a_star_is_all_columns() -> None:
    assert NUMBERS.select("*").schema.names == NUMBERS.schema.names
    assert NUMBERS.select("*", z="x").schema.names == (*NUMBERS.schema.names, "z")


@pytest.mark.parametrize("slide", [None, 5])
def test_no_row_lives_in_a_window_of_nothing(slide: int | None) -> None:
    with pytest.raises(PlanError, match="at least one tick"):
        TRADES.window(range=0, slide=slide)


def test_windows() -> None:
    events = [dl.Insert(7, 8, dl.Row(k="a", x=1))]

    def lifetimes(query: dl.Query) -> list[tuple[int, int | None]]:
        rows = query.run(s=events).history().to_pylist()
        return [(row["vs"], row["ve"]) for row in rows]

    assert lifetimes(NUMBERS.window(range=5)) == [(7, 12)]
    assert lifetimes(NUMBERS.window(range=10, slide=5)) == [(10, 20)]
    assert lifetimes(NUMBERS.window(range="inf")) == [(7, None)]
    assert lifetimes(NUMBERS.window(start="ve", duration=1)) == [(8, 9)]
    assert lifetimes(NUMBERS.window(start="vs - vs % 5", duration="ve - vs + 1")) == [(5, 7)]
    [row] = NUMBERS.tumble(5).run(s=events).history().to_pylist()
    assert (row["window_start"], row["window_end"]) == (5, 10)


def test_order_and_partition_may_be_computed() -> None:
    rows = [("a", 1), ("a", -3), ("b", 2), ("b", None)]
    events = [dl.Insert(1, 9, dl.Row(k=k, x=x)) for k, x in rows]
    furthest = NUMBERS.top(1, by="CASE WHEN x > 0 THEN x ELSE -x END DESC", per="upper(k)")
    assert list(furthest.schema.names) == ["k", "x"]
    assert furthest.run(s=events).history().to_pylist() == [
        {"vs": 1, "ve": 9, "k": "a", "x": -3},
        {"vs": 1, "ve": 9, "k": "b", "x": 2},
    ]
    places = NUMBERS.rank(by="abs(x) NULLS LAST", per="k IS NULL", method="rank", name="place")
    found = {(row["x"], row["place"]) for row in places.run(s=events).history().to_pylist()}
    assert found == {(1, 1), (2, 2), (-3, 3), (None, 4)}
    with pytest.raises(ValueError, match="there is no column y"):
        NUMBERS.top(1, by="y DESC")


def test_over() -> None:
    events = [dl.Insert(t, dl.INFINITY, dl.Row(k="a", x=t)) for t in (1, 2, 5)]
    query = NUMBERS.over(
        "sum(x) AS total", before="lag(x, 1, 0)", per="k", by="x", frame="RANGE 2 PRECEDING"
    )
    assert query.run(s=events).history().to_pylist() == [
        {"vs": 1, "ve": None, "k": "a", "x": 1, "total": 1, "before": 0},
        {"vs": 2, "ve": None, "k": "a", "x": 2, "total": 3, "before": 1},
        {"vs": 5, "ve": None, "k": "a", "x": 5, "total": 5, "before": 2},
    ]
    for function, emitted in [("rank() AS r", "rank"), ("abs(x)", "not supported")]:
        with pytest.raises(ValueError, match=emitted):
            NUMBERS.over(function, by="x")
    with pytest.raises(PlanError, match="needs window functions"):
        NUMBERS.over(by="x")


def test_top_and_rank() -> None:
    events = [dl.Insert(1, 9, dl.Row(k=k, x=x)) for k, x in (("a", 1), ("a", 3), ("b", 2))]
    best = NUMBERS.top(1, by="x DESC", per="k").run(s=events).history().to_pylist()
    assert sorted((row["k"], row["x"]) for row in best) == [("a", 3), ("b", 2)]
    places = NUMBERS.rank(by="x", name="place").run(s=events).history().to_pylist()
    assert sorted((row["place"], row["x"]) for row in places) == [(1, 1), (2, 2), (3, 3)]


class Longest:
    """A user's aggregate: the longest text."""

    def initial(self) -> str:
        return ""

    def add(self, state: str, value: str) -> str:
        return max(state, value, key=len)

    def result(self, state: str) -> str:
        return state


def test_a_key_lets_rows_replace_each_other() -> None:
    columns = {"k": "STRING", "x": "INT", "at": "INT"}
    rates = dl.stream("rates", columns, time="at", key="k", disorder=5)
    rows = [("a", 1, 1), ("a", 7, 7), ("b", 3, 3), ("a", 4, 4)]
    given = [dict(zip(columns, row, strict=True)) for row in rows]
    found = rates.run(rates=given, batch=1).history().to_pylist()
    assert [(row["vs"], row["ve"], row["x"]) for row in found] == [
        (1, 4, 1), (3, None, 3), (4, 7, 4), (7, None, 7),
    ]  # fmt: skip
    paid = dl.stream("paid", columns, time="at")
    asof = (
        "SELECT p.x, r.x AS rate FROM paid p ASOF JOIN {} r MATCH_CONDITION (p.at >= r.at) "
        "ON p.k = r.k"
    )
    late = [{"k": "a", "x": 0, "at": at} for at in (2, 5, 9)]
    answer = dl.sql(asof.format("rates"), paid=paid, rates=rates).run(paid=late, rates=given)
    assert answer.history().column("rate").to_pylist() == [1, 4, 7]
    with pytest.raises(SqlError, match="only the latest rows of each key: join the stream"):
        dl.sql(asof.format("(SELECT * FROM rates WHERE x > 1)"), paid=paid, rates=rates)


def test_user_defined_aggregates() -> None:
    events = [dl.Insert(1, 9, dl.Row(k=k, x=1)) for k in ("a", "ccc", "bb")]
    query = NUMBERS.agg(longest=dl.UserDefined(Longest(), "k", "STRING"))
    assert query.run(s=events).history().to_pylist() == [{"vs": 1, "ve": 9, "longest": "ccc"}]


def test_what_comes_too_late_is_a_dead_letter_with_a_reason() -> None:
    stream = dl.stream("s", {"t": "BIGINT", "x": "INT"}, time="t", disorder=3)
    rows = [{"t": t, "x": 1} for t in (1, 10, 8, 2, 11)]
    result = stream.agg("count(*) AS n").run(s=rows)
    assert result.dead_letters == {"s": 1}
    [letters] = [part.dead_letters["s"] for part in result.updates if part.dead_letters]
    assert "too late" in letters.reasons()[0]
    assert result.history().to_pylist()[-1]["n"] == 4


@pytest.mark.parametrize("scheduler", ["drain", "round-robin"])
def test_both_schedulers_give_the_same_answer(scheduler: Any) -> None:
    twice = TOTALS.union(TOTALS).agg("sum(shares) AS shares")
    assert final(twice.run(trades=ROWS, batch=1, scheduler=scheduler)) == [{"shares": 14}]


def test_consistency_blocks_until_it_is_sure() -> None:
    late = [dl.Insert(t, dl.INFINITY, dl.Row(k="a", x=1)) for t in (1, 5, 3, 9, 20)]
    count = NUMBERS.agg("count(*) AS n")
    speculative = count.run(s=late, batch=1).changes().to_pylist()
    sure = count.run(s=late, batch=1, block=4).changes().to_pylist()
    assert sum(row["vn"] == row["vs"] for row in speculative) > 0  # an answer that was never true
    assert sum(row["vn"] == row["vs"] for row in sure) == 0
    assert [row["n"] for row in count.run(s=late, block=4).history().to_pylist()] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TRADES.where("pric > 1"), "no column pric; did you mean price"),
        (lambda: TRADES.where("price"), "is not a condition"),
        (lambda: TRADES.select("sum(price)"), "an aggregate belongs into group_by"),
        (lambda: TRADES.agg("price"), "has no aggregate in it"),
        (lambda: TRADES.group_by("symbol").agg("sum(qty) + price"), "price is neither a key"),
        (TRADES.window, "a window needs range"),
        (lambda: TRADES.window(range="5 parsecs"), "is not a duration"),
        (lambda: NUMBERS.window(range="5 minutes"), "time is a plain number"),
        (lambda: TRADES.window(range="5"), "'5' has no unit"),
        (lambda: NUMBERS.union(TRADES), "one side has integer time, the other TIMESTAMP"),
        (
            lambda: NUMBERS.union(NUMBERS.select("x")),
            "2 columns, the right side 1",
        ),
        (
            lambda: NUMBERS.select("array(x)").minus(NUMBERS.select("x")),
            "minus: column 1 is ARRAY<INT> on the left and INT on the right",
        ),
        (lambda: NUMBERS.join(NUMBERS, "k", "sideways"), "a join is one of inner, left"),
        (
            lambda: dl.recursive("r", "x INT", NUMBERS.select("x"), lambda r: None),  # type: ignore[arg-type,return-value]
            "the function of r returns a query, not a NoneType",
        ),
        (lambda: NUMBERS.join(TRADES.select("qty"), "k"), "one side has integer time"),
        (lambda: NUMBERS.join(NUMBERS.select("x"), "k"), "the right side has no column k"),
        (lambda: NUMBERS.join(5, "k"), "join takes another query"),  # type: ignore[arg-type]
        (lambda: NUMBERS.alias("a").join(NUMBERS, "a.x + s.x"), "is not a condition"),
        (lambda: NUMBERS.alias("a").join(NUMBERS, "max(a.x) = s.x"), "an aggregate belongs"),
        (lambda: NUMBERS.select(["k"]), "is written as text"),  # type: ignore[arg-type]
        (lambda: NUMBERS.rank("x", method="places"), "dense_rank, not "),  # type: ignore[arg-type]
        (lambda: NUMBERS.window(start="vs / 2", duration=1), "is a whole number of ticks"),
        (lambda: NUMBERS.window(start="vs", duration="1.5"), "is a whole number of ticks"),
        (lambda: NUMBERS.tumble(5, "k"), "by a TIMESTAMP or an integer column, and k is a STRING"),
        (lambda: NUMBERS.tumble(5).tumble(5), "there is a column window_start already"),
        (lambda: dl.sql("SELECT 1 FROM s", s=5), "must be a stream or a query"),  # type: ignore[call-overload]
        (lambda: NUMBERS.rank("x", name="K"), "there is a column K already"),
        (lambda: NUMBERS.over("sum(x) AS x"), "there is a column x already"),
        (lambda: dl.stream("s", {"x": "INT"}, time="t"), "does not exist"),
        (lambda: dl.stream("s", {"x": "INT"}, time=5), "given as text, not 5"),  # type: ignore[call-overload]
        (TOTALS.run, "no input was given"),
        (lambda: TOTALS.run(trade=[]), "only trade was given: name it trades"),
        (lambda: TOTALS.run(trades=ROWS, other=ROWS), "reads only trades"),
        (lambda: TOTALS.run(trades="nowhere.csv"), "there is no such file"),
        (lambda: TOTALS.run(trades=[{"symbol": "A"}], strict=True), "it has no time: ts is null"),
        (lambda: NUMBERS.run(s=[{"k": "a", "x": 1}]), "say which column is its time"),
        (lambda: TRADES.agg("count_mean_sketch(price)"), "there is no function count_mean_sketch"),
    ],
)
def test_mistakes_are_explained(make: Any, message: str) -> None:
    with pytest.raises((PlanError, ValueError), match=message):
        make()


def test_explain_draws_the_plan() -> None:
    assert TOTALS.explain() == (
        "project symbol, `$0` AS shares, `$1` AS n\n"
        "└─ aggregate sum(qty) AS $0, count(*) AS $1 by symbol\n"
        "   └─ source trades by ts (symbol STRING, price DOUBLE, qty INT, ts TIMESTAMP)"
    )


def test_first_and_last_with_conditions() -> None:
    rows = [(1, None), (2, 5), (3, 7), (4, None)]
    events = [dl.Insert(time, 9, dl.Row(k="a", x=x)) for time, x in rows]
    query = NUMBERS.agg(
        "first(x) AS plain",
        "first(x) IGNORE NULLS AS known",
        "last(x, true) AS latest",
        "last(x) FILTER (WHERE x IS NULL OR x < 6) AS small",
        "first(x) FILTER (WHERE x > 100) AS none",
    )
    row = query.run(s=events).history().to_pylist()[-1]
    assert row == {
        "vs": 4, "ve": 9, "plain": None, "known": 5, "latest": 7, "small": None, "none": None,
    }  # fmt: skip


def test_counters() -> None:
    clock = dl.stream("s", {"t": "BIGINT"}, time="t", disorder=3)
    rows = [{"t": 1}, {"t": 10}, {"t": 2}, {"t": 11}]
    result = clock.agg("count(*) AS n").run(s=rows, batch=2, keep_open=True)
    counters = result.counters
    assert counters["s: finalize"]["dead_letters"] == 1
    assert counters["s: finalize"]["changes_in"] == 4
    assert counters["s: align"]["inserts_out"] == 3
    [grouped] = [each for name, each in counters.items() if "group by" in name]
    assert (grouped["changes_in"], grouped["watermark"]) == (3, 11)
    assert grouped["inserts_out"] > 0
    assert grouped["retracts_out"] > 0
    assert grouped["ctis_out"] == 2
    assert grouped["state_rows"] > 0
    assert grouped["state_bytes"] > 0
    [source] = [each for name, each in counters.items() if "source s" in name]
    assert source["watermark"] == 11


def test_a_key_may_be_in_an_aggregate() -> None:
    events = [dl.Insert(1, 9, dl.Row(k=k, x=1)) for k in ("a", "a", "b")]
    query = NUMBERS.group_by("k").agg("max(k) AS top", "count(DISTINCT k) + length(k) AS n")
    assert query.run(s=events).history().to_pylist() == [
        {"vs": 1, "ve": 9, "k": "a", "top": "a", "n": 2},
        {"vs": 1, "ve": 9, "k": "b", "top": "b", "n": 2},
    ]


def test_counts_of_several_values_and_sets() -> None:
    rows = [("a", 1), ("a", 1), ("b", 1), ("b", None), (None, None)]
    events = [dl.Insert(time, 9, dl.Row(k=k, x=x)) for time, (k, x) in enumerate(rows)]
    query = NUMBERS.agg(
        "count(k, x) AS whole",
        "count(DISTINCT k, x) AS kinds",
        "count(DISTINCT 1) AS one",
        "collect_set(k) AS names",
        "collect_list(x) AS numbers",
    )
    row = query.run(s=events).history().to_pylist()[-1]
    assert row == {
        "vs": 2, "ve": 9, "whole": 3, "kinds": 2, "one": 1, "names": ["a", "b"],
        "numbers": [1, 1, 1],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: NUMBERS.run(s=[], batch=0), "batch is how many"),
        (lambda: NUMBERS.run(s=[], batch="7"), "batch is how many"),
        (
            lambda: NUMBERS.run(s=[], scheduler="chaos"),
            "drain, round-robin or threads, not 'chaos'",
        ),
        (lambda: NUMBERS.run(s=[], block=1.5), "1.5 is not a duration"),
        (lambda: NUMBERS.run(s=[], remember=None), "None is not a duration"),
        (lambda: NUMBERS.run(s=[], emit="never"), "emit is perfect, ordered or eager"),
        (lambda: NUMBERS.top(1.5, by="x"), "a number of rows"),  # type: ignore[arg-type]
        (lambda: NUMBERS.top(-1, by="x"), "a number of rows"),
        (lambda: NUMBERS.agg(total=5), "an expression is written as text"),  # type: ignore[arg-type]
        (lambda: dl.stream("", {"x": "INT"}), "a stream needs a name"),
        (lambda: dl.stream("s", ["x"]), "give the columns with their types"),  # type: ignore[call-overload]
        (lambda: dl.stream("s", {"x": int}), "the type of x is the name of an SQL type"),
        (lambda: dl.stream("s", {"x": "INT", "X": "INT"}), "has two columns X"),
        (lambda: dl.stream("s", {"$0": "INT"}), "names with . are our own"),
        (lambda: dl.sql("SELECT sum(x) AS s FROM s", s=NUMBERS).run(r=[]), "only r was given"),
        (lambda: NUMBERS.agg("percentile(x, 2)").run(s=[]), "a share from 0 to 1, not 2.0"),
        (lambda: TRADES.run(trades=[5]), "item 1 of trades is a int"),
    ],
)
def test_odd_inputs_are_explained(run: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        run()


TIMED = dl.stream("s", {"k": "STRING", "x": "INT", "t": "BIGINT"}, time="t")


def test_rows_whose_names_are_in_another_case() -> None:
    rows = [{"K": "a", "T": 1, "x": 2}, {"k": "b", "t": 2, "X ": 3}]
    found = TIMED.run(s=rows).history().to_pylist()
    assert [(row["k"], row["x"], row["t"]) for row in found] == [("a", 2, 1), ("b", 3, 2)]


def bad_records(result: dl.Result) -> list[BadEvent]:
    return [
        bad
        for emitted in result.updates
        for dead in emitted.dead_letters.values()
        for bad in dead.bad
    ]


@pytest.mark.parametrize(
    ("item", "column", "value", "reason"),
    [
        (dl.Insert(-(2**63), 2, ONE), "vs", str(-(2**63)), f"vs is {-(2**63)}: give a whole"),
        (dl.Insert(1.5, 2, ONE), "vs", "1.5", "vs is 1.5: give a whole number"),  # type: ignore[arg-type]
        (dl.Insert(1, None, ONE), "ve", "None", "ve is None: give a whole"),  # type: ignore[arg-type]
        (dl.Insert(1, 2**63, ONE), "ve", str(2**63), f"ve is {2**63}"),
        (dl.Insert(1, 2, dl.Row(k="a", x=2**70)), "x", str(2**70), "in the column x is not an INT"),
        (
            dl.Insert(1, 2, dl.Row(k="a", x="one")),
            "x",
            "one",
            "'one' in the column x is not an INT",
        ),
        ({"k": "a"}, None, None, "it is a dict, and no event as the first one"),
    ],
)
def test_events_that_cannot_be_read(
    item: Any, column: str | None, value: str | None, reason: str
) -> None:
    result = NUMBERS.run(s=[dl.Insert(1, 2, ONE), item, dl.Insert(3, 4, ONE)])
    assert [row["vs"] for row in result.history().to_pylist()] == [1, 3]
    assert result.dead_letters == {"s": 1}
    (bad,) = bad_records(result)
    assert (bad.source, bad.line, bad.column, bad.value) == ("<s>", 2, column, value)
    assert reason in bad.reason
    with pytest.raises(BadInput, match=f"^<s>:2: .*{re.escape(reason)}"):
        NUMBERS.run(s=[dl.Insert(1, 2, ONE), item], strict=True)


X, T = "in the column x is not an INT", "in the column t is not a BIGINT"


@pytest.mark.parametrize(
    ("row", "column", "value", "reason"),
    [
        ({"x": 1.5, "t": 1}, "x", "1.5", f"1.5 {X}"),
        ({"x": 1, "t": 1.5}, "t", "1.5", f"1.5 {T}"),
        ({"x": Decimal("2.50"), "t": 1}, "x", "2.50", f"2.50 {X}"),
        ({"x": "one", "t": 1}, "x", "one", f"'one' {X}"),
        ({"x": 2**64, "t": 1}, "x", str(2**64), f"{2**64} {X}"),
        ({"x": 2**31, "t": 1}, "x", str(2**31), f"{2**31} {X}"),
        ({"x": 1, "t": -(2**70)}, "t", str(-(2**70)), T),
        ({"x": float("nan"), "t": 1}, "x", "nan", f"nan {X}"),
        ({"x": [1], "t": 1}, "x", "[1]", f"[1] {X}"),
        ({"x": 1, "t": None}, "t", None, "it has no time: t is null"),
        ({"x": 1}, "t", None, "it has no time: t is null"),
        (7, None, None, "it is a int, and no row as the first one"),
    ],
)
@pytest.mark.parametrize("as_iterator", [False, True])
def test_rows_that_cannot_be_read(
    row: Any, column: str | None, value: str | None, reason: str, as_iterator: bool
) -> None:
    rows = [{"x": 1, "t": 1}, row, {"x": " 7 ", "t": 3}]
    result = TIMED.run(s=iter(rows) if as_iterator else rows, batch=1 if as_iterator else None)
    assert [row["x"] for row in result.history().to_pylist()] == [1, 7]
    assert result.dead_letters == {"s": 1}
    (bad,) = (
        bad
        for emitted in result.updates
        for dead in emitted.dead_letters.values()
        for bad in dead.bad
    )
    assert (bad.source, bad.line, bad.column, bad.value) == ("<s>", 2, column, value)
    assert reason in bad.reason
    with pytest.raises(BadInput, match=f"^<s>:2: .*{re.escape(reason)}"):
        TIMED.run(s=rows, strict=True)


@pytest.mark.parametrize(
    ("x", "value"),
    [
        (pa.array([1.0, 0.5, 2.0]), "0.5"),
        (pa.array([1, 2**63, 2], pa.uint64()), str(2**63)),
        (pa.array(["1", "one", " 2 "]), "one"),
        (pa.array([Decimal("1.0"), Decimal("1.5"), Decimal("2.0")]), "1.5"),
    ],
)
def test_rows_of_tables_that_cannot_be_read(x: pa.Array, value: str) -> None:
    table = pa.table({"k": ["a", "b", "c"], "x": x, "t": [1, 2, 3]})
    for data in (table, table.to_pandas(), iter(table.to_batches(max_chunksize=1))):
        result = TIMED.run(s=data)
        assert [row["x"] for row in result.history().to_pylist()] == [1, 2]
        (bad,) = (
            b
            for emitted in result.updates
            for dead in emitted.dead_letters.values()
            for b in dead.bad
        )
        assert (bad.line, bad.column) == (2, "x")
        assert bad.value == value
        assert json.loads(bad.text)["k"] == "b"


@pytest.mark.parametrize("given", ["1.255", 1.255, Decimal("1.255")])
def test_a_decimal_is_not_rounded(given: Any) -> None:
    money = dl.stream("s", {"x": "DECIMAL(10,2)", "t": "INT"}, time="t")
    rows = [{"x": type(given)("1.25"), "t": 1}, {"x": given, "t": 2}]
    for data in (rows, pa.Table.from_pylist(rows)):
        result = money.run(s=data)
        assert result.history().column("x").to_pylist() == [Decimal("1.25")]
        (reason,) = result.updates[0].dead_letters["s"].reasons()
        assert reason.endswith("is not a DECIMAL(10,2): it has more digits after the point")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            pa.table({"k": ["a"], "x": [[1]], "t": [1]}),
            "the column x of s is a ARRAY<BIGINT>, which cannot be an INT",
        ),
        (
            pa.table({"k": ["a"], "x": pa.array([1.0], pa.float16()), "t": [1]}),
            "the column x of s: the Arrow type halffloat has no SQL type",
        ),
        (pd.Series([1, 2]), "cannot be read from a Series"),
        (
            pd.DataFrame([["a", 1, 2, 3]], columns=["k", "x", "t", "x"]),
            "the input of s has two columns x",
        ),
        (
            pa.table([["a"], [1], [2], [3]], names=["k", "x", "t", "X"]),
            "the input of s has two columns X",
        ),
    ],
)
def test_data_that_would_be_read_as_something_else(data: Any, message: str) -> None:
    with pytest.raises(PlanError, match=re.escape(message)):
        TIMED.run(s=data)


def test_whole_floats_are_integers() -> None:
    frame = pd.DataFrame({"k": ["a", None], "x": [1, None], "t": [1.0, 2.0]})  # x is float64
    found = TIMED.run(s=frame).history().to_pylist()
    assert [(row["k"], row["x"], row["t"]) for row in found] == [("a", 1, 1), (None, None, 2)]


@pytest.mark.parametrize(
    ("spark", "ours"),
    [("outer", "full"), ("left_outer", "left"), ("LeftSemi", "semi"), ("left_anti", "anti")],
)
def test_joins_as_pyspark_calls_them(spark: str, ours: str) -> None:
    one, other = NUMBERS.alias("a"), NUMBERS.alias("b")
    assert one.join(other, "a.k = b.k", spark) == one.join(other, "a.k = b.k", ours)


def test_a_join_on_a_constant() -> None:
    one, other = NUMBERS.alias("a").select("x AS a"), NUMBERS.alias("b").select("x AS b")
    events = [dl.Insert(1, 2, dl.Row(k="a", x=1))]
    assert one.join(other, "false").run(s=events).history().num_rows == 0
    assert one.join(other, "true").run(s=events).history().num_rows == 1
    assert one.join(other, how="cross").run(s=events).history().num_rows == 1


def test_set_operations_find_a_type_that_holds_both() -> None:
    whole, half = NUMBERS.select("x"), NUMBERS.select("x + 0.5D AS x")
    events = [dl.Insert(1, 2, dl.Row(k="a", x=1))]
    found = whole.union(half).run(s=events).history().column("x").to_pylist()
    assert sorted(found) == [1.0, 1.5]
    assert half.minus(whole).run(s=events).history().column("x").to_pylist() == [1.5]
    assert whole.intersect(half).run(s=events).history().num_rows == 0


def test_with_columns_takes_the_place_of_a_column_in_any_case() -> None:
    assert NUMBERS.with_columns("x + 1 AS X").schema.names == ("k", "X")


def test_a_duration_may_be_a_timedelta() -> None:
    five = datetime.timedelta(minutes=5)
    assert TRADES.window(range=five) == TRADES.window(range="5 minutes")
    with pytest.raises(PlanError, match="is a time span"):
        NUMBERS.window(range=five)


def test_events_whose_columns_are_in_another_case() -> None:
    events = [dl.Insert(1, 2, dl.Row(K="a", X=1)), dl.Insert(1, 3, dl.Row(k="b", x=2))]
    found = NUMBERS.run(s=events).history().to_pylist()
    assert [(row["k"], row["x"]) for row in found] == [("a", 1), ("b", 2)]


def test_columns_that_are_called_as_times_are_not_taken_for_these() -> None:
    stream = dl.stream("s", {"vs": "INT", "kind": "STRING"})
    result = stream.run(s=[dl.Insert(1, 2, dl.Row(vs=7, kind="x"))], keep_open=True)
    assert result.history().to_pylist() == [{"vs": 1, "ve": 2, "row.vs": 7, "kind": "x"}]
    assert result.changes().to_pylist() == [
        {"kind": "insert", "vs": 1, "ve": 2, "vn": None, "row.vs": 7, "row.kind": "x"}
    ]


def test_nanoseconds_are_cut_to_microseconds_as_by_spark() -> None:
    stamps = pd.to_datetime(["2024-01-01 00:00:00.123456789"])
    frame = pd.DataFrame({"symbol": ["A"], "price": [1.0], "qty": [1], "ts": stamps})
    (row,) = TRADES.run(trades=frame).history().to_pylist()
    assert row["vs"] == datetime.datetime(2024, 1, 1, 0, 0, 0, 123456, tzinfo=datetime.UTC)


def test_unsigned_integers() -> None:
    table = pa.table({"k": ["a"], "x": pa.array([7], pa.uint64()), "t": pa.array([1], pa.uint8())})
    (row,) = TIMED.run(s=table).history().to_pylist()
    assert (row["x"], row["t"]) == (7, 1)


@pytest.mark.parametrize("x", [1, None])
@pytest.mark.parametrize("kind", ["SMALLINT", "BIGINT", "TIMESTAMP", "TIMESTAMP_NTZ"])
def test_windows_by_a_column_have_the_type_that_the_plan_says(kind: str, x: int | None) -> None:
    stream = dl.stream("s", {"x": kind})
    size: Any = "5 us" if kind.startswith("TIMESTAMP") else 5
    query = stream.tumble(size, "x").group_by("window_end").agg("count(*) AS n")
    found = query.run(s=[dl.Insert(1, 2, dl.Row(x=x))]).history()
    assert found.num_rows == (x is not None)
    assert found.schema.field("window_end").type == query.schema.fields[0].type
    assert stream.tumble(size, "x").run(s=[dl.Insert(1, 2, dl.Row(x=x))]).history() is not None


def test_columns_may_be_a_text_or_a_schema() -> None:
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    expected = dl.stream("s", {"k": "STRING", "n": "BIGINT"}).plan
    fields = [StructField("k", StringType()), StructField("n", LongType())]
    schema = pa.schema([("k", pa.string()), ("n", pa.int64())])
    for columns in ("k STRING, n BIGINT", "k: STRING, n: BIGINT", StructType(fields), schema):
        assert dl.stream("s", columns).plan == expected
    for columns, words in (
        ("k", "'k' are no columns"),
        ("k INT, K INT", "has two columns K"),
        ("k INT, m MAP<STRING, INT>, t WRONG", "'t WRONG' is not a name and a type"),
        ("k INT,", "'' is not a name and a type"),
    ):
        with pytest.raises(PlanError, match=words):
            dl.stream("s", columns)


def test_completion_shows_the_public_names() -> None:
    assert dir(dl) == sorted(dl.__all__)
    assert all(getattr(dl, name) is not None for name in dir(dl))


def test_short_reprs() -> None:
    assert repr(TOTALS) == "<Query: symbol STRING, shares BIGINT, n BIGINT>"
    result = TOTALS.run(trades=ROWS)
    assert repr(result) == "<Result: 3 rows; final up to ∞>"
    assert repr(TOTALS.run(trades=ROWS, keep_open=True)) == "<Result: 3 rows; nothing is final>"
    assert repr(result.updates[0]).startswith("<Update: 3 changes")
    assert repr(TOTALS.now(trades=ROWS)) == "<Now: symbol, shares, n; not begun>"


def test_times_of_the_answer_now_are_times() -> None:
    stream = dl.stream("s", "k STRING, ts TIMESTAMP", time="ts")
    rows = [{"k": "A", "ts": "2024-01-01T00:00:00Z"}, {"k": "B", "ts": "2024-01-01T00:00:09Z"}]
    now = stream.window(range="5s").select("k").now(s=rows)
    assert [(change.op, f"{change.at:%H:%M:%S}", change.row["k"]) for change in now] == [
        ("+", "00:00:00", "A"),
        ("-", "00:00:05", "A"),
        ("+", "00:00:09", "B"),
    ]
    assert repr(now) == "<Now: k; at 2024-01-01T00:00:09Z>"


def test_final_rows_come_once_when_they_cannot_change() -> None:
    trades = dl.stream("trades", {"k": "STRING", "t": "BIGINT"}, time="t", disorder=2)
    counts = dl.sql(
        """SELECT window_end, k, count(*) AS n FROM TUMBLE(TABLE trades, DESCRIPTOR(t), 10)
           GROUP BY window_end, k""",
        trades=trades,
    )
    rows = [{"k": "A", "t": t} for t in (1, 4, 3, 11, 9, 13)]
    emitted = [
        row
        for update in counts.changes(trades=rows, batch=1, final=True)
        for row in update.table().to_pylist()
    ]
    assert [(row["window_end"], row["n"]) for row in emitted] == [(10, 4), (20, 2)]
    assert counts.run(trades=rows, final=True).history().num_rows == 2
    with pytest.raises(PlanError, match="an answer now is not final"):
        list(counts.now(trades=rows, final=True))
    with pytest.raises(PlanError, match="final is True or False"):
        counts.run(trades=rows, final="often")
