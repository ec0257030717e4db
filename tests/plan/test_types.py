"""Types, schemas, and the rules by which types meet."""

from __future__ import annotations

import pyarrow as pa
import pytest

from driftline.plan import ExpressionError
from driftline.plan.coercion import (
    can_cast,
    common_type,
    common_type_of_all,
    decimal_result,
    implicit_cast,
    wider_decimal,
)
from driftline.plan.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    Schema,
    canonical,
    decimal,
    parse_type,
    type_name,
)

NAMES = {
    "BOOLEAN": BOOLEAN,
    "TINYINT": TINYINT,
    "INT": INT,
    "BIGINT": BIGINT,
    "FLOAT": FLOAT,
    "DOUBLE": DOUBLE,
    "STRING": STRING,
    "BINARY": pa.binary(),
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP_NTZ": TIMESTAMP_NTZ,
    "INTERVAL DAY TO SECOND": INTERVAL,
    "INTERVAL YEAR TO MONTH": INTERVAL_MONTHS,
    "VOID": VOID,
    "DECIMAL(10,2)": decimal(10, 2),
    "ARRAY<INT>": pa.list_(INT),
    "MAP<STRING, ARRAY<DOUBLE>>": pa.map_(STRING, pa.list_(DOUBLE)),
    "STRUCT<a: INT, b: STRUCT<c: DATE>>": pa.struct([("a", INT), ("b", pa.struct([("c", DATE)]))]),
}


@pytest.mark.parametrize(("name", "kind"), NAMES.items())
def test_a_type_and_its_name(name: str, kind: object) -> None:
    assert parse_type(name) == kind
    assert type_name(kind) == name


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("int", "INT"),
        ("integer", "INT"),
        ("long", "BIGINT"),
        ("decimal", "DECIMAL(10,0)"),
        ("numeric(5)", "DECIMAL(5,0)"),
        ("varchar(5)", "STRING"),
        ("timestamp_ltz", "TIMESTAMP"),
        ("byte", "TINYINT"),
        ("short", "SMALLINT"),
        ("real", "FLOAT"),
        ("variant", "VARIANT"),
    ],
)
def test_other_names_of_types(alias: str, name: str) -> None:
    assert type_name(parse_type(alias)) == name


@pytest.mark.parametrize("wrong", ["decimal(39, 2)", "decimal(5, 6)", "nothing", "geometry"])
def test_types_that_are_not(wrong: str) -> None:
    with pytest.raises(ExpressionError):
        parse_type(wrong)


def test_arrow_types_with_the_same_meaning() -> None:
    assert canonical(pa.dictionary(pa.int32(), pa.large_string())) == STRING
    assert canonical(pa.timestamp("ns", "Europe/Berlin")) == TIMESTAMP
    assert canonical(pa.large_list(pa.date64())) == pa.list_(DATE)
    assert canonical(pa.uint16()) == INT
    with pytest.raises(ExpressionError, match="uint64"):
        canonical(pa.uint64())


def test_columns_are_found_without_regard_to_case() -> None:
    schema = Schema.of({"Price": "DOUBLE", "qty": "INT"})
    assert [field.name for field in schema.find("PRICE")] == ["Price"]
    assert schema.find("nothing") == ()


def test_the_same_name_on_both_sides_of_a_join() -> None:
    left, right = Schema.of({"k": "INT", "x": "INT"}, "t"), Schema.of({"k": "INT", "y": "INT"}, "u")
    both = left + right
    assert len(both.find("k")) == 2
    assert len(both.find("k", "U")) == 1
    assert both.names == ("t.k", "x", "u.k", "y")
    assert both.arrow.field("u.k").type == INT


@pytest.mark.parametrize(
    ("left", "right", "both"),
    [
        ("INT", "BIGINT", "BIGINT"),
        ("TINYINT", "SMALLINT", "SMALLINT"),
        ("INT", "FLOAT", "DOUBLE"),
        ("FLOAT", "FLOAT", "FLOAT"),
        ("INT", "DECIMAL(2,1)", "DECIMAL(11,1)"),
        ("BIGINT", "DECIMAL(2,1)", "DECIMAL(21,1)"),
        ("INT", "DECIMAL(12,1)", "DECIMAL(12,1)"),
        ("DECIMAL(38,0)", "DECIMAL(1,1)", "DECIMAL(38,0)"),
        ("DECIMAL(10,2)", "FLOAT", "DOUBLE"),
        ("STRING", "INT", "BIGINT"),
        ("STRING", "DECIMAL(10,2)", "DOUBLE"),
        ("STRING", "DATE", "DATE"),
        ("STRING", "BOOLEAN", "BOOLEAN"),
        ("VOID", "DATE", "DATE"),
        ("DATE", "TIMESTAMP", "TIMESTAMP"),
        ("DATE", "TIMESTAMP_NTZ", "TIMESTAMP_NTZ"),
        ("TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP"),
        ("ARRAY<INT>", "ARRAY<STRING>", "ARRAY<BIGINT>"),
        ("STRUCT<a: INT>", "STRUCT<A: DOUBLE>", "STRUCT<a: DOUBLE>"),
        ("INT", "BOOLEAN", None),
        ("DATE", "INT", None),
        ("STRUCT<a: INT>", "STRUCT<b: INT>", None),
        ("STRING", "INTERVAL DAY TO SECOND", None),
    ],
)
def test_common_types(left: str, right: str, both: str | None) -> None:
    for one, other in ((left, right), (right, left)):
        found = common_type(parse_type(one), parse_type(other))
        shown = None if found is None else type_name(found)
        assert (shown or "").lower() == (both or "").lower()


def test_the_common_type_of_several_is_found_from_left_to_right() -> None:
    assert common_type_of_all([VOID, STRING, INT]) == BIGINT
    assert common_type_of_all([INT, BOOLEAN, STRING]) is None
    assert common_type_of_all([]) == VOID


@pytest.mark.parametrize(
    ("operator", "left", "right", "result"),
    [
        ("+", (10, 2), (5, 3), (12, 3)),
        ("-", (38, 0), (2, 2), (38, 2)),
        ("*", (10, 2), (5, 3), (16, 5)),
        ("*", (38, 10), (38, 10), (38, 6)),
        ("/", (10, 2), (5, 3), (19, 8)),
        ("/", (38, 10), (38, 10), (38, 6)),
        ("%", (10, 2), (5, 3), (5, 3)),
    ],
)
def test_decimal_arithmetic(
    operator: str, left: tuple[int, int], right: tuple[int, int], result: tuple[int, int]
) -> None:
    assert decimal_result(operator, decimal(*left), decimal(*right)) == decimal(*result)


def test_the_wider_decimal_prefers_digits_before_the_point() -> None:
    assert wider_decimal(decimal(38, 10), decimal(38, 0)) == decimal(38, 0)


def test_casts_that_spark_makes_by_itself() -> None:
    assert implicit_cast(DOUBLE, INT)
    assert implicit_cast(DATE, STRING)
    assert implicit_cast(STRING, DOUBLE)
    assert implicit_cast(TIMESTAMP, DATE)
    assert not implicit_cast(BOOLEAN, DOUBLE)
    assert not implicit_cast(pa.list_(INT), STRING)


def test_casts_that_may_be_written() -> None:
    assert can_cast(INT, TIMESTAMP)
    assert can_cast(pa.list_(INT), pa.list_(STRING))
    assert not can_cast(INT, DATE)
    assert not can_cast(BOOLEAN, TIMESTAMP)
    assert not can_cast(INT, pa.binary())
