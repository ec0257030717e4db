"""What all tests share."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: F401 (a command that finds it loaded leaves it alone)
import pytest
from hypothesis import HealthCheck, settings

# Tests that are about Spark name their runner.
os.environ.setdefault("DRIFTLINE_RUNNER", "local")

# Much of what a JVM does in the minute that it lives is to load classes and to compile: half as
# much will do. `make test` writes the classes that are loaded to a file (see `spark/archive.py`).
JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable"
ARCHIVE = Path(sys.prefix) / "spark.jsa"
os.environ.setdefault(
    "SPARK_SUBMIT_OPTS", f"{JVM} -XX:SharedArchiveFile={ARCHIVE}" if ARCHIVE.exists() else JVM
)

# The machine is shared and noisy: an example that takes long is no failure.
settings.register_profile(
    "driftline", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.register_profile("quick", settings.get_profile("driftline"), max_examples=5)
settings.load_profile("driftline")

OWN_SETTINGS = "_hypothesis_internal_use_settings"
"""The attribute of a test function in which Hypothesis keeps what `@settings` says."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take long, so that no worker is left alone with one in the end."""
    long = {item.path: 2 for item in items}
    for rank, mark in ((1, "slow"), (0, "spark")):
        long |= {item.path: rank for item in items if item.get_closest_marker(mark)}
    items.sort(key=lambda item: long[item.path])
    if settings.get_current_profile_name() == "quick":
        _bound(items)


def _bound(items: list[pytest.Item]) -> None:
    """Let the profile `quick` also bound the tests that ask for many examples themselves."""
    most = settings.get_profile("quick").max_examples
    for item in items:
        test = getattr(item, "obj", None)
        own = getattr(test, OWN_SETTINGS, None)
        if own is not None and own.max_examples > most:
            setattr(test, OWN_SETTINGS, settings(own, max_examples=most))


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One quiet local Spark session for all tests that ask for it."""
    from driftline.spark.session import session as quiet_session

    session = quiet_session("driftline-tests", "local[2]", {"spark.sql.shuffle.partitions": "2"})
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    yield session
    session.stop()
