"""Functions of texts, by examples that were asked of Spark 4.3."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from driftline.engine.expressions import EvaluationError, evaluate
from driftline.plan import Schema, parse_expression
from tests.engine.of_rows import value, values

TEXTS = ["hello", "Straße", "", None, "日本語"]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("'a' || 1", "a1"),
        ("""get_json_object('{"a":[1,2.50,{"b":"x"}]}', '$.a[2].b')""", "x"),
        ("""get_json_object('{"a":[1,2.50,{"b":"x"}]}', '$.a')""", '[1,2.5,{"b":"x"}]'),
        ("""get_json_object('{"a b":{"c.d":1e10}}', "$['a b']['c.d']")""", "1.0E10"),
        ("""get_json_object('{"a":null,"a":2} x', '$.a')""", "2"),
        ("""get_json_object('{"a":1', '$.a')""", None),
        ("""get_json_object('{"a":1}', 'a')""", None),
        ("""get_json_object("{'a':1}", '$.a')""", "1"),
        ("format_number(1234567.125D, 2)", "1,234,567.12"),
        ("format_number(2.5D, 0)", "2"),
        ("format_number(-12345.67, 1)", "-12,345.7"),
        ("format_number(CAST('NaN' AS DOUBLE), 2)", "NaN"),
        ("format_number(5, -1)", None),
        ("format_string('%x %X %o', -1Y, -1S, -1)", "ff FFFF 37777777777"),
        ("format_string('%x %o', -1L, -1Y)", "ffffffffffffffff 377"),
        ("format_string('%#x %#X %#o %#08x', 255, 255, 8, 255)", "0xff 0XFF 010 0x0000ff"),
        ("format_string('%e %e %.0e', 0.0D, -0.0D, 0.0D)", "0.000000e+00 -0.000000e+00 0e+00"),
        ("format_string('%.1e', 5e-324D)", "4.9e-324"),
        ("format_string('%E', 1D)", "1.000000E+00"),
        ("format_string('%s', CAST('-1E-10' AS DECIMAL(38,10)))", "-1E-10"),
        ("format_string('%S', CAST(0 AS DECIMAL(38,10)))", "0E-10"),
        ("format_string('%s', CAST(1.5 AS DECIMAL(10,2)))", "1.50"),
        ("format_string('%b %b %b', 1, 0.0D, false)", "true true false"),
        ("format_string('%(08d %,015d', -5, 1234567)", "(000005) 0000001,234,567"),
        ("format_string('%c', 65Y)", "A"),
        ("format_string('plain')", "plain"),
        ("conv('ﬃ ǆ', 16, -10)", "0"),
        ("conv('ı', 36, 10)", "0"),
        ("conv('ff', 16, 10)", "255"),
        ("soundex('ſmith')", "ſmith"),
        ("'a' || NULL", None),
        ("concat()", ""),
        ("concat_ws(',', 'a', NULL, 'b', array('c', NULL))", "a,b,c"),
        ("concat_ws(',', NULL)", ""),
        ("concat_ws(NULL, 'a')", None),
        ("upper('ß')", "SS"),
        ("lower('ΑΣ')", "ας"),
        ("length('é')", 1),
        ("length(X'0102')", 2),
        ("octet_length('é')", 2),
        ("substring('hello', 2)", "ello"),
        ("substring('hello', 0, 2)", "he"),
        ("substring('hello', -3, 2)", "ll"),
        ("substring('hello', -10, 7)", "he"),
        ("substring('hello' FROM 2 FOR 3)", "ell"),
        ("substring('hello', 2, -1)", ""),
        ("left('hello', 2)", "he"),
        ("left('hello', -1)", ""),
        ("right('hello', 2)", "lo"),
        ("right('hello', 0)", ""),
        ("trim('  a b  ')", "a b"),
        ("trim('xy', 'xyaxy')", "a"),
        ("trim(LEADING 'x' FROM 'xax')", "ax"),
        ("btrim('xax', 'x')", "a"),
        ("lpad('hi', 5, '??')", "???hi"),
        ("lpad('hi', 1, '??')", "h"),
        ("rpad('hi', 5, 'ab')", "hiaba"),
        ("lpad('hi', 5, '')", "hi"),
        ("replace('abcabc', 'b')", "acac"),
        ("replace('abcabc', '', 'X')", "abcabc"),
        ("instr('hello', 'l')", 3),
        ("instr('hello', '')", 1),
        ("locate('l', 'hello', 4)", 4),
        ("locate('l', 'hello', 0)", 0),
        ("position('l' IN 'hello')", 3),
        ("split('a,b,,', ',')", ["a", "b", "", ""]),
        ("split('a,b,c', ',', 2)", ["a", "b,c"]),
        ("split('abc', '')", ["a", "b", "c"]),
        ("split('a1b22c', '[0-9]+')", ["a", "b", "c"]),
        ("split_part('a.b.c', '.', 2)", "b"),
        ("split_part('a.b.c', '.', -1)", "c"),
        ("split_part('a.b.c', '.', 5)", ""),
        ("initcap('hello wORLD foo-bar')", "Hello World Foo-bar"),
        ("ascii('€')", 8364),
        ("chr(321)", "A"),
        ("chr(-1)", ""),
        ("repeat('ab', 2)", "abab"),
        ("reverse('abc')", "cba"),
        ("translate('abcabc', 'ab', 'x')", "xcxc"),
        ("levenshtein('kitten', 'sitting')", 3),
        ("md5('a')", "0cc175b9c0f1b6a831c399e269772661"),
        ("sha2('a', 5)", None),
        ("startswith('abc', 'a')", True),
        ("contains('abc', NULL)", None),
    ],
)
def test_functions(text: str, result: Any) -> None:
    assert value(text) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("'a%' LIKE 'a\\\\%'", True),
        ("'ab' LIKE 'a\\\\%'", False),
        ("'a\\nb' LIKE 'a_b'", True),
        ("'a\\nb' LIKE 'a%b'", True),
        ("'' LIKE ''", True),
        ("'abc' LIKE '%b%'", True),
        ("'abc' LIKE 'b%'", False),
        ("'a_b' LIKE 'a/_b' ESCAPE '/'", True),
        ("'A' ILIKE 'a'", True),
        ("'x' NOT LIKE 'y'", True),
        ("'ab' LIKE ANY ('x%', 'a%')", True),
        ("NULL LIKE 'a'", None),
        ("'a' LIKE NULL", None),
        ("'abc' RLIKE 'b'", True),
        ("'abc' RLIKE '^b'", False),
        ("'a\\n' RLIKE 'a$'", True),
        ("'aé' RLIKE '^\\\\w+$'", False),
        ("'a' RLIKE '(?i)A'", True),
        ("'aa' RLIKE '^(a)\\\\1$'", True),
        ("regexp_extract('100-200', '(\\\\d+)-(\\\\d+)', 2)", "200"),
        ("regexp_extract('abc', '(\\\\d+)')", ""),
        ("regexp_replace('100-200', '(\\\\d+)', '<$1>')", "<100>-<200>"),
        ("regexp_replace('100-200', '(\\\\d+)', 'x', 2)", "1x-x"),
    ],
)
def test_patterns(text: str, result: Any) -> None:
    assert value(text) == result


@pytest.mark.parametrize(
    "text",
    [
        "'a' LIKE 'a\\\\'",
        "'a' LIKE 'a\\\\b'",
        "'a' RLIKE '('",
        "split_part('a.b', '.', 0)",
        "regexp_extract('1', '(\\\\d)', 2)",
        "regexp_replace('1', '1', '$1')",
    ],
)
def test_what_is_not_a_pattern(text: str) -> None:
    with pytest.raises(EvaluationError):
        value(text)


@pytest.mark.parametrize(
    "text",
    [
        "'%+x', 1",
        "'%,x', 1",
        "'%#d', 1",
        "'%05s', 'a'",
        "'%.2d', 1",
        "'%+ d', 1",
        "'%-05d', 1",
        "'%0d', 1",
        "'%,e', 1D",
        "'%E', 'a'",
        "'%d', 1.5D",
        "'%d', true",
        "'%c', 65L",
        "'%c', 'a'",
    ],
)
def test_what_format_string_refuses(text: str) -> None:
    with pytest.raises(EvaluationError, match="format_string"):
        value(f"format_string({text})")


def test_columns() -> None:
    assert values("upper(s)", s=TEXTS) == ["HELLO", "STRASSE", "", None, "日本語"]
    assert values("left(s, 2)", s=TEXTS) == ["he", "St", "", None, "日本"]
    assert values("s LIKE '%a%'", s=TEXTS) == [False, True, False, None, False]
    assert values("instr(s, '本')", s=TEXTS) == [0, 0, 0, None, 2]
    assert values("s LIKE p", s=["ab", "ab", None], p=["a%", "_", "%"]) == [True, False, None]
    assert values("substring(s, n, 2)", s=["hello", "hello"], n=[-2, 2]) == ["lo", "el"]


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"^\p{L}+$", "Straße日本", True),
        (r"^[\p{L}\d]+$", "é1", True),
        (r"^[^\p{L}]+$", "12-", True),
        (r"\P{L}", "é", False),
        (r"[\P{L}x]", "é", False),
        (r"\pN", "٣", True),
        (r"\p{Lu}", "É", True),
        (r"\p{IsLetter}", "é", True),
        (r"^\p{Alpha}$", "é", False),
        (r"\p{L}", "😀", False),
        (r"^\p{So}$", "😀", True),
        (r"[\p{Punct}&]", "!", True),
    ],
)
def test_named_classes_of_characters(pattern: str, text: str, found: bool) -> None:
    rows = pa.table({"s": [text]})
    test = parse_expression(f"s RLIKE r'{pattern}'", Schema.from_arrow(rows.schema))
    assert evaluate(test, rows).to_pylist() == [found]


@pytest.mark.parametrize("pattern", [r"\p{IsGreek}", r"\G", r"(?U)\w"])
def test_classes_that_are_not_understood_are_refused(pattern: str) -> None:
    rows = pa.table({"s": ["a"]})
    test = parse_expression(f"s RLIKE r'{pattern}'", Schema.from_arrow(rows.schema))
    with pytest.raises(EvaluationError, match="not supported"):
        evaluate(test, rows)
