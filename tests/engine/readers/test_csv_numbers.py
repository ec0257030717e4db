"""Numbers that Arrow reads by itself are those that a cast of the text gives."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.readers import csv_records
from driftline.engine.readers.inputs import RawEvents, events_from
from driftline.plan.nodes import Source

ODD = [
    "", " 7 ", "\t7", "+7", "-7", "--7", "007", "0x10", "0X1f", "1e3", "1.0", "1.", ".5", "-0",
    "-0.0", "inf", "-Infinity", "nan", "-nan", "nan(1)", "NaN", "1e400", "1e-400", "4.9e-324", "1d",
    "1L", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "2147483648", "٣",
    "1\u00a0", "true", "NULL", '""', '"7"', '" 8"', "1e+5", "0.30000000000000004",
]  # fmt: skip


def source() -> Source:
    stream = dl.stream("s", {"at": "BIGINT", "n": "INT", "x": "DOUBLE"}, time="at").plan
    assert isinstance(stream, Source)
    return stream


def emitted(events: RawEvents) -> tuple[list[str], list[tuple[int, str]]]:
    rows = [repr(row) for row in events.payload.to_pylist()]
    return rows, [(each.line, each.reason) for each in events.bad]


@given(rows=st.lists(st.tuples(st.sampled_from(ODD), st.sampled_from(ODD)), max_size=5))
def test_plain_numbers_mean_the_same_to_both(rows: list[tuple[str, str]]) -> None:
    text = "at,n,x\n" + "".join(f"{at},{n},{x}\n" for at, (n, x) in enumerate(rows))
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "s.csv"
        path.write_text(text)
        quick = emitted(events_from(source(), path))
        patch.setattr(csv_records, "_is_plain", lambda kind: False)
        assert emitted(events_from(source(), path)) == quick
