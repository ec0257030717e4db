"""Skew bounds: redundant pairs, entries, mistakes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.time.bounds import Bounds, SkewBound, counted, timed

pairs = st.lists(
    st.builds(SkewBound, st.integers(0, 5), st.integers(0, 5), st.integers(0, 2)), max_size=12
)


@given(pairs)
def test_only_what_is_not_redundant_stays(given_: list[SkewBound]) -> None:
    def redundant(pair: SkewBound) -> bool:
        return any(
            other != pair
            and other.wait <= pair.wait
            and other.lag <= pair.lag
            and other.tuples <= pair.tuples
            for other in given_
        )

    kept = Bounds.of({(0, 0): given_}, [0])[0, 0]
    assert set(kept) == {pair for pair in given_ if not redundant(pair)}
    assert len(set(kept)) == len(kept)


def test_a_pair_of_a_kind_of_its_own() -> None:
    b = Bounds.of({(0, 1): [counted(2, 0), timed(3, 1), timed(0, 4)]}, [0, 0])
    assert [str(pair) for pair in b[0, 1]] == ["(0, 4)", "(2 tuples, 0)", "(3, 1)"]
    assert str(SkewBound(1, 2, 3)) == "(1 + 3 tuples, 2)"
    assert str(b) == "0 → 1: (0, 4), (2 tuples, 0), (3, 1)\nlatency: 0, 0"


def test_equality_is_by_pairs_and_latencies() -> None:
    b = Bounds.of({(0, 0): [timed(1, 1)]}, [2])
    assert b == Bounds.of({(0, 0): [timed(4, 1), timed(1, 1)]}, [2])
    assert b != Bounds.of({(0, 0): [timed(1, 1)]}, [3])
    assert b != Bounds.of({}, [2])


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="the lag of a skew bound is -1"):
        timed(0, -1)
    with pytest.raises(ValueError, match=r"outside 0\.\.0"):
        Bounds.of({(0, 1): [timed(0, 0)]}, [0])
    with pytest.raises(ValueError, match="a latency is negative"):
        Bounds.of({}, [-1])
