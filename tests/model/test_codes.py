import datetime
import decimal
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.model.codes import row_codes
from driftline.model.row import Row
from tests.disorder import TEXTS


def codes(column: pa.Array) -> list[int]:
    return list(row_codes(pa.table({"a": column}), len(column)).tolist())


def test_equal_rows_have_equal_codes() -> None:
    table = pa.table({"a": [1, 1, 2, 1], "b": ["x", "x", "x", None]})
    first, second, third, fourth = row_codes(table, 4).tolist()
    assert first == second
    assert len({first, third, fourth}) == 3


def test_null_is_null_nan_is_nan_zero_is_minus_zero() -> None:
    a, b, c, d, e, f = codes(pa.array([None, None, math.nan, -math.nan, 0.0, -0.0]))
    assert (a, c, e) == (b, d, f)
    assert len({a, c, e}) == 3


def test_an_empty_list_is_not_null_and_a_struct_of_nulls_is_not_null() -> None:
    assert len(set(codes(pa.array([[], None, [None]])))) == 3
    assert len(set(codes(pa.array([{"x": None}, None, {"x": 1}])))) == 3


def test_no_columns() -> None:
    assert row_codes(pa.table({}), 3).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2, 1, None], pa.uint64()),
        pa.array([1, 2, 1, None], pa.int8()),
        pa.array([1, 2, 1, None], pa.float32()),
        pa.array([b"1", b"2", b"1", None]),
        pa.array([decimal.Decimal(1), decimal.Decimal(2), decimal.Decimal(1), None]),
        pa.array([datetime.date(2024, 5, d) if d else None for d in (1, 2, 1, 0)]),
        pa.array([1, 2, 1, None], pa.timestamp("us", "UTC")),
        pa.array(["1", "2", "1", None]).dictionary_encode(),
        pa.array([[1], [2], [1], None], pa.list_(pa.int64(), 1)),
        pa.array([[1], [2], [1], None], pa.large_list(pa.int64())),
        pa.array([[("k", 1)], [("k", 2)], [("k", 1)], None], pa.map_(pa.string(), pa.int64())),
        pa.array([[{"x": [0.0]}], [{"x": [1.0]}], [{"x": [-0.0]}], None]),
    ],
    ids=lambda column: str(column.type),
)
def test_every_arrow_type(column: pa.Array) -> None:
    one, two, again, null = codes(column)
    assert one == again
    assert len({one, two, null}) == 3
    sliced = codes(column.slice(1))
    assert len(set(sliced)) == 3


def test_many_columns_do_not_overflow() -> None:
    values = np.arange(1000)
    table = pa.table({f"c{i}": np.random.default_rng(i).permutation(values) for i in range(12)})
    both = pa.concat_tables([table, table])
    found = row_codes(both, 2000)
    assert len(set(found.tolist())) == 1000
    assert (found[:1000] == found[1000:]).all()


ROWS = st.fixed_dictionaries(
    {
        "z": st.one_of(st.none(), st.floats()),
        "i": st.one_of(st.none(), st.integers(-3, 3)),
        "b": st.one_of(st.none(), st.booleans()),
        "s": st.one_of(st.none(), TEXTS),
        "l": st.one_of(st.none(), st.lists(st.one_of(st.none(), st.integers(-1, 1)), max_size=3)),
        "o": st.one_of(
            st.none(),
            st.fixed_dictionaries(
                {"y": st.one_of(st.none(), st.floats()), "x": st.lists(st.text(max_size=1))}
            ),
        ),
    }
)
SCHEMA = pa.schema(
    [
        ("z", pa.float64()),
        ("i", pa.int64()),
        ("b", pa.bool_()),
        ("s", pa.string()),
        ("l", pa.list_(pa.int64())),
        ("o", pa.struct([("y", pa.float64()), ("x", pa.list_(pa.string()))])),
    ]
)


@given(st.lists(ROWS, max_size=12), st.booleans())
def test_codes_are_equal_as_rows_are(rows: list[dict[str, object]], ordered: bool) -> None:
    found = row_codes(pa.Table.from_pylist(rows, SCHEMA), len(rows), ordered=ordered).tolist()
    plain = [Row(row) for row in rows]
    for i, a in enumerate(plain):
        for j, b in enumerate(plain):
            assert (found[i] == found[j]) == (a == b)


@given(st.lists(ROWS, max_size=12))
def test_ordered_codes_sort_as_rows_do(rows: list[dict[str, object]]) -> None:
    table = pa.Table.from_pylist(rows, SCHEMA)
    found = row_codes(table, len(rows), ordered=True)
    plain = [Row(row) for row in table.to_pylist()]  # whose structs have their type's order
    by_code = [plain[i] for i in np.argsort(found, kind="stable")]
    assert by_code == sorted(plain)
