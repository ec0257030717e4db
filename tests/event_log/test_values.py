from __future__ import annotations

import pyarrow as pa
import pytest

from driftline.event_log.values import as_text, has_bare, is_misread

TEXT, NUMBER = pa.string(), pa.float64()
PAIR = pa.struct([("a", TEXT), ("b", pa.null())])


@pytest.mark.parametrize(
    ("have", "kind", "expected"),
    [
        (pa.int64(), TEXT, True),
        (pa.null(), TEXT, False),
        (pa.int64(), NUMBER, False),
        (TEXT, NUMBER, False),  # a text may be a number
        (pa.bool_(), NUMBER, True),
        (pa.int64(), pa.bool_(), True),
        (pa.bool_(), pa.timestamp("us"), True),
        (pa.list_(pa.int64()), TEXT, True),
        (pa.list_(pa.int64()), pa.list_(TEXT), True),
        (pa.struct([("A", pa.int64())]), PAIR, True),
        (pa.struct([("A", TEXT), ("b", pa.int64())]), PAIR, False),
        (pa.int64(), pa.null(), False),
    ],
)
def test_what_arrow_takes_for_something_else(
    have: pa.DataType, kind: pa.DataType, expected: bool
) -> None:
    assert is_misread(have, kind) == expected


def test_texts_are_what_was_written() -> None:
    value, written = {"A": 1.5, "b": 2}, {"A": "1.50", "b": "2"}
    assert has_bare(value, PAIR)
    assert as_text(value, written, PAIR) == {"A": "1.50", "b": 2}
    assert not has_bare({"A": "x", "b": 2}, PAIR)
    assert as_text(False, False, pa.timestamp("us")) == "false"
