"""Progress, held to the list of all that was received."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.state.progress import Progress
from driftline.model.time import BEGINNING
from tests.engine.state.test_fields import stored

PORTS = 3
TIMES = st.just(BEGINNING) | st.integers(0, 9)
RECEIVED = st.lists(st.tuples(st.integers(0, PORTS - 1), TIMES, st.integers(0, 3)), max_size=30)


def least(received: list[tuple[int, int]]) -> int:
    """How far all ports have come."""
    latest = [BEGINNING] * PORTS
    for port, time in received:
        latest[port] = max(latest[port], time)
    return min(latest)


@given(RECEIVED, st.integers(0, 30))
def test_progress_is_the_least_of_the_latest(
    steps: list[tuple[int, int, int]], restored: int
) -> None:
    progress = Progress(PORTS)
    received: list[tuple[int, int]] = []
    promised = BEGINNING
    for number, (port, time, back) in enumerate(steps):
        before = least(received)
        received.append((port, time))
        now = least(received)
        assert progress.receive(port, time) == (now if now > before else BEGINNING)
        assert progress.time == now
        final = max(now - back, BEGINNING)
        assert progress.promise(final) == (final if final > promised else BEGINNING)
        promised = max(promised, final)
        if number == restored:
            arrays = stored(progress)
            progress = Progress(PORTS)
            progress.restore(arrays)
        assert (progress.time, progress.promised) == (now, promised)


def test_a_time_that_says_nothing_moves_nothing() -> None:
    progress = Progress()
    assert progress.receive(0, BEGINNING) == BEGINNING
    assert progress.promise(BEGINNING) == BEGINNING
    assert progress.receive(0, 0) == 0
    assert progress.receive(0, 0) == BEGINNING
