"""What join conditions say of time."""

from __future__ import annotations

import pytest

import driftline as dl
from driftline.model.time import INFINITY
from driftline.plan import nodes
from driftline.plan.bands import Spans, spans

SECOND = 1_000_000
NUMBERS = {
    name: dl.stream(name, {"k": "BIGINT", "at": "BIGINT", "x": "BIGINT"}, time="at")
    for name in "lr"
}
STAMPS = {name: dl.stream(name, {"k": "BIGINT", "at": "TIMESTAMP"}, time="at") for name in "lr"}
PLAIN = {"l", "r"}

CASES = {
    "l.at <= r.at + 5": (INFINITY, 6),
    "l.at < r.at + 5": (INFINITY, 5),
    "r.at + 5 > l.at": (INFINITY, 5),
    "l.at BETWEEN r.at - 2 AND r.at + 3": (3, 4),
    "l.at - r.at <= 3 AND r.at - l.at <= 1": (2, 4),
    "abs(l.at - r.at) <= 7": (8, 8),
    "abs(r.at - l.at) < 7": (7, 7),
    "l.at = r.at": (1, 1),
    "l.at = r.at + 4": (-3, 5),
    "l.at >= r.at": (1, INFINITY),
    "l.at > r.at + 10": (-10, INFINITY),
    "l.at <= r.at + 9 AND l.at <= r.at + 5": (INFINITY, 6),
    "CAST(l.at AS BIGINT) <= r.at - (-5)": (INFINITY, 6),
    # which says nothing of both times
    "l.x <= r.at + 5": (INFINITY, INFINITY),
    "l.at <= r.x": (INFINITY, INFINITY),
    "l.at <= 2 * r.at": (INFINITY, INFINITY),
    "l.at <= r.at + r.x": (INFINITY, INFINITY),
    "l.at <= r.at + 5 OR l.x = 1": (INFINITY, INFINITY),
    "NOT l.at > r.at + 5": (INFINITY, INFINITY),
    "l.at + r.at <= 5": (INFINITY, INFINITY),
    "l.at <= r.at + 0.5": (INFINITY, INFINITY),
}


def joined(query: dl.Query) -> nodes.Join:
    node = query.plan
    while not isinstance(node, nodes.Join):
        (node,) = node.inputs
    return node


@pytest.mark.parametrize("condition", CASES)
def test_spans(condition: str) -> None:
    query = dl.sql(f"SELECT l.k FROM l JOIN r ON l.k = r.k AND {condition}", **NUMBERS)
    assert spans(joined(query), PLAIN, {})[:2] == CASES[condition]
    assert spans(joined(query), {"l"}, {}) == Spans()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("l.at BETWEEN r.at - INTERVAL 5 SECONDS AND r.at", (5 * SECOND + 1, 1)),
        ("l.at <= r.at + INTERVAL '1' DAY", (INFINITY, 86_400 * SECOND + 1)),
        ("r.at - l.at < INTERVAL 1 MINUTE", (60 * SECOND, INFINITY)),
        ("l.at <= r.at + INTERVAL 1 MONTH", (INFINITY, INFINITY)),
        ("unix_millis(l.at) <= unix_millis(r.at)", (INFINITY, INFINITY)),
    ],
)
def test_spans_of_timestamps(condition: str, expected: tuple[int, int]) -> None:
    query = dl.sql(f"SELECT l.k FROM l JOIN r ON {condition}", **STAMPS)
    assert spans(joined(query), PLAIN, {})[:2] == expected


def test_times_that_were_renamed() -> None:
    left = "(SELECT k, at AS t FROM l WHERE x > 1)"
    query = dl.sql(f"SELECT a.k FROM {left} a JOIN r ON a.t <= r.at AND r.at <= a.t + 1", **NUMBERS)
    assert spans(joined(query), PLAIN, {})[:2] == (2, 1)


@pytest.mark.parametrize(
    ("left", "right", "condition", "expected"),
    [
        ("TUMBLE(l, 5)", "TUMBLE(r, 5)", "a.window_end = b.window_end", (5, 5)),
        ("TUMBLE(l, 5)", "HOP(r, 2, 8)", "a.window_start = b.window_start", (8, 5)),
        ("TUMBLE(l, 5)", "TUMBLE(r, 5)", "a.window_end = b.window_start", (10, 0)),
        ("TUMBLE(l, 5)", "TUMBLE(r, 5)", "a.window_end = b.at", (6, 0)),
        ("TUMBLE(l [RANGE 5], 5)", "TUMBLE(r, 5)", "a.window_end = b.window_end", (INFINITY,) * 2),
    ],
)
def test_spans_of_windows(left: str, right: str, condition: str, expected: tuple[int, int]) -> None:
    query = dl.sql(f"SELECT a.k FROM {left} a JOIN {right} b ON {condition}", **NUMBERS)
    assert spans(joined(query), PLAIN, {})[:2] == expected
    assert spans(joined(query), PLAIN, {}, closing=False) == Spans()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("l.at BETWEEN r.at - 2 AND r.at + 3", 7),
        ("l.at = r.at + 4", 5),
        ("l.at <= r.at", INFINITY),
    ],
)
def test_when_nothing_changes_on_either_side(condition: str, expected: int) -> None:
    query = dl.sql(f"SELECT l.k FROM l LEFT JOIN r ON {condition}", **NUMBERS)
    assert spans(joined(query), PLAIN, {}).both == expected
