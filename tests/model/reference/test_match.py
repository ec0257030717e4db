from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.model import reference
from driftline.model.history import History, Lifetime
from driftline.model.patterns import (
    Alternate,
    Anchor,
    Concat,
    Empty,
    Pattern,
    Repeat,
    SkipError,
    Variable,
)
from driftline.model.reference import Order
from driftline.model.reference.match import Seen, match, navigation
from driftline.model.row import Row, Value
from driftline.model.time import INFINITY
from driftline.testing import histories
from tests.matches import match_node, matches_of, meaning

ACME = [12, 17, 19, 21, 25, 12, 15, 20, 24, 25, 19, 15, 25, 25, 14, 12, 14, 24, 23, 22]
"""The prices of Oracle's example, on the days 1 to 20 of April."""
TICKER = {"symbol": "STRING", "t": "BIGINT", "price": "BIGINT"}
FALLS_AND_RISES = {"DOWN": "price < PREV(price)", "UP": "price > PREV(price)"}


def ticker(prices: Sequence[int | None], symbol: str = "ACME") -> list[dict[str, Value]]:
    return [{"symbol": symbol, "t": t, "price": price} for t, price in enumerate(prices, 1)]


def letters(text: str) -> list[dict[str, Value]]:
    return [{"t": t, "x": letter} for t, letter in enumerate(text, 1)]


def found(
    text: str, pattern: str, define: Mapping[str, str] | None = None, **options: Any
) -> list[str]:
    """The matches in a row of letters, each as the variables of its rows. A variable is true of
    its letter, of the lower case one if there is no condition for it; Z is true of all."""
    names = sorted(set(re.findall(r"\b[A-Y]\b", pattern)))
    conditions = {name: f"x = '{name.lower()}'" for name in names} | dict(define or {})
    measures = {"n": "MATCH_NUMBER()", "all": "array_agg(CLASSIFIER())"}
    node = match_node({"t": "BIGINT", "x": "STRING"}, pattern, conditions, measures, **options)
    return ["".join(row["all"]) for row in matches_of(node, letters(text))]


def test_v_shapes_of_oracles_ticker() -> None:
    node = match_node(
        TICKER,
        "STRT DOWN+ UP+",
        FALLS_AND_RISES,
        {"start": "STRT.t", "bottom": "LAST(DOWN.t)", "end": "LAST(UP.t)"},
        per=["symbol"],
        skip="to last UP",
    )
    assert node.schema.names == ("symbol", "start", "bottom", "end")
    globex = [11, 12, 13, 12, 11, 10, 9, 8, 9, 9, 9, 10, 11, 11, 11, 11, 11, 8, 7, 13]
    assert matches_of(node, ticker(ACME) + ticker(globex, "GLOBEX")) == [
        {"symbol": "ACME", "start": 5, "bottom": 6, "end": 10},
        {"symbol": "ACME", "start": 10, "bottom": 12, "end": 13},
        {"symbol": "ACME", "start": 14, "bottom": 16, "end": 18},
        {"symbol": "GLOBEX", "start": 3, "bottom": 8, "end": 9},
        {"symbol": "GLOBEX", "start": 17, "bottom": 19, "end": 20},
    ]


def test_all_rows_of_oracles_v_shapes_with_running_and_final_measures() -> None:
    node = match_node(
        TICKER,
        "STRT DOWN+ UP+",
        FALLS_AND_RISES,
        {
            "start": "STRT.t",
            "bottom": "FINAL LAST(DOWN.t)",
            "end": "FINAL LAST(UP.t)",
            "number": "MATCH_NUMBER()",
            "variable": "CLASSIFIER()",
            "so_far": "LAST(DOWN.t)",
            "rows_so_far": "RUNNING count(*)",
            "ups": "FINAL count(UP.*)",
        },
        per=["symbol"],
        output="all",
        skip="to last UP",
    )
    rows = matches_of(node, ticker(ACME))
    assert node.schema.names == (
        *("symbol", "t"),
        *("start", "bottom", "end", "number", "variable", "so_far", "rows_so_far", "ups"),
        "price",
    )
    assert [tuple(row.values())[1:] for row in rows if row["number"] < 3] == [
        (5, 5, 6, 10, 1, "STRT", None, 1, 4, 25),
        (6, 5, 6, 10, 1, "DOWN", 6, 2, 4, 12),
        (7, 5, 6, 10, 1, "UP", 6, 3, 4, 15),
        (8, 5, 6, 10, 1, "UP", 6, 4, 4, 20),
        (9, 5, 6, 10, 1, "UP", 6, 5, 4, 24),
        (10, 5, 6, 10, 1, "UP", 6, 6, 4, 25),
        (10, 10, 12, 13, 2, "STRT", None, 1, 1, 25),
        (11, 10, 12, 13, 2, "DOWN", 11, 2, 1, 19),
        (12, 10, 12, 13, 2, "DOWN", 12, 3, 1, 15),
        (13, 10, 12, 13, 2, "UP", 12, 4, 1, 25),
    ]


