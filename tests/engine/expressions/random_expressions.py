"""Random rows and random typed expressions over them, for the comparison with Spark.

An expression is made from the templates in `expression_templates.txt`: `({INT} + {BIGINT})` is a
BIGINT whose holes are filled with expressions of those kinds. A kind is a rough type; DECIMAL
stands for all decimals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from driftline.plan.types import Schema

NAN, INF = float("nan"), float("inf")

COLUMNS: dict[str, tuple[str, str]] = {
    # name: (SQL type, kind)
    "b": ("BOOLEAN", "BOOLEAN"),
    "c": ("BOOLEAN", "BOOLEAN"),
    "i8": ("TINYINT", "INT"),
    "i16": ("SMALLINT", "INT"),
    "i": ("INT", "INT"),
    "j": ("INT", "INT"),
    "k": ("INT", "SMALL"),
    "l": ("BIGINT", "BIGINT"),
    "m": ("BIGINT", "BIGINT"),
    "f": ("FLOAT", "DOUBLE"),
    "d": ("DOUBLE", "DOUBLE"),
    "e": ("DOUBLE", "DOUBLE"),
    "p": ("DECIMAL(10,2)", "DECIMAL"),
    "q": ("DECIMAL(38,10)", "DECIMAL"),
    "r": ("DECIMAL(18,0)", "DECIMAL"),
    "z": ("DECIMAL(38,38)", "DECIMAL"),
    "s": ("STRING", "STRING"),
    "t": ("STRING", "STRING"),
    "n": ("STRING", "NUMBER_TEXT"),
    "w": ("STRING", "DATE_TEXT"),
    "dt": ("DATE", "DATE"),
    "du": ("DATE", "DATE"),
    "ts": ("TIMESTAMP", "TIMESTAMP"),
    "tu": ("TIMESTAMP", "TIMESTAMP"),
    "a": ("ARRAY<INT>", "ARRAY"),
    "x": ("STRUCT<u: INT, v: STRING>", "STRUCT"),
    "g": ("MAP<STRING, INT>", "MAP"),
    "y": ("BINARY", "BINARY"),
    "ad": ("ARRAY<DOUBLE>", "DOUBLES"),
    "at": ("ARRAY<STRING>", "TEXTS"),
}
SCHEMA = Schema.of({name: kind for name, (kind, _) in COLUMNS.items()})

_SMALL = [0, 1, -1, 2, 3, 7]
_INTEGERS = {
    "TINYINT": [0, 1, -1, 127, -128, 5],
    "SMALLINT": [0, 1, -1, 32767, -32768, 300],
    "INT": [0, 1, -1, 2, 7, 31, 2**31 - 1, -(2**31), 86400, -12345, 1_000_000_007, 9999, 65, 512],
    "BIGINT": [
        0,
        1,
        -1,
        10,
        2**63 - 1,
        -(2**63),
        2**53 + 1,
        1_600_000_000,
        -98765432101,
        2**31,
        2**62,
        3_037_000_500,
        10**15,
        -62_135_596_800,
        253_402_300_799_999_999,
    ],
}
_FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.1,
    2.5,
    1e10,
    123456.789,
    1e-5,
    1e300,
    NAN,
    INF,
    -INF,
    1e7,
    1.005,
    5e-324,
    1.7976931348623157e308,
    -1e-7,
    0.001,
    9007199254740993.0,
    2147483648.0,
    9.3e18,
    -0.5,
    1e16,
    3.4028234663852886e38,
    1e-45,
    100.0,
    -9.223372036854775808e18,
]
_NO_FLOATS = [1e300, 1.7976931348623157e308, 2147483648.0, 9007199254740993.0, 9.3e18, 5e-324, 1e16]
"""What a FLOAT does not hold, or what Java before 19 writes with more digits than it needs."""
_DECIMALS = {
    (10, 2): ["0", "1", "-1", "0.01", "99999999.99", "-99999999.99", "12.35", "2.50", "0.05"],
    (38, 10): [
        "0",
        "1",
        "-0.0000000001",
        "9999999999999999999999999999.9999999999",
        "3.1415926536",
        "-9999999999999999999999999999.9999999999",
        "1234567890123456789.5",
        "0.5",
        "-2.5",
    ],
    (18, 0): ["0", "7", "-13", "999999999999999999", "-999999999999999999", "5", "15", "25"],
    (38, 38): ["0", "0.5", "-0.99999999999999999999999999999999999999", "1E-38"],
}
_TEXTS = [
    "",
    "a",
    "A",
    "abc",
    "ABC",
    "hello world",
    " a b ",
    "Straße",
    "ŒUVRE",
    "日本語",
    "a_b%c",
    "x,y,,z",
    "1",
    "-12",
    "a\nb",
    "\\",
    "éé",
    "😀x",
    "Hello-World foo",
    "AbC",
    "aaa",
    "0.5",
    "e\u0301a",
    "İstanbul ıi",
    "ﬃ ǆ",
    "\t x\u00a0",
    "\x00b",
    "σς Σ",
    "12abc34",
    "a.b*c",
    '{"a": 1}',
    "x" * 300,
    "\u2028l",
    "🇩🇪👨‍👩‍👧",
    "-0",
    "true",
    "NaN",
    "ΑΣ",
    "1\u0663",
]
_NUMBER_TEXTS = [
    "0",
    "1",
    "-7",
    "12",
    " 42 ",
    "3.5",
    "-0.25",
    "1e3",
    "99999999999",
    "",
    "abc",
    "+5",
    "1e400",
    "-1e-400",
    "NaN",
    "Infinity",
    "-inf",
    "1D",
    "2f",
    "0x10",
    "1_000",
    ".5",
    "5.",
    "1e",
    "--1",
    "\t7\n",
    "９",
    "170141183460469231731687303715884105727",
    "-0",
    "1.9999999999",
    "1E+2",
    "128",
    "9223372036854775808",
    "+ 5",
    "\u00a05",
    "0.00000000000000000000000000000000000001",
    "1e38",
]
_DATE_TEXTS = [
    "2020-02-29",
    "2021-12-31",
    "1999-1-5",
    "2020-02-30",
    "2020",
    "2020-05-06 07:08:09.5",
    "2024-05-01T10:20:30Z",
    "nonsense",
    "",
    "0001-01-01",
    "9999-12-31",
    "2020-06-01 10:00:00+02:00",
    "1582-10-10",
    "0000-01-01",
    "-0001-12-31",
    "10000-01-01",
    "2020-13-01",
    "2020-01",
    " 2020-01-02 ",
    "2020-01-02T",
    "2020-01-02 25:00:00",
    "2020-01-02 03:04",
    "2020-01-02 3:4:5.1234567",
    "2020-01-02 03:04:05 Europe/Berlin",
    "2020-01-02 03:04:05 UTC+1",
    "2020-01-02x",
    "epoch",
    "+2020-01-01",
    "20200102",
    "2020/01/02",
    "2021-03-28 02:30:00 Europe/Berlin",
    "2020-01-02 24:00:00",
    "2020-01-02 03:04:60",
    "2020-01-02T03:04:05.123456789Z",
    "2019-02-29",
]
_DATES = [
    date(1970, 1, 1),
    date(2020, 2, 29),
    date(1969, 12, 31),
    date(9999, 12, 31),
    date(1, 1, 1),
    date(2024, 5, 31),
    date(2023, 1, 1),
    date(1600, 3, 1),
    date(2000, 12, 31),
    date(1582, 10, 4),
    date(1582, 10, 15),
    date(2021, 1, 3),
    date(2100, 2, 28),
    date(2020, 12, 28),
]
_TIMES = [
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(2020, 2, 29, 12, 34, 56, 789012, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(2024, 5, 31, 0, 0, 0, 1, tzinfo=UTC),
    datetime(1900, 1, 1, 6, 7, 8, 120000, tzinfo=UTC),
    datetime(2000, 12, 31, 10, 20, 30, tzinfo=UTC),
    datetime(2021, 3, 28, 1, 0, tzinfo=UTC),
    datetime(2021, 3, 28, 2, 30, tzinfo=UTC),
    datetime(2021, 10, 31, 0, 59, 59, 999999, tzinfo=UTC),
    datetime(2021, 11, 7, 6, 30, tzinfo=UTC),
    datetime(1582, 10, 14, 23, 0, tzinfo=UTC),
    datetime(1800, 6, 15, 12, 0, 0, 500000, tzinfo=UTC),
]


def table_of(random: Random, rows: int = 24) -> Any:
    """Rows of all columns, with nulls and edge values."""
    columns = {}
    for name in COLUMNS:
        pool = _pool(name)
        values = [None if random.random() < 0.15 else random.choice(pool) for _ in range(rows)]
        columns[name] = pa.array(values, SCHEMA.find(name)[0].type)
    return pa.table(columns)


def _pool(name: str) -> list[Any]:
    """The values a column is filled from."""
    if name not in _POOLS:
        sql, kind = COLUMNS[name]
        if kind == "SMALL":
            pool: list[Any] = _SMALL
        elif sql in _INTEGERS:
            pool = _INTEGERS[sql]
        elif sql == "BOOLEAN":
            pool = [True, False]
        elif kind == "DOUBLE":
            pool = [x for x in _FLOATS if sql == "DOUBLE" or x not in _NO_FLOATS]
        elif kind == "DECIMAL":
            precision, scale = map(int, re.findall(r"\d+", sql))
            pool = [Decimal(text) for text in _DECIMALS[precision, scale]]
        elif kind == "ARRAY":
            pool = [[], [1], [1, 2, 3], [None], [3, None, 1], [0, -1, 7, 7]]
        elif kind == "MAP":
            pool = [[], [("a", 1)], [("b", None), ("a", 2)], [("", 0), ("A", -1), ("é", 7)]]
        elif kind == "BINARY":
            pool = [b"", b"a", b"\x00\xff", "é😀".encode(), b"abc\x80", b"12", b"x" * 100]
        elif kind == "DOUBLES":
            pool = [[], [1.5, None], [NAN, 0.0, -0.0], [-0.0], [INF, -INF, NAN, NAN, 2.0, 2.0]]
        elif kind == "TEXTS":
            pool = [[], ["a", "b"], [None], ["", None, "é", "a", "a"], ["B", "a", "A", "b"]]
        elif kind == "STRUCT":
            pool = [{"u": 1, "v": "a"}, {"u": None, "v": "abc"}, {"u": 0, "v": None}]
        else:
            texts: dict[str, list[Any]] = {
                "STRING": _TEXTS,
                "NUMBER_TEXT": _NUMBER_TEXTS,
                "DATE_TEXT": _DATE_TEXTS,
                "DATE": _DATES,
                "TIMESTAMP": _TIMES,
            }
            pool = texts[kind]
        _POOLS[name] = pool
    return _POOLS[name]


_POOLS: dict[str, list[Any]] = {}

_LITERALS: dict[str, list[str]] = {
    "BOOLEAN": ["TRUE", "FALSE", "CAST(NULL AS BOOLEAN)"],
    "INT": ["0", "1", "-1", "2", "7", "2147483647", "-2147483648", "100Y", "5S"],
    "SMALL": ["0", "1", "-1", "2", "3", "CAST(NULL AS INT)"],
    "BIGINT": ["0L", "1L", "-1L", "9223372036854775807", "-9223372036854775808", "3000000000"],
    "DOUBLE": ["0.0D", "-0.0D", "1.5D", "1e3", "-2.5e-3", "CAST('NaN' AS DOUBLE)", "1.5F"],
    "DECIMAL": ["0.0", "1.5", "-2.25", "100", "0.001", "12345678901234567890.12", "3BD"],
    "STRING": [
        "''", "'a'", "'abc'", "'B'", "'%'", "' '", "'é'", "'日本'",
        "CAST(NULL AS STRING)", "'l'",
        "'a_b'",
    ],
    "NUMBER_TEXT": ["'0'", "'12'", "' 3 '", "'1.5'", "'x'"],
    "DATE_TEXT": ["'2020-02-29'", "'2021-1-1'", "'2020-01-01 05:06:07'", "'x'"],
    "DATE": ["DATE '2020-02-29'", "DATE '1969-12-31'", "CAST(NULL AS DATE)", "DATE '2023-05-31'"],
    "TIMESTAMP": [
        "TIMESTAMP '2020-02-29 12:34:56.789'",
        "TIMESTAMP '1969-12-31 23:59:59.999999'",
        "CAST(NULL AS TIMESTAMP)",
    ],
    "INTERVAL": [
        "INTERVAL '5' MINUTES", "INTERVAL 3 DAYS", "INTERVAL '1 02:03:04.5' DAY TO SECOND",
        "INTERVAL -90 SECONDS", "INTERVAL 2 HOURS", "INTERVAL 1 WEEK",
    ],
    "ARRAY": ["array(1, 2, 3)", "array(CAST(NULL AS INT))", "array(3, NULL, 1)"],
    "STRUCT": ["named_struct('u', 1, 'v', 'a')"],
    "MAP": ["map('a', 1, 'b', 2)", "map('x', CAST(NULL AS INT))"],
    "BINARY": ["X'00ff'", "CAST('abc' AS BINARY)"],
    "DOUBLES": ["array(1.5D, CAST('NaN' AS DOUBLE))"],
    "TEXTS": ["array('b', NULL, 'a')", "array('a', 'c')"],
}  # fmt: skip

_CHOICES = {
    "cmp": ["=", "<>", "<", "<=", ">", ">=", "<=>"],
    "pattern": [
        "'a%'", "'%b%'", "'_b_'", "'%'", "''", r"'a\\_b%'", "'%c'", "'abc'", "'a%c'", "'A_b%'",
    ],
    "regex": [
        "'[a-c]+'", r"'^\\w+$'", r"'(\\d+)'", "'a|b'", "'b'", "','", r"'\\s'", "'.'", "'(?i)ABC'",
        r"'\\p{L}+'", r"'[\\p{Lu}\\d_]+'", r"'[^\\p{L}]'", r"'\\P{L}'", r"'\\bb?'", "'(a)(b)?'",
        "'x*'", "'(?<name>l+)'", "'^'", "'$'", r"'\\D+'", "'[^a]'", "'(?=l)'", "'a{2,}'", "'(?i)é'",
        "'a+?'", r"'\\W'", "'(a'", "'[a-'", r"'\\Qa.b\\E'", "'(?s)a.b'", r"'\\u0061'", "'(a)\\\\1'",
        "'a++'",
    ],
    "replacement": ["'x'", "''", "'<$0>'", r"'\\$'"],
    "format": [
        "'yyyy-MM-dd'", "'HH:mm:ss.SSS'", "'E, d MMM yyyy'", "'EEEE MMMM dd'", "'h:mm a'",
        "'D'", "'QQQ'",         "'yyMMdd'", "'yyyy-MM-dd''T''HH:mm:ssXXX'", "'k K'",
    ],
    "dateunit": ["'YEAR'", "'month'", "'Quarter'", "'week'", "'nothing'"],
    "timeunit": [
        "'YEAR'", "'month'", "'Quarter'", "'week'", "'DAY'", "'hour'", "'minute'", "'second'",
        "'MILLISECOND'", "'microsecond'", "'nothing'",
    ],
}  # fmt: skip
_HOLE = re.compile(r"\{(\w+)\}")


def _read_templates() -> dict[str, list[str]]:
    """The templates of each kind."""
    found: dict[str, list[str]] = {}
    lines = Path(__file__).with_name("expression_templates.txt").read_text("utf-8").splitlines()
    for line in lines:
        if line.startswith("["):
            kind = line.strip("[]")
            found[kind] = []
        elif line and not line.startswith("#"):
            found[kind].append(line)
    return found


TEMPLATES = _read_templates()
KINDS = sorted(TEMPLATES)
_LEAVES = {
    kind: [name for name, (_, of) in COLUMNS.items() if of == kind] * 3 + literals
    for kind, literals in _LITERALS.items()
}


Pick = Callable[[Sequence[Any]], Any]
"""Chooses one of several options."""


def expression(pick: Pick, kind: str, depth: int) -> str:
    """SQL text of a random expression of a kind."""
    if depth == 0 or kind not in TEMPLATES or pick(range(5)) == 0:
        return str(pick(_LEAVES[kind]))
    return filled(pick, pick(TEMPLATES[kind]), depth - 1)


def filled(pick: Pick, template: str, depth: int) -> str:
    """A template whose holes are filled with expressions of this depth."""

    def fill(hole: re.Match[str]) -> str:
        name = hole[1]
        return str(pick(_CHOICES[name])) if name in _CHOICES else expression(pick, name, depth)

    return _HOLE.sub(fill, template)


@st.composite
def expressions(draw: st.DrawFn, depth: int = 4) -> str:
    """SQL text of a random expression of any kind."""
    kind = draw(st.sampled_from(KINDS))
    return expression(lambda options: draw(st.sampled_from(options)), kind, depth)
