"""The golden transcripts, replayed on Spark: the same snapshots and dead letters as everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from driftline.event_log.reader import read_log
from driftline.model.history import History, canonical_history
from tests.cli.run import driftline
from tests.cli.test_golden import GOLDEN, NAMES

pytestmark = pytest.mark.spark


def histories(text: str, folder: Path) -> dict[str, History]:
    """What a table says, by stream."""
    lines = []
    for line in text.splitlines():
        named = line if '"stream"' in line else line.replace("{", '{"stream":"result",', 1)
        lines.append(named.replace('"vs"', '"kind":"insert","vs"', 1))
    path = folder / "table.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    streams = read_log(path).streams
    return {name: canonical_history(columns.to_events()) for name, columns in streams.items()}


SHORT = (
    "eager",
    "full_join",
    "pipeline",
    "time_bounds",
    "time_idle",
    "top",
    "tumble",
    "values",
    "weak",
)
"""Those that are always replayed; the others take their time."""


@pytest.mark.parametrize(
    "name",
    [name if name in SHORT else pytest.param(name, marks=pytest.mark.long) for name in NAMES],
)
def test_transcript(spark: Any, name: str, tmp_path: Path) -> None:
    script, log = GOLDEN / f"{name}.sql", GOLDEN / f"{name}.input.jsonl"
    dead = tmp_path / "dead.jsonl"
    done = driftline(
        "run", script, "--input", log, "--table", "--dead-letters", dead,
        "--runner", "spark", "--batch", "4",
    )  # fmt: skip
    assert done.code == 0, done.err
    expected = histories((GOLDEN / f"{name}.table.jsonl").read_text(encoding="utf-8"), tmp_path)
    emitted = histories(done.out, tmp_path)
    assert emitted.keys() == expected.keys()
    for stream, history in expected.items():
        assert emitted[stream].same_snapshots(history)
    letters = GOLDEN / f"{name}.dead.jsonl"
    wanted = letters.read_text(encoding="utf-8") if letters.exists() else ""
    assert dead.read_text(encoding="utf-8").replace(str(GOLDEN) + "/", "") == wanted