def test_w_shapes_of_oracles_ticker() -> None:
    node = match_node(
        TICKER,
        "STRT DOWN+ UP+ DOWN+ UP+",
        FALLS_AND_RISES,
        {"start": "STRT.t", "end": "UP.t"},
        skip="to last UP",
    )
    assert matches_of(node, ticker(ACME)) == [{"start": 5, "end": 13}]


def test_there_is_a_match_at_the_times_at_which_its_rows_are_there_and_no_other_breaks_it() -> None:
    node = match_node(TICKER, "STRT DOWN+ UP", FALLS_AND_RISES, {"end": "UP.t"})
    five, three, four = ticker([5, 3, 4])
    history = History(
        [
            Lifetime(0, INFINITY, Row(five)),
            Lifetime(1, INFINITY, Row(three)),
            Lifetime(2, 40, Row(four)),
            Lifetime(10, 20, Row(three)),  # 5 3 3 4
            Lifetime(30, 35, Row(four, price=2)),  # 5 3 2 4
        ]
    )
    assert meaning(node)(history) == History(
        [Lifetime(2, 10, Row(end=3)), Lifetime(20, 40, Row(end=3))]
    )


def test_greedy_takes_as_many_and_reluctant_as_few_rows_as_it_can() -> None:
    assert found("aaab", "A+ Z") == ["AAAZ"]
    assert found("aaab", "A+? Z") == ["AZ", "AZ"]
    assert found("aaab", "A+? B") == ["AAAB"]
    assert found("aaaa", "A{2,3}") == ["AAA"]
    assert found("aaaa", "A{2,3}?") == ["AA", "AA"]
    assert found("aaaa", "A{,3}?", output="one") == ["", "", "", ""]
    assert found("aab", "A?? B") == ["AB"]


def test_alternatives_are_tried_from_left_to_right_even_if_a_later_one_is_longer() -> None:
    assert found("abc", "A | A B C") == ["A"]
    assert found("abc", "A B C | A") == ["ABC"]
    assert found("abcabd", "(A | A B) (C | B D)") == ["ABC", "ABD"]


def test_a_row_has_the_first_variable_that_leads_to_a_match() -> None:
    anything = {"A": "true", "B": "true", "C": "x = 'c'"}
    assert found("xxc", "(A | B)+ C", anything) == ["AAC"]
    assert found("xxc", "(B | A)+? C", anything) == ["BBC"]


def test_permute_prefers_the_orders_in_lexicographic_order() -> None:
    assert found("cba", "PERMUTE(A, B, C)") == ["CBA"]
    anything = {"A": "true", "B": "true", "C": "true"}
    assert found("xyz", "PERMUTE(A, B, C)", anything) == ["ABC"]
    assert found("xyz", "PERMUTE(A, B, C)", {**anything, "A": "x = 'z'"}) == ["BCA"]
    assert found("xyz", "PERMUTE(A, B C)", {**anything, "A": "x = 'z'"}) == ["BCA"]


def test_anchors_are_the_ends_of_the_partition() -> None:
    assert found("aba", "^ A") == ["A"]
    assert found("aba", "A $") == ["A"]
    assert found("aba", "^ A $") == []
    assert found("aba", "A (B | $)") == ["AB", "A"]
    assert found("ba", "B | ^ A") == ["B"]


