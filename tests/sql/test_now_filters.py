from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import driftline as dl
from driftline.plan import nodes
from tests.sql.declared import TRADES, plan, refused

MINUTES = 300_000_000


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("ts > now() - INTERVAL 5 MINUTES", MINUTES),
        ("ts >= current_timestamp() - INTERVAL 5 MINUTES", MINUTES + 1),
        ("now() - INTERVAL 5 MINUTES < ts", MINUTES),
        ("current_timestamp < ts + INTERVAL 5 MINUTES", MINUTES),
        ("NOT (ts <= now() - INTERVAL 5 MINUTES)", MINUTES),
    ],
)
def test_a_condition_on_now_is_a_window(written: str, size: int) -> None:
    assert plan(f"SELECT * FROM trades WHERE {written}") == nodes.Window(
        TRADES.plan, "within", size
    )


def test_other_conditions_stay() -> None:
    made = plan("SELECT * FROM trades WHERE qty > 5 AND ts > now() - INTERVAL 5 MINUTES")
    assert [type(each) for each in made.walk()][:2] == [nodes.Select, nodes.Window]


def test_rows_that_have_become_old() -> None:
    made = plan("SELECT * FROM trades WHERE ts <= now() - INTERVAL 5 MINUTES")
    assert made == TRADES.window(start=f"vs + {MINUTES}", duration=f"ve - vs - {MINUTES}").plan
    assert plan("SELECT * FROM trades WHERE ts <= now()") == TRADES.plan


@pytest.mark.parametrize(
    "written",
    ["ts = now()", "qty > 5 OR ts > now()", "trades.ts + INTERVAL 1 DAY > ts + now()"],
)
def test_what_is_no_window_is_refused(written: str) -> None:
    refused(f"SELECT * FROM trades WHERE {written}")


def test_the_answer_is_about_the_time_of_the_answer() -> None:
    query = dl.sql(
        "CREATE STREAM s (ts BIGINT) WITH (time = 'ts', disorder = 0);"
        "SELECT count(*) AS n FROM s WHERE ts > now() - 10"
    )
    history = query.run(s=[{"ts": ts} for ts in (0, 4, 30)]).history().to_pylist()
    spans = [(each["vs"], each["ve"], each["n"]) for each in history]
    assert spans == [(0, 4, 1), (4, 10, 2), (10, 14, 1), (30, 40, 1)]


@pytest.mark.parametrize(
    ("written", "start", "end"),
    [
        ("mz_now() < ts + ttl", None, lambda ts, ttl: ts + ttl),
        ("now() <= ts + ttl", None, lambda ts, ttl: ts + ttl + 1),
        ("ttl * 5 > now() - 2", None, lambda ts, ttl: ttl * 5 + 2),
        ("now() + 1 >= ts + ttl", lambda ts, ttl: ts + ttl - 1, None),
        ("ts + ttl < now()", lambda ts, ttl: ts + ttl + 1, None),
        ("now() BETWEEN ts + 2 AND ts + ttl", lambda ts, ttl: ts + 2, lambda ts, ttl: ts + ttl + 1),
    ],
)
def test_a_row_may_say_until_or_from_when_it_is_there(
    written: str, start: Callable[..., int] | None, end: Callable[..., int] | None
) -> None:
    s = dl.stream("s", {"ts": "BIGINT", "ttl": "BIGINT"}, time="ts")
    rows: list[dict[str, Any]] = [
        {"ts": ts, "ttl": ttl} for ts in (9, 0, 4) for ttl in (3, 11, None, 1)
    ]
    history = dl.sql(f"SELECT * FROM s WHERE {written}", s=s).run(s=rows, batch=5).history()
    expected = []
    for row in rows:
        if row["ttl"] is not None:
            vs = row["ts"] if start is None else max(row["ts"], start(**row))
            ve = dl.INFINITY if end is None else end(**row)
            if vs < ve:
                expected.append((vs, None if ve == dl.INFINITY else ve, row["ts"], row["ttl"]))
    assert sorted(map(repr, expected)) == sorted(
        repr(tuple(each.values())) for each in history.to_pylist()
    )
