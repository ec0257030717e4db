"""What a query says in an event log is what another reads from it, whatever the types."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.readers.inputs import events_from
from driftline.event_log import rows
from driftline.event_log.writer import write_log
from driftline.model.columns import StreamColumns
from driftline.plan.nodes import Source

DOUBLES = st.one_of(st.none(), st.sampled_from([math.nan, math.inf, -math.inf, -0.0]), st.floats())
DECIMALS = st.one_of(
    st.none(),
    st.integers(-(10**38) + 1, 10**38 - 1).map(lambda digits: Decimal(f"{digits}E-10")),
    st.sampled_from([Decimal(0), Decimal("-1E-10"), Decimal("1.5")]),
)
WIDE = st.one_of(st.none(), st.integers(-(10**38) + 1, 10**38 - 1).map(Decimal))
BYTES = st.one_of(st.none(), st.binary(max_size=5))
TEXTS = st.text('NaInfity-"\\é{}[]:,\t ', max_size=4)
COLUMNS: dict[str, tuple[str, st.SearchStrategy[Any]]] = {
    "f": ("DOUBLE", DOUBLES),
    "s": ("STRING", st.one_of(st.none(), TEXTS, st.sampled_from(["NaN", "Infinity"]))),
    "D": ("DECIMAL(38,10)", DECIMALS),
    "wide": ("DECIMAL(38,0)", WIDE),
    "b": ("BINARY", BYTES),
    "m": ("MAP<STRING, DOUBLE>", st.one_of(st.none(), st.dictionaries(TEXTS, DOUBLES))),
    "k": ("MAP<INT, BINARY>", st.one_of(st.none(), st.dictionaries(st.integers(-3, 3), BYTES))),
    "t": ("MAP<STRING, STRING>", st.one_of(st.none(), st.dictionaries(TEXTS, TEXTS))),
    "l": ("ARRAY<DOUBLE>", st.one_of(st.none(), st.lists(DOUBLES, max_size=3))),
    "o": (
        "STRUCT<d: DECIMAL(38,10), b: BINARY, f: DOUBLE>",
        st.one_of(st.none(), st.fixed_dictionaries({"d": DECIMALS, "b": BYTES, "f": DOUBLES})),
    ),
    "i": ("BIGINT", st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))),
}


def source(columns: dict[str, str]) -> Source:
    plan = dl.stream("s", columns).plan
    assert isinstance(plan, Source)
    return plan


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[str, str], list[dict[str, Any]]]:
    names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4, unique=True))
    row = st.fixed_dictionaries({name: COLUMNS[name][1] for name in names})
    return {name: COLUMNS[name][0] for name in names}, draw(st.lists(row, min_size=1, max_size=6))


@settings(deadline=None, max_examples=200)
@given(tables(), st.sampled_from([1, 2, 256]))
def test_the_round_trip(
    table: tuple[dict[str, str], list[dict[str, Any]]], one_by_one: int
) -> None:
    columns, given_rows = table
    stream = source(columns)
    wanted = pa.table(
        {
            field.name: pa.array(
                [
                    list(row[field.name].items())
                    if pa.types.is_map(field.type) and row[field.name] is not None
                    else row[field.name]
                    for row in given_rows
                ],
                field.type,
            )
            for field in stream.columns.arrow
        }
    )
    emitted = StreamColumns.from_events(
        "s",
        [
            dl.Insert(place, place + 1, dl.Row(row))
            for place, row in enumerate(wanted.to_pylist(maps_as_pydicts=None))
        ],
        schema=stream.columns.arrow,
    )
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "ONE_BY_ONE", one_by_one)
        path = Path(folder) / "log.jsonl"
        write_log([emitted], path)
        read = events_from(stream, path).payload
    assert read.schema == wanted.schema
    assert repr(read.to_pylist()) == repr(wanted.to_pylist())  # as NaN is not NaN


def read_one(kind: str, *values: str) -> list[Any]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        path.write_text(
            "".join(
                f'{{"stream":"s","kind":"insert","vs":{at},"ve":null,"row":{{"x":{value}}}}}\n'
                for at, value in enumerate(values)
            )
        )
        payload = events_from(source({"X": kind}), path).payload
        found: list[Any] = payload.column("X").to_pylist()
        return found


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("DECIMAL(30,2)", "12345678901234567890.120", Decimal("12345678901234567890.12")),
        ("DECIMAL(30,2)", '"12.5"', Decimal("12.50")),
        ("DECIMAL(30,2)", '"\\u0031"', Decimal("1.00")),
        ("DECIMAL(30,2)", "1e3", Decimal(1000)),
        ("BINARY", '"\\/w=="', b"\xff"),
        ("MAP<STRING, DECIMAL(30,20)>", '{"a": 0.12345678901234567891}', None),
    ],
)
def test_other_ways_to_write_it(kind: str, value: str, expected: Any) -> None:
    if kind.startswith("MAP"):
        expected = [("a", Decimal("0.12345678901234567891"))]
    assert read_one(kind, value, "null") == [expected, None]
    assert read_one(kind, *["null"] * 300, value)[-1] == expected


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("DECIMAL(4,2)", "123.4", "'123.4' in the column X is not a DECIMAL(4,2)"),
        (
            "DECIMAL(4,2)",
            "1.255",
            "'1.255' in the column X is not a DECIMAL(4,2): it has more digits",
        ),
        ("DECIMAL(4,2)", "[1]", "'[1]' in the column X is not a DECIMAL(4,2)"),
        ("BINARY", '"?"', "'?' in the column X is not a BINARY"),
        ("BINARY", "5", "'5' in the column X is not a BINARY"),
        ("MAP<STRING, INT>", "[1]", '["1"] in the column X is not a MAP<STRING, INT>'),
        ("MAP<STRING, INT>", '{"a":"b"}', '[["a","b"]] in the column X is not a MAP<STRING, INT>'),
        ("INT", '"one"', "'one' in the column X is not an INT"),
        ("INT", "5000000000", "5000000000 in the column X is not an INT"),
        ("TIMESTAMP", '"soon"', "'soon' in the column X is not a TIMESTAMP"),
    ],
)
def test_misfits(tmp_path: Path, kind: str, value: str, reason: str) -> None:
    """The events around one that does not fit are read."""
    path = tmp_path / "log.jsonl"
    rows = ["null", value, "null"]
    path.write_text(
        "".join(
            f'{{"stream":"s","kind":"insert","vs":{at},"ve":null,"row":{{"X":{row}}}}}\n'
            for at, row in enumerate(rows)
        )
    )
    events = events_from(source({"X": kind}), path)
    assert events.vs.tolist() == [0, 2]
    (bad,) = events.bad
    assert (bad.source, bad.line, bad.column) == (str(path), 2, "X")
    assert bad.reason.startswith(reason)
    assert bad.text == path.read_bytes().splitlines()[1]


def test_decimals_are_the_same_row_however_they_are_written(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(
        '{"stream":"s","kind":"insert","vs":1,"ve":null,"row":{"x":1.10}}\n'
        '{"stream":"s","kind":"retract","vs":1,"ve":null,"vn":5,"row":{"x":1.1}}\n'
    )
    result = dl.stream("s", {"x": "DECIMAL(10,2)"}).run(s=str(log))
    assert result.history().to_pylist() == [{"vs": 1, "ve": 5, "x": Decimal("1.10")}]


def test_a_bad_value_at_the_beginning_spoils_no_others(tmp_path: Path) -> None:
    """A number may be a text, whatever the rows before have."""
    rows = [
        '"x":"one","d":1.5,"b":true',
        '"x":2,"d":"NaN","b":true',
        '"x":" 7 ","d":" -Infinity ","b":"true"',
        '"x":4,"d":"?","b":false',
        '"x":5,"d":2,"b":"maybe"',
        '"x":"6","d":2.5,"b":null',
    ]
    stream = source({"x": "INT", "d": "DOUBLE", "b": "BOOLEAN"})
    for order in (rows, rows[::-1]):
        path = tmp_path / "log.jsonl"
        path.write_text(
            "".join(
                f'{{"stream":"s","kind":"insert","vs":1,"ve":null,"row":{{{row}}}}}\n'
                for row in order
            )
        )
        events = events_from(stream, path)
        found = sorted(repr(row) for row in events.payload.to_pylist())
        assert found == [
            "{'x': 2, 'd': nan, 'b': True}",
            "{'x': 6, 'd': 2.5, 'b': None}",
            "{'x': 7, 'd': -inf, 'b': True}",
        ]
        bad = {(each.column, each.value, order[each.line - 1]) for each in events.bad}
        assert bad == {("x", "one", rows[0]), ("d", "?", rows[3]), ("b", "maybe", rows[4])}


@pytest.mark.parametrize("odd", ['{"y":[1]}', "[1]", "[]"])
@pytest.mark.parametrize(("column", "good"), [("k", '"a"'), ("x", "1"), ("d", "1.5")])
@pytest.mark.parametrize("first", [True, False])
def test_a_list_or_an_object_where_none_is_declared(
    column: str, good: str, odd: str, first: bool, tmp_path: Path
) -> None:
    """The event that has it is bad, also if it is the first, and no other."""
    lines = [
        f'{{"stream":"s","kind":"insert","vs":1,"ve":null,"row":{{"{column}":{value}}}}}\n'
        for value in ([odd, good] if first else [good, odd])
    ]
    (tmp_path / "log.jsonl").write_text("".join(lines))
    source = dl.stream("s", {column: {"k": "STRING", "x": "INT", "d": "DOUBLE"}[column]})
    events = events_from(source.plan.sources()["s"], tmp_path / "log.jsonl")
    assert len(events) == 1
    (bad,) = events.bad
    assert (bad.line, bad.column) == (1 if first else 2, column)


@pytest.mark.parametrize("kind", ["ARRAY<INT>", "STRUCT<y: INT>"])
def test_a_value_that_is_neither_where_one_is_declared(kind: str, tmp_path: Path) -> None:
    line = '{"stream":"s","kind":"insert","vs":1,"ve":null,"row":{"c":5}}\n'
    (tmp_path / "log.jsonl").write_text(line)
    events = events_from(dl.stream("s", {"c": kind}).plan.sources()["s"], tmp_path / "log.jsonl")
    assert (len(events), [each.column for each in events.bad]) == (0, ["c"])


SCALARS = st.sampled_from(
    ["null", "5", "-1", "1.50", "1e2", "true", "false", '"a"', '"7"', '"true"', '"NaN"', '""']
    + ['"2026-01-05"', '" 3 "']
)
LISTS = st.lists(SCALARS, max_size=3).map(lambda parts: f"[{','.join(parts)}]")
OBJECTS = st.builds('{{"A":{},"b":{}}}'.format, SCALARS, st.sampled_from(["null", "1", "2"]))
KINDS = {
    "STRING": st.one_of(SCALARS, LISTS, OBJECTS),
    "INT": SCALARS,
    "DOUBLE": SCALARS,
    "BOOLEAN": SCALARS,
    "DATE": SCALARS,
    "TIMESTAMP": SCALARS.filter(lambda text: not text.lstrip("-")[0].isdigit()),
    "ARRAY<STRING>": st.one_of(LISTS, SCALARS),
    "STRUCT<a: STRING, b: INT>": st.one_of(OBJECTS, SCALARS),
}


def log_of(values: list[str], path: Path) -> Path:
    path.write_text(
        "".join(
            f'{{"stream":"s","kind":"insert","vs":1,"ve":null,"row":{{"X":{value}}}}}\n'
            for value in values
        )
    )
    return path


@pytest.mark.parametrize("kind", KINDS)
@given(st.data(), st.sampled_from([1, 16]), st.sampled_from([1, 40]))
@settings(deadline=None, max_examples=15)
def test_no_value_depends_on_those_before_it(
    kind: str, data: st.DataObject, one_by_one: int, copies: int
) -> None:
    """What a value is, or that it is none, is a matter of its own text and of the declared type."""
    values = data.draw(st.lists(KINDS[kind], min_size=1, max_size=5))
    stream = source({"X": kind})
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "ONE_BY_ONE", one_by_one)
        path = Path(folder) / "log.jsonl"
        alone = {each: events_from(stream, log_of([each], path)) for each in values}
        many = [each for each in values for _ in range(copies)]
        together = events_from(stream, log_of(many, path))
    expected = [row for each in many for row in alone[each].payload.to_pylist()]
    assert repr(together.payload.to_pylist()) == repr(expected)
    bad = [many[each.line - 1] for each in together.bad]
    assert bad == [each for each in many if alone[each].bad]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("STRING", "1.50", "1.50"),
        ("STRING", "true", "true"),
        ("ARRAY<STRING>", '[1e3,"a",false,null]', ["1e3", "a", "false", None]),
        ("STRUCT<a: STRING, b: INT>", '{"A":12,"b":1}', {"a": "12", "b": 1}),
        ("BOOLEAN", "1", True),
    ],
)
def test_numbers_and_booleans_where_texts_are_declared(
    kind: str, value: str, expected: Any
) -> None:
    """As of plain records: a text is what was written."""
    assert read_one(kind, value) == [expected]