def test_excluded_rows_are_in_the_match_and_not_put_out() -> None:
    node = match_node(
        {"t": "BIGINT", "x": "STRING"},
        "A {- B+ -} C",
        {"A": "x = 'a'", "B": "x = 'b'", "C": "x = 'c'"},
        {"variable": "CLASSIFIER()", "n": "count(*)", "bs": "count(B.*)"},
        output="all",
    )
    assert [tuple(row.values()) for row in matches_of(node, letters("xabbcb"))] == [
        (2, "A", 1, 0, "a"),
        (5, "C", 4, 2, "c"),
    ]


def empty_ones(output: Any, pattern: str = "A*") -> list[tuple[Value, ...]]:
    node = match_node(
        {"t": "BIGINT", "x": "STRING"},
        pattern,
        {"A": "x = 'a'"},
        {"m": "MATCH_NUMBER()", "v": "CLASSIFIER()", "n": "count(*)", "first": "FIRST(t)"},
        output=output,
    )
    return [tuple(row.values()) for row in matches_of(node, letters("baab"))]


def test_empty_matches_have_a_number_and_are_shown_with_the_row_they_are_found_at() -> None:
    shown = [
        (1, 1, None, 0, None, "b"),
        (2, 2, "A", 1, 2, "a"),
        (3, 2, "A", 2, 2, "a"),
        (4, 3, None, 0, None, "b"),
    ]
    assert empty_ones("all") == shown
    assert empty_ones("with unmatched") == shown
    assert empty_ones("omit empty") == shown[1:3]
    assert empty_ones("one") == [(1, None, 0, None), (2, "A", 2, 2), (3, None, 0, None)]


def test_unmatched_rows_are_put_out_with_null_measures() -> None:
    nothing = (None, None, None, None)
    assert empty_ones("with unmatched", "A+") == [
        (1, *nothing, "b"),
        (2, 1, "A", 1, 2, "a"),
        (3, 1, "A", 2, 2, "a"),
        (4, *nothing, "b"),
    ]
    assert empty_ones("all", "A+") == empty_ones("with unmatched", "A+")[1:3]


def test_a_row_of_an_earlier_match_is_not_unmatched() -> None:
    options: Any = {"output": "with unmatched", "skip": "to next row"}
    node = match_node(
        {"t": "BIGINT", "x": "STRING"},
        "A B",
        {"A": "x = 'a'", "B": "x = 'b'"},
        {"v": "CLASSIFIER()"},
        **options,
    )
    assert [tuple(row.values()) for row in matches_of(node, letters("abb"))] == [
        (1, "A", "a"),
        (2, "B", "b"),
        (3, None, "b"),
    ]


def test_where_the_search_goes_on() -> None:
    assert found("aabab", "A+ B") == ["AAB", "AB"]
    assert found("aabab", "A+ B", skip="to next row") == ["AAB", "AB", "AB"]
    assert found("aabab", "A+ B A", skip="to last A") == ["AABA"]
    assert found("ababa", "A B A", skip="to last A") == ["ABA", "ABA"]
    assert found("ababa", "A B+ A", skip="to first B") == ["ABA", "ABA"]
    assert found("abcabca", "A B C A", skip="to first U", subsets={"U": ["B", "C"]}) == [
        "ABCA",
        "ABCA",
    ]


def test_a_skip_that_does_not_advance_is_an_error() -> None:
    with pytest.raises(SkipError, match="TO LAST A is the first row of the match"):
        found("ab", "A B", skip="to last A")
    with pytest.raises(SkipError, match="TO FIRST B has no row"):
        found("ac", "A (B | C)", skip="to first B")


def test_within_is_less_than_the_distance_from_the_first_row() -> None:
    rows = [{"t": t, "x": x} for t, x in zip([1, 5, 9, 10, 20], "abbba", strict=True)]
    define = {"A": "x = 'a'", "B": "x = 'b'"}

    def ends(within: int | None, pattern: str = "A B+", by: str = "t") -> list[Value]:
        node = match_node(
            {"t": "BIGINT", "x": "STRING"},
            pattern,
            {name: each for name, each in define.items() if name in pattern},
            {"end": "LAST(t)"},
            within=within,
            by=[by],
        )
        return [row["end"] for row in matches_of(node, rows)]

    assert ends(None) == [10]
    assert ends(9) == [9]
    assert ends(8) == [5]
    assert ends(4) == []
    assert ends(100, "A Z") == [5]
    assert ends(11, by="t DESC") == [10]


