from __future__ import annotations

import pytest

from bench.soak import Report, of_runs, soak

HOUR = 3600.0
MEASURED = ("memory", "checkpoint", "micro-batch")


@pytest.mark.spark
@pytest.mark.long
def test_an_hour_in_which_nothing_grows() -> None:
    check(soak(HOUR))


def check(report: Report) -> None:
    """The last quarter of the runs takes no more than the second did."""
    early, late = of_runs(report.runs[1:5]), of_runs(report.runs[-4:])
    for name, before, after in zip(
        ("memory", "checkpoint", "micro-batch"), early, late, strict=True
    ):
        assert after < 1.5 * before, name


def test_what_grows_is_found() -> None:
    flat = [(100, 10, 1.0)] * 8
    check(Report(1.0, 8, 1, 1, flat))
    for grown in ([(200, 10, 1.0)] * 4, [(100, 20, 1.0)] * 4, [(100, 10, 2.0)] * 4):
        with pytest.raises(AssertionError):
            check(Report(1.0, 8, 1, 1, flat[:4] + grown))
