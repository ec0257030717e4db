"""CSV, options of JSON and numbers by patterns, by examples that were asked of Spark 4.3."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from driftline.engine.expressions import EvaluationError
from driftline.plan import ExpressionError
from tests.engine.of_rows import value


@pytest.mark.parametrize(
    ("line", "kind", "result"),
    [
        ("1, 2", "a INT, b INT", [1, None]),
        ("1", "a INT, b STRING", [1, None]),
        ("1,2,3", "a INT, b STRING", [1, "2"]),
        ("", "a INT, b STRING", [None, None]),
        (",", "a STRING, b INT", [None, None]),
        ('"a,b",2', "a STRING, b INT", ["a,b", 2]),
        ('"a""b",2', "a STRING, b INT", ['"a""b"', 2]),
        ('"a\\\\"b",2', "a STRING, b INT", ['a"b', 2]),
        ('"a\\\\\\\\b",1', "a STRING, b INT", ["a\\b", 1]),
        ('"a,2', "a STRING, b INT", ["a,2", None]),
        ('"a"x,2', "a STRING, b INT", ['"a"x', 2]),
        ('"a"",b",1', "a STRING, b STRING, c STRING", ['a"', 'b"', "1"]),
        ('"a b" ,1', "a STRING, b INT", ["a b", 1]),
        (' "a",1', "a STRING, b INT", [' "a"', 1]),
        ("true,FALSE,yes", "a BOOLEAN, b BOOLEAN, c BOOLEAN", [True, False, None]),
        ("1.239,1e3,-Inf", "a DECIMAL(4,2), b DOUBLE, c DOUBLE",
         [Decimal("1.24"), 1000.0, float("-inf")]),
        ("2024-2-9,2024-02-30", "a DATE, b DATE", [date(2024, 2, 9), None]),
        ("2024", "a TIMESTAMP", [datetime(2024, 1, 1, tzinfo=UTC)]),
        ("1,2,3", "a INT, _corrupt_record STRING", [1, "1,2,3"]),
    ],
)  # fmt: skip
def test_from_csv(line: str, kind: str, result: list[Any]) -> None:
    found = value(f"from_csv('{line}', '{kind}')")
    assert list(found.values()) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("from_csv('1;2', 'a INT, b INT', map('sep', ';'))", {"a": 1, "b": 2}),
        ("from_csv('NA,2', 'a STRING, b INT', map('nullValue', 'NA'))", {"a": None, "b": 2}),
        ("from_csv('x', 'a INT, c STRING', map('columnNameOfCorruptRecord', 'c'))",
         {"a": None, "c": "x"}),
        ("from_csv('1', schema_of_csv('7'))", {"_c0": 1}),
        ("to_csv(named_struct('a', 1, 'b', 'x,y', 'c', CAST(NULL AS INT)))", '1,"x,y",'),
        ("""to_csv(named_struct('a', 'q"r', 'b', 'plain', 'c', ''))""", '"q\\"r",plain,""'),
        ("to_csv(named_struct('a', ' lead', 'b', 'trail '))", "lead,trail"),
        ("to_csv(named_struct('a', true, 'b', 1.50BD, 'c', 1e20D))", "true,1.50,1.0E20"),
        ("to_csv(named_struct('a', TIMESTAMP'2024-02-29 10:11:12.345678'))",
         "2024-02-29T10:11:12.345Z"),
        ("to_csv(named_struct('a', X'4142', 'b', array(1, 2)))", '[41 42],"[1, 2]"'),
        ("to_csv(named_struct('a', CAST(NULL AS INT)))", None),
        ("to_csv(named_struct('a', 'x'), map('quoteAll', 'true'))", '"x"'),
        ("schema_of_csv('1e5, 5,99999999999999999999999,,10:00,TRUE')",
         "STRUCT<_c0: DOUBLE, _c1: DOUBLE, _c2: DECIMAL(23,0), _c3: STRING, _c4: TIME(6), "
         "_c5: BOOLEAN>"),
        ("""from_json('{"a":"26/08/2015"}', 'a DATE', map('dateFormat', 'dd/MM/yyyy'))""",
         {"a": date(2015, 8, 26)}),
        ("""from_json('{"a":01}', 'a INT', map('allowNumericLeadingZeros', 'true'))""", {"a": 1}),
        ("""from_json('{"a":"x"}', 'a INT, _corrupt_record STRING')""",
         {"a": None, "_corrupt_record": '{"a":"x"}'}),
        ("to_json(named_struct('a', CAST(NULL AS INT)), map('ignoreNullFields', 'false'))",
         '{"a":null}'),
        ("to_json(named_struct('b', 1, 'a', map('z', 1, 'y', 2)), map('sortKeys', 'true'))",
         '{"a":{"y":2,"z":1},"b":1}'),
        ("to_json(array(named_struct('t', DATE'2015-08-26')), map('dateFormat', 'yyyy'))",
         '[{"t":"2015"}]'),
        ("format_number(1234567.891, '#,##0.00 EUR')", "1,234,567.89 EUR"),
        ("format_number(-7, '0;(0)')", "(7)"),
        ("format_number(12.345BD, \"'#'0.0\")", "#12.3"),
        ("format_number(0.1, '.00')", ".10"),
        ("format_number(0.125, '#.##')", "0.12"),
        ("format_number(-0.001, '0.0')", "-0.0"),
        ("format_number(1234.5, '')", "1,234"),
        ("format_number(1.5, '0,0.00')", "0,1.50"),
        ("format_number(double('Infinity'), '0.0')", "∞"),
        ("instr('abcabc', 'b', -3)", 2),
        ("instr('abcabc', 'b', -1, 2)", 2),
        ("instr('aaa', 'aa', 1, 2)", 2),
        ("instr('abcabc', 'b', 0)", 0),
        ("instr('abc', '', 9)", 1),
        ("overlay(X'0102030405' PLACING X'AABB' FROM 2 FOR 3)", b"\x01\xaa\xbb\x05"),
        ("overlay(X'0102030405' PLACING X'AA' FROM -3 FOR 1)", b"\xaa\x04\x05"),
        ("current_timezone()", "UTC"),
    ],
)  # fmt: skip
def test_examples(text: str, result: Any) -> None:
    assert value(text) == result


@pytest.mark.parametrize(
    "text",
    [
        "from_csv('x,2', 'a INT, b INT', map('mode', 'FAILFAST'))",
        """from_json('{"a":"x"}', 'a INT', map('mode', 'FAILFAST'))""",
        "format_number(1.5, '0.0.0')",
        "format_number(1.5, '#0#')",
        "instr('abcabc', 'b', 1, 0)",
    ],
)
def test_failures(text: str) -> None:
    with pytest.raises(EvaluationError):
        value(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("from_csv('1', 'a ARRAY<INT>')", "from_csv does not read a ARRAY<INT>"),
        ("from_csv('1', 'a INT', map('sep', ''))", "something has to be between the values"),
        ("from_csv('1', 'a INT', map('mode', 'DROPMALFORMED'))", "PERMISSIVE or FAILFAST"),
        ("to_json(named_struct('a', 1), map('pretty', 'true'))", "to_json has no option pretty"),
        ("schema_of_csv('')", "a line of CSV that is not empty"),
        ("overlay('abc' PLACING X'41' FROM 2)", "argument 1 of overlay must be a BINARY"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    with pytest.raises(ExpressionError, match=said):
        value(text)
