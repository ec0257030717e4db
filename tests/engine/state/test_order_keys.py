"""Order keys are in the order of the values they stand for."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.state.order_keys import order_keys, valid, values_of_keys
from driftline.model.row import sort_key
from tests.engine.stored_state import VALUES


@pytest.mark.parametrize("name", [name for name in VALUES if name not in ("VOID", "MAP")])
@given(st.data())
def test_they_go_by_the_values(name: str, data: st.DataObject) -> None:
    column = VALUES[name]
    places = data.draw(st.lists(st.integers(0, len(column) - 1), max_size=8))
    taken = column.take(pa.array(places, pa.int64()))
    keys, there = order_keys(taken), valid(taken)
    values = taken.to_pylist()
    assert there.tolist() == [value is not None for value in values]
    for one in range(len(places)):
        for other in range(len(places)):
            if there[one] and there[other]:
                before = sort_key(values[one]) < sort_key(values[other])
                assert (keys[one] < keys[other]) == before
                if not before and not sort_key(values[other]) < sort_key(values[one]):
                    assert keys[one] == keys[other]


@pytest.mark.parametrize("name", ["TINYINT", "BIGINT", "unsigned", "FLOAT", "DOUBLE"])
def test_keys_of_a_word_are_the_same_in_every_array_and_give_the_value_back(name: str) -> None:
    column = VALUES[name].drop_null()
    keys = order_keys(column)
    assert [int(order_keys(column.slice(n, 1))[0]) for n in range(len(column))] == keys.tolist()
    found: list[Any] = values_of_keys(keys, column.type).tolist()
    assert repr(found) == repr([value + 0 for value in column.to_pylist()])


def test_texts_in_dictionaries_are_texts() -> None:
    texts = pa.array(["b", "ä", None, "", "b", "a"])
    assert order_keys(texts.dictionary_encode()).tolist() == order_keys(texts).tolist()


def test_keys_of_decimals_are_contiguous_so_that_no_kernel_is_compiled_for_strides() -> None:
    assert order_keys(pa.array([Decimal("1.50"), Decimal("-2.00"), None])).flags.c_contiguous
