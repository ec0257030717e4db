"""Duplicates taken out, then windows: the first or the latest row of each key, or distinct rows,
of plain records in TUMBLE, HOP and SESSION. Records close what they no longer change; the same rows
as an event log, of which any may be retracted, close nothing, and have to lead to the same."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.local import started
from driftline.engine.options import Options
from driftline.model.history import History, Lifetime
from driftline.model.reference.finals import window_finals
from driftline.model.row import Row
from driftline.model.time import INFINITY

DISORDER = 3
STREAM = f"CREATE STREAM t (id INT, u STRING, ts BIGINT) WITH (time = 'ts', disorder = {DISORDER});"
WITHOUT_DUPLICATES = {
    "first": "SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY id ORDER BY ts, u) = 1",
    "latest": "SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY id ORDER BY ts DESC, u) = 1",
    "first two": "SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY id ORDER BY ts, u) <= 2",
    "distinct": "SELECT DISTINCT id, u, ts FROM t",
}
WINDOWS = {
    "tumble": "TUMBLE(TABLE d, DESCRIPTOR(ts), 5)",
    "hop": "HOP(TABLE d, DESCRIPTOR(ts), 2, 6)",
    "session": "SESSION(TABLE d PARTITION BY u, DESCRIPTOR(ts), 2)",
}


def query(how: str, windows: str) -> dl.Query:
    return dl.sql(
        f"{STREAM} CREATE VIEW d AS {WITHOUT_DUPLICATES[how]};"
        "SELECT u, window_start, window_end, count(*) AS n, sum(id) AS s "
        f"FROM {WINDOWS[windows]} GROUP BY u, window_start, window_end"
    )


@st.composite
def records(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Records that are late by no more than the disorder that is declared."""
    found, latest = [], 0
    for _ in range(draw(st.integers(0, 14))):
        ts = max(0, latest + draw(st.integers(-DISORDER, 4)))
        latest = max(latest, ts)
        found.append({"id": draw(st.integers(1, 3)), "u": draw(st.sampled_from("ab")), "ts": ts})
    return found


def history(result: dl.Result) -> History:
    rows = result.history().to_pylist()
    return History(
        Lifetime(row.pop("vs"), INFINITY if (ve := row.pop("ve")) is None else ve, Row(row))
        for row in rows
    )


@settings(max_examples=150)
@given(
    records(),
    st.sampled_from(sorted(WITHOUT_DUPLICATES)),
    st.sampled_from(sorted(WINDOWS)),
    st.sampled_from(["ordered", "eager"]),
    st.sampled_from([1, 2, 5, 100]),
)
def test_what_is_closed_changes_no_answer(
    rows: list[dict[str, Any]], how: str, windows: str, emit: Any, batch: int
) -> None:
    asked = query(how, windows)
    log = [dl.Insert(row["ts"], dl.INFINITY, dl.Row(row)) for row in rows]
    whole = history(asked.run({"t": log}))
    result = asked.run({"t": rows}, emit=emit, batch=batch)
    assert not result.dead_letters
    assert history(result).same_snapshots(whole)
    if windows == "session" and how == "latest":
        return  # the rows of a session may end before it does
    final = history(asked.run({"t": rows}, final=True, batch=batch))
    delay = windows == "session"  # one that ends at w is final a tick later
    assert _values(final) == _values(window_finals(whole, INFINITY, [("window_end", delay)]))


def _values(rows: History) -> list[str]:
    return sorted(str(dict(row)) for _, _, row in rows)


@pytest.mark.parametrize("windows", ["tumble", "hop"])
@pytest.mark.parametrize("how", ["first", "distinct"])
def test_only_windows_that_are_open_are_held(how: str, windows: str) -> None:
    chance = random.Random(1)
    rows = [
        {"id": number, "u": chance.choice("ab"), "ts": 3 * number - chance.randint(0, DISORDER)}
        for number in range(1, 600)
    ]
    plan = query(how, windows).plan
    run = started({"": plan}, {"t": rows}, Options(batch=20, keep_open=True))
    list(run.outputs())
    held = {step.name: step.operator.state_size()[0] for step in run.graph.steps}
    behind = [count for name, count in held.items() if "rank" not in name]  # which has every key
    assert 0 < max(behind) < 20
