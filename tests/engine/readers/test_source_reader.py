"""What a reader gives out, batch by batch, is what came, in whatever pieces that was."""

from __future__ import annotations

from unittest.mock import patch

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.readers.inputs import RawEvents
from driftline.engine.readers.source_reader import SourceReader

SOURCE = dl.stream("s", {"t": "BIGINT", "k": "STRING"}, time="t").plan.sources()["s"]


def table(lengths: list[int]) -> pa.Table:
    """Rows with the times 0, 1, 2, …, in chunks of these lengths."""
    schema = pa.schema([("t", pa.int64()), ("k", pa.string())])
    starts = [sum(lengths[:number]) for number in range(len(lengths))]
    times = [range(start, start + length) for start, length in zip(starts, lengths, strict=True)]
    parts = [pa.table({"t": [*some], "k": [str(t) for t in some]}, schema=schema) for some in times]
    return pa.concat_tables([schema.empty_table(), *parts])


def times_of(events: RawEvents | None) -> list[int]:
    if events is None:
        return []
    assert events.payload.column("t").to_pylist() == events.vs.tolist()
    assert events.payload.column("k").to_pylist() == [str(time) for time in events.vs]
    times: list[int] = events.vs.tolist()
    return times


@given(
    st.lists(st.integers(0, 4), max_size=5),
    st.lists(st.integers(0, 5), max_size=9),
    st.sampled_from([0, 1, 1_000]),
    st.booleans(),
)
def test_every_event_is_given_out_once_and_in_order(
    lengths: list[int], sizes: list[int], least: int, by_time: bool
) -> None:
    with patch("driftline.engine.readers.source_reader.LEAST_ROWS", least):
        reader = SourceReader.of(SOURCE, table(lengths), 2)
        count, until = sum(lengths), 0
        for size in [*sizes, count]:
            before, until = until, min(until + size, count)
            if reader.next_time < 2**62:
                assert reader.next_time == before
            taken = reader.next_due(until - 1) if by_time else reader.next(until)
            assert times_of(taken) == [*range(before, until)]
        assert reader.is_exhausted()
