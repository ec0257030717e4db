from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.model.history import History
from driftline.model.reference import (
    anti_join,
    full_join,
    inner_join,
    left_join,
    right_join,
    semi_join,
    union_all,
)
from driftline.model.row import Row
from driftline.testing import histories
from tests.build import history

KEYS = st.sampled_from(["a", "b", None])
LEFT = histories({"k": KEYS, "x": st.integers(0, 1)}, max_size=5)
RIGHT = histories({"j": KEYS, "y": st.integers(0, 1)}, max_size=5)


def equal(left: Row, right: Row) -> bool | None:
    """SQL's k = j: null when either is null."""
    if left["k"] is None or right["j"] is None:
        return None
    return bool(left["k"] == right["j"])


#   L  a  1───────────────9
#   R  a      3───5   7───────12
L = history((1, 9, {"k": "a"}))
R = history((3, 5, {"j": "a"}), (7, 12, {"j": "a"}))


def test_inner_join_intersects_lifetimes() -> None:
    both = {"k": "a", "j": "a"}
    assert inner_join(L, R, equal) == history((3, 5, both), (7, 9, both))


def test_left_join_pads_the_gaps() -> None:
    alone = {"k": "a", "j": None}
    assert left_join(L, R, equal, ["j"]) == union_all(
        inner_join(L, R, equal), history((1, 3, alone), (5, 7, alone))
    )


def test_right_join_pads_the_other_side() -> None:
    assert right_join(L, R, equal, ["k"]) == union_all(
        inner_join(L, R, equal), history((9, 12, {"k": None, "j": "a"}))
    )


def test_full_join_pads_both() -> None:
    assert full_join(L, R, equal, ["k"], ["j"]) == union_all(
        left_join(L, R, equal, ["j"]), history((9, 12, {"k": None, "j": "a"}))
    )


def test_semi_and_anti_join_cut_lifetimes_to_their_longest_stretches() -> None:
    touching = history((3, 5, {"j": "a"}), (5, 6, {"j": "a"}), (4, 5, {"j": "a"}))
    assert semi_join(L, touching, equal) == history((3, 6, {"k": "a"}))
    assert anti_join(L, touching, equal) == history((1, 3, {"k": "a"}), (6, 9, {"k": "a"}))


def test_copies_multiply() -> None:
    both = {"k": "a", "j": "a"}
    assert inner_join(L + L, R, equal).lifetimes == Counter(
        dict.fromkeys(history((3, 5, both), (7, 9, both)), 2)
    )


def test_null_keys_match_nothing() -> None:
    left, right = history((1, 5, {"k": None})), history((1, 5, {"j": None}))
    assert inner_join(left, right, equal) == history()
    assert anti_join(left, right, equal) == left


def test_columns_of_the_same_name_are_refused() -> None:
    with pytest.raises(ValueError, match=r"both sides of the join have the columns \['k'\]"):
        inner_join(L, L, lambda left, right: True)


@given(LEFT, RIGHT, st.integers(0, 12))
def test_every_join_is_sqls_join_of_the_snapshots(left: History, right: History, t: int) -> None:
    one, other = list(left.snapshot(t).elements()), list(right.snapshot(t).elements())
    pairs = [(a, b) for a in one for b in other if equal(a, b)]
    matched = [Row({**a, **b}) for a, b in pairs]
    no_right = [a for a in one if not any(equal(a, b) for b in other)]
    no_left = [b for b in other if not any(equal(a, b) for a in one)]
    left_alone = [Row(a, j=None, y=None) for a in no_right]
    right_alone = [Row(b, k=None, x=None) for b in no_left]

    assert inner_join(left, right, equal).snapshot(t) == Counter(matched)
    assert left_join(left, right, equal, ["j", "y"]).snapshot(t) == Counter(matched + left_alone)
    assert right_join(left, right, equal, ["k", "x"]).snapshot(t) == Counter(matched + right_alone)
    assert full_join(left, right, equal, ["k", "x"], ["j", "y"]).snapshot(t) == Counter(
        matched + left_alone + right_alone
    )
    assert anti_join(left, right, equal).snapshot(t) == Counter(no_right)
    assert semi_join(left, right, equal).snapshot(t) == Counter(
        a for a in one if any(equal(a, b) for b in other)
    )
