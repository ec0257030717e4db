from pathlib import Path

import pytest

from driftline.cli.progress import reading
from tests.cli.run import driftline_on_a_terminal
from tests.cli.test_check import LOG


def test_nobody_is_told_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    with reading(["events.jsonl"]) as progress:
        assert progress is None


def test_a_bar_on_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(LOG)
    assert "reading" in driftline_on_a_terminal("check", path)
