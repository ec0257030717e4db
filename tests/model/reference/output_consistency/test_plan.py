from __future__ import annotations

from collections import Counter

from driftline.model.reference.output_consistency import Change, Plan, PlanNode
from driftline.model.reference.output_consistency.plan import (
    aggregate,
    bag,
    distinct,
    join,
    minus,
    project,
    select,
    union,
)


def test_changes_add_up() -> None:
    assert bag([Change("a", 2), Change("b"), Change("a", -1), Change("b", -1)]) == Counter("a")


def test_operators_are_functions_of_bags() -> None:
    rows = Counter({1: 2, 2: 1, 3: 1})
    assert select(lambda row: bool(row > 1)).function(rows) == Counter([2, 3])
    assert project(lambda row: row % 2).function(rows) == Counter({1: 3, 0: 1})
    assert union().function(rows, Counter([3])) == Counter([1, 1, 2, 3, 3])
    assert minus().function(rows, Counter([1, 4])) == Counter([1, 2, 3])
    assert distinct().function(rows) == Counter([1, 2, 3])
    product = join(lambda a, b: bool(a == b), lambda a, b: a * b)
    assert product.function(rows, Counter({1: 3, 3: 1})) == Counter({1: 6, 9: 1})
    assert aggregate(lambda row: row % 2, sum).function(rows) == Counter([(1, 5), (0, 2)])


def test_which_stored_rows_take_part() -> None:
    smaller = join(lambda left, right: bool(left < right))
    assert smaller.takes_part(0, 1, 1, 2)
    assert smaller.takes_part(1, 2, 0, 1)
    assert not smaller.takes_part(1, 1, 0, 2)
    assert not smaller.takes_part(0, 1, 0, 2)  # rows of one side do not meet
    parity = aggregate(lambda row: row % 2, sum)
    assert parity.takes_part(0, 1, 0, 3)
    assert not parity.takes_part(0, 1, 0, 2)
    assert not union().takes_part(0, 1, 1, 1)


def test_a_shared_part_is_one_node() -> None:
    plan = Plan(
        ("X",),
        {
            "even": PlanNode(select(lambda row: row % 2 == 0), ("X",)),
            "pairs": PlanNode(join(lambda a, b: True), ("even", "even")),
            "odd": PlanNode(select(lambda row: row % 2 == 1), ("X",)),
        },
        ("pairs",),
    )
    assert plan.edges == {"X": ["even", "odd"], "even": ["pairs", "pairs"], "pairs": [], "odd": []}
    assert plan.ancestors("pairs") == {"X", "even", "pairs"}
    assert plan.answer("pairs", {"X": [Change(1), Change(2), Change(4)]}) == Counter([4, 6, 6, 8])
