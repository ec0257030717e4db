from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given

from driftline.model.columns import EXTERNAL_CTI, StreamColumns
from driftline.model.event import Event, Insert
from driftline.model.row import Row
from driftline.model.time import INFINITY
from tests.build import cti, external_cti, insert, retract
from tests.disorder import any_events

EVENTS = [
    insert(1, None, "A"),
    retract(1, None, 4, "A"),
    cti(3),
    external_cti(0, 5, 2),
]


def test_the_layout() -> None:
    stream = StreamColumns.from_events("s", EVENTS)
    assert stream.kind.tolist() == [0, 1, 2, EXTERNAL_CTI]
    assert stream.vs.tolist() == [1, 1, 3, 0]
    assert stream.ve.tolist() == [INFINITY, INFINITY, 0, 5]
    assert stream.vn.tolist() == [0, 4, 0, 2]
    assert stream.sync().tolist()[:3] == [1, 4, 3]
    assert stream.payload.column("p").to_pylist() == ["A", "A", None, None]


def test_take_by_index_and_by_mask() -> None:
    stream = StreamColumns.from_events("s", EVENTS)
    assert stream.take(np.array([2, 0])).to_events() == [EVENTS[2], EVENTS[0]]
    assert stream.take(stream.changes).to_events() == EVENTS[:2]
    assert stream.take(np.ones(4, np.bool_)) is stream


def test_a_stream_of_ctis_has_no_columns() -> None:
    stream = StreamColumns.from_events("s", [cti(1), cti(2)])
    assert len(stream) == 2
    assert stream.take(np.array([1])).to_events() == [cti(2)]


def test_nested_rows() -> None:
    events = [insert(1, 2, {"o": {"x": (1, 2)}, "l": ({"y": None},)})]
    assert StreamColumns.from_events("s", events).to_events() == events


def test_given_types() -> None:
    stream = StreamColumns.from_events(
        "s", [insert(1, 2, {"a": 1})], schema=pa.schema([("a", pa.float64())])
    )
    assert stream.payload.schema.field("a").type == pa.float64()


@given(any_events)
def test_events_go_there_and_back(events: list[Event]) -> None:
    assert StreamColumns.from_events("s", events).to_events() == events


def test_a_map_is_given_as_a_dict_or_as_pairs() -> None:
    kind = pa.map_(pa.string(), pa.list_(pa.int64()))
    schema = pa.schema([("m", kind), ("s", pa.struct([("n", kind)]))])
    maps: list[Any] = [{"a": [1]}, [("a", [1])], (), None]
    events: list[Event] = [Insert(1, 2, Row(m=each, s={"n": each})) for each in maps]
    found = StreamColumns.from_events("s", events, schema=schema).payload
    one = [("a", [1])]
    assert found.column("m").to_pylist() == [one, one, [], None]
    assert [row["n"] for row in found.column("s").to_pylist()] == [one, one, [], None]
