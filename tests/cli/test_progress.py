from pathlib import Path

import pyarrow as pa
import pytest

from driftline.cli.progress import drawn, progress_line, reading
from driftline.model.time import INFINITY
from driftline.running.progress import RunProgress
from tests.cli.run import driftline_on_a_terminal
from tests.cli.test_check import LOG
from tests.cli.test_run import EVENTS, TOTALS, TRADES, lines

ROWS = pa.RecordBatch.from_pydict({"n": [1, 2, 3]})


def test_nobody_is_told_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    with reading(["events.jsonl"]) as progress:
        assert progress is None


def test_a_bar_on_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(LOG)
    assert "reading" in driftline_on_a_terminal("check", path)


def test_a_line_says_no_more_than_is_known() -> None:
    assert progress_line(RunProgress(events=1)) == "1 event"
    assert "all is final" in progress_line(RunProgress(1, 5, watermark=INFINITY))
    stamped = progress_line(RunProgress(1, 5, watermark=0, timestamps=True))
    assert "answers up to 1970-01-01T00:00:00Z" in stamped


def test_nothing_is_drawn_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    with drawn() as draw:
        assert draw is None
    assert capsys.readouterr() == ("", "")


def test_a_run_on_a_terminal_has_a_line(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(TRADES + TOTALS)
    (tmp_path / "in.jsonl").write_text(lines(*EVENTS * 2000))
    given: list[str | Path] = [tmp_path / "q.sql", "-i", tmp_path / "in.jsonl", "--batch", "100"]
    shown = driftline_on_a_terminal("run", *given, "--output", tmp_path / "out.jsonl")
    assert all(part in shown for part in ("events ·", "taken back", "rows held"))
    straight = driftline_on_a_terminal("run", *given)
    assert "rows held" not in straight  # it would stand between the answers
