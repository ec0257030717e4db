"""Charts: the same file for the same arrivals, thinned, as SVG and PNG."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from driftline.model.time import BEGINNING
from driftline.time.chart import MOST_POINTS, Chart, draw
from driftline.time.uniform import UniformHeartbeats


@pytest.mark.parametrize("timestamps", [False, True])
def test_a_chart_of_late_arrivals(tmp_path: Path, timestamps: bool) -> None:
    clocks = np.arange(10_000)
    times = clocks - np.where(clocks % 100 == 0, 50, 0)
    told = UniformHeartbeats(disorder=10).arrive(clocks, clocks * 0, times)
    for name in ("one.svg", "two.svg", "three.png"):
        draw(tmp_path / name, clocks, times, told, timestamps=timestamps, title="a stream")
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    assert len(text) < 1_000_000
    assert (tmp_path / "three.png").read_bytes().startswith(b"\x89PNG")


def test_arrivals_can_be_taken_in_part_by_part(tmp_path: Path) -> None:
    clocks = np.arange(50_000)
    times = clocks - np.where(clocks % 7 == 0, 50, 0)
    told = UniformHeartbeats(disorder=10).arrive(clocks, clocks * 0, times)
    draw(tmp_path / "whole.svg", clocks, times, told)
    chart = Chart()
    for part in np.array_split(np.arange(50_000), 13):
        chart.take(clocks[part], times[part], told[part])
    chart.draw(tmp_path / "parts.svg")
    assert (chart.on_time.count, chart.late.count) == (42_858, 7_142)
    assert max(points.kept.shape[1] for points in (chart.on_time, chart.heartbeat)) <= MOST_POINTS
    assert (tmp_path / "parts.svg").read_text() == (tmp_path / "whole.svg").read_text()


def test_nothing_and_another_format(tmp_path: Path) -> None:
    nothing = np.zeros(0, np.int64)
    draw(tmp_path / "empty.svg", nothing, nothing, nothing)
    draw(tmp_path / "silent.svg", nothing + 1, nothing, np.full(0, BEGINNING))
    with pytest.raises(ValueError, match=r"\.svg or \.png, not as chart\.pdf"):
        draw(tmp_path / "chart.pdf", nothing, nothing, nothing)
