"""The queries that prepare the kernels run."""

from __future__ import annotations

from pathlib import Path

import pytest

from driftline.cli.prepare import OF_LOGS, OF_RECORDS, RECORD_FORMATS, _written
from tests.cli.run import driftline


def test_every_query_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = _written(tmp_path)
    assert len(commands) == 2 + len(OF_LOGS) + len(OF_RECORDS) * len(RECORD_FORMATS)
    for command in commands:
        ran = driftline(*command)
        assert ran.code == 0, (command, ran.err)
