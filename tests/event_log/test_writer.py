import io
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.event_log import writer
from driftline.event_log.reader import scan_log
from driftline.event_log.writer import history_lines, write_log
from driftline.model.columns import NO_CLOCK, StreamColumns
from driftline.model.event import Event, Insert
from driftline.model.history_columns import history_columns
from driftline.model.row import Row
from driftline.model.time import INFINITY
from tests.build import cti, external_cti, insert, retract
from tests.disorder import FLOATS, INTEGERS, TEXTS


def written(*streams: StreamColumns) -> bytes:
    out = io.BytesIO()
    write_log(streams, out)
    return out.getvalue()


def test_the_format() -> None:
    events = [
        insert(1, None, {"symbol": "A", "price": 10.0}),
        retract(1, None, 10, {"symbol": "A", "price": 10.0}),
        cti(10),
        external_cti(10, 18, 5),
    ]
    assert written(StreamColumns.from_events("trades", events)).decode().splitlines() == [
        '{"stream":"trades","kind":"insert","vs":1,"ve":null,"row":{"symbol":"A","price":10.0}}',
        '{"stream":"trades","kind":"retract","vs":1,"ve":null,"vn":10,'
        '"row":{"symbol":"A","price":10.0}}',
        '{"stream":"trades","kind":"cti","t":10}',
        '{"stream":"trades","kind":"external_cti","from":10,"to":18,"count":5}',
    ]


def test_timestamps_and_the_arrival_clock() -> None:
    stream = replace(
        StreamColumns.from_events("s", [cti(1_500_000), cti(INFINITY)], timestamps=True),
        at=np.array([7, NO_CLOCK]),
    )
    assert written(stream).decode().splitlines() == [
        '{"stream":"s","kind":"cti","t":"1970-01-01T00:00:01.5Z","at":7}',
        '{"stream":"s","kind":"cti","t":null}',
    ]


def test_streams_are_interleaved_by_position(monkeypatch: pytest.MonkeyPatch) -> None:
    a = replace(StreamColumns.from_events("a", [cti(0), cti(2)]), position=np.array([0, 2]))
    b = replace(StreamColumns.from_events("b", [cti(1), cti(3)]), position=np.array([1, 3]))
    for at_once in (1, 3, 100):
        monkeypatch.setattr(writer, "EVENTS_AT_ONCE", at_once)
        log = scan_log(io.BytesIO(written(a, b)))
        assert {name: s.position.tolist() for name, s in log.streams.items()} == {
            "a": [0, 2],
            "b": [1, 3],
        }


def test_nothing() -> None:
    assert written() == b""
    assert written(StreamColumns.from_events("s", [])) == b""


def test_a_file_is_written_in_full_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    write_log([StreamColumns.from_events("s", [cti(1)])], path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="cannot hold"):
        write_log([StreamColumns.from_events("s", [insert(1, 2, {"a": timedelta(1)})])], path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_history() -> None:
    stream = StreamColumns.from_events('"s"', [insert(4, None, "B"), insert(1, 3, "A")])
    lines = b"".join(history_lines(stream.name, False, history_columns(stream)))
    assert lines.decode().splitlines() == [
        '{"stream":"\\"s\\"","vs":1,"ve":3,"row":{"p":"A"}}',
        '{"stream":"\\"s\\"","vs":4,"ve":null,"row":{"p":"B"}}',
    ]


NUMBERS = st.one_of(
    st.lists(st.one_of(st.none(), INTEGERS), min_size=1),
    st.lists(st.one_of(st.none(), FLOATS), min_size=1),
)
NESTED = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {"x": st.one_of(st.none(), TEXTS), "y": st.lists(st.one_of(st.none(), st.booleans()))}
    ),
)


@st.composite
def logs(draw: st.DrawFn) -> list[StreamColumns]:
    """Two streams with nested rows, nulls, large integers, odd names and texts."""
    streams, position = [], 0
    names = draw(st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=2, unique=True))
    for name in names:
        columns = draw(st.lists(st.text(max_size=3), min_size=3, max_size=3, unique=True))
        events: list[Event] = []
        for number in draw(NUMBERS):
            cells: list[Any] = [number, draw(NESTED), draw(st.one_of(st.none(), TEXTS))]
            vs = draw(st.integers(-(2**62), 2**62))
            ve = draw(st.one_of(st.just(INFINITY), st.integers(vs + 1, INFINITY)))
            events.append(Insert(vs, ve, Row(dict(zip(columns, cells, strict=True)))))
        stream = StreamColumns.from_events(name, events, timestamps=draw(st.booleans()))
        streams.append(replace(stream, position=stream.position + position))
        position += len(stream)
    return streams


@settings(max_examples=300)
@given(logs(), st.sampled_from([60, 100_000]))
def test_what_was_written_is_read_again(streams: list[StreamColumns], block_bytes: int) -> None:
    log = scan_log(io.BytesIO(written(*streams)), block_bytes=block_bytes)
    assert log.bad == []
    assert list(log.streams) == [stream.name for stream in streams]
    for stream in streams:
        again = log.streams[stream.name]
        assert again.to_events() == stream.to_events()
        assert again.position.tolist() == stream.position.tolist()
        for name in stream.payload.column_names:
            if stream.payload.column(name).null_count < len(stream):
                kind = stream.payload.schema.field(name).type
                assert (
                    str(again.payload.schema.field(name).type).split("<")[0]
                    == str(kind).split("<")[0]
                )
