import pyarrow as pa
import pytest

from driftline.event_log.types import RowTypes, Undecided, conform


def types(*rows: dict[str, object]) -> RowTypes:
    known = RowTypes("s")
    for row in rows:
        assert known.refuse(row) is None
    return known


def test_null_fits_all() -> None:
    known = types({"a": None}, {"a": "x"}, {"a": None})
    assert known.columns == {"a": pa.string()}


def test_nested_types_grow() -> None:
    known = types({"o": {}}, {"o": {"x": [None]}}, {"o": {"x": [1], "y": True}})
    assert known.columns == {"o": pa.struct([("x", pa.list_(pa.int64())), ("y", pa.bool_())])}


def test_a_refused_row_changes_nothing() -> None:
    known = types({"a": None, "b": 1})
    assert known.refuse({"a": "x", "b": "y"}) is not None
    assert known.refuse({"a": 1, "b": 2}) is None


def test_a_table_settles_what_it_can() -> None:
    known = types({"a": 1, "b": None})
    known.join(pa.table({"a": [1.5], "b": [True]}), big=False)
    assert known.columns == {"a": pa.float64(), "b": pa.bool_()}


@pytest.mark.parametrize(
    ("first", "table", "big"),
    [
        ({"a": 1}, pa.table({"a": ["x"]}), False),
        ({"a": 2**53 + 1}, pa.table({"a": [1.5]}), False),
        ({"a": 1.5}, pa.table({"a": [2.0**53]}), True),
        ({"a": [1]}, pa.table({"a": [[1.5, 2.0**60]]}), True),
    ],
)
def test_a_table_that_settles_nothing(first: dict[str, object], table: pa.Table, big: bool) -> None:
    known = types(first)
    before = known.columns
    with pytest.raises(Undecided):
        known.join(table, big=big)
    assert known.columns == before


def test_large_integers_are_remembered() -> None:
    known = types({"a": 1})
    known.join(pa.table({"a": [2**53, -(2**53)]}), big=True)
    assert known.large == set()
    known.join(pa.table({"a": [-(2**63)]}), big=True)
    assert known.large == {"a"}


def test_conform() -> None:
    wanted = pa.list_(pa.struct([("x", pa.float64()), ("y", pa.string())]))
    array = pa.array([[{"x": 1}], None, []]).slice(0)
    assert conform(array, wanted).to_pylist() == [[{"x": 1.0, "y": None}], None, []]
    assert conform(array.slice(1), wanted).to_pylist() == [None, []]
    assert conform(pa.nulls(2), wanted).to_pylist() == [None, None]
