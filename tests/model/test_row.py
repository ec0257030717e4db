from __future__ import annotations

from collections import Counter
from decimal import Decimal

import pytest

from driftline.model.row import Row, sort_key

NAN = float("nan")


def test_rows_are_equal_as_sql_groups() -> None:
    assert Row(a=None) == Row(a=None)
    assert Row(a=NAN) == Row(a=float("nan"))
    assert Row(a=0.0) == Row(a=-0.0)
    assert Row(a=1) == Row(a=1.0) == Row(a=Decimal("1.00"))
    assert Row(a=1) != Row(a=True)
    assert Row(a=1) != Row(a="1")
    assert Row(a=1) != Row(a=1, b=None)


def test_equal_rows_count_as_one_in_a_bag() -> None:
    assert Counter([Row(a=NAN, b=0.0), Row(b=-0.0, a=NAN)]).most_common() == [
        (Row(a=NAN, b=0.0), 2)
    ]


def test_nested_values_are_frozen() -> None:
    tags = ["x", {"y": [1]}]
    row = Row(tags=tags)
    tags.append("z")
    assert row["tags"] == ("x", Row(y=(1,)))
    assert hash(row) == hash(Row(tags=("x", {"y": (1,)})))


def test_a_row_is_a_mapping_in_the_order_it_was_given() -> None:
    row = Row({"b": 1}, a=2)
    assert list(row) == ["b", "a"]
    assert dict(row) == {"b": 1, "a": 2}
    assert repr(row) == "Row(b=1, a=2)"
    with pytest.raises(KeyError):
        row["c"]


def test_values_have_a_total_order() -> None:
    values = [(1,), b"x", "b", "a", NAN, 2.5, -1, True, False, None]
    assert sorted(values, key=sort_key) == [None, False, True, -1, 2.5, NAN, "a", "b", b"x", (1,)]


def test_the_first_field_of_a_struct_decides_most() -> None:
    low, high = {"x": 1, "k": "b"}, {"x": 2, "k": "a"}
    assert sort_key(low) < sort_key(high)
    assert Row(s=low) < Row(s=high)
    assert sort_key([low]) < sort_key([high])
    assert Row(s=low) == Row(s={"k": "b", "x": 1})
