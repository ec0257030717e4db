"""A plain Spark session, as a new user has it: nothing is set, and everything runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FAILURES = ("Traceback", "Exception")

AFTER_THE_STOP = "SparkEnv not active, cannot do maintenance on StateStores"
"""Spark's own thread for state stores may wake up between the stop of a session and the end of its
JVM, and complains then, whatever the queries were."""


UNSET = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_LOCAL_IP", "TZ")


def with_nothing_set(module: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a module of the tests, given a folder, as somebody does who has set nothing."""
    done = subprocess.run(
        [sys.executable, "-m", module, str(folder)],
        env={name: value for name, value in os.environ.items() if name not in UNSET},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done


@pytest.mark.spark
@pytest.mark.slow
def test_nothing_is_set(tmp_path: Path) -> None:
    done = with_nothing_set("tests.spark.new_user", tmp_path)
    lines = [line for line in done.stderr.splitlines() if AFTER_THE_STOP not in line]
    assert not [line for line in lines if any(map(line.count, FAILURES))]
    assert "result, micro-batch 0" in done.stdout
