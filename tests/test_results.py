"""Results as tables of other tools, as snapshots, and as notebooks show them."""

from __future__ import annotations

import datetime
import importlib.util
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.drawings import believed
from driftline.plan.errors import PlanError

NUMBERS = dl.stream("s", "k STRING, x INT")
COUNT = NUMBERS.agg("count(*) AS n")
TRADES = dl.stream("trades", "symbol STRING, qty INT, ts TIMESTAMP", time="ts")
ROWS = [
    {"symbol": "A", "qty": 2, "ts": "2024-05-01T09:30:00Z"},
    {"symbol": "<B>", "qty": 1, "ts": "2024-05-01T09:31:00Z"},
    {"symbol": "C", "qty": "many", "ts": "2024-05-01T09:32:00Z"},
]
NINE_THIRTY = datetime.datetime(2024, 5, 1, 9, 30, tzinfo=datetime.UTC)


def late_row() -> dl.Result:
    """Counted once from 5 on, and then, as an earlier row comes, from 3 on."""
    late = [dl.Insert(5, dl.INFINITY, dl.Row(k="a", x=1)), dl.Insert(3, 9, dl.Row(k="a", x=2))]
    return COUNT.run(s=late, batch=1, keep_open=True, emit="eager")


def test_times_are_timestamps_and_infinity_is_null() -> None:
    result = TRADES.select("symbol", "qty").run(trades=ROWS[:2])
    arrow = result.to_arrow()
    assert arrow.schema.field("vs").type == pa.timestamp("us", "UTC")
    assert arrow.column("vs")[0].as_py() == NINE_THIRTY
    assert arrow.column("ve").null_count == 2
    assert result.changes().column("vs").to_pylist() == arrow.column("vs").to_pylist()
    frame = result.to_pandas()
    assert frame["vs"][0] == pd.Timestamp(NINE_THIRTY)
    assert frame["ve"].isna().all()
    polars = result.to_polars()
    assert polars.schema["vs"] == pl.Datetime("us", "UTC")
    assert polars["symbol"].to_list() == ["A", "<B>"]


def test_how_far_it_is_final_is_a_time_as_others_are() -> None:
    result = TRADES.run(trades=ROWS[:2], keep_open=True, remember="0s")
    assert result.final_up_to == NINE_THIRTY + datetime.timedelta(minutes=1)
    assert repr(result).endswith("final up to 2024-05-01T09:31:00Z>")
    assert TRADES.run(trades=ROWS[:2]).final_up_to == dl.INFINITY
    assert COUNT.run(s=[dl.Cti(5)], keep_open=True).final_up_to == 5


def test_of_integers_infinity_is_null_too() -> None:
    frame = NUMBERS.run(s=[dl.Insert(5, dl.INFINITY, dl.Row(k="a", x=1))]).to_pandas()
    assert frame["vs"].tolist() == [5]
    assert frame["ve"].isna().tolist() == [True]


def test_rows_that_have_always_been_there_have_no_start() -> None:
    values = dl.sql("SELECT symbol, n FROM trades, (VALUES (1)) AS v(n)", trades=TRADES)
    assert values.run(trades=ROWS[:1]).history().column("vs").to_pylist() == [NINE_THIRTY]


def test_a_snapshot_at_a_time() -> None:
    recent = TRADES.window(range="1 minute").select("symbol").run(trades=ROWS[:2])
    for at in (NINE_THIRTY, "2024-05-01 09:30:59", "2024-05-01T11:30:00+02:00", 1714555800000000):
        assert recent.snapshot(at).to_pylist() == [{"symbol": "A"}]
    assert recent.snapshot("2024-05-01T09:32:00Z").num_rows == 0
    assert recent.snapshot(0).schema.names == ["symbol"]


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5), st.integers(0, 2))), st.data())
def test_a_snapshot_is_what_the_history_has_at_the_time(rows: Any, data: Any) -> None:
    events = [dl.Insert(vs, vs + long, dl.Row(k="a", x=x)) for vs, long, x in rows]
    result = NUMBERS.run(s=events, batch=2)
    at = data.draw(st.integers(-1, 15))
    alive = [row for row in result.history().to_pylist() if row["vs"] <= at < row["ve"]]
    found = sorted(row["x"] for row in result.snapshot(at).to_pylist())
    assert found == sorted(row["x"] for row in alive)


@pytest.mark.parametrize(
    ("result", "at", "words"),
    [
        (TRADES.run(trades=[]), "tomorrow", "is not a time"),
        (TRADES.run(trades=[]), 1.5, "a datetime or a text"),
        (NUMBERS.run(s=[]), "2024-01-01", "a number of ticks"),
    ],
)
def test_a_snapshot_needs_a_time(result: dl.Result, at: Any, words: str) -> None:
    with pytest.raises(PlanError, match=words):
        result.snapshot(at)


