"""A row store gives back the rows that were put into it, of every type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.state.row_store import RowStore
from driftline.engine.state.stored_rows import rows_from_bytes, rows_to_bytes
from tests.engine.stored_state import VALUES


@pytest.mark.parametrize("name", VALUES)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 600)), max_size=20))
def test_it_is_a_list_of_rows(name: str, steps: list[tuple[bool, int]]) -> None:
    column = VALUES[name]
    schema = pa.schema([("v", column.type)])
    store = RowStore(schema)
    model: dict[int, pa.Array] = {}
    for number, (leaves, place) in enumerate(steps):
        if leaves and place in model:
            store.forget(np.array([place]))
            del model[place]
        else:
            value = column.slice(number % len(column), 1)  # it has an offset
            store.put(np.array([place]), pa.RecordBatch.from_arrays([value], schema=schema))
            model[place] = value
    places = list(model)[::-1]
    rows = store.take(np.array(places, np.int64))
    rows.validate(full=True)
    wanted = pa.concat_arrays([pa.nulls(0, column.type), *(model[place] for place in places)])
    assert repr(rows.column(0).to_pylist()) == repr(wanted.to_pylist())
    again = rows_from_bytes(rows_to_bytes(rows))
    assert again.schema == schema
    assert repr(again.to_pylist()) == repr(rows.to_pylist())


def test_rows_without_columns() -> None:
    store = RowStore(pa.schema([]))
    store.put(np.arange(3), pa.RecordBatch.from_struct_array(pa.array([{}] * 3, pa.struct([]))))
    assert store.take(np.array([2, 0])).num_rows == 2


@pytest.mark.parametrize("kind", [pa.string(), pa.large_binary()])
def test_texts_that_come_and_go_take_no_more_room(kind: Any) -> None:
    store, schema = RowStore(pa.schema([("v", kind)])), pa.schema([("v", kind)])
    for number in range(300):
        texts = pa.array([f"{number} {place} ".ljust(500) for place in range(10)]).cast(kind)
        store.put(np.arange(10), pa.RecordBatch.from_arrays([texts], schema=schema))
        assert store.take(np.array([7, 2])).column(0) == texts.take(pa.array([7, 2]))
    assert store.nbytes < 300_000
