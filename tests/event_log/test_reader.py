import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event as note
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.event_log import rows
from driftline.event_log.bad import BadInput, UnreadableLog
from driftline.event_log.explain import ParsedLine, Refused, parse_line
from driftline.event_log.reader import LogContents, read_log, scan_log
from driftline.event_log.types import RowTypes
from driftline.model.columns import NO_CLOCK, StreamColumns
from driftline.model.event import Cti, Event, ExternalCti, Insert, Retract
from driftline.model.row import Row
from driftline.model.stream import Checker
from driftline.model.time import INFINITY
from tests.build import cti, external_cti, insert, retract

EXAMPLE = b"""\
{"stream":"trades","kind":"insert","vs":1,"ve":null,"row":{"symbol":"A","price":10.0}}
{"stream":"trades","kind":"retract","vs":1,"ve":null,"vn":10,"row":{"symbol":"A","price":10.0}}
{"stream":"trades","kind":"cti","t":10}
{"stream":"trades","kind":"external_cti","from":10,"to":18,"count":5}
"""
TRADES = [
    insert(1, None, {"symbol": "A", "price": 10.0}),
    retract(1, None, 10, {"symbol": "A", "price": 10.0}),
    cti(10),
    external_cti(10, 18, 5),
]


def read(text: bytes | str, **options: Any) -> LogContents:
    data = text.encode() if isinstance(text, str) else text
    return scan_log(io.BytesIO(data), **options)


def only(log: LogContents) -> StreamColumns:
    assert log.bad == []
    [stream] = log.streams.values()
    return stream


def inserts(*values: str) -> str:
    return "\n".join(
        f'{{"stream":"s","kind":"insert","vs":1,"ve":2,"row":{{"a":{value}}}}}' for value in values
    )


def column(*values: str) -> pa.ChunkedArray:
    return only(read(inserts(*values))).payload.column("a")


def test_the_example() -> None:
    stream = only(read(EXAMPLE))
    assert stream.name == "trades"
    assert stream.to_events() == TRADES
    assert stream.position.tolist() == [0, 1, 2, 3]
    assert stream.line.tolist() == [1, 2, 3, 4]
    assert stream.at is None
    assert not stream.timestamps


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + EXAMPLE,
        EXAMPLE.replace(b"\n", b"\r\n"),
        EXAMPLE.replace(b"\n", b"\n\n \t\n"),
        EXAMPLE.rstrip(),
        EXAMPLE.replace(b":", b" : ").replace(b",", b", "),
        EXAMPLE.replace(b'"kind"', b'"more":{"x":[1]},"kind"'),
        EXAMPLE.replace(b"trades", b"tr\\u0061des"),
    ],
    ids=["byte order mark", "crlf", "blank lines", "no last newline", "spaces", "more", "escapes"],
)
@pytest.mark.parametrize("block_bytes", [1, 50, 200, 10_000])
def test_other_ways_to_write_it(data: bytes, block_bytes: int) -> None:
    assert only(read(data, block_bytes=block_bytes)).to_events() == TRADES


def test_line_numbers_count_blank_lines_and_start_anew_in_each_file() -> None:
    log = scan_log(
        [io.BytesIO(b"\n\n" + EXAMPLE), io.BytesIO(b'\n{"stream":"u","kind":"cti","t":1}')]
    )
    assert log.streams["trades"].line.tolist() == [3, 4, 5, 6]
    assert log.streams["u"].line.tolist() == [2]
    assert log.streams["u"].position.tolist() == [4]
    assert log.streams["u"].source.tolist() == [1]


def test_streams_interleave() -> None:
    log = read(
        '{"stream":"b","kind":"insert","vs":1,"ve":2,"row":{"x":1}}\n'
        '{"stream":"a","kind":"insert","vs":1,"ve":2,"row":{"x":"y","z":[]}}\n'
        '{"stream":"b","kind":"cti","t":5}\n'
    )
    assert list(log.streams) == ["b", "a"]
    assert log.streams["b"].position.tolist() == [0, 2]
    assert log.streams["a"].to_events() == [insert(1, 2, {"x": "y", "z": ()})]
    assert log.events == 3


def test_iso_times_and_microseconds_mix() -> None:
    stream = only(
        read(
            '{"stream":"s","kind":"insert","vs":"1970-01-01T00:00:01Z","ve":2000000,"row":{}}\n'
            '{"stream":"s","kind":"cti","t":3000000}\n'
        )
    )
    assert stream.timestamps
    assert stream.vs.tolist() == [1_000_000, 3_000_000]


