"""Plain records in JSON Lines: what was written is what is read."""

from __future__ import annotations

import datetime
import gzip
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.readers.inputs import json_records
from driftline.engine.readers.json_records import is_log
from driftline.event_log.bad import UnreadableLog
from driftline.plan.nodes import Source


def source(**columns: str) -> Source:
    plan = dl.stream("s", columns).plan
    assert isinstance(plan, Source)
    return plan


def read(text: str, **columns: str) -> list[dict[str, Any]]:
    found = json_records(source(**columns), text.encode()).records
    assert found.bad == []
    rows: list[dict[str, Any]] = found.table.to_pylist()
    return rows


def values(text: str, kind: str) -> list[Any]:
    return [row["x"] for row in read(text, x=kind)]


@pytest.mark.parametrize(
    ("written", "kind", "expected"),
    [
        # A text stays a text, though it looks like something else.
        ('"2024-01-01"', "STRING", "2024-01-01"),
        ('"2024-01-01T05:06:07Z"', "STRING", "2024-01-01T05:06:07Z"),
        ("5.10", "STRING", "5.10"),
        ("true", "STRING", "true"),
        ('{"a":[1,2.50,null,"é"]}', "STRING", '{"a":[1,2.50,null,"é"]}'),
        # A number keeps its digits.
        ("9223372036854775807", "BIGINT", 2**63 - 1),
        ("3.0", "BIGINT", 3),
        ("3e2", "INT", 300),
        ('"12"', "INT", 12),
        ("12345678901234567890.1234567891", "DECIMAL(30,10)", "12345678901234567890.1234567891"),
        ('"1.5"', "DECIMAL(10,2)", "1.50"),
        ("1", "DOUBLE", 1.0),
        ('"Infinity"', "DOUBLE", float("inf")),
        # Times as text, or in seconds, as Spark casts them.
        ('"2024-01-02"', "DATE", datetime.date(2024, 1, 2)),
        (
            '"1970-01-01T02:00:00+02:00"',
            "TIMESTAMP",
            datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC),
        ),
        ("3", "TIMESTAMP", datetime.datetime(1970, 1, 1, 0, 0, 3, tzinfo=datetime.UTC)),
        ("3.5", "TIMESTAMP", datetime.datetime(1970, 1, 1, 0, 0, 3, 500000, datetime.UTC)),
        # What has parts.
        ('["2024-01-01",null]', "ARRAY<DATE>", [datetime.date(2024, 1, 1), None]),
        ('{"A":1}', "STRUCT<a: INT, b: STRING>", {"a": 1, "b": None}),
        ('{"k":1,"l":null}', "MAP<STRING, INT>", [("k", 1), ("l", None)]),
        ("null", "MAP<STRING, INT>", None),
    ],
)
@pytest.mark.parametrize("beside", ["", '{"X":null}\n', '{"y":1}\n\n'])
def test_what_was_written_is_read(written: str, kind: str, expected: Any, beside: str) -> None:
    *_, found = values(f'{beside}{{"x":{written}}}\n', kind)
    assert found == (Decimal(expected) if kind.startswith("DECIMAL") else expected)


@pytest.mark.parametrize(
    ("first", "second", "kind", "expected"),
    [
        ("1", '"2.5"', "DECIMAL(5,1)", [Decimal(1), Decimal("2.5")]),
        ('"a"', "5", "STRING", ["a", "5"]),
        ("5", '"a"', "STRING", ["5", "a"]),
        ("1", '"2"', "INT", [1, 2]),
        ("true", '"false"', "BOOLEAN", [True, False]),
    ],
)
def test_values_of_several_kinds(first: str, second: str, kind: str, expected: list[Any]) -> None:
    assert values(f'{{"x":{first}}}\n{{"x":{second}}}\n', kind) == expected


@pytest.mark.parametrize(
    ("written", "kind", "said"),
    [
        ("1.5", "BIGINT", "'1.5' in the column x is not a BIGINT"),
        (
            "9223372036854775808",
            "BIGINT",
            "'9223372036854775808' in the column x is not a BIGINT",
        ),
        ("1e300", "INT", "'1e300' in the column x is not an INT"),
        ("true", "INT", "'true' in the column x is not an INT"),
        ('"soon"', "TIMESTAMP", "'soon' in the column x is not a TIMESTAMP"),
        ("5", "DATE", "'5' in the column x is not a DATE"),
        ("2024", "DATE", "'2024' in the column x is not a DATE"),
        ("10000000000000000000", "DATE", "'10000000000000000000' in the column x is not a DATE"),
        ("5", "ARRAY<INT>", "'5' in the column x is not an ARRAY<INT>"),
        ('["a"]', "ARRAY<INT>", '["a"] in the column x is not an ARRAY<INT>'),
        ('{"a":[1.5]}', "STRUCT<a: ARRAY<INT>>", '{"a":["1.5"]} in the column x is not a STRUCT'),
        ('{"a":"b"}', "MAP<STRING, INT>", '[["a","b"]] in the column x is not a MAP<STRING, INT>'),
        ("[5]", "MAP<STRING, INT>", '["5"] in the column x is not a MAP<STRING, INT>'),
        ("1.255", "DECIMAL(10,2)", "'1.255' in the column x is not a DECIMAL(10,2): it has more"),
        ('"1.255"', "DECIMAL(10,2)", "'1.255' in the column x is not a DECIMAL(10,2): it has more"),
        (
            "[1.255]",
            "ARRAY<DECIMAL(10,2)>",
            '["1.255"] in the column x is not an ARRAY<DECIMAL(10,2)>',
        ),
    ],
)
@pytest.mark.parametrize("around", [0, 1, 600])
def test_a_value_that_does_not_fit_is_a_bad_record(
    written: str, kind: str, said: str, around: int
) -> None:
    line = f'{{"x":{written}}}\n'
    nothing = '{"x":null}\n' * around
    found = json_records(source(x=kind), f"{nothing}{line}{nothing}".encode()).records
    assert found.lines.tolist() == [
        *range(1, around + 1),
        *range(around + 2, 2 * around + 2),
    ]
    (bad,) = found.bad
    assert (bad.source, bad.line, bad.column) == ("<stream>", around + 1, "x")
    assert bad.text == line.strip().encode()
    assert bad.reason.startswith(said)