def test_html_has_the_table_how_far_it_is_final_and_dead_letters() -> None:
    html = TRADES.run(trades=ROWS, keep_open=True)._repr_html_()
    assert "<td>2024-05-01 09:30:00</td><td></td><td>A</td>" in html
    assert "&lt;B&gt;" in html
    assert html.endswith("<p>nothing is final; 1 dead letter of trades</p>")
    assert "final up to ∞" in TRADES.run(trades=ROWS)._repr_html_()
    many = NUMBERS.run(s=[dl.Insert(t, t + 1, dl.Row(k="a", x=t)) for t in range(25)])
    assert "5 more rows" in many._repr_html_()
    assert many._repr_html_().count("<tr>") == 21


def test_what_was_believed_and_when() -> None:
    """1 from 5 on, until the late row: then 1 in [3, 5), 2 in [5, 9), and 1 from 9 on."""
    found = {
        (each.row, each.vs, each.ve, each.since, each.until) for each in believed(late_row(), {})
    }
    assert ((1,), 5, dl.INFINITY, 0, 1) in found
    assert {each for each in found if each[-1] is None} == {
        ((1,), 3, 5, 1, None), ((2,), 5, 9, 1, None), ((1,), 9, dl.INFINITY, 1, None),
    }  # fmt: skip


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), max_size=6))
def test_what_is_still_believed_is_the_history(rows: Any) -> None:
    events = [dl.Insert(vs, vs + long, dl.Row(k="a", x=1)) for vs, long in rows]
    result = NUMBERS.distinct().run(s=events, batch=1, emit="eager")
    held = dl.Result(result.schema, updates=result.updates)  # as it was emitted, in pieces
    still = sorted((each.vs, each.ve) for each in believed(result, {}) if each.until is None)
    assert still == sorted((row["vs"], row["ve"]) for row in held.history().to_pylist())


def test_drawings_are_svg() -> None:
    result = late_row()
    timeline, corrections = result.timeline(), result.plot_corrections(n=1)
    for drawing in (timeline, corrections, TRADES.run(trades=ROWS[:2]).timeline(symbol="A")):
        assert "<svg" in drawing._repr_svg_()
    hatched = [bar for bar in timeline.figure.axes[0].patches if bar.get_hatch()]
    assert len(hatched) == 1
    with pytest.raises(PlanError, match="the result has no column price; it has n"):
        result.timeline(price=1)


def test_drawings_of_odd_rows() -> None:
    stream = dl.stream("s", "name STRING, x DOUBLE, xs ARRAY<INT>, ts TIMESTAMP", time="ts")
    rows = [
        {"name": "$\\frac$", "x": float("nan"), "xs": [1], "ts": "9999-12-31T23:59:59Z"},
        {"name": "$\\frac$", "x": None, "xs": None, "ts": "0001-01-01T00:00:00Z"},
    ]
    result = stream.group_by("name").agg("max(x) AS x", "array_agg(xs) AS xs").run(s=rows, batch=1)
    still = [each for each in believed(result, {}) if each.until is None]
    assert len(still) == result.history().num_rows
    for drawing in (result.timeline(), result.plot_corrections()):
        assert drawing._repr_svg_().startswith("<?xml")


def test_times_that_python_does_not_have_and_columns_called_as_times() -> None:
    stream = dl.stream("s", "k STRING, ts TIMESTAMP", time="ts")
    query = stream.select("k AS vs", "ts + INTERVAL 9000 YEARS AS far")
    rows = [{"k": "A", "ts": "2024-01-01T00:00:00Z"}]
    result = query.run(s=rows)
    assert "11024-01-01" in result._repr_html_()
    assert result.timeline()._repr_svg_().startswith("<?xml")
    assert result.snapshot("2024-01-02").column("vs").to_pylist() == ["A"]
    (change,) = query.now(s=rows)
    assert "11024-01-01" in change.row["far"]


def test_only_some_of_very_many_lifetimes_are_drawn() -> None:
    table = pa.table({"k": pa.array(range(20_000)), "t": pa.array(range(20_000))})
    result = dl.stream("s", "k BIGINT, t BIGINT", time="t").run(s=table)
    (axes,) = result.plot_corrections().figure.axes
    assert len(axes.patches) < 1_000
    assert axes.get_title("left").startswith("… and 19,600 more lifetimes")
    (axes,) = result.timeline().figure.axes
    assert axes.get_title("left") == "… and 19,976 more rows"


@pytest.mark.parametrize(
    ("missing", "ask", "words"),
    [
        ("polars", dl.Result.to_polars, "to_polars needs Polars: pip install polars"),
        ("matplotlib", dl.Result.timeline, r"drawings need matplotlib: pip install 'driftline\["),
        ("matplotlib", dl.Result.plot_corrections, "drawings need matplotlib"),
    ],
)
def test_one_line_says_what_to_install(
    missing: str, ask: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    for module in ("driftline.results", "driftline.drawings"):
        monkeypatch.setattr(
            f"{module}.find_spec", lambda name: None if name == missing else found(name)
        )
    with pytest.raises(PlanError, match=words):
        ask(late_row())
