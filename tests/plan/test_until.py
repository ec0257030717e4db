"""Clip as a join: what it says is its reference, and what a cti has passed is forgotten."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch
from driftline.engine.core.plain import batch_of
from driftline.model.event import CLOSE, Event
from driftline.model.reference import Level
from driftline.testing import interleaved, streams
from tests.build import cti, insert, retract
from tests.engine.test_plans import COLUMNS, KX, LEAVES, TWO, Both, S, T, run

LONG = interleaved(streams(COLUMNS, max_size=8), streams(COLUMNS, max_size=8))
LOOSE = st.sampled_from(["intersect all", "left join", "anti join"]).flatmap(
    lambda how: st.builds(TWO[how], LEAVES, LEAVES)
)


@pytest.mark.parametrize("level", Level)
@settings(max_examples=80)
@given(st.one_of(LEAVES, LOOSE), LEAVES, LONG, st.sampled_from([1, 2, 100]), st.integers(0, 6))
def test_clip_is_its_reference_after_every_batch(
    level: Level,
    left: Both,
    right: Both,
    arrivals: list[tuple[int, Event]],
    size: int,
    move_at: int,
) -> None:
    plan = TWO["until"](left, right)
    run(plan, [*arrivals, (0, CLOSE), (1, CLOSE)], level, size, move_at)


@pytest.mark.parametrize("level", Level)
def test_a_stretch_that_goes_on_in_another_piece_stays_cut(level: Level) -> None:
    of_s, of_t = Both(S, lambda s, t: s), Both(T, lambda s, t: t)
    plan = TWO["until"](TWO["intersect all"](of_t, of_s), of_s)
    row = {"k": "a", "x": None}
    arrivals: list[tuple[int, Event]] = [
        (0, insert(0, None, row)), (0, insert(0, None, row)), (0, insert(1, None, row)),
        (0, cti(13)), (1, insert(0, 2, row)), (1, insert(0, None, row)), (1, CLOSE), (0, CLOSE),
    ]  # fmt: skip
    run(plan, arrivals, level, 1, 9)


def test_rows_of_the_other_that_a_cti_has_passed_are_forgotten() -> None:
    plan = S.alias("l").until(T.alias("r"), "l.k = r.k").plan
    out: list[Batch] = []
    graph = compile_plan(plan, out.append, Level.EAGER)
    graph.push("s", batch_of([insert(0, None, {"k": "a", "x": 0})], KX))
    for number in range(1, 200):
        row = {"k": "a", "x": number}
        graph.push("t", batch_of([insert(number, None, row), cti(number + 1)], KX))
        graph.push("s", batch_of([cti(number + 1)], KX))
    joins = [each for key, each in graph.counters().items() if "join" in str(key)]
    assert [each["state_rows"] for each in joins] == [pytest.approx(1, abs=5)]
    last = [(batch.vs.tolist(), batch.ve.tolist(), batch.weight.tolist()) for batch in out]
    assert sum((len(batch) for batch in out), 0) == 3, last  # [0, ∞) comes, goes, and [0, 1) comes
    assert dl.INFINITY not in out[-1].ve.tolist()


def test_rows_that_were_cut_are_forgotten_and_later_changes_to_their_ends_say_nothing() -> None:
    plan = S.alias("l").until(T.alias("r"), "l.k = r.k").plan
    out: list[Batch] = []
    graph = compile_plan(plan, out.append, Level.EAGER)
    for number in range(0, 400, 2):
        graph.push("s", batch_of([insert(number, None, {"k": "a", "x": number})], KX))
        graph.push("s", batch_of([insert(number, None, {"k": None, "x": number})], KX))
        graph.push("t", batch_of([insert(number + 1, None, {"k": "a", "x": 0}), cti(number)], KX))
        graph.push("s", batch_of([cti(number)], KX))
    joins = [each for key, each in graph.counters().items() if "join" in str(key)]
    assert [each["state_rows"] for each in joins] == [pytest.approx(1, abs=12)]
    before = len(out)
    ends = [retract(0, None, 500, {"k": key, "x": 0}) for key in ("a", None)]
    graph.push("s", batch_of(ends, KX))
    changed = [
        tuple(row) for batch in out[before:] for row in zip(batch.ve, batch.weight, strict=True)
    ]
    assert sorted(changed) == [(500, 1), (dl.INFINITY, -1)]  # of the row without a key alone
