"""A record that cannot be read is a bad record, whatever it is, and harms no other: reading lines
together is reading each of them by itself."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.readers.csv_records import CsvFile
from driftline.engine.readers.fitting import Records, fitted
from driftline.engine.readers.inputs import json_records
from driftline.plan.nodes import Source

KINDS = (
    "STRING", "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5,2)",
    "DECIMAL(38,0)", "DATE", "TIMESTAMP", "BINARY", "ARRAY<INT>", "MAP<STRING, INT>",
    "ARRAY<DECIMAL(5,2)>", "STRUCT<a: TIMESTAMP>",
)  # fmt: skip
IN_CSV = tuple(kind for kind in KINDS if "<" not in kind)
UNITS = (None, "s", "ms", "us")

LONG = "9" * 4301
"""More digits than Python takes for a number."""

NUMBERS = st.one_of(
    st.sampled_from([LONG, f"-{LONG}", f"0.{LONG}", f"{LONG}.5", f"1e-{LONG}", f"1e{LONG}"]),
    st.builds(
        "{}{}{}e{}".format,
        st.sampled_from(["", "-", "+", " "]),
        st.integers(0, 10**19),
        st.sampled_from(["", ".", ".5", ".000000000001"]),
        st.sampled_from([0, 2, -3, 22, 308, 400, -400, 6145, 10**6, 999999999, -999999999, 10**19]),
    ),
    st.integers(-(2**70), 2**70).map(str),
    st.integers(-(2**63) // 10**6, 2**63 // 10**6).map(str),
)
TIMES = st.builds(
    "{}{}-{}-{}{}".format,
    st.sampled_from(["", "+", "-"]),
    st.sampled_from(["0000", "2024", "9999", "10000", "292277", "294247", "5881580", LONG]),
    st.sampled_from(["01", "2", "13", "00"]),
    st.sampled_from(["01", "29", "31", "00"]),
    st.sampled_from(["", "T25:00", " 10:00:00.123456789", "T10:00:00+99:00", "T10:00 Nowhere"]),
)
CELLS = st.one_of(
    NUMBERS,
    TIMES,
    st.sampled_from(["", "null", "NaN", "-inf", "Infinity", "0x1F", "1_0", "١٢", "1L", "true"]),
    st.text(max_size=8),
)
RAW = st.binary(max_size=6).map(lambda raw: raw.translate(None, b'\n\r"'))


def source(kind: str, unit: Any = None) -> Source:
    plan = dl.stream("s", {"k": "STRING", "x": kind}, time_unit=unit).plan
    assert isinstance(plan, Source)
    return plan


def of_csv(stream: Source, lines: list[bytes]) -> list[Records]:
    file = CsvFile(stream, io.BytesIO(b"k,x\n" + b"\n".join(lines) + b"\n"))
    return [fitted(stream, part) for part in file.parts()]


def of_json(stream: Source, lines: list[bytes]) -> list[Records]:
    return [json_records(stream, b"\n".join(lines)).records]


def answers(found: list[Records]) -> tuple[list[Any], list[bytes]]:
    """The rows, and the text of what is none."""
    for each in found:
        each.table.validate(full=True)
    rows = [
        (column.to_string() for column in each.table.slice(place, 1).columns)
        for each in found
        for place in range(len(each.table))
    ]
    return [tuple(row) for row in rows], [bad.text for each in found for bad in each.bad]


def together_as_alone(read: Any, stream: Source, lines: list[bytes]) -> None:
    alone = [answers(read(stream, [line])) for line in lines]
    rows = [row for found, _ in alone for row in found]
    bad = [text for _, found in alone for text in found]
    assert answers(read(stream, lines)) == (rows, bad)


def csv_line(cell: str) -> bytes:
    quoted = cell.replace('"', '""')
    return f'a,"{quoted}"'.encode(errors="replace")


@pytest.mark.parametrize("kind", IN_CSV)
@given(cells=st.lists(CELLS, min_size=1, max_size=3), unit=st.sampled_from(UNITS))
@example(cells=["7", LONG], unit=None)
@example(cells=["1", "1e999999999"], unit=None)
@example(cells=["12", "1e999999999"], unit="s")
@settings(max_examples=20, deadline=None)
def test_cells_of_csv(kind: str, cells: list[str], unit: Any) -> None:
    together_as_alone(of_csv, source(kind, unit), [csv_line(cell) for cell in cells])


@pytest.mark.parametrize("kind", KINDS)
@given(
    values=st.lists(
        st.one_of(
            CELLS.map(json.dumps), NUMBERS, st.sampled_from(["[1]", "[1000]", '{"a":1e999999999}'])
        ),
        min_size=1,
        max_size=3,
    ),
    unit=st.sampled_from(UNITS),
)
@example(values=["7", LONG, "1e999999999", f"[{LONG}]"], unit=None)
@example(values=["1", "1000"], unit=None)
@example(values=["12185462876.000000000001e-999999999"], unit=None)
@settings(max_examples=20, deadline=None)
def test_values_of_json(kind: str, values: list[str], unit: Any) -> None:
    lines = [f'{{"k":"a","x":{value}}}'.encode(errors="replace") for value in values]
    together_as_alone(of_json, source(kind, unit), [line.replace(b"\n", b" ") for line in lines])


@given(
    raw=st.lists(RAW, min_size=1, max_size=4), place=st.integers(0, 3), kind=st.sampled_from(KINDS)
)
@example(raw=[b"a", b"\xff"], place=0, kind="STRING")
@example(raw=[b"a", b"\\ud800"], place=0, kind="STRING")
@example(raw=[b"a", b"\xed\xa0\x80"], place=0, kind="STRING")
@example(raw=[b"a", b"\xc0\x80"], place=1, kind="STRING")
@example(raw=[b"", b"\xef\xbb\xbf"], place=0, kind="STRING")
@example(raw=[b"\xef\xbb\xbf"], place=0, kind="STRING")
@settings(deadline=None)
def test_bytes_that_are_no_text(raw: list[bytes], place: int, kind: str) -> None:
    form = (b'{"k":"%s"}', b'{"k":"","x":"%s"}', b'{"k":"","%s":1}', b'{"k":""}%s')[place]
    together_as_alone(of_json, source(kind), [form % each for each in raw])
    if kind in IN_CSV:
        together_as_alone(of_csv, source(kind), [b"a," + each for each in raw])
        together_as_alone(of_csv, source(kind), [each + b",1" for each in raw])
