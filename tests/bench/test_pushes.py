"""What rows cost in small batches: every query runs in all ways."""

from pathlib import Path

import pytest

from bench import pushes


@pytest.mark.parametrize("query", pushes.QUERIES)
def test_every_query_runs_from_python_and_from_the_command_line(
    query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pushes, "on_bytewax", lambda *given: None)
    row = pushes._measured(query, 1, 20, tmp_path)
    assert (row.query, row.batch, row.bytewax) == (query, 1, None)
    assert (tmp_path / "trades.jsonl").stat().st_size
