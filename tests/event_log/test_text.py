import datetime
import decimal
import json
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.event_log.text import rows_text, times_text, values_text
from driftline.model.time import INFINITY, format_timestamp
from tests.disorder import FLOATS, TEXTS


def test_floats_stay_floats() -> None:
    values = pa.array([10.0, 0.1, 1e20, -0.0, None])
    assert values_text(values, "a").to_pylist() == ["10.0", "0.1", "1e+20", "-0.0", "null"]


def test_nested_values() -> None:
    values = pa.array([{"x": [1, None], "y": None}, None, {"x": None, "y": '"'}])
    assert values_text(values, "a").to_pylist() == [
        '{"x":[1,null],"y":null}',
        "null",
        '{"x":null,"y":"\\""}',
    ]
    assert values_text(values.slice(2), "a").to_pylist() == ['{"x":null,"y":"\\""}']


def test_values_that_no_log_brings() -> None:
    day = pa.array([datetime.date(2024, 5, 1), None])
    assert values_text(day, "a").to_pylist() == ['"2024-05-01"', "null"]
    assert values_text(pa.array([decimal.Decimal("1.50")]), "a").to_pylist() == ["1.50"]
    assert values_text(pa.array(["x"]).dictionary_encode(), "a").to_pylist() == ['"x"']


def test_what_json_does_not_have_is_written_as_spark_does() -> None:
    numbers = pa.array([math.nan, math.inf, -math.inf, None, -0.0])
    assert values_text(numbers, "a").to_pylist() == [
        '"NaN"',
        '"Infinity"',
        '"-Infinity"',
        "null",
        "-0.0",
    ]
    small = pa.array([decimal.Decimal("-1E-10"), decimal.Decimal(0), None], pa.decimal128(38, 10))
    assert values_text(small, "a").to_pylist() == ["-0.0000000001", "0.0000000000", "null"]
    assert values_text(pa.array([b"\x00\xff", None]), "a").to_pylist() == ['"AP8="', "null"]
    maps = pa.array([[("x", 1), ('"', None)], None, []], pa.map_(pa.string(), pa.int64()))
    assert values_text(maps, "a").to_pylist() == ['{"x":1,"\\"":null}', "null", "{}"]
    keys = pa.array([[(1, True)]], pa.map_(pa.int64(), pa.bool_()))
    assert values_text(keys, "a").to_pylist() == ['{"1":true}']


def test_what_json_cannot_say() -> None:
    with pytest.raises(ValueError, match='"a" is of type'):
        values_text(pa.array([datetime.timedelta(1)]), "a")
    maps = pa.array([[([1], 1)]], pa.map_(pa.list_(pa.int64()), pa.int64()))
    with pytest.raises(ValueError, match="the keys of a JSON object are strings"):
        values_text(maps, "a")


def test_rows_without_columns() -> None:
    assert rows_text(pa.table({}), 2).to_pylist() == ["{}", "{}"]


@given(st.lists(st.one_of(st.none(), TEXTS)))
def test_strings(values: list[str | None]) -> None:
    texts = values_text(pa.array(values, pa.string()), "a").to_pylist()
    assert [json.loads(text) for text in texts] == values


@given(st.lists(st.one_of(st.none(), FLOATS)))
def test_floats(values: list[float | None]) -> None:
    texts = values_text(pa.array(values, pa.float64()), "a").to_pylist()
    assert [repr(json.loads(text)) for text in texts] == [repr(value) for value in values]


@given(st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**57), 2**57))))
def test_times(times: list[int]) -> None:
    plain = [format_timestamp(time) for time in times]
    expected = [
        "null" if time == INFINITY else text if text == str(time) else f'"{text}"'
        for time, text in zip(times, plain, strict=True)
    ]
    assert times_text(np.array(times, np.int64), True).to_pylist() == expected
