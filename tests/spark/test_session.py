"""Sessions of our own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from driftline.spark.session import BOUNDED, _nothing_left, _silence, configured, unless_set


def start_something(found: list[subprocess.Popen[bytes]]) -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    found.append(process)
    raise KeyboardInterrupt


def test_who_is_interrupted_leaves_no_process() -> None:
    found: list[subprocess.Popen[bytes]] = []
    with pytest.raises(KeyboardInterrupt), _nothing_left():
        start_something(found)
    assert found[0].wait(10) == -signal.SIGKILL


def test_a_process_started_in_silence_has_nowhere_to_complain(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with _silence():
        os.system("echo noise >&2")
    os.system("echo news >&2")
    assert capfd.readouterr().err == "news\n"


@pytest.mark.spark
def test_what_the_session_says_is_left_alone(spark: Any) -> None:
    assert unless_set(spark, BOUNDED) == BOUNDED
    chosen, *others = BOUNDED
    with configured(spark, {chosen: "100"}):
        assert list(unless_set(spark, BOUNDED)) == others
