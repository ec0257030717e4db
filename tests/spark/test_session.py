"""Sessions of our own."""

from __future__ import annotations

import os
import signal

import pytest

from driftline.spark.session import _interrupted_later, _silence


def test_an_interrupt_waits_until_all_is_done() -> None:
    before = signal.getsignal(signal.SIGINT)
    done = []
    with pytest.raises(KeyboardInterrupt), _interrupted_later():
        os.kill(os.getpid(), signal.SIGINT)
        done.append(1)
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_process_started_in_silence_has_nowhere_to_complain(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with _silence():
        os.system("echo noise >&2")
    os.system("echo news >&2")
    assert capfd.readouterr().err == "news\n"