@pytest.mark.parametrize("count", [1, 400])
def test_times_as_numbers_and_as_texts(count: int) -> None:
    lines = ['{"x":3}', '{"x":"1970-01-01T00:00:04Z"}', '{"x":"soon"}', '{"x":5}'] * count
    found = json_records(source(x="TIMESTAMP"), "\n".join(lines).encode()).records
    assert [time.second for time in found.table.column("x").to_pylist()] == [3, 4, 5] * count
    assert [bad.line for bad in found.bad] == [4 * place + 3 for place in range(count)]


def test_names_in_any_case_also_mixed() -> None:
    assert values('{"X":1}\n{"x":2}\n', "INT") == [1, 2]
    assert values('{"x":1}\n{"X":2}\n{}\n', "INT") == [1, 2, None]


def test_a_column_that_no_record_has_is_null() -> None:
    found = json_records(source(x="INT", y="STRING"), b'{"x":1}\n')
    assert found.missing == ("y",)
    assert found.records.table.to_pylist() == [{"x": 1, "y": None}]


@pytest.mark.parametrize("escaped", [False, True])
def test_a_column_with_any_name_is_there(escaped: bool) -> None:
    text = json.dumps({"größe": 1, "价": "x"}, ensure_ascii=escaped).encode()
    found = json_records(source(größe="INT", 价="STRING", y="INT"), text)
    assert found.missing == ("y",)
    assert found.records.table.to_pylist() == [{"größe": 1, "价": "x", "y": None}]


@pytest.mark.parametrize("bad", ['{"x":', "[1]", "null", '{"x":2}{"x":3}', '{"x":NaNs}'])
def test_a_line_that_is_no_record(bad: str) -> None:
    text = f'{{"x":1}}\n\n{bad}\n{{"x":4}}\n'.encode()
    found = json_records(source(x="INT"), text).records
    assert re.match("<stream>:3: (malformed JSON|a record is a JSON object)", str(found.bad[0]))
    assert [row["x"] for row in found.table.to_pylist()] == [1, 4]
    assert found.lines.tolist() == [1, 4]
    assert [(each.line, each.text) for each in found.bad] == [(3, bad.encode())]


@pytest.mark.parametrize("text", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_no_records(text: bytes) -> None:
    found = json_records(source(x="INT"), text).records
    assert found.table.num_rows == 0
    assert found.table.schema.names == ["x"]


def test_marks_line_ends_and_compression(tmp_path: Path) -> None:
    text = b'\xef\xbb\xbf{"x":1}\r\n{"x":2}\r\n'
    path = tmp_path / "s.jsonl.gz"
    path.write_bytes(gzip.compress(text))
    assert json_records(source(x="INT"), path).records.table.column("x").to_pylist() == [1, 2]
    path.write_bytes(text)
    with pytest.raises(UnreadableLog, match="cannot be read"):
        json_records(source(x="INT"), path)


def test_bare_words_are_numbers_whatever_stands_beside_them() -> None:
    words = '{"x":NaN}\n{"x":-Infinity}\n{"x":Infinity}\n'
    for beside in ("", '{"x":"1.5"}\n', "[1]\n"):
        found = json_records(source(x="DOUBLE"), (beside + words).encode()).records
        column = [str(value) for value in found.table.column("x").to_pylist()]
        assert column[-3:] == ["nan", "-inf", "inf"], beside
        assert len(found.bad) == (beside == "[1]\n")
    assert not is_log(words.encode())
    (bad,) = json_records(source(x="INT"), b'{"x":1}\n{"x":NaN}\n').records.bad
    assert str(bad) == "<stream>:2: 'NaN' in the column x is not an INT"


def test_a_very_long_line() -> None:
    text = json.dumps({"x": "z" * 3_000_000}) + "\n" + '{"x":"a"}\n'
    assert [len(value) for value in values(text, "STRING")] == [3_000_000, 1]


def test_what_is_an_event_log() -> None:
    assert is_log(b'\n{"stream":"s","kind":"cti","t":1}\n')
    assert not is_log(b'{"kind":"bid","x":1}\n')
    assert not is_log(b'{"x":"\\"kind\\""}\n')


def test_lines_that_cannot_be_read_do_not_tell_whether_it_is_a_log() -> None:
    cut, record, event = b'"a","x":1}\n[1]\n', b'{"x":1}', b'{"stream":"s","kind":"cti","t":1}'
    assert not is_log(cut + record)
    assert is_log(cut + event)
    assert is_log(cut)


NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
PARTS = st.lists(st.integers()) | st.dictionaries(st.text(), st.text())
JSON = st.none() | st.booleans() | NUMBERS | st.text() | st.dates().map(str) | PARTS


@given(st.lists(JSON, min_size=1), st.integers(0, 10))
def test_together_or_alone_texts_are_the_same(items: list[Any], place: int) -> None:
    """What a line says does not depend on the others, nor on which way they are read."""
    lines = [json.dumps({"x": item}) for item in items]
    alone = [value for line in lines for value in values(line, "STRING")]
    assert values("\n".join(lines), "STRING") == alone
    expected = [
        None if item is None else item if isinstance(item, str) else json.loads(text)
        for item, text in zip(items, alone, strict=True)
    ]
    assert expected == items
