"""The closure of bounds: the paper's example, paths, idempotence, timeouts."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.time.bounds import LONGEST, Bounds, SkewBound, counted, timed
from driftline.time.closure import closure, is_idempotent, needs_timeout, product, timeout_reason
from tests.time.strategies import bounds


def by_paths(b: Bounds, *, inclusive: bool) -> Bounds:
    """All paths of as many steps as there are sources, or fewer; tuples are counted at the end. Of
    inclusive bounds how far each source may be behind adds up, and is strict in the end again."""
    entries: dict[tuple[int, int], list[SkewBound]] = {}
    for length in range(2, b.sources + 2):
        for path in itertools.product(range(b.sources), repeat=length):
            found = [SkewBound(0, 0)]
            for i, j in itertools.pairwise(path):
                found = [
                    SkewBound(x.wait + y.wait, _sum(x.lag, y.lag, inclusive), y.tuples)
                    for x in found
                    for y in b[i, j]
                    if x.tuples == 0
                ]
            entries.setdefault((path[0], path[-1]), []).extend(found)
    return Bounds.of(entries, b.latency)


def _sum(lag: int, further: int, inclusive: bool) -> int:
    if not inclusive or 0 in (lag, further):
        return lag + further
    behind = (lag - 1) + (further - 1)
    return behind + 1


@settings(max_examples=40)
@given(bounds(counted=True), st.booleans())
def test_the_closure_is_that_of_all_paths(b: Bounds, inclusive: bool) -> None:
    assert closure(b, inclusive=inclusive) == by_paths(b, inclusive=inclusive)


@given(bounds(counted=True))
def test_the_closure_is_idempotent_and_only_adds(b: Bounds) -> None:
    closed = closure(b)
    assert is_idempotent(closed)
    assert product(closed, b) == closed
    for i in range(b.sources):
        for j in range(b.sources):
            for pair in b[i, j]:
                assert any(
                    other.wait <= pair.wait
                    and other.lag <= pair.lag
                    and other.tuples <= pair.tuples
                    for other in closed[i, j]
                )


def test_virtual_tuples_section_3_2() -> None:
    b = Bounds.of({(0, 1): [timed(1, 1)], (0, 2): [timed(1, 3)], (1, 2): [timed(1, 1)]}, [0, 0, 0])
    assert not is_idempotent(b)
    assert closure(b)[0, 2] == (timed(1, 3), timed(2, 2))
    assert closure(b, inclusive=True)[0, 2] == (timed(1, 3), timed(2, 1))


def test_what_is_counted_comes_last() -> None:
    b = Bounds.of({(0, 1): [timed(2, 1)], (1, 2): [counted(3, 4)], (2, 0): [timed(0, 0)]}, [0] * 3)
    closed = closure(b)
    assert closed[0, 2] == (SkewBound(2, 5, 3),)
    assert closed[1, 0] == ()  # 3 tuples of source 2, and then source 0: no pair can say it


def test_compositions_that_are_beyond_all_numbers_say_nothing() -> None:
    far = [timed(LONGEST, LONGEST)]
    b = Bounds.of({(0, 1): far, (1, 0): far}, [LONGEST, 0])
    assert closure(b) == b


def test_timeouts_theorem_3_3() -> None:
    b = Bounds.of({(0, 0): [timed(0, 0)], (0, 1): [timed(0, 5)], (1, 1): [timed(0, 0)]}, [0, 0])
    assert timeout_reason(closure(b)) == (
        "when all sources pause, the last tuples of source 0 wait for ever, because source 1 is "
        "not bound to catch up with them: give a timeout"
    )
    everyone = {(i, j): [timed(9, 0)] for i in (0, 1) for j in (0, 1)}
    assert not needs_timeout(Bounds.of(everyone, [0, 0]))


def test_tuples_that_do_not_come_are_not_counted() -> None:
    assert needs_timeout(Bounds.of({(0, 0): [counted(1, 0)]}, [0]))


@given(bounds(), st.integers(0, 3))
def test_a_lag_anywhere_needs_a_timeout(b: Bounds, wait: int) -> None:
    everyone = {
        (i, j): [*b[i, j], timed(wait, 0)] for i in range(b.sources) for j in range(b.sources)
    }
    assert not needs_timeout(closure(Bounds.of(everyone, b.latency)))
    missing = {entry: pairs for entry, pairs in everyone.items() if entry != (0, 0)}
    if b.sources == 1:
        assert needs_timeout(closure(Bounds.of(missing, b.latency)))
