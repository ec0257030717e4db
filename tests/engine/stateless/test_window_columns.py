from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.stateless.window_columns import Cumulate, Hop, tumble
from driftline.model.event import Event
from driftline.model.history import canonical_history
from driftline.model.reference import cumulate, hop
from driftline.model.time import BEGINNING, INFINITY
from driftline.testing import streams
from driftline.testing.driving import batch_of, events_of
from tests.build import cti, insert, retract
from tests.engine.held_to_reference import KX, at_one_port, hold

P = pa.schema([("p", pa.int64())])


def windowed(p: int, start: int, end: int) -> dict[str, int]:
    return {"p": p, "window_start": start, "window_end": end}


def test_a_row_is_in_every_window_that_holds_its_time() -> None:
    # the windows of 10 ticks every 5:  [0, 10) [5, 15) [10, 20) …
    batch = batch_of([insert(7, None, 1), cti(7)], P)
    output = Hop(P, slide=5, size=10).receive(0, batch)
    assert events_of(output) == [
        insert(7, None, windowed(1, 0, 10)),
        insert(7, None, windowed(1, 5, 15)),
        cti(7),
    ]
    assert output.high == 7


def test_a_retract_takes_its_row_out_of_all_windows() -> None:
    operator = tumble(P, 10)
    assert events_of(operator.receive(0, batch_of([insert(7, None, 1)], P)))
    output = operator.receive(0, batch_of([retract(7, None, 7, 1)], P))
    assert events_of(output) == [retract(7, None, 7, windowed(1, 0, 10))]


def test_windows_by_a_column() -> None:
    batch = batch_of([insert(7, None, 23), insert(8, None, {"p": None})], P)
    output = tumble(P, 10, time="p").receive(0, batch)
    assert events_of(output) == [insert(7, None, windowed(23, 20, 30))]
    assert output.high == 7


def test_between_the_windows_there_is_nothing() -> None:
    operator = Hop(P, slide=10, size=3)
    output = operator.receive(0, batch_of([insert(12, None, 1), insert(13, None, 1)], P))
    assert events_of(output) == [insert(12, None, windowed(1, 10, 13))]
    assert output.high == 12
    assert operator.receive(0, batch_of([insert(13, None, 1)], P)).high == BEGINNING


def test_windows_as_moments() -> None:
    schema = pa.schema([("at", pa.timestamp("ms", "UTC"))])
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    rows = pa.RecordBatch.from_pylist([{"at": noon}, {"at": None}], schema=schema)
    hour = 3_600_000_000
    batch = batch_of([insert(1, 2, {"at": noon}), insert(1, 2, {"at": None})], schema)
    assert batch.payload.equals(rows)
    output = tumble(schema, hour, "at", timestamps=True).receive(0, batch)
    assert output.payload.to_pylist() == [
        {"at": noon, "window_start": noon, "window_end": noon.replace(hour=13)}
    ]


def test_what_cannot_be_a_time_is_refused() -> None:
    words = pa.schema([("p", pa.string())])
    with pytest.raises(TypeError, match="'p' cannot say when a row is"):
        tumble(words, 5, "p").receive(0, batch_of([insert(1, 2, "a")], words))
    with pytest.raises(ValueError, match="at least 1"):
        Hop(P, 0, 5)


@pytest.mark.parametrize("column", [None, "p"])
@pytest.mark.parametrize(("slide", "size"), [(10, 10), (5, 10), (3, 10), (20, 10), (2**61, 2**62)])
def test_windows_at_the_ends_of_time_reach_no_farther(
    slide: int, size: int, column: str | None
) -> None:
    times = [BEGINNING + 1, BEGINNING + 9, 0, INFINITY - 9, INFINITY - 2]
    events = [insert(time, None, time) for time in times]
    history, batch = canonical_history(events), batch_of(events, P)
    output = Hop(P, slide, size, column).receive(0, batch)
    assert canonical_history(events_of(output)) == hop(history, slide, size)
    if size % slide == 0:
        output = Cumulate(P, slide, size, column).receive(0, batch)
        assert canonical_history(events_of(output)) == cumulate(history, slide, size)


@given(streams(), st.integers(1, 7), st.integers(1, 7))
def test_windows_of_vs_are_the_reference(events: list[Event], slide: int, size: int) -> None:
    hold(
        lambda: Hop(KX, slide, size),
        lambda history: hop(history, slide, size),
        at_one_port(events),
    )


@given(streams(), st.integers(1, 4), st.integers(1, 4))
def test_windows_of_a_column_are_the_reference(events: list[Event], slide: int, size: int) -> None:
    hold(
        lambda: Hop(KX, slide, size, "x"),
        lambda history: hop(history, slide, size, lambda lifetime: lifetime.row["x"]),
        at_one_port(events),
    )


@given(streams(), st.integers(1, 4), st.integers(1, 3), st.sampled_from([None, "x"]))
def test_cumulated_windows_are_the_reference(
    events: list[Event], step: int, steps: int, column: str | None
) -> None:
    size = step * steps
    hold(
        lambda: Cumulate(KX, step, size, column),
        lambda history: cumulate(
            history, step, size, lambda lifetime: lifetime.row[column] if column else lifetime.vs
        ),
        at_one_port(events),
    )
