"""Transcendental functions against Spark's: the two use different libraries, so last digits differ.

Zeros, infinities, NaN, nulls and arguments outside a function's domain must agree exactly.
"""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from driftline.engine.expressions import evaluate
from driftline.plan import Schema, parse_expression

pytestmark = [pytest.mark.spark, pytest.mark.slow]

OF_ONE = [
    "sin", "cos", "tan", "cot", "sec", "csc", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp",
    "expm1", "ln", "log2", "log10", "log1p", "sqrt", "cbrt", "degrees", "radians", "asinh", "acosh",
    "atanh",
]  # fmt: skip
OF_TWO = ["power(x, y)", "atan2(x, y)", "hypot(x, y)", "log(x, y)"]
TEXTS = [*(f"{name}(x)" for name in OF_ONE), *OF_TWO, "log(x)", "exp(n)", "sqrt(n)", "power(n, 2)"]
SPECIAL = [
    None, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, math.pi, 1e-300, -1e-300, 1e300, -1e300, 709.0,
    710.0, math.inf, -math.inf, math.nan,
]  # fmt: skip
CLOSE_ENOUGH = 1e-13


def rows() -> pa.Table:
    random = Random(7)
    usual = [random.uniform(-20, 20) for _ in range(200)] + [
        random.uniform(-1, 1) for _ in range(99)
    ]
    pairs = [(x, y) for x in SPECIAL for y in SPECIAL]
    pairs += [(x, random.choice(usual)) for x in usual]
    whole = [random.randint(-50, 50) for _ in pairs]
    return pa.table(
        {
            "x": pa.array([x for x, _ in pairs], pa.float64()),
            "y": pa.array([y for _, y in pairs], pa.float64()),
            "n": pa.array(whole, pa.int32()),
        }
    )


def same(ours: float | None, theirs: float | None) -> bool:
    if ours is None or theirs is None or math.isnan(theirs) or math.isinf(theirs) or theirs == 0:
        return str(ours) == str(theirs)
    return math.isclose(ours, theirs, rel_tol=CLOSE_ENOUGH)


def test_transcendental_functions(spark: Any) -> None:
    table = rows()
    schema = Schema.from_arrow(table.schema)
    frame = spark.createDataFrame(table)
    found = frame.selectExpr(*TEXTS).toArrow()
    wrong = []
    for place, text in enumerate(TEXTS):
        ours = evaluate(parse_expression(text, schema), table).to_pylist()
        for row, one, other in zip(
            table.to_pylist(), ours, found.column(place).to_pylist(), strict=True
        ):
            if not same(one, other):
                wrong.append(f"{text} of {row}: {one!r}, Spark says {other!r}")
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:40])
