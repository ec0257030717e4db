"""The lines of a few events are those that columns give, whatever the rows are."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.event_log.few_lines import few_lines, value_texts
from driftline.event_log.text import values_text
from driftline.event_log.writer import event_lines, text_bytes
from driftline.model.columns import CTI, INSERT, RETRACT, StreamColumns
from driftline.model.time import INFINITY

LONGS = st.integers(-(2**63), 2**63 - 1)
TIMES = st.integers(-(2**55), 2**55) | st.just(INFINITY)
FLOATS = st.floats() | st.integers(-(10**12), 10**12).map(lambda n: n / 100)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
_SIMPLE: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int8(), st.integers(-128, 127)),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.int64(), LONGS),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.bool_(), st.booleans()),
    (pa.float64(), FLOATS),
    (pa.float32(), st.floats(width=32)),
    (pa.string(), TEXTS),
    (pa.large_string(), TEXTS),
    (pa.binary(), st.binary(max_size=5)),
    (pa.decimal128(20, 4), st.integers(-(10**19), 10**19).map(lambda n: Decimal(n).scaleb(-4))),
    (pa.null(), st.none()),
]
_COUNTED: list[tuple[pa.DataType, st.SearchStrategy[int]]] = [
    (pa.timestamp("us"), st.integers(-(2**60), 2**60)),
    (pa.timestamp("us", "UTC"), st.integers(-(2**60), 2**60)),
    (pa.timestamp("ms"), st.integers(-(2**42), 2**42)),
    (pa.date32(), st.integers(-(10**6), 10**7)),
    (pa.time64("us"), st.integers(0, 86_400_000_000 - 1)),
]


@st.composite
def columns(draw: st.DrawFn, length: int) -> pa.Array:
    """A column of any type, a part of a longer one, with or without nulls."""

    def some(values: st.SearchStrategy[Any]) -> list[Any]:
        value = st.none() | values if draw(st.booleans()) else values
        return draw(st.lists(value, min_size=length + 1, max_size=length + 1))

    if draw(st.integers(0, 3)) == 0:
        kind, counts = draw(st.sampled_from(_COUNTED))
        stored = pa.int32() if kind == pa.date32() else pa.int64()
        return pa.array(some(counts), stored).view(kind).slice(1)
    kind, values = draw(st.sampled_from(_SIMPLE))
    match draw(st.sampled_from(["plain", "list", "struct", "map", "dictionary"])):
        case "list":
            return pa.array(some(st.lists(st.none() | values, max_size=2)), pa.list_(kind)).slice(1)
        case "struct":
            whole = st.fixed_dictionaries({"é": st.none() | values})
            return pa.array(some(whole), pa.struct([("é", kind)])).slice(1)
        case "map":
            pairs = st.lists(st.tuples(TEXTS, st.none() | values), max_size=2)
            return pa.array(some(pairs), pa.map_(pa.string(), kind)).slice(1)
        case "dictionary" if pa.types.is_string(kind):
            return pa.array(some(values), kind).dictionary_encode().slice(1)
    return pa.array(some(values), kind).slice(1)


@st.composite
def batches(draw: st.DrawFn) -> pa.RecordBatch:
    length = draw(st.integers(1, 5))
    found = draw(st.lists(columns(length), min_size=1, max_size=3))
    names = draw(st.lists(TEXTS, min_size=len(found), max_size=len(found), unique=True))
    return pa.RecordBatch.from_arrays(found, names=names)


@given(st.data())
def test_the_lines_are_those_of_the_columns(data: st.DataObject) -> None:
    rows = data.draw(batches())
    place = st.integers(0, rows.num_rows - 1)
    change = st.tuples(st.sampled_from([INSERT, RETRACT]), TIMES, TIMES, TIMES, place)
    events = data.draw(st.lists(change, max_size=6))
    cti = data.draw(st.none() | TIMES)
    timestamps = data.draw(st.booleans())
    name = data.draw(TEXTS)
    columns_of_events = np.array(events, np.int64).reshape(-1, 5).T
    kind, vs, ve, vn, row = columns_of_events
    more = np.zeros(0 if cti is None else 1, np.int64)
    count = len(events) + len(more)
    stream = StreamColumns(
        name=name,
        timestamps=timestamps,
        kind=np.concatenate([kind, more + CTI]).astype(np.int8),
        vs=np.concatenate([vs, more + (cti or 0)]),
        ve=np.concatenate([ve, more]),
        vn=np.concatenate([vn, more]),
        at=None,
        position=np.arange(count),
        line=np.arange(count),
        source=np.zeros(count, np.int32),
        payload=pa.Table.from_batches([rows]).take(np.concatenate([row, more])),
    )
    found = few_lines(name, timestamps, events, rows, cti)
    assert found == bytes(text_bytes(event_lines(stream)))


@pytest.mark.parametrize("exponent", range(-8, 18))
def test_floats_around_where_they_get_an_exponent(exponent: int) -> None:
    around = [sign * step * 10.0**exponent for sign in (1, -1) for step in (0.999999999, 1, 1.1)]
    floats = pa.array([*around, *(float(np.nextafter(each, 0)) for each in around)])
    assert value_texts(floats, "x") == values_text(floats, "x").to_pylist()


def test_rows_without_columns() -> None:
    rows = pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), 2, [None]))
    assert few_lines("s", False, [(INSERT, 1, INFINITY, 0, 1)], rows, None) == (
        b'{"stream":"s","kind":"insert","vs":1,"ve":null,"row":{}}\n'
    )
