"""The least of the live sources, against a plain look at all of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from driftline.model.time import BEGINNING
from driftline.time import live_sources as live
from driftline.time.live_sources import Sources

steps = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 50), st.integers(0, 4)), max_size=80)


@given(steps, st.none() | st.integers(0, 10))
def test_the_least_after_every_step(drawn: list[tuple[int, int, int]], timeout: int | None) -> None:
    state = Sources.none()
    greatest: dict[int, int] = {}
    last: dict[int, int] = {}
    clock = 0
    for source, time, later in drawn:
        clock += later
        state = state.with_room(source, 1)
        live.hear(source, clock, time, 0, 1, clock, state)
        last[source] = clock
        greatest[source] = max(greatest.get(source, BEGINNING), time)
        live.take_effect(clock, state)
        least = live.least_live(clock, 1, -1 if timeout is None else timeout, state)
        awake = [s for s in last if timeout is None or clock - last[s] < timeout]
        assert least == min((greatest[s] for s in awake), default=BEGINNING)
        state = Sources.restored(state.snapshot())


def test_room_is_made_without_losing_what_waits() -> None:
    state = Sources.none()
    for at in range(100):
        state = state.with_room(at, 1)
        live.hear(at, at, 10 * at, 0, 1, at, state)
        if at % 3 == 0:
            live.take_effect(at // 2, state)
    live.take_effect(100, state)
    assert state.effective[:100].tolist() == [10 * at for at in range(100)]
