"""Nothing that Driftline does to a session or a process changes what its user's own code sees."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.spark
def test_own_code_sees_the_same_afterwards(tmp_path: Path) -> None:
    unset = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.left_alone", str(tmp_path)],
        env={name: value for name, value in os.environ.items() if name not in unset},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
