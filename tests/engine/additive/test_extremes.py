from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.additive.aggregates import Aggregate
from driftline.engine.additive.group_by import GroupBy
from driftline.model.event import Cti, Event, Insert, Retract
from driftline.model.history import canonical_history
from driftline.model.reference import Level, at_level, group_by, output_watermark
from driftline.model.reference import aggregates as reference
from driftline.model.row import Row
from driftline.model.time import INFINITY
from driftline.testing.driving import drive

X = pa.schema([("x", pa.int64())])
LONG = pa.int64()
BOTH = [Aggregate("lo", "min", "x", LONG), Aggregate("hi", "max", "x", LONG)]
ENDS = (6, 12, INFINITY)


def crowded(random: Random, count: int) -> list[Event]:
    """Many rows with few lifetimes and values, of which most are taken back again."""
    events: list[Event] = []
    alive: list[Insert] = []
    cti = 0
    for _ in range(count):
        if alive and random.random() < 0.45:
            gone = alive.pop(random.randrange(len(alive)))
            first = max(gone.vs, cti)
            if first >= gone.ve:
                continue
            vn = random.choice([first, min(first + 2, gone.ve - 1)])
            events.append(Retract(gone.vs, gone.ve, vn, gone.row))
            if gone.vs < vn:
                alive.append(Insert(gone.vs, vn, gone.row))
        elif random.random() < 0.05:
            cti += 1
            events.append(Cti(cti))
        else:
            vs = cti + random.randrange(3)
            ve = random.choice([end for end in ENDS if end > vs])
            alive.append(Insert(vs, ve, Row(x=random.choice([None, *range(9)]))))
            events.append(alive[-1])
    return events


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("only_grows", [False, True])
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 7, 40]))
def test_least_and_greatest_of_crowded_lifetimes(
    level: Level, only_grows: bool, seed: int, size: int
) -> None:
    arrivals = [(0, event) for event in _some(crowded(Random(seed), 120), only_grows)]
    operator = GroupBy(X, [], BOTH, level, only_grows=only_grows)
    for came, emitted in drive(operator, arrivals, [X], size):
        so_far = [event for _, event in came]
        answer = group_by(
            canonical_history(so_far),
            {},
            {
                "lo": reference.min_(lambda row: row["x"]),
                "hi": reference.max_(lambda row: row["x"]),
            },
        )
        expected = at_level(level, answer, output_watermark(so_far))
        assert canonical_history(emitted).same_snapshots(expected)


def _some(events: list[Event], only_inserts: bool) -> list[Event]:
    return [event for event in events if not only_inserts or not isinstance(event, Retract)]


@pytest.mark.parametrize("only_grows", [False, True])
@pytest.mark.parametrize("cut", [10, 60, 110])
def test_a_restored_operator_goes_on(cut: int, only_grows: bool) -> None:
    events = _some(crowded(Random(cut), 120), only_grows)
    cut = cut * len(events) // 120
    whole, first, second = (
        GroupBy(X, [], BOTH, Level.ORDERED, only_grows=only_grows) for _ in range(3)
    )
    *_, (_, expected) = drive(whole, [(0, event) for event in events], [X], 5)
    *_, (_, emitted) = drive(first, [(0, event) for event in events[:cut]], [X], 5)
    second.restore(first.snapshot())
    *_, (_, more) = drive(second, [(0, event) for event in events[cut:]], [X], 5)
    assert canonical_history([*emitted, *more]).same_snapshots(canonical_history(expected))


def test_rows_that_never_end_share_a_cell_once_time_has_passed() -> None:
    operator = GroupBy(X, [], BOTH, Level.ORDERED)
    events: list[Event] = []
    for time in range(100):
        events += [Insert(time, INFINITY, Row(x=time)), Cti(time + 1)]
    for _ in drive(operator, [(0, event) for event in events], [X], 10):
        pass
    assert operator.extremes.cells.entries() == 1
    assert operator.extremes.state_size()[0] == 200
    lean = GroupBy(X, [], BOTH, Level.ORDERED, only_grows=True)
    for _ in drive(lean, [(0, event) for event in events], [X], 10):
        pass
    assert lean.extremes.cells.entries() == 1
