from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.aggregates import Aggregate
from driftline.engine.group_by import GroupBy
from driftline.model.event import CLOSE, Event
from driftline.model.history import History, canonical_history
from driftline.model.reference import Level, at_level, group_by, output_watermark
from driftline.model.reference import aggregates as reference
from driftline.model.stream import breaches
from driftline.testing import streams
from driftline.testing.driving import drive

KX = pa.schema([("k", pa.string()), ("x", pa.int64())])
LONG, DOUBLE = pa.int64(), pa.float64()
AGGREGATES = {
    "n": (Aggregate("n", "count", None, LONG), reference.count_all()),
    "c": (Aggregate("c", "count", "x", LONG), reference.count(lambda row: row["x"])),
    "s": (Aggregate("s", "sum", "x", LONG), reference.sum_(lambda row: row["x"])),
    "a": (Aggregate("a", "avg", "x", DOUBLE), reference.avg(lambda row: row["x"])),
    "lo": (Aggregate("lo", "min", "x", LONG), reference.min_(lambda row: row["x"])),
    "hi": (Aggregate("hi", "max", "x", LONG), reference.max_(lambda row: row["x"])),
}


def operator(keys: list[str], names: Sequence[str], level: Level) -> GroupBy:
    return GroupBy(KX, keys, [AGGREGATES[name][0] for name in names], level)


def answer(events: list[Event], keys: list[str], names: Sequence[str]) -> History:
    return group_by(
        canonical_history(events),
        {key: lambda row, key=key: row[key] for key in keys},  # type: ignore[misc]
        {name: AGGREGATES[name][1] for name in names},
    )


def check(
    events: list[Event], keys: list[str], names: Sequence[str], level: Level, size: int
) -> None:
    arrivals = [(0, event) for event in events]
    for came, said in drive(operator(keys, names, level), arrivals, [KX], size):
        so_far = [event for _, event in came]
        expected = at_level(level, answer(so_far, keys, names), output_watermark(so_far))
        assert canonical_history(said).same_snapshots(expected), (
            canonical_history(said).coalesced(),
            expected.coalesced(),
            so_far,
            said,
        )
        assert not breaches(said)


@pytest.mark.parametrize("level", Level)
@given(st.data())
def test_group_by_is_its_reference_after_every_batch(level: Level, data: st.DataObject) -> None:
    events = data.draw(streams())
    keys = data.draw(st.sampled_from([["k"], [], ["k", "x"]]))
    names = data.draw(
        st.sampled_from([["n"], ["n", "s"], ["hi"], ["n", "c", "s", "a", "lo", "hi"]])
    )
    size = data.draw(st.sampled_from([1, 2, 3, 100]))
    check([*events, CLOSE], keys, names, level, size)
