import numpy as np
import pytest

from driftline.event_log.scan import Scanned, scan_lines, scan_row
from driftline.model.columns import NO_CLOCK
from driftline.model.time import INFINITY


def scan(*lines: str) -> Scanned:
    data = [line.encode() for line in lines]
    ends = np.cumsum([len(line) for line in data])
    starts = ends - [len(line) for line in data]
    return scan_lines(np.frombuffer(b"".join(data), np.uint8), starts, ends)


INSERT = '{"stream":"s","kind":"insert","vs":1,"ve":null,"row":%s}'


def test_the_four_kinds() -> None:
    found = scan(
        INSERT % '{"a":1}',
        '{"stream":"s","kind":"retract","vs":1,"ve":null,"vn":3,"row":{"a":1},"at":7}',
        '{"stream":"u","kind":"cti","t":10}',
        '{"stream":"u","kind":"external_cti","from":0,"to":8,"count":5}',
    )
    assert found.fine.all()
    assert found.kind.tolist() == [0, 1, 2, 3]
    assert found.vs.tolist() == [1, 1, 10, 0]
    assert found.ve.tolist() == [INFINITY, INFINITY, 0, 8]
    assert found.vn.tolist() == [0, 3, 0, 5]
    assert found.at.tolist() == [NO_CLOCK, 7, NO_CLOCK, NO_CLOCK]
    assert found.name.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    "line",
    [
        ' { "kind" : "cti" , "stream" : "s" , "t" : -5 }  ',
        '{"stream":"s","kind":"cti","t":"2024-05-01T09:30:00Z"}',
        '{"stream":"s","kind":"cti","t":null,"vs":null,"row":null,"vn":1,"at":null}',
        '{"stream":"s","kind":"cti","t":9223372036854775807,"x":1.5e3,"y":true,"z":"é"}',
        INSERT % "{}",
        INSERT % '{"a":"}","b":{"c":[1,-0.5e10,null,false]},"d":"\\""}',
    ],
)
def test_understood(line: str) -> None:
    assert scan(line).fine.all()


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{}",
        "[]",
        '{"stream":"s","kind":"cti","t":1}x',
        '{"stream":"s","kind":"cti","t":1',
        '{"stream":"s","kind":"cti","t":1,}',
        '{"stream":"s","kind":"cti","t":01}',
        '{"stream":"s","kind":"cti","t":1.0}',
        '{"stream":"s","kind":"cti","t":true}',
        '{"stream":"s","kind":"cti","t":1,"t":2}',
        '{"stream":"s","kind":"cti","t":1,"x":{}}',
        '{"stream":"s","kind":"cti","t":1,"x":tru}',
        '{"stream":"","kind":"cti","t":1}',
        '{"stream":"\\u0073","kind":"cti","t":1}',
        '{"stream":"s","kind":"cti","t":9223372036854775808}',
        '{"stream":"s","kind":"cti","t":1,"row":{}}',
        INSERT % "[]",
        INSERT % "null",
        INSERT % '{"a":NaN}',
        INSERT % '{"a":1e400}',
        INSERT % '{"a":01}',
        INSERT % '{"a":"\t"}',
        INSERT % '{"\\u0061":1}',
        INSERT % ('{"a":' + "[" * 64 + "]" * 64 + "}"),
        '{"stream":"s","kind":"insert","vs":2,"ve":2,"row":{}}',
        '{"stream":"s","kind":"insert","vs":null,"ve":2,"row":{}}',
    ],
)
def test_left_to_the_exact_reader(line: str) -> None:
    assert not scan(line).fine.any()


def test_the_columns_of_a_row_in_any_order() -> None:
    found = scan(
        INSERT % '{"a":1,"b":{"c":2}}',
        INSERT % '{"b":null,"a":"b"}',
        INSERT % '{"a":1}',
        INSERT % '{"a":1,"b":1,"c":1}',
    )
    one, two, less, more = found.row_names.tolist()
    assert one == two
    assert len({one, less, more}) == 3


def test_integers_that_no_double_may_hold() -> None:
    found = scan(INSERT % '{"a":9007199254740992}', INSERT % '{"a":[-9007199254740993]}')
    assert found.row_big.tolist() == [False, True]


def test_a_row_by_itself() -> None:
    row = b'{"a\\n":1}'
    fine, _, big = scan_row(np.frombuffer(row, np.uint8), 0, len(row))
    assert (fine, big) == (True, False)