def test_the_arrival_clock() -> None:
    stream = only(
        read('{"stream":"s","kind":"cti","t":1,"at":5}\n{"stream":"s","kind":"cti","t":1}')
    )
    assert stream.at is not None
    assert stream.at.tolist() == [5, NO_CLOCK]


def test_strings_that_look_like_times_stay_strings() -> None:
    assert column('"2024-05-01"').to_pylist() == ["2024-05-01"]
    many = ["null"] * 400 + ['"2024-05-01"'] * 400
    assert column(*many).to_pylist() == [None] * 400 + ["2024-05-01"] * 400


def test_an_integer_column_that_meets_a_float_becomes_double() -> None:
    found = column(*["1"] * 400, "2.5", "3")
    assert found.type == pa.float64()
    assert found.to_pylist()[-2:] == [2.5, 3.0]


def test_large_integers_stay_exact() -> None:
    assert column("9007199254740993", "-9223372036854775808").to_pylist() == [
        2**53 + 1,
        -(2**63),
    ]


def test_a_large_integer_late_in_a_double_column_is_refused() -> None:
    log = read(inserts(*["1.5"] * 1000, "9007199254740993", "9007199254740992"))
    assert [bad.line for bad in log.bad] == [1001]
    assert log.events == 1001


def test_nested_objects_grow_and_lacking_fields_are_null() -> None:
    found = column('{"x":1}', *["null"] * 400, '{"y":[2.5]}')
    assert found.to_pylist()[0] == {"x": 1, "y": None}
    assert found.to_pylist()[-1] == {"x": None, "y": [2.5]}


def test_rows_without_columns() -> None:
    stream = only(read('{"stream":"s","kind":"insert","vs":1,"ve":2,"row":{}}\n' * 3))
    assert stream.to_events() == [Insert(1, 2, Row())] * 3


def test_ctis_before_the_first_row() -> None:
    lines = '{"stream":"s","kind":"cti","t":0}\n' * 3 + inserts("1")
    for block_bytes in (10, 10_000):
        stream = only(read(lines, block_bytes=block_bytes))
        assert stream.payload.column("a").to_pylist() == [None, None, None, 1]


def test_the_last_of_two_equal_columns_counts() -> None:
    log = read(inserts("1", '2,"a":3', "4"))
    assert log.streams["s"].payload.column("a").to_pylist() == [1, 3, 4]


def test_a_very_long_line() -> None:
    long = json.dumps("x" * 3_000_000)
    assert [len(text) for text in column('"y"', *[long] * 2).to_pylist()] == [
        1,
        3_000_000,
        3_000_000,
    ]


def test_an_empty_log() -> None:
    for data in (b"", b"\n\n", b"\xef\xbb\xbf"):
        assert read(data).streams == {}


def test_only_the_first_events() -> None:
    assert read(EXAMPLE + b"oops", limit=2).events == 2
    assert read(EXAMPLE + b"oops", limit=0).events == 0
    assert read(EXAMPLE + b"oops", limit=4, block_bytes=100).bad == []


def test_compressed(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl.gz"
    path.write_bytes(gzip.compress(EXAMPLE))
    assert read_log(path).events == 4
    path.write_bytes(b"this is not gzip")
    with pytest.raises(UnreadableLog, match=r"gz: cannot be read"):
        read_log(path)


def test_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableLog, match="there is no such file"):
        read_log(tmp_path / "none.jsonl")
    with pytest.raises(UnreadableLog, match="a directory"):
        read_log(tmp_path)


