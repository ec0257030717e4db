"""Arrays, structs and maps as values, by examples that were asked of Spark 4.3."""

from __future__ import annotations

from typing import Any

import pytest

from driftline.engine.expressions import EvaluationError
from tests.engine.of_rows import value, values

LISTS = [[3, None, 1], [], None, [1]]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("array(1, '2')", [1, 2]),
        ("array()", []),
        ("array(1, 2)[0]", 1),
        ("array(1, 2)[NULL]", None),
        ("element_at(array(1, 2), -1)", 2),
        ("try_element_at(array(1, 2), 5)", None),
        ("get(array(1, 2), 5)", None),
        ("map('a', 1)['a']", 1),
        ("map('a', 1)['b']", None),
        ("element_at(map(1, 'a'), 1L)", "a"),
        ("map_keys(map('a', 1, 'b', 2))", ["a", "b"]),
        ("size(array(1, 2))", 2),
        ("size(NULL)", None),
        ("size(map('a', 1))", 1),
        ("array_contains(array(1, 2), 1)", True),
        ("array_contains(array(1, NULL), 2)", None),
        ("array_contains(array(1.5), 1)", False),
        ("array_position(array(1, 2), 2)", 2),
        ("sort_array(array(2, 1, NULL))", [None, 1, 2]),
        ("sort_array(array(2, 1, NULL), FALSE)", [2, 1, None]),
        ("sort_array(array(array(2), array(1, 5)))", [[1, 5], [2]]),
        ("array_max(array(1, NULL, 3))", 3),
        ("array_min(array(CAST('NaN' AS DOUBLE), 1))", 1.0),
        ("array_distinct(array(1, 1, NULL, NULL))", [1, None]),
        ("array_compact(array(1, NULL))", [1]),
        ("array_join(array('a', NULL, 'b'), ',')", "a,b"),
        ("array_join(array('a', NULL, 'b'), ',', 'x')", "a,x,b"),
        ("slice(array(1, 2, 3), 2, 2)", [2, 3]),
        ("slice(array(1, 2, 3), -2, 1)", [2]),
        ("flatten(array(array(1), array(2, 3)))", [1, 2, 3]),
        ("concat(array(1), array(2L))", [1, 2]),
        ("reverse(array(1, 2))", [2, 1]),
        ("struct(1, 'a' AS b)", {"col1": 1, "b": "a"}),
        ("named_struct('a', 1).a", 1),
        ("struct(1, 2) = struct(1, 2L)", True),
        ("greatest(struct(1, 'a'), struct(1, 'b'))", {"col1": 1, "col2": "b"}),
    ],
)
def test_functions(text: str, result: Any) -> None:
    assert value(text) == result


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("array(1, 2)[2]", "INVALID_ARRAY_INDEX"),
        ("array(1, 2)[-1]", "INVALID_ARRAY_INDEX"),
        ("element_at(array(1, 2), 5)", "INVALID_ARRAY_INDEX_IN_ELEMENT_AT"),
        ("element_at(array(1, 2), 0)", "INVALID_INDEX_OF_ZERO"),
        ("map('a', 1, 'a', 2)", "DUPLICATED_MAP_KEY"),
        ("map(CAST(NULL AS INT), 1)", "NULL_MAP_KEY"),
    ],
)
def test_what_has_no_value_is_an_error(text: str, condition: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        value(text)
    assert caught.value.condition == condition


def test_columns_of_lists() -> None:
    assert values("size(a)", a=LISTS) == [3, 0, None, 1]
    assert values("sort_array(a)", a=LISTS) == [[None, 1, 3], [], None, [1]]
    assert values("array_contains(a, 1)", a=LISTS) == [True, False, None, True]
    assert values("array_contains(a, 7)", a=LISTS) == [None, False, None, False]
    assert values("get(a, 0)", a=LISTS) == [3, None, None, 1]
    assert values("reverse(a)", a=LISTS) == [[1, None, 3], [], None, [1]]
    assert values("concat(a, array(9L))", a=LISTS) == [[3, None, 1, 9], [9], None, [1, 9]]
    assert values("if(size(a) > 0, a, array(0L))", a=LISTS) == [[3, None, 1], [0], [0], [1]]
    assert values("a = array(1L)", a=LISTS) == [False, False, None, True]


def test_columns_of_structs() -> None:
    people = [{"name": "Ada", "born": 1815}, None, {"name": None, "born": 1906}]
    assert values("p.name", p=people) == ["Ada", None, None]
    assert values("p.born + 1", p=people) == [1816, None, 1907]
    assert values("p <=> p", p=people) == [True, True, True]
    assert values("coalesce(p, named_struct('name', 'x', 'born', 0L)).name", p=people) == [
        "Ada",
        "x",
        None,
    ]
