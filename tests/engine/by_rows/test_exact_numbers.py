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

from driftline.engine.by_rows.exact_numbers import (
    Factors,
    Numbers,
    averages,
    covariances,
    nearest,
    sums,
    variances,
)

KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "BIGINT": (pa.int64(), st.integers(-(2**58), 2**58)),
    "DOUBLE": (pa.float64(), st.floats(-1e15, 1e15).filter(lambda x: x == 0 or abs(x) > 1e-9)),
    "DECIMAL": (
        pa.decimal128(38, 2),
        st.integers(-(10**30), 10**30).map(lambda units: Decimal(units).scaleb(-2)),
    ),
}


def pieces(drawn: list[list[Any]], kind: pa.DataType) -> tuple[Numbers, Any, Any]:
    values = [value for piece in drawn for value in piece]
    offsets = np.cumsum([0, *map(len, drawn)])
    column = pa.array(values, kind)
    return Numbers(column, np.ones(len(values), np.bool_)), offsets, np.arange(len(values))


@pytest.mark.parametrize("name", KINDS)
@given(st.data())
def test_they_are_exact(name: str, data: st.DataObject) -> None:
    kind, items = KINDS[name]
    drawn = data.draw(st.lists(st.lists(items, min_size=1, max_size=6), min_size=1, max_size=4))
    numbers, offsets, members = pieces(drawn, kind)
    exact = [[Fraction(value) for value in piece] for piece in drawn]
    found = sums(numbers, offsets, members, kind).to_pylist()
    total = [sum(piece) for piece in exact]
    if name == "DOUBLE":
        assert found == [float(each) for each in total]
    else:
        assert [Fraction(each) for each in found] == total
    if name != "DECIMAL":
        mean = averages(numbers, offsets, members, pa.float64()).to_pylist()
        assert mean == [float(sum(piece) / len(piece)) for piece in exact]
    spread = variances(numbers, offsets, members, 0).tolist()
    for piece, each in zip(exact, spread, strict=True):
        middle = sum(piece) / len(piece)
        wanted = sum((value - middle) ** 2 for value in piece) / len(piece)
        assert each == pytest.approx(float(wanted), rel=1e-12, abs=1e-300)


def test_covariances_of_many_great_and_small_numbers() -> None:
    numbers = np.arange(1, 301)
    first = np.where(numbers % 2, 1e300, 1e-300) / numbers
    second = np.sqrt(numbers) * np.where(numbers % 3, 1.0, 1e-200)
    column = pa.StructArray.from_arrays([pa.array(first), pa.array(second)], ["x", "y"])
    factors = Factors(column, np.ones(len(numbers), np.bool_))
    found = covariances(factors, np.array([0, 300]), np.arange(300), 0)
    x, y = ([Fraction(each) for each in side.tolist()] for side in (first, second))
    mean = sum(x, Fraction()) / 300
    exact = sum(((one - mean) * other for one, other in zip(x, y, strict=True)), Fraction()) / 300
    assert found.tolist() == [nearest(exact)]