def test_the_first_bad_event_raises(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(EXAMPLE + b"oops\n" + EXAMPLE)
    with pytest.raises(BadInput) as refused:
        read_log(path)
    assert str(refused.value).startswith(f"{path}:5: malformed JSON")
    assert refused.value.event.text == b"oops"


def test_dead_letters(tmp_path: Path) -> None:
    letters = tmp_path / "bad.jsonl"
    late = b'{"stream":"trades", "kind":"insert","vs":1,"ve":2,"row":{"symbol":"A","price":1}}'
    log = read_log(io.BytesIO(EXAMPLE + b"oops\n" + late), dead_letters=letters)
    assert log.events == 4
    first, second = map(json.loads, letters.read_text().splitlines())
    assert (first["line"], first["event"]) == (5, "oops")
    assert second["reason"] == "an insert with sync time 1 comes after cti 10"
    assert second["event"] == json.loads(late)


# The whole reader against the same in plain Python, line by line, on logs with random damage.


def plainly(lines: list[bytes]) -> tuple[dict[str, list[Event]], list[tuple[int, str]]]:
    """What the reader should find: the valid events of each stream, and (line, reason)."""
    bad: list[tuple[int, str]] = []
    types: dict[str, RowTypes] = {}
    found: list[tuple[int, ParsedLine]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            parsed = parse_line(line.strip())
        except Refused as refused:
            bad.append((number, str(refused)))
            continue
        stream = types.setdefault(parsed.stream, RowTypes(parsed.stream))
        reason = stream.refuse(parsed.row) if parsed.row is not None else None
        if reason:
            bad.append((number, reason))
        else:
            found.append((number, parsed))
    iso = {parsed.stream for _, parsed in found if parsed.iso}
    checkers = {name: Checker(name in iso) for name in types}
    streams: dict[str, list[Event]] = {parsed.stream: [] for _, parsed in found}
    for number, parsed in found:
        event = plain_event(parsed, types[parsed.stream])
        if reason := checkers[parsed.stream].breach(event):
            bad.append((number, reason))
        else:
            streams[parsed.stream].append(event)
    return streams, sorted(bad)


def plain_event(line: ParsedLine, types: RowTypes) -> Event:
    match line.kind:
        case 0 | 1:
            assert types.columns is not None
            assert line.row is not None
            kind = pa.struct(list(types.columns.items()))
            row = Row(pa.array([in_numbers(line.row, kind)], kind)[0].as_py())
            if line.kind == 0:
                return Insert(line.vs, line.ve, row)
            return Retract(line.vs, line.ve, line.vn, row)
        case 2:
            return Cti(line.vs)
        case _:
            return ExternalCti(line.vs, line.ve, line.vn)


def in_numbers(value: Any, kind: pa.DataType) -> Any:
    """A value of which words are numbers where the type is one of numbers."""
    if isinstance(value, dict):
        return {name: in_numbers(each, kind.field(name).type) for name, each in value.items()}
    if isinstance(value, list):
        return [in_numbers(each, kind.value_type) for each in value]
    return float(value) if isinstance(value, str) and kind == pa.float64() else value


TIMES = st.one_of(
    st.integers(0, 5),
    st.integers(0, 5),
    st.sampled_from([None, "1970-01-01", "1970-01-01T00:00:00.000003Z", INFINITY]),
)
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "n": st.sampled_from(
        [None, 1, 2, 3, 1.5, 2**53 + 1, -(2**63), 10**25, "NaN", "Infinity", "-Infinity"]
    ),
    "s": st.sampled_from([None, "x", "2024-05-01", 'é"\\\n', "\x00", "😀", "NaN"]),
    "o": st.sampled_from(
        [
            None,
            {},
            {"x": 1},
            {"x": None, "y": [True, None]},
            {"y": []},
            {"y": [None, None, False]},
            {"x": "NaN"},
            {"x": "Infinity"},
            {"x": 2.5},
        ]
    ),
}
ROWS = st.fixed_dictionaries(CELLS)
LINES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.fixed_dictionaries(
        {
            "stream": st.sampled_from(["s", "s", "ü"]),
            "kind": st.sampled_from(["insert", "insert", "retract"]),
            "vs": st.integers(0, 3),
            "ve": st.one_of(st.integers(3, 6), st.none()),
            "vn": st.integers(0, 4),
            "row": st.one_of(st.just({"n": 1, "s": "x", "o": None}), ROWS),
        }
    ),
    st.fixed_dictionaries(
        {"stream": st.sampled_from(["s", "ü"]), "kind": st.just("cti"), "t": st.integers(0, 2)}
    ),
    st.fixed_dictionaries(
        {
            "stream": st.just("s"),
            "kind": st.just("external_cti"),
            "from": TIMES,
            "to": TIMES,
            "count": st.integers(-1, 3),
        },
        optional={"at": st.sampled_from([1, None, "x"])},
    ),
)
NASTY = [
    "null", "true", "1.5", "-0", "01", "1e5", "1e400", "9007199254740993", "12345678901234567890",
    '"x"', '"1970-01-01T00:00:00.000004+00:00"', '"\\ud800"', '"\\ud83d\\ude00"', "{}", "[]",
    "[1,2]", '{"n":1}', "NaN", "-", "", "}", "{", ",", '"', "\\", "\t", "\r", "\x00", "\u00a0",
]  # fmt: skip


