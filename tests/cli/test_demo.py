"""The tour, as a newcomer takes it."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.spark
def test_the_tour_runs_and_driftline_agrees_with_spark() -> None:
    tour = subprocess.run(
        [sys.executable, "-m", "driftline.cli.main", "demo"],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert tour.returncode == 0, tour.stderr
    assert "differs in 0 of them" in tour.stdout
    assert "The three agree on every one" in tour.stdout
