from __future__ import annotations

import pytest

import driftline as dl
from driftline.plan.closing import delays

COLUMNS = {"k": "STRING", "x": "BIGINT", "at": "BIGINT"}
TRADES = dl.stream("trades", COLUMNS, time="at")
WINDOWS = "TUMBLE(trades, 5)"

CASES = {
    f"SELECT k, window_start, window_end FROM {WINDOWS}": {"window_start": 5, "window_end": 0},
    f"SELECT window_end AS e FROM {WINDOWS} w WHERE k = 'a'": {"e": 0},
    "SELECT window_end FROM TUMBLE(TABLE trades, DESCRIPTOR(at), 5)": {"window_end": 0},
    "SELECT window_end FROM HOP(trades, 2, 6)": {"window_end": 0},
    f"SELECT window_end, count(*) AS n FROM {WINDOWS} GROUP BY window_end": {"window_end": 0},
    f"SELECT DISTINCT window_end, k FROM {WINDOWS}": {"window_end": 0},
    f"SELECT window_end FROM {WINDOWS} UNION ALL SELECT window_end FROM {WINDOWS}": {
        "window_end": 0
    },
    f"SELECT window_start FROM {WINDOWS} UNION ALL SELECT window_start FROM TUMBLE(trades, 9)": {
        "window_start": 9
    },
    f"""SELECT a.window_end, b.window_start, b.window_end AS e FROM {WINDOWS} a
        JOIN TUMBLE(trades, 5) b ON a.window_end = b.window_end AND a.k < b.k""": {
        "window_end": 0,
        "e": 0,
    },
    f"SELECT window_end + 1 AS e FROM {WINDOWS}": {"e": -1},
    f"SELECT e, window_end FROM TUMBLE(TABLE (SELECT window_end AS e FROM {WINDOWS}), "
    "DESCRIPTOR(e), 10)": {"e": 0, "window_end": -1},  # ends are before it
    "SELECT window_end FROM TUMBLE(TABLE (SELECT at - 7 AS at FROM trades), DESCRIPTOR(at), 5)": {
        "window_end": 7
    },
    # by another column, of rows that end, computed, or grouped by something else
    "SELECT window_end FROM TUMBLE(TABLE trades, DESCRIPTOR(x), 5)": {},
    "SELECT window_end FROM TUMBLE(trades [RANGE 5], 5)": {},
    f"SELECT k, max(window_end) AS e FROM {WINDOWS} GROUP BY k": {},
    "SELECT k, x FROM trades": {},
    # when a row starts, also of the first rows by that, but not of the last
    "SELECT k, at FROM trades": {"at": 1},
    "SELECT DISTINCT k, at FROM trades": {"at": 1},
    "SELECT at FROM trades QUALIFY row_number() OVER (PARTITION BY k ORDER BY at) = 1": {"at": 1},
    "SELECT x, at FROM trades QUALIFY row_number() OVER (PARTITION BY k ORDER BY at DESC) = 1": {},
    "SELECT x, at FROM trades QUALIFY row_number() OVER (PARTITION BY k ORDER BY x) = 1": {},
}


@pytest.mark.parametrize("query", CASES)
def test_which_columns_close(query: str) -> None:
    plan = dl.sql(query, trades=TRADES).plan
    names = plan.schema.names
    found = {names[place]: each.delay for place, each in delays(plan, {"trades"}, {}).items()}
    assert found == CASES[query]


@pytest.mark.parametrize("query", CASES)
def test_nothing_closes_in_a_log(query: str) -> None:
    assert delays(dl.sql(query, trades=TRADES).plan, set(), {}) == {}


@pytest.mark.parametrize(
    ("partition", "closes"), [("window_end", {3: 0}), ("k, window_end", {3: 0}), ("k", {})]
)
def test_partitions_close_by_what_they_are_made_of(partition: str, closes: dict[int, int]) -> None:
    by = f"OVER (PARTITION BY {partition} ORDER BY x)"
    ranked = f"SELECT *, row_number() {by} AS place FROM {WINDOWS}"
    over = f"SELECT *, lag(x) {by} AS before FROM {WINDOWS}"
    for query in (ranked, over):
        plan = dl.sql(query, trades=TRADES).plan
        closed = delays(plan, {"trades"}, {}).items()
        found = {place: each.delay for place, each in closed if each.delay == 0}
        assert found == {place + 1: delay for place, delay in closes.items()}