@st.composite
def damaged_logs(draw: st.DrawFn) -> list[bytes]:
    """Lines of a log, some of which are damaged in one of several ways."""
    lines = []
    for event in draw(st.lists(LINES, max_size=12)):
        if draw(st.booleans()):
            lines.append(dumps(draw, event))
            continue
        match draw(st.integers(0, 5)):
            case 0:  # a key is missing
                gone = draw(st.sampled_from(sorted(event)))
                lines.append(dumps(draw, {k: v for k, v in event.items() if k != gone}))
            case 1:  # some value is replaced by text
                where = draw(st.sampled_from(sorted(event)))
                text = dumps(draw, {**event, where: "@@@"}).decode()
                lines.append(text.replace('"@@@"', draw(st.sampled_from(NASTY))).encode())
            case 2:  # a cell is replaced by text
                cell = draw(st.sampled_from(sorted(CELLS)))
                row = {"n": 1, "s": "x", "o": None, cell: "@@@"}
                text = dumps(draw, {**event, "row": row}).decode()
                lines.append(text.replace('"@@@"', draw(st.sampled_from(NASTY))).encode())
            case 3:  # a few bytes are replaced
                text = dumps(draw, event).decode()
                at = draw(st.integers(0, len(text)))
                length = draw(st.integers(0, 2))
                nasty = draw(st.sampled_from(NASTY))
                lines.append((text[:at] + nasty + text[at + length :]).encode())
            case 4:  # it is cut, or not text
                data = dumps(draw, event)
                end = draw(st.integers(0, len(data)))
                lines.append(data[:end] + draw(st.sampled_from([b"", b"\xff", b"\xc3"])))
            case _:
                lines.append(draw(st.sampled_from([b"", b" ", b"[]", b"{}", b"{}{}", b"\r"])))
    return lines


def dumps(draw: st.DrawFn, event: dict[str, Any]) -> bytes:
    ascii_only, spaces = draw(st.booleans()), draw(st.booleans())
    separators = (", ", ": ") if spaces else (",", ":")
    return json.dumps(event, ensure_ascii=ascii_only, separators=separators).encode()


def test_a_float_with_an_exponent_is_no_long_integer() -> None:
    row = '{"stream":"s","kind":"insert","vs":0,"ve":null,"row":{"n":%s}}'
    lines = [(row % number).encode() for number in (10**25, "1e5", 10**25 + 1)]
    log = read(b"\n".join(lines), block_bytes=1)
    _, bad = plainly(lines)
    assert [(each.line, each.reason) for each in log.bad] == bad
    assert [line for line, _ in bad] == [2]


@settings(max_examples=600)
@given(damaged_logs(), st.sampled_from([1, 120, 100_000]), st.sampled_from([1, 4]))
def test_the_same_as_line_by_line(lines: list[bytes], block_bytes: int, one_by_one: int) -> None:
    lines = [line.replace(b"\n", b"") for line in lines]
    streams, bad = plainly(lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "ONE_BY_ONE", one_by_one)
        log = read(b"\n".join(lines), block_bytes=block_bytes)
    for _, reason in bad:
        note(" ".join(reason.split()[:5]))
    assert [(each.line, each.reason) for each in log.bad] == bad
    assert {name: stream.to_events() for name, stream in log.streams.items()} == streams
    assert list(log.streams) == list(streams)
    for each in log.bad:
        assert each.text == lines[each.line - 1].removeprefix(b"\xef\xbb\xbf").strip()


def test_marks_are_no_events_and_pass() -> None:
    lines = [
        b'{"stream":"s","kind":"insert","vs":1,"ve":null,"row":{"x":1}}',
        b'{"stream":"s","kind":"consistent","prefix":{"orders":3,"payments":0}}',
        b'{"stream":"s","kind":"consistent","prefix":{"orders":4},"closed":true}',
        b'{"stream":"s","kind":"cti","t":5}',
    ]
    log = read_log(io.BytesIO(b"\n".join(lines)))
    assert len(log.streams["s"]) == 2


def test_a_mark_says_which_prefix_it_is_about() -> None:
    for mark, reason in (
        (b'{"stream":"s","kind":"consistent"}', 'a mark needs "prefix"'),
        (b'{"stream":"s","kind":"consistent","prefix":{"s":-1}}', "counts events"),
        (b'{"stream":"s","kind":"consistent","prefix":{"s":"1"}}', "whole number of events"),
    ):
        with pytest.raises(BadInput, match=reason):
            read_log(io.BytesIO(mark))
