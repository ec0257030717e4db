"""The timelines of the sliding-window paper, Figures 1, 2, 3, 4 and 11.

A tuple with timestamp ts in a window of size w lives during [ts, ts + w); a negative tuple is the
end of that lifetime. What the paper calls the correct output is the reference's answer.
"""

from __future__ import annotations

from driftline.model.history import History
from driftline.model.reference import group_by, inner_join, intersect_all, sliding
from driftline.model.reference.aggregates import count_all, max_, sum_
from driftline.model.row import Row
from tests.build import history

WINDOW = 5


def values_at(answer: History, name: str, times: range) -> list[object]:
    """The single value of the answer at each time; None where there is no row."""
    return [next((row[name] for row in answer.snapshot(t)), None) for t in times]


def test_count_of_favourite_items_figures_1_and_2() -> None:
    # Items 4, 5, 5 and 4 are favourites and arrive at T0, T1, T2 and T4. Nothing that arrives
    # later is one, so an input-triggered COUNT stays at 4 from T4 on; the correct count falls.
    sales = history(
        (0, None, {"item": 4}),
        (1, None, {"item": 5}),
        (2, None, {"item": 5}),
        (4, None, {"item": 4}),
        (5, None, {"item": 2}),
        (6, None, {"item": 3}),
    )
    favourites = history((0, None, {"favourite": 4}), (0, None, {"favourite": 5}))
    sold = inner_join(
        sliding(sales, WINDOW), favourites, lambda sale, item: sale["item"] == item["favourite"]
    )
    answer = group_by(sold, {}, {"n": count_all()})
    assert values_at(answer, "n", range(10)) == [1, 2, 3, 3, 4, 3, 2, 1, 1, None]


def test_max_over_a_join_whose_tuples_expire_together_figure_4() -> None:
    # Store 6 arrives on S1 at T1 and joins three tuples of S2 at T2, T3 and T4. All three results
    # end with it at T6: one time-message expires them all, and no MAX is left.
    first = sliding(history((1, None, {"store": 6})), WINDOW)
    second = sliding(
        history(
            (2, None, {"at": 6, "price": 12}),
            (3, None, {"at": 6, "price": 30}),
            (4, None, {"at": 6, "price": 20}),
        ),
        WINDOW,
    )
    joined = inner_join(first, second, lambda left, right: left["store"] == right["at"])
    assert {lifetime.ve for lifetime in joined} == {6}
    answer = group_by(joined, {}, {"price": max_(lambda row: row["price"])})
    assert values_at(answer, "price", range(1, 8)) == [None, 12, 30, 30, 30, None, None]


def test_intersection_goes_on_when_a_duplicate_is_left_figure_3() -> None:
    # "1" arrives twice on each side. When the first one expires at T6, a second pair is still
    # there: the output does not lose the row, one copy just takes the place of the other.
    left = sliding(history((1, None, 1), (3, None, 1)), WINDOW)
    right = sliding(history((0, None, 1), (4, None, 1)), WINDOW)
    answer = intersect_all(left, right)
    assert [answer.snapshot(t).total() for t in range(9)] == [0, 1, 1, 1, 2, 1, 1, 1, 0]


def test_join_lifetime_is_latest_start_and_earliest_end_section_2() -> None:
    one = history((3, 8, {"a": 1}))
    other = history((5, 7, {"b": 1}))
    assert inner_join(one, other, lambda left, right: True) == history((5, 7, {"a": 1, "b": 1}))


def test_sum_does_not_depend_on_when_a_tuple_is_processed_figure_11() -> None:
    # Tuple 7 has timestamp T4 but is processed at T7; a SUM that expires by the global clock says
    # 8 at T5. By its timestamp, 7 is in the sum from T4 on, and 5 leaves it at T5.
    stream = sliding(history((0, None, 5), (2, None, 3), (4, None, 7)), WINDOW)
    total = group_by(stream, {}, {"sum": sum_(lambda row: row["p"])})
    assert values_at(total, "sum", range(9)) == [5, 5, 8, 8, 15, 10, 10, 7, 7]


def test_the_set_operators_count_duplicates_as_section_4_4_says() -> None:
    from driftline.model.reference import minus_all, union_all

    n = history((0, 10, "a"), (0, 10, "a"), (0, 10, "a"))
    m = history((0, 10, "a"), (0, 10, "a"))
    a = Row(p="a")
    assert union_all(n, m).snapshot(0)[a] == 5
    assert intersect_all(n, m).snapshot(0)[a] == 2
    assert minus_all(n, m).snapshot(0)[a] == 1
    assert minus_all(m, n).snapshot(0)[a] == 0
