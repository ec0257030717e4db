"""Nothing that Driftline does to a session or a process changes what its user's own code sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.test_defaults import with_nothing_set


@pytest.mark.spark
def test_own_code_sees_the_same_afterwards(tmp_path: Path) -> None:
    with_nothing_set("tests.spark.left_alone", tmp_path)
