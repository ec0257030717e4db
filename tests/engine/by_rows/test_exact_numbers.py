"""Sums, averages and variances of pieces are the exact ones, rounded once."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.additive.aggregates import Aggregate
from driftline.engine.by_rows.aggregates import columns
from driftline.engine.by_rows.exact_numbers import nearest
from driftline.engine.by_rows.piece_values import Pieces

KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "BIGINT": (pa.int64(), st.integers(-(2**58), 2**58)),
    "DOUBLE": (pa.float64(), st.floats(-1e15, 1e15).filter(lambda x: x == 0 or abs(x) > 1e-9)),
    "DECIMAL": (
        pa.decimal128(38, 2),
        st.integers(-(10**30), 10**30).map(lambda units: Decimal(units).scaleb(-2)),
    ),
}


def found(function: str, drawn: list[list[Any]], kind: pa.DataType, result: pa.DataType) -> Any:
    """An aggregate of pieces."""
    values = pa.array([value for piece in drawn for value in piece], kind)
    offsets = np.cumsum([0, *map(len, drawn)])
    rows = pa.RecordBatch.from_arrays([values], names=["x"])
    pieces = Pieces(offsets, np.arange(len(values)), rows, np.zeros(len(values), np.int64))
    return columns(pieces, [Aggregate("f", function, "x", result)])[0].to_pylist()


@pytest.mark.parametrize("name", KINDS)
@given(st.data())
def test_they_are_exact(name: str, data: st.DataObject) -> None:
    kind, items = KINDS[name]
    drawn = data.draw(st.lists(st.lists(items, min_size=1, max_size=6), min_size=1, max_size=4))
    exact = [[Fraction(value) for value in piece] for piece in drawn]
    sums = found("sum", drawn, kind, kind)
    total = [sum(piece) for piece in exact]
    if name == "DOUBLE":
        assert sums == [float(each) for each in total]
    else:
        assert [Fraction(each) for each in sums] == total
    if name != "DECIMAL":
        mean = found("avg", drawn, kind, pa.float64())
        assert mean == [float(sum(piece) / len(piece)) for piece in exact]
    spread = found("variance_pop", drawn, kind, pa.float64())
    for piece, each in zip(exact, spread, strict=True):
        middle = sum(piece) / len(piece)
        wanted = sum((value - middle) ** 2 for value in piece) / len(piece)
        assert each == pytest.approx(float(wanted), rel=1e-12, abs=1e-300)


def test_covariances_of_many_great_and_small_numbers() -> None:
    numbers = np.arange(1, 301)
    first = np.where(numbers % 2, 1e300, 1e-300) / numbers
    second = np.sqrt(numbers) * np.where(numbers % 3, 1.0, 1e-200)
    pairs = [{"x": x, "y": y} for x, y in zip(first.tolist(), second.tolist(), strict=True)]
    kind = pa.struct([("x", pa.float64()), ("y", pa.float64())])
    covariance = found("covar_pop", [pairs], kind, pa.float64())
    x, y = ([Fraction(each) for each in side.tolist()] for side in (first, second))
    mean = sum(x, Fraction()) / 300
    exact = sum(((one - mean) * other for one, other in zip(x, y, strict=True)), Fraction()) / 300
    assert covariance == [nearest(exact)]
