import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.model.arrays import list_lengths, repeated, rows_at, stored, to_arrow, to_numpy


def test_numbers_go_to_arrow_and_back() -> None:
    for values in (np.array([3, 1]), np.array([1.5]), np.array([True, False]), np.empty(0)):
        assert to_numpy(to_arrow(values)).tolist() == values.tolist()


def test_a_strided_view_is_copied() -> None:
    assert to_arrow(np.arange(6)[::2]).to_pylist() == [0, 2, 4]


def test_an_array_with_nulls_has_no_numpy_form() -> None:
    with pytest.raises(ValueError, match="nulls"):
        to_numpy(pa.array([1, None]))


def test_stored_values_of_a_slice_with_nulls() -> None:
    array = pa.array([1, 2, None, 4]).slice(1)
    assert stored(array)[[0, 2]].tolist() == [2, 4]


def test_lengths_of_lists_of_a_slice() -> None:
    assert list_lengths(pa.array([[1], None, [], [1, 2]]).slice(1)).tolist() == [0, 0, 2]


def test_repeated() -> None:
    assert repeated("{}", 2).to_pylist() == ["{}", "{}"]


@given(st.integers(0, 6), st.integers(0, 3), st.data())
def test_rows_at_places_are_those_that_are_there(
    count: int, offset: int, data: st.DataObject
) -> None:
    rows = pa.RecordBatch.from_pydict({"n": [*range(count + offset)]}).slice(offset)
    some = st.lists(st.integers(0, count - 1), max_size=8) if count else st.just([])
    run = st.integers(0, count).flatmap(
        lambda first: st.integers(first, count).map(lambda last: [*range(first, last)])
    )
    places = data.draw(some | run)
    found = rows_at(rows, np.array(places, np.int64))
    assert found.column("n").to_pylist() == [place + offset for place in places]
    assert found.schema == rows.schema


def test_rows_without_columns_are_as_many_as_places() -> None:
    rows = rows_at(pa.RecordBatch.from_pydict({}), np.array([0, 0, 1]))
    assert rows.num_rows == len([0, 0, 1])
