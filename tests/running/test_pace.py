from __future__ import annotations

import pytest

import driftline as dl
from driftline.engine.local import started
from driftline.engine.options import Options
from driftline.running.pace import paced, speed_of
from driftline.running.problems import Problem

TRADES = dl.stream("trades", {"symbol": "STRING", "at": "INT"}, time="at")


class Clock:
    """A time that passes while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def read(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_events_come_when_the_clock_has_come_to_them() -> None:
    rows = [{"symbol": "A", "at": 100}, {"symbol": "B", "at": 104}, {"symbol": "C", "at": 101}]
    run = started({"": TRADES.plan}, {"trades": rows}, Options(clock="latest"))
    clock = Clock()
    came = []
    for outputs in paced(run, 10, timestamps=False, clock=clock.read, sleep=clock.sleep):
        came += [(round(clock.now, 1), row["symbol"]) for row in outputs.batch.payload.to_pylist()]
        assert outputs.now >= 100 + int(clock.now * 10) or clock.now > 0.3
    assert came == [(0.0, "A"), (0.4, "B"), (0.4, "C")]


def test_an_input_without_events_ends_at_once() -> None:
    run = started({"": TRADES.plan}, {"trades": []}, Options(clock="latest"))
    assert sum(len(outputs.batch) for outputs in paced(run, 1, timestamps=False)) == 0


@pytest.mark.parametrize("text", ["", "x", "-1x", "0", "1e3x", "infx", "nan"])
def test_what_is_no_speed_is_refused(text: str) -> None:
    with pytest.raises(Problem, match="give a speed"):
        speed_of(text)
