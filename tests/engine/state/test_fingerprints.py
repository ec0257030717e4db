"""Fingerprints tell rows apart by SQL's grouping rule, however their columns are laid out."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.state.fingerprints import Fingerprints, fingerprints
from driftline.model.row import sort_key
from tests.engine.stored_state import VALUES

FLOATS = st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf"), None])
TEXTS = st.sampled_from(["", "a", "ab", "b", "eight by", "eight bytes", None])
ITEMS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "numbers": (pa.int64(), st.sampled_from([0, 1, -1, 2**62, None])),
    "floats": (pa.float64(), FLOATS),
    "texts": (pa.string(), TEXTS),
    "lists": (pa.list_(pa.string()), st.none() | st.lists(TEXTS, max_size=3)),
    "structs": (
        pa.struct([("a", pa.float64()), ("b", pa.string())]),
        st.none() | st.builds(lambda a, b: {"a": a, "b": b}, FLOATS, TEXTS),
    ),
}


def pairs(prints: Fingerprints) -> list[tuple[int, int]]:
    return list(zip(prints.low.tolist(), prints.high.tolist(), strict=True))


@pytest.mark.parametrize("name", ITEMS)
@given(st.data())
def test_they_are_equal_where_rows_are(name: str, data: st.DataObject) -> None:
    kind, items = ITEMS[name]
    rows = data.draw(st.lists(st.tuples(items, items), max_size=8))
    columns = [pa.array([row[place] for row in rows], kind) for place in (0, 1)]
    found = pairs(fingerprints(columns, len(rows)))
    keys = [tuple(map(sort_key, row)) for row in rows]
    for one in range(len(rows)):
        for other in range(len(rows)):
            assert (found[one] == found[other]) == (keys[one] == keys[other])


@pytest.mark.parametrize("name", VALUES)
def test_they_do_not_depend_on_the_layout(name: str) -> None:
    column = VALUES[name]
    whole = pairs(fingerprints([column], len(column)))
    twice = pa.concat_arrays([column, column])
    assert pairs(fingerprints([twice.slice(len(column))], len(column))) == whole
    alone = [pairs(fingerprints([column.slice(n, 1)], 1))[0] for n in range(len(column))]
    assert alone == whole
    chunks = pa.chunked_array([column, column])
    assert pairs(fingerprints([chunks], 2 * len(column))) == whole * 2
    if not pa.types.is_nested(column.type) and not pa.types.is_null(column.type):
        assert pairs(fingerprints([column.dictionary_encode()], len(column))) == whole


def test_the_same_value_of_another_width_is_the_same() -> None:
    for narrow, wide in (("int8", "int64"), ("float", "double"), ("string", "large_string")):
        values: list[Any] = ["1", "0", None] if "string" in narrow else [1, 0, None]
        one, other = (pa.array(values).cast(kind) for kind in (narrow, wide))
        assert pairs(fingerprints([one], 3)) == pairs(fingerprints([other], 3))


def test_the_order_and_the_number_of_columns_matter() -> None:
    one, other = pa.array([1, 1]), pa.array([2, 2])
    rows = [[one, other], [other, one], [one], [other], [one, one], []]
    assert len({pairs(fingerprints(columns, 2))[0] for columns in rows}) == len(rows)


def test_numbers_are_columns_more() -> None:
    keys, numbers = pa.array(["a", "b"]), pa.array([3, -4])
    added = fingerprints([keys], 2).with_numbers(numbers.to_numpy())
    assert pairs(added) == pairs(fingerprints([keys, numbers], 2))