def test_null_is_not_true_and_a_null_time_is_within_no_duration() -> None:
    rows = [{"t": t, "x": x} for t, x in [(None, "a"), (1, None), (2, "a"), (None, "a")]]
    kinds = {"t": "BIGINT", "x": "STRING"}
    node = match_node(kinds, "A+", {"A": "x = 'a'"}, {"n": "count(*)", "t": "FIRST(t)"})
    assert matches_of(node, rows) == [{"n": 1, "t": 2}, {"n": 2, "t": None}]
    node = match_node(kinds, "A+", {"A": "x = 'a'"}, {"n": "count(*)"}, within=100)
    assert matches_of(node, rows) == [{"n": 1}, {"n": 1}, {"n": 1}]


def test_a_variable_without_a_condition_is_true_of_every_row() -> None:
    assert found("xyz", "Z+", {}) == ["ZZZ"]


def test_conditions_look_at_earlier_rows_of_the_match() -> None:
    prices = ticker([10, 11, 13, 12, 20, 21])
    node = match_node(
        TICKER,
        "A B+",
        {"B": "B.price > A.price AND price >= 2 + COALESCE(LAST(B.price, 1), 0)"},
        {"prices": "array_agg(price)"},
    )
    assert [row["prices"] for row in matches_of(node, prices)] == [(10, 11, 13), (12, 20)]


def test_conditions_with_aggregates_of_the_match_so_far() -> None:
    node = match_node(
        TICKER,
        "A+ B",
        {"A": "sum(A.price) < 10 AND count(*) <= 3"},
        {"total": "sum(A.price)", "n": "count(A.*)", "over": "sum(price)"},
    )
    rows = ticker([4, 5, 3, 1, 1, 1, 1, 20])
    assert matches_of(node, rows) == [
        {"total": 3, "n": 3, "over": 4},
        {"total": 9, "n": 2, "over": 12},
    ]


def test_conditions_see_the_rows_of_a_subset_up_to_the_current_one() -> None:
    node = match_node(
        TICKER,
        "A (B | C)+",
        {"B": "price > 2 * U.price", "C": "price = PREV(U.price, 1) + 1"},
        {"variables": "array_agg(CLASSIFIER())", "last": "U.price", "which": "CLASSIFIER(U)"},
        subsets={"U": ["A", "B"]},
    )
    # In B's condition the last row of U is the current one, so that it is never true.
    assert matches_of(node, ticker([1, 3, 4, 9])) == []
    node = match_node(
        TICKER,
        "A (B | C)+",
        {"B": "price > 2 * LAST(U.price, 1)", "C": "price = U.price + 1"},
        {"variables": "array_agg(CLASSIFIER())", "last": "U.price", "which": "CLASSIFIER(U)"},
        subsets={"U": ["A", "B"]},
    )
    assert matches_of(node, ticker([1, 3, 4, 9])) == [
        {"variables": ("A", "B", "C", "B"), "last": 9, "which": "B"}
    ]


def test_physical_offsets_leave_the_match_and_logical_ones_do_not() -> None:
    node = match_node(
        TICKER,
        "A B B",
        {"A": "price = 3"},
        {
            "before": "PREV(FIRST(A.price))",
            "after": "NEXT(LAST(B.price), 2)",
            "first": "FIRST(B.price)",
            "second": "FIRST(B.price, 1)",
            "third": "FIRST(B.price, 2)",
            "last_but_one": "LAST(price, 1)",
            "none": "PREV(A.price, 3)",
            "here": "PREV(B.price, 0)",
            "which": "PREV(CLASSIFIER(), 2)",
            "outside": "NEXT(CLASSIFIER())",
        },
    )
    (row,) = matches_of(node, ticker([1, 2, 3, 4, 5, 6, 7]))
    assert tuple(row.values()) == (2, 7, 4, 5, None, 4, None, 5, "A", None)


def test_next_in_a_condition_looks_ahead() -> None:
    condition = "price > PREV(price) AND price > NEXT(price)"
    node = match_node(TICKER, "PEAK", {"PEAK": condition}, {"t": "t"})
    assert [row["t"] for row in matches_of(node, ticker([1, 3, 2, 2, 4, 1, 5]))] == [2, 5]


