"""What all tests share."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import Any

import pandas as pd  # noqa: F401 (a command that finds it loaded leaves it alone)
import pytest
from hypothesis import HealthCheck, settings

# Who tests Spark says so.
os.environ.setdefault("DRIFTLINE_RUNNER", "local")

# The machine is shared and noisy: an example that takes long is no failure.
settings.register_profile(
    "driftline", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.load_profile("driftline")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One quiet local Spark session for all tests that ask for it."""
    from driftline.spark.session import session as quiet_session

    session = quiet_session("driftline-tests", "local[2]", {"spark.sql.shuffle.partitions": "2"})
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    yield session
    session.stop()
