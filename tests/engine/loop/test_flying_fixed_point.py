"""Flying Fixed-Point by itself: when a speculative punctuation leaves, and what follows from it."""

from __future__ import annotations

import pytest

from driftline.engine.loop.flying_fixed_point import FlyingFixedPoint
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.choices import CHOICES, Loops


def leaving(ffp: FlyingFixedPoint, ports: int = BEGINNING, held: int = INFINITY) -> int | None:
    time = ffp.next(ports, held)
    if time is not None:
        ffp.leaves(time)
    return time


def test_what_is_definite_is_the_lesser_of_what_came_back_and_the_earliest_change_since() -> None:
    ffp = FlyingFixedPoint("probing", [BEGINNING])
    ffp.emitted(1, 1)  # before it leaves
    assert leaving(ffp) == INFINITY
    assert leaving(ffp) is None  # one at a time
    ffp.emitted(7, 9)
    assert ffp.returns(0, 5) == 5
    assert leaving(ffp) == INFINITY
    ffp.emitted(6, 6)
    assert ffp.returns(0, 8) == 6
    assert leaving(ffp) == INFINITY
    assert ffp.returns(0, 6) is None  # nothing new
    assert (ffp.speculative, ffp.promised) == (3, 2)


def test_it_is_back_when_it_has_come_to_all_heads() -> None:
    ffp = FlyingFixedPoint("probing", [BEGINNING, BEGINNING])
    leaving(ffp)
    assert ffp.returns(1, 4) is None
    assert leaving(ffp) is None
    assert ffp.returns(0, 3) == 3


def test_hybrid_speculates_only_while_the_inputs_have_promised_more() -> None:
    ffp = FlyingFixedPoint("hybrid", [BEGINNING, INFINITY])
    assert leaving(ffp) is None
    ffp.progress(0, 5)
    assert leaving(ffp) == INFINITY
    assert [ffp.returns(0, 5), ffp.returns(1, INFINITY)] == [None, 5]
    assert leaving(ffp) is None
    ffp.progress(0, 9)
    assert leaving(ffp, held=5) is None  # a head holds back what would stop it
    assert leaving(ffp, held=6) == INFINITY


def test_the_high_water_mark_goes_round_again_after_an_earlier_change() -> None:
    ffp = FlyingFixedPoint("hwm", [BEGINNING])
    assert leaving(ffp) is None
    ffp.emitted(2, 4)
    assert leaving(ffp) == 5
    ffp.emitted(3, 8)
    assert ffp.returns(0, 5) is None
    assert leaving(ffp) == 5  # not with the later mark
    assert ffp.returns(0, 5) == 5
    assert leaving(ffp) == 9
    assert ffp.returns(0, 9) == 9
    assert leaving(ffp) is None
    assert leaving(ffp, ports=INFINITY) == INFINITY  # all inputs are closed


@pytest.mark.parametrize("method", CHOICES["loop"])
def test_it_goes_on_from_a_snapshot(method: Loops) -> None:
    ffp = FlyingFixedPoint(method, [BEGINNING, BEGINNING])
    ffp.emitted(2, 4)
    ffp.progress(0, 5)
    ffp.progress(1, 6)
    leaving(ffp)
    ffp.emitted(4, 4)
    ffp.returns(1, 5)
    again = FlyingFixedPoint(method, [BEGINNING, BEGINNING])
    again.restore(ffp.snapshot())
    assert vars(again).keys() == vars(ffp).keys()
    assert again.returns(0, 5) == ffp.returns(0, 5)
    assert leaving(again) == leaving(ffp)
    assert (again.speculative, again.promised) == (ffp.speculative, ffp.promised)