def test_measures_of_running_rows_do_not_see_the_variable_of_the_next_one() -> None:
    node = match_node(
        {"t": "BIGINT", "x": "STRING"},
        "A B",
        {},
        {"next": "NEXT(CLASSIFIER())", "last": "NEXT(FINAL FIRST(CLASSIFIER()))", "x2": "NEXT(x)"},
        output="all",
    )
    assert [tuple(row.values())[1:4] for row in matches_of(node, letters("abc"))] == [
        (None, "B", "b"),
        (None, "B", "c"),
    ]


def test_orders_of_several_columns_and_ties() -> None:
    rows = [{"t": t, "x": x, "y": y} for t, x, y in [(1, "a", 2), (1, "b", 1), (1, "a", 1)]]
    kinds = {"t": "BIGINT", "x": "STRING", "y": "BIGINT"}

    def order(by: Sequence[str]) -> Value:
        node = match_node(kinds, "A+", {}, {"all": "array_agg(concat(x, y))"}, by=by)
        return matches_of(node, rows)[0]["all"]

    assert order(["t", "x DESC"]) == ("b1", "a1", "a2")  # ties: the whole row, columns by name
    assert order(["t", "y DESC", "x"]) == ("a2", "a1", "b1")
    assert order(["t"]) == ("a1", "a2", "b1")


def test_iterations_without_rows_end_a_repetition() -> None:
    assert found("aab", "(A?)* B") == ["AAB"]
    assert found("aab", "(A*)* B") == ["AAB"]
    assert found("aab", "(A?){3} B") == ["AAB"]
    assert found("aa", "(A??)*") == ["", ""]
    assert found("aa", "(() | A)*") == ["", ""]
    assert found("aab", "(() | A)* B") == ["AAB"]


PATTERNS = st.recursive(
    st.sampled_from([Variable("a"), Variable("b"), Empty(), Anchor("start"), Anchor("end")]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Concat(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Alternate(tuple(parts))),
        st.builds(
            Repeat,
            inner,
            st.just(0) | st.integers(0, 2),
            st.none() | st.integers(2, 3),
            st.booleans(),
        ),
    ),
    max_leaves=6,
)
"""Patterns whose variables are letters."""


def as_regex(pattern: Pattern) -> str:
    match pattern:
        case Variable(name):
            return name
        case Anchor(where):
            return r"\A" if where == "start" else r"\Z"
        case Concat(parts):
            return "".join(as_regex(part) for part in parts)
        case Alternate(choices):
            return f"(?:{'|'.join(as_regex(choice) for choice in choices)})"
        case Repeat(inner, least, most, greedy):
            count = f"{{{least},{'' if most is None else most}}}"
            return f"(?:{as_regex(inner)}){count}{'' if greedy else '?'}"
    return "(?:)"


@settings(max_examples=300)
@given(pattern=PATTERNS, text=st.text("ab", max_size=6))
def test_letters_match_as_they_do_by_regular_expressions(pattern: Pattern, text: str) -> None:
    regex = re.compile(as_regex(pattern))
    conditions = {name: _is_letter(name) for name in "ab"}
    history = History([Lifetime(0, 1, Row(t=t, x=x)) for t, x in enumerate(text)])
    answer = match(
        history,
        pattern,
        conditions,
        {"n": lambda seen: seen.number, "start": lambda s: s.start, "end": _end},
        [Order(lambda row: row["t"])],
    )
    expected, place = [], 0
    while place < len(text):
        one = regex.match(text, place)
        if one is not None:
            expected.append((place, one.end()))
        place = max(place + 1, one.end() if one is not None else 0)
    assert sorted((each.row["start"], each.row["end"]) for each in answer) == expected


def _is_letter(name: str) -> Any:
    here = navigation(lambda row: row["x"])
    return lambda seen: here(seen) == name


def _end(seen: Seen) -> Value:
    return seen.start + len(seen.labels)


