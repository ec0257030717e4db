"""A few rows with values of just the types of their columns are read as all others are."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.readers.inputs import events_from
from driftline.plan.errors import PlanError

SOURCE = dl.stream(
    "s", {"At": "BIGINT", "price": "DOUBLE", "name": "STRING", "ok": "BOOLEAN"}, time="At"
).plan.sources()["s"]
OTHERS = st.none() | st.sampled_from(["7", "1.5", "x", 3, 2**63, 2.0, True, "\ud800"])
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "at": st.integers(-(2**62), 2**62) | OTHERS,
            "price": st.floats() | OTHERS,
            " Name ": st.text(max_size=3) | OTHERS,
            "ok": st.booleans() | OTHERS,
        },
        optional={"more": st.integers()},
    ),
    max_size=4,
)


@given(ROWS)
def test_a_few_plain_rows_are_read_as_others_are(rows: list[dict[str, Any]]) -> None:
    with patch("driftline.engine.readers.python_rows.FEW", -1):
        try:
            expected = events_from(SOURCE, rows)
        except (PlanError, UnicodeError) as error:
            with pytest.raises(type(error)), patch("driftline.engine.readers.python_rows.FEW", 9):
                events_from(SOURCE, rows)
            return
    found = events_from(SOURCE, rows)
    assert found.payload.schema == expected.payload.schema
    assert repr(found.payload.to_pylist()) == repr(expected.payload.to_pylist())
    assert found.vs.tolist() == expected.vs.tolist()
    assert found.bad == expected.bad


def test_rows_of_plain_values_are_converted_together() -> None:
    row = {"AT": 5, "price": float("nan"), "name": "é", "ok": False}
    with patch("driftline.engine.readers.python_rows.typed_column", side_effect=AssertionError):
        events = events_from(SOURCE, [row, row])
    assert events.vs.tolist() == [5, 5]
    assert events.payload.column("name").to_pylist() == ["é", "é"]
