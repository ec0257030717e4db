"""Variances and standard deviations kept as sums: close to the exact ones, whatever came before."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.additive.aggregates import Aggregate
from driftline.engine.additive.group_by import GroupBy
from driftline.model.event import CLOSE, Event, Insert, Retract
from driftline.model.history import History, canonical_history
from driftline.model.reference import Level, aggregates, at_level, group_by, output_watermark
from driftline.model.row import Row
from driftline.model.stream import breaches
from driftline.model.time import INFINITY
from driftline.testing import streams
from driftline.testing.driving import batch_of, drive, events_of

FUNCTIONS = {
    "variance": aggregates.variance,
    "variance_pop": aggregates.variance_pop,
    "stddev": aggregates.stddev,
    "stddev_pop": aggregates.stddev_pop,
}
KINDS = {"long": pa.int64(), "double": pa.float64(), "great": pa.float64(), "float": pa.float32()}
NUMBERS: dict[str, list[Any]] = {
    "long": [0, 1, -1, 7, 10**9, 10**9 + 1, -(2**40)],
    "great": [1e150, 3e150, -1e153, 1e145, 0.0],
    "double": [0.1, 0.2, -0.3, 1e9, 1e9 + 1, 1e-9, 3e15, math.inf, -math.inf, math.nan],
    "float": [0.5, -0.25, 1024.0, 3.0],
}
CLOSE_ENOUGH = 1e-12
BITS = 150
"""Sums carry a little more than this: what a square that came and went leaves behind is smaller by
so many bits than it was."""


def operator(kind: str, level: Level = Level.EAGER) -> GroupBy:
    schema = pa.schema([("k", pa.string()), ("x", KINDS[kind])])
    return GroupBy(
        schema, ["k"], [Aggregate(name, name, "x", pa.float64()) for name in FUNCTIONS], level
    )


def left_behind(kind: str, name: str) -> float:
    """What the greatest number may leave behind in a result."""
    greatest = max(abs(number) for number in NUMBERS[kind] if math.isfinite(number))
    residue = float(greatest) ** 2 / 2**BITS
    return math.sqrt(residue) if name.startswith("stddev") else residue


def close(ours: History, exact: History, kind: str) -> bool:
    """At every time the same groups, with values that differ in their last digits at most."""
    for time in sorted({*ours.endpoints, *exact.endpoints}):
        one, other = (
            {life.row["k"]: life.row for life in table.alive(time)} for table in (ours, exact)
        )
        if one.keys() != other.keys() or len(ours.alive(time)) != len(exact.alive(time)):
            return False
        for key, row in one.items():
            for name in FUNCTIONS:
                value, wanted = row[name], other[key][name]
                if value is None or wanted is None:
                    if value is not wanted:
                        return False
                elif math.isnan(wanted):
                    if not math.isnan(value):
                        return False
                elif not math.isclose(
                    value, wanted, rel_tol=CLOSE_ENOUGH, abs_tol=left_behind(kind, name)
                ):
                    return False
    return True


@pytest.mark.parametrize("kind", sorted(KINDS))
@settings(max_examples=40)
@given(st.data())
def test_they_are_close_to_the_reference_after_every_batch(kind: str, data: st.DataObject) -> None:
    level = data.draw(st.sampled_from(Level))
    numbers = st.one_of(st.none(), st.sampled_from(NUMBERS[kind]))
    events = data.draw(streams({"k": st.sampled_from(["a", "b"]), "x": numbers}))
    size = data.draw(st.sampled_from([1, 3, 100]))
    schema = pa.schema([("k", pa.string()), ("x", KINDS[kind])])
    arrivals = [(0, event) for event in [*events, CLOSE]]
    for came, emitted in drive(operator(kind, level), arrivals, [schema], size):
        so_far = [event for _, event in came]
        exact = group_by(
            canonical_history(so_far),
            {"k": lambda row: row["k"]},
            {name: function(lambda row: row["x"]) for name, function in FUNCTIONS.items()},
        )
        expected = at_level(level, exact, output_watermark(so_far))
        assert close(canonical_history(emitted), expected, kind)
        assert not breaches(emitted)


def test_what_comes_and_goes_leaves_no_trace() -> None:
    schema = pa.schema([("k", pa.string()), ("x", pa.float64())])
    variances = operator("double")

    def forever(x: float) -> Insert:
        return Insert(0, INFINITY, Row(k="a", x=x))

    emitted: list[Event] = []
    emitted += events_of(variances.receive(0, batch_of([forever(0.1), forever(0.3)], schema)))
    [before] = canonical_history(emitted)
    for _ in range(50):
        many = [forever(x) for x in (1e15, 0.1, -7e8, 1e-6)]
        emitted += events_of(variances.receive(0, batch_of(many, schema)))
        gone = [Retract(0, INFINITY, 0, event.row) for event in many]
        emitted += events_of(variances.receive(0, batch_of(gone, schema)))
    assert list(canonical_history(emitted)) == [before]
    assert before.row["variance"] == pytest.approx(0.02, rel=1e-15)