@settings(max_examples=30)
@given(history=histories({"x": st.sampled_from(["a", "b", None])}, max_size=5))
def test_a_partition_is_matched_as_if_it_were_alone(history: History) -> None:
    def matched(rows: History, per: bool) -> History:
        return match(
            rows,
            Repeat(Variable("A"), 1, None),
            {},
            {"n": lambda seen: len(seen.labels)},
            [Order(lambda row: row["x"])],
            {"x": lambda row: row["x"]} if per else None,
        )

    for x in ("a", "b", None):
        alone = _with(history, x)
        plain = reference.project(_with(matched(history, per=True), x), lambda row: {"n": row["n"]})
        assert plain.coalesced() == matched(alone, per=False)


def _with(history: History, x: Value) -> History:
    return reference.select(history, lambda row: row["x"] == x)


def settled(text: str, pattern: str, **options: Any) -> list[tuple[str, Value]]:
    """The matches in a row of letters, which come one a tick, and when each was settled."""
    names = sorted(set(re.findall(r"\b[A-Y]\b", pattern)))
    node = match_node(
        {"t": "BIGINT", "x": "STRING"},
        pattern,
        {name: f"x = '{name.lower()}'" for name in names},
        {"n": "MATCH_NUMBER()", "all": "array_agg(CLASSIFIER())", **options.pop("more", {})},
        **options,
    )
    rows = [Lifetime(t, INFINITY, Row(t=t, x=x)) for t, x in enumerate(text, 1)]
    answer = meaning(replace(node, settled=True))(History(rows)).snapshot(len(text))
    found = sorted(answer.elements(), key=lambda row: row["n"])
    return [("".join(row["all"]), row["$settled"]) for row in found]


def test_a_match_is_settled_by_the_last_row_that_the_search_has_looked_at() -> None:
    assert settled("aab", "A B") == [("AB", 3)]
    assert settled("aabb", "A+ B") == [("AAB", 3)]
    assert settled("aabb", "A+ B+") == [("AABB", None)]
    assert settled("aabba", "A+ B+") == [("AABB", 5)]
    assert settled("aabb", "A+ B+?") == [("AAB", 3)]
    assert settled("aabb", "A+ B+", within=3) == [("AAB", 3)]
    assert settled("abcab", "A B C C | A") == [("A", 4), ("A", None)]


def test_what_was_not_settled_before_a_match_is_not_settled_with_it() -> None:
    assert settled("abb", "B $ | A") == [("A", 1), ("B", None)]
    assert settled("acb", "A C+ A | B") == [("B", 3)]
    assert settled("acb", "A (C | B)+ A | B") == [("B", None)]
    assert settled("acb", "A (C | B)+ A | B", within=3) == [("B", 3)]
    assert settled("aba", "A", more={"next": "NEXT(x)"}) == [("A", 2), ("A", None)]


@settings(max_examples=60)
@given(
    text=st.text("abc", min_size=1, max_size=7),
    more=st.text("abc", max_size=3),
    pattern=st.sampled_from(
        ["A+ B", "A B* C", "A (B | C)+", "(A | B)+? C", "A* $", "PERMUTE(A, B)", "A? B{2}"]
    ),
    within=st.sampled_from([None, 2, 4]),
    gap=st.integers(0, 4),
)
def test_rows_that_start_after_a_match_was_settled_do_not_change_it(
    text: str, more: str, pattern: str, within: int | None, gap: int
) -> None:
    names = sorted(set(re.findall(r"\b[A-C]\b", pattern)))
    node = replace(
        match_node(
            {"t": "BIGINT", "x": "STRING"},
            pattern,
            {name: f"x = '{name.lower()}'" for name in names},
            {"m": "MATCH_NUMBER()", "all": "array_agg(CLASSIFIER())", "t": "LAST(t)"},
            within=within,
        ),
        settled=True,
    )
    rows = [Lifetime(t, INFINITY, Row(t=t, x=x)) for t, x in enumerate(text, 1)]
    later = [Lifetime(t, INFINITY, Row(t=t, x=x)) for t, x in enumerate(more, len(text) + 1 + gap)]
    before = meaning(node)(History(rows)).snapshot(len(text))
    after = meaning(node)(History(rows + later)).snapshot(INFINITY - 1)
    end = len(text) + 1 + gap
    for row in before.elements():
        if row["$settled"] is not None and row["$settled"] < end:
            assert after[row] == 1
