"""Arithmetic and mathematical functions, by examples that were asked of Spark 4.3."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from driftline.engine.expressions import EvaluationError
from tests.engine.of_rows import value, values

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("1 + 2", 3),
        ("5 / 2", 2.5),
        ("5 DIV 2", 2),
        ("-5 DIV 2", -2),
        ("-5 % 3", -2),
        ("pmod(-5, 3)", 1),
        ("pmod(5, -3)", 2),
        ("5.5 DIV 2", 2),
        ("5 % 2.5", Decimal("0.0")),
        ("'5' + 1", 6),
        ("'5' * 1.5", 7.5),
        ("1.5 + 2.25", Decimal("3.75")),
        ("1.5 * 1.5", Decimal("2.25")),
        ("5 / 2.0", Decimal("2.500000")),
        ("1 / 3.0", Decimal("0.333333")),
        ("2 / 3.0", Decimal("0.666667")),
        ("CAST(1 AS DECIMAL(38,10)) / 3", Decimal("0.3333333333")),
        ("- 5", -5),
        ("-(-9223372036854775807)", 9223372036854775807),
        ("NULL + 1", None),
        ("5 & 3", 1),
        ("5 | 3", 7),
        ("5 ^ 3", 6),
        ("~5", -6),
        ("1 << 3", 8),
        ("-8 >> 1", -4),
        ("shiftrightunsigned(-1, 1)", 2147483647),
        ("try_divide(1, 0)", None),
        ("try_add(2147483647, 1)", None),
        ("try_multiply(1000000000, 10)", None),
        ("try_mod(5, 0)", None),
        ("try_subtract(1, 2)", -1),
    ],
)
def test_operators(text: str, result: Any) -> None:
    assert value(text) == result


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("2147483647 + 1", "ARITHMETIC_OVERFLOW"),
        ("127Y + 1Y", "ARITHMETIC_OVERFLOW"),
        ("-9223372036854775808 - 1L", "ARITHMETIC_OVERFLOW"),
        ("9223372036854775807 * 2", "ARITHMETIC_OVERFLOW"),
        ("- (-2147483648)", "ARITHMETIC_OVERFLOW"),
        ("abs(-2147483648)", "ARITHMETIC_OVERFLOW"),
        ("-9223372036854775808 DIV -1", "ARITHMETIC_OVERFLOW"),
        ("5 / 0", "DIVIDE_BY_ZERO"),
        ("5.0D / 0.0D", "DIVIDE_BY_ZERO"),
        ("5.0 / 0", "DIVIDE_BY_ZERO"),
        ("5 DIV 0", "DIVIDE_BY_ZERO"),
        ("5 % 0", "REMAINDER_BY_ZERO"),
        ("pmod(5, 0)", "REMAINDER_BY_ZERO"),
        ("ceil(1e300)", "ARITHMETIC_OVERFLOW"),
        ("round(2147483647, -5)", "ARITHMETIC_OVERFLOW"),
        ("try_add(2147483647 + 1, 1)", "ARITHMETIC_OVERFLOW"),
        ("try_divide(1 / 0, 1)", "DIVIDE_BY_ZERO"),
    ],
)
def test_what_has_no_value_is_an_error(text: str, condition: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        value(text)
    assert caught.value.condition == condition


def test_an_error_names_the_expression_and_a_way_out() -> None:
    with pytest.raises(EvaluationError, match=r"division by zero in .*qty.*; use try_divide"):
        values("price / qty", price=[1.0], qty=[0])


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("abs(-1.5)", Decimal("1.5")),
        ("ceil(1.5)", Decimal("2")),
        ("ceil(1.234, 2)", Decimal("1.24")),
        ("floor(-1.5D)", -2),
        ("floor(CAST('NaN' AS DOUBLE))", 0),
        ("round(2.5)", Decimal("3")),
        ("round(-2.5)", Decimal("-3")),
        ("bround(2.5)", Decimal("2")),
        ("bround(3.5)", Decimal("4")),
        ("round(1.005D, 2)", 1.01),
        ("round(2.567D, 2)", 2.57),
        ("round(12345.6789D, -2)", 12300.0),
        ("round(25, -1)", 30),
        ("bround(25, -1)", 20),
        ("round(1.5, 7)", Decimal("1.5")),
        ("sqrt(4)", 2.0),
        ("ln(0)", None),
        ("log10(100)", 2.0),
        ("log(2, 8)", 3.0),
        ("log(0, 8)", None),
        ("power(2, 3)", 8.0),
        ("power(0, -1)", INF),
        ("sign(-2)", -1.0),
        ("cbrt(27)", 3.0),
        ("hypot(3, 4)", 5.0),
        ("factorial(5)", 120),
        ("factorial(21)", None),
        ("hex(17)", "11"),
        ("hex(-1L)", "FFFFFFFFFFFFFFFF"),
        ("bin(5)", "101"),
        ("greatest(1, 2.5, 3L)", Decimal("3.0")),
        ("least('b', NULL, 'a')", "a"),
        ("greatest(CAST('NaN' AS DOUBLE), 1)", NAN),
        ("nanvl(CAST('NaN' AS DOUBLE), 1)", 1.0),
    ],
)
def test_functions(text: str, result: Any) -> None:
    found = value(text)
    same = found == result or (result != result and found != found)
    assert same, found


def test_transcendental_functions_are_near() -> None:
    assert value("exp(1)") == pytest.approx(math.e, rel=1e-15)
    assert value("sin(1) * sin(1) + cos(1) * cos(1)") == pytest.approx(1.0, rel=1e-15)
    assert value("cot(1) * tan(1)") == pytest.approx(1.0, rel=1e-15)


def test_columns_with_nulls() -> None:
    assert values("a + b", a=[1, None, 3], b=[1, 2, None]) == [2, None, None]
    assert values("a / b", a=[1, None], b=[2, 0]) == [0.5, None]
    assert values("-0.0D * a", a=[1]) == [0.0]


def test_decimals_beyond_64_bits() -> None:
    money = pa.array([Decimal("12345678901234567890.12"), None], pa.decimal128(22, 2))
    assert values("x + x", x=money) == [Decimal("24691357802469135780.24"), None]
    assert values("x * 2.5", x=money) == [Decimal("30864197253086419725.300"), None]
    assert values("x % 7", x=money) == [Decimal(1234567890123456789012 % 700).scaleb(-2), None]
    with pytest.raises(EvaluationError, match="NUMERIC_VALUE_OUT_OF_RANGE"):
        values("CAST(x AS DECIMAL(5,2))", x=money)
