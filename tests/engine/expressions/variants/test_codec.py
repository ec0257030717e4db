"""Values of VARIANT as bytes: as PySpark writes them, and back."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import VariantVal

from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.variants.access import json_of, parsed
from driftline.engine.expressions.variants.codec import Typed, VariantNode, encoded

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.text(max_size=80)
    | st.decimals(-(10**20), 10**20, places=3)
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value


@given(_VALUES)
def test_values_come_back(value: Any) -> None:
    assert VariantNode(*encoded(value)).value() == value


@given(_VALUES)
def test_bytes_are_those_of_pyspark(value: Any) -> None:
    text = json.dumps(_plain(value))
    theirs = VariantVal.parseJson(text)
    assert encoded(parsed(text)) == (theirs.value, theirs.metadata)


def test_more_items_and_names_than_a_byte_counts() -> None:
    value = {f"name {number}": [number] * 300 for number in range(300)}
    assert VariantNode(*encoded(value)).value() == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("100.0"), "100"),
        (Decimal("1.50"), "1.5"),
        (1e20, "1.0E20"),
        (float("nan"), '"NaN"'),
        (Typed("FLOAT", 0.5), "0.5"),
        (Typed("DATE", 19724), '"2024-01-02"'),
        (Typed("TIMESTAMP", 1704164645500000), '"2024-01-02 03:04:05.5+00:00"'),
        ({"b": None, "a": [True, b"\1"]}, '{"a":[true,"AQ=="],"b":null}'),
    ],
)
def test_json(value: Any, text: str) -> None:
    assert json_of(VariantNode(*encoded(value)).value()) == text


@pytest.mark.parametrize("data", [b"", b"\xfc", b"\x0c", b"\x03\x05", b"\x40\xff\xff\0\0"])
def test_bytes_that_are_no_variant(data: bytes) -> None:
    with pytest.raises(EvaluationError, match="MALFORMED_VARIANT"):
        VariantNode(data, b"\1\0\0").value()
