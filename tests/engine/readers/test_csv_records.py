"""CSV: what is read of it, where each record stood, and what cannot be read."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.readers import csv_records
from driftline.engine.readers.csv_records import CsvFile
from driftline.engine.readers.fitting import Records
from driftline.engine.readers.inputs import events_from
from driftline.plan.errors import PlanError
from driftline.plan.nodes import Source


def source(**columns: str) -> Source:
    plan = dl.stream("s", columns, time=next(iter(columns))).plan
    assert isinstance(plan, Source)
    return plan


PLAIN = source(t="INT", k="STRING")


def parts(text: bytes, stream: Source = PLAIN) -> list[Records]:
    return list(CsvFile(stream, io.BytesIO(text), "s.csv").parts())


def read(text: bytes, stream: Source = PLAIN) -> tuple[list[tuple[int, Any, Any]], list[Any]]:
    """The line, t as text, and k of the records; line, column, value and text of the bad ones."""
    good, bad = [], []
    for part in parts(text, stream):
        rows = part.table.to_pylist()
        lines = part.lines.tolist()
        good += [
            (line, None if row["t"] is None else str(row["t"]), row["k"])
            for line, row in zip(lines, rows, strict=True)
        ]
        assert all(part.text(place) for place in range(len(rows)))
        bad += [(each.line, each.column, each.value, each.text) for each in part.bad]
    return good, bad


@pytest.mark.parametrize(
    ("text", "good", "bad"),
    [
        (b"t,k\n1,a\n2,b\n", [(2, "1", "a"), (3, "2", "b")], []),
        (b"t,k\r\n1,a\r\n2,b", [(2, "1", "a"), (3, "2", "b")], []),
        (b"\xef\xbb\xbft,k\n1,a", [(2, "1", "a")], []),
        (b"\n\nK,more, T \n\na,x,1\n\n", [(5, "1", "a")], []),
        (b't,k\n1,"a\nb"\n2,c\n', [(2, "1", "a\nb"), (4, "2", "c")], []),
        (
            b't,"k"\n1,"a ""b"", c"\n2,\n3,""\n',
            [(2, "1", 'a "b", c'), (3, "2", None), (4, "3", "")],
            [],
        ),
        (b't,"more\nof it",k\n1,x,a\n', [(3, "1", "a")], []),
        (b"t,k\n1,a\n2\n3,c\n", [(2, "1", "a"), (4, "3", "c")], [(3, None, None, b"2")]),
        (b"t,k\n1,a,x\n3,c\n", [(3, "3", "c")], [(2, None, None, b"1,a,x")]),
        (b't,k\n1,"a\nb\n"\n2\n3,c', [(2, "1", "a\nb\n"), (6, "3", "c")], [(5, None, None, b"2")]),
        (
            b"t,k\n1,a\n2,\xff\n3,\xc3\xa9\n",
            [(2, "1", "a"), (4, "3", "é")],
            [(3, "k", "\ufffd", b"2,\xff")],
        ),
        (b't,k\n1,a\n2,"b\n3,c\n', [(2, "1", "a"), (4, "3", "c")], [(3, None, None, b'2,"b')]),
        (b't,k\n2,"b', [], [(2, None, None, b'2,"b')]),
        (b't,k\n1,a"b\n2,c\n', [(2, "1", 'a"b'), (3, "2", "c")], []),
        (b"t,k\n1,a\n   \n2,b\n", [(2, "1", "a"), (4, "2", "b")], []),
        (b"t,k\n", [], []),
        (b"t,k\n1\n", [], [(2, None, None, b"1")]),
    ],
)
@pytest.mark.parametrize("block", [4, 1 << 20])
def test_records_and_where_they_stood(
    monkeypatch: pytest.MonkeyPatch, text: bytes, good: Any, bad: Any, block: int
) -> None:
    monkeypatch.setattr(csv_records, "BLOCK_BYTES", block)
    assert read(text) == (good, bad)


def test_a_record_of_megabytes() -> None:
    long = b"x" * 3_000_000
    good, bad = read(b"t,k\n1,a\n2," + long + b"\n3\n")
    assert [(line, t) for line, t, _ in good] == [(2, "1"), (3, "2")]
    assert [line for line, *_ in bad] == [4]


def test_compressed(tmp_path: Path) -> None:
    path = tmp_path / "s.csv.gz"
    path.write_bytes(gzip.compress(b"t,k\n1,a\n"))
    assert len(events_from(PLAIN, path)) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "s.csv is empty: its first line must name the columns"),
        (b"\n\n", "s.csv is empty"),
        (b"1,a\n2,b\n", "s.csv: its first line names no column t of s, but 1, a: the first line"),
        (b"1,a", "s.csv: its first line names no column t of s"),
        (b"t,x\n", "s.csv: its first line names no column k of s, but t, x"),
        (b"t,k,K\n", "s.csv: there are two columns K"),
    ],
)
def test_a_first_line_that_does_not_name_the_columns(text: bytes, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        parts(text)


def test_other_columns_may_have_any_name() -> None:
    good, _ = read(b"x,X,t,k,,\n1,2,3,4,5,6\n")
    assert good == [(2, "3", "4")]


FIELDS = st.text(st.sampled_from('ab,"\n\r é'), max_size=4)


@given(st.lists(st.tuples(FIELDS, FIELDS)), st.integers(1, 9), st.sampled_from(["\n", "\r\n"]))
def test_what_is_written_is_read(rows: list[tuple[str, str]], block: int, end: str) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator=end)
    writer.writerow(("t", "k"))
    lines = []
    for row in rows:
        lines.append(text.getvalue().count("\n") + 1)
        writer.writerow(row)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_records, "BLOCK_BYTES", block)
        good, bad = read(text.getvalue().encode())
    assert bad == []
    assert [(t, k) for _, t, k in good] == rows
    if not any("\r" in field for row in rows for field in row):
        assert [line for line, _, _ in good] == lines
