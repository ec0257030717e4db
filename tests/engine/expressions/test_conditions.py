"""Comparison, logic, conditionals, and which rows are evaluated at all."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from driftline.engine.expressions import EvaluationError, evaluate, evaluate_predicate
from driftline.plan import ExpressionError, Schema, parse_expression
from tests.engine.of_rows import value, values

NAN = math.nan


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("NULL = NULL", None),
        ("NULL <=> NULL", True),
        ("1 <=> NULL", False),
        ("1 IS DISTINCT FROM NULL", True),
        ("NULL AND FALSE", False),
        ("NULL OR TRUE", True),
        ("TRUE AND NULL", None),
        ("NOT NULL", None),
        ("NULL IS TRUE", False),
        ("NULL IS NOT TRUE", True),
        ("NULL IS UNKNOWN", True),
        ("(1 = 1) IS NULL", False),
        ("'1' = 1", True),
        ("1 = 1.0", True),
        ("'2020-01-01' = DATE '2020-01-01'", True),
        ("DATE '2020-01-01' < TIMESTAMP '2020-01-01 00:00:01'", True),
        ("CAST('NaN' AS DOUBLE) = CAST('NaN' AS DOUBLE)", True),
        ("CAST('NaN' AS DOUBLE) > CAST('inf' AS DOUBLE)", True),
        ("-0.0D = 0.0D", True),
        ("'a' < 'b'", True),
        ("'Z' < 'a'", True),
        ("X'01' < X'02'", True),
        ("array(1, NULL) = array(1, NULL)", True),
        ("array(1) < array(1, 0)", True),
        ("array(NULL) < array(1)", True),
        ("struct(1, 2) < struct(1, 3)", True),
        ("struct(1 AS a) = struct(1 AS b)", True),
        ("5 BETWEEN 6 AND NULL", False),
        ("5 BETWEEN NULL AND 6", None),
        ("1 IN (2, NULL)", None),
        ("1 IN (NULL, 1)", True),
        ("NULL IN (1)", None),
        ("1 NOT IN (2, NULL)", None),
        ("1 IN ('1', 2)", True),
        ("(1, 2) IN ((1, 2))", True),
        ("CASE WHEN NULL THEN 1 ELSE 2 END", 2),
        ("CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END", "b"),
        ("CASE 3 WHEN 1 THEN 'a' END", None),
        ("if(NULL, 1, 2)", 2),
        ("coalesce(NULL, '2', 3)", 2),
        ("nullif(1, 1)", None),
        ("nullif(1, 2)", 1),
        ("nvl(NULL, 5)", 5),
        ("nvl2(NULL, 1, 2)", 2),
        ("isnan(NULL)", False),
        ("zeroifnull(NULL)", 0),
        ("equal_null(1, NULL)", False),
    ],
)
def test_conditions(text: str, result: Any) -> None:
    assert value(text) is result or value(text) == result


def test_nan_is_greater_than_all_and_equal_to_itself() -> None:
    x, y = [1.0, NAN, NAN, None], [NAN, NAN, 1.0, NAN]
    assert values("x < y", x=x, y=y) == [True, False, False, None]
    assert values("x <= y", x=x, y=y) == [True, True, False, None]
    assert values("x = y", x=x, y=y) == [False, True, False, None]
    assert values("x <> y", x=x, y=y) == [True, False, True, None]
    assert values("x > 5", x=x) == [False, True, True, None]
    assert values("5 >= x", x=x) == [True, False, False, None]
    assert values("x IN (1.0D, CAST('NaN' AS DOUBLE))", x=x) == [True, True, True, None]


def test_a_branch_is_evaluated_only_on_its_rows() -> None:
    x = [2, 0, None, -1]
    assert values("CASE WHEN x <> 0 THEN 1 / x END", x=x) == [0.5, None, None, -1.0]
    assert values("if(x = 0, 0.0D, 1 / x)", x=x) == [0.5, 0.0, None, -1.0]
    assert values("coalesce(x, 1 DIV 0)", x=[1, 2]) == [1, 2]
    assert values("nullif(x, 0) / 1", x=x) == [2.0, None, None, -1.0]


def test_the_right_side_is_evaluated_where_the_left_leaves_it_open() -> None:
    x = [2, 0, None, -1]
    assert values("x <> 0 AND 1 / x > 0", x=x) == [True, False, None, False]
    assert values("x = 0 OR 1 / x > 0", x=x) == [True, True, None, False]
    with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO"):
        values("1 / x > 0 AND x <> 0", x=x)
    with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO"):
        values("x IS NULL AND y / 0 > 1", x=[None], y=[1])


def test_an_argument_after_null_is_not_evaluated() -> None:
    assert values("x + 1 DIV y", x=[None, 1], y=[0, 1]) == [None, 2]
    assert values("try_divide(1 DIV y, y)", y=[0, 1]) == [None, 1.0]
    assert values("x IN (1, 1 DIV y)", x=[1, None], y=[0, 0]) == [True, None]


def test_nothing_fails_on_no_rows() -> None:
    assert values("1 / 0", x=pa.array([], pa.int32())) == []
    assert values("x / 0", x=pa.array([], pa.int32())) == []


def test_predicates_take_null_as_false() -> None:
    rows = pa.table({"x": [1, None, 3]})
    found = evaluate_predicate(parse_expression("x > 2", Schema.from_arrow(rows.schema)), rows)
    assert found.dtype == np.bool_
    assert found.tolist() == [False, False, True]


def test_batches_chunks_and_dictionaries() -> None:
    words = pa.array(["a", "b", None, "a"]).dictionary_encode()
    rows = pa.table({"s": pa.chunked_array([words.slice(0, 2), words.slice(2)])})
    expression = parse_expression("s = 'a'", Schema.from_arrow(rows.schema))
    assert evaluate(expression, rows).to_pylist() == [True, False, None, True]
    batch = pa.record_batch({"s": words.slice(1, 3)})
    assert evaluate(expression, batch).to_pylist() == [False, None, True]


def test_aggregates_have_no_value_for_a_row() -> None:
    rows = pa.table({"x": [1]})
    with pytest.raises(ExpressionError, match="a value of a group"):
        evaluate(parse_expression("sum(x) + 1", Schema.from_arrow(rows.schema)), rows)


def test_in_a_long_list_is_looked_up() -> None:
    floats = ", ".join(f"{number}.5D" for number in range(4_000))
    columns = {"d": [0.5, -0.0, NAN, None, 7.0], "s": ["3999", "x", " 3", None, "0"]}
    rows = pa.table(columns, pa.schema([("d", "double"), ("s", "str")]))
    schema = Schema.from_arrow(rows.schema)

    def looked_up(text: str) -> list[Any]:
        return list(evaluate(parse_expression(text, schema), rows).to_pylist())

    before = time.process_time()
    assert looked_up(f"d IN ({floats}, 0.0D, CAST('NaN' AS DOUBLE))") == [True] * 3 + [None, False]
    assert looked_up(f"d NOT IN ({floats}, NULL)") == [False, None, None, None, None]
    integers = ", ".join(map(str, range(4_000)))
    assert looked_up(f"TRY_CAST(s AS INT) IN ({integers})") == [True, None, True, None, True]
    assert looked_up(f"CAST(length(s) AS TINYINT) IN ({integers})") == [True] * 3 + [None, True]
    assert time.process_time() - before < 10
