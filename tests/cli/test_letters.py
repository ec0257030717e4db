"""Dead letters are written as they come, each once."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import driftline as dl
from driftline.cli.inputs import Inputs, Place
from driftline.cli.letters import Letters
from driftline.cli.runners import Spoken
from driftline.engine.dead_letters import TOO_LATE, DeadLetters
from driftline.model.columns import INSERT
from driftline.model.log.bad import BadEvent
from driftline.model.time import INFINITY
from tests.cli.run import driftline

TRADES = dl.stream("trades", {"symbol": "STRING"}).plan.sources()
BAD = BadEvent("in.jsonl", 2, "malformed JSON", b"{oops")


def late(symbol: str, vs: int) -> Spoken:
    """A step that sets one event aside."""
    one = np.array([vs])
    dead = DeadLetters(
        np.array([0]),
        np.array([INSERT], np.int8),
        one,
        np.array([INFINITY]),
        np.array([INFINITY]),
        pa.RecordBatch.from_pydict({"symbol": [symbol]}),
        np.array([TOO_LATE], np.int8),
        np.array([[9], [0], [0]]),
    )
    return Spoken({}, {"trades": dead})


def letters(path: Path | None, bad: tuple[BadEvent, ...] = ()) -> Letters:
    places = {"trades": Place(("in",), is_streamed=True)}
    return Letters(Inputs({}, places, list(bad)), TRADES, None if path is None else str(path))


def symbols(path: Path) -> list[str | None]:
    found = [json.loads(line)["event"] for line in path.read_text().splitlines()]
    return [event["row"]["symbol"] if isinstance(event, dict) else event for event in found]


def test_what_has_come_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "dead.jsonl"
    with letters(path, (BAD,)) as written:
        assert not path.exists()
        written.add(Spoken({}, {}))
        assert symbols(path) == ["{oops"]
        written.add(late("A", 3))
        assert symbols(path) == ["{oops", "A"]
        written.add(late("B", 4))
        assert symbols(path) == ["{oops", "A", "B"]
    [reason] = {json.loads(line)["reason"] for line in path.read_text().splitlines()[1:2]}
    assert reason == "too late: its sync time 3 is before the cti 9"


def test_a_run_begins_the_file_anew(tmp_path: Path) -> None:
    path = tmp_path / "dead.jsonl"
    path.write_text("of an earlier run\n")
    with letters(path):
        assert path.read_text() == "of an earlier run\n"
    assert path.read_text() == ""


def test_a_run_that_fails_has_written_what_came(tmp_path: Path) -> None:
    path = tmp_path / "dead.jsonl"
    with suppress(RuntimeError), letters(path) as written:
        written.add(late("A", 3))
        raise RuntimeError
    assert symbols(path) == ["A"]


def test_they_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    with letters(None) as written:
        written.add(late("A", 3))
        written.add(late("B", 4))
    written.say()
    assert "2 events of trades came too late or cannot be: left out" in capsys.readouterr().err


def test_the_file_is_one_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("CREATE STREAM s (x INT); SELECT * FROM s")
    log, out = tmp_path / "s.jsonl", tmp_path / "out.jsonl"
    text = '{"stream":"s","kind":"insert","vs":1,"ve":2,"row":{"x":1}}\n'
    log.write_text(text)
    out.write_text("")
    for given, complaint in (
        (log, f" {log} is the same file as --input {log}: give another one"),
        (out, f" {out} is the same file as --output {out}: give another one"),
        (tmp_path, f": {tmp_path} is a directory: give a file"),
        (tmp_path / "no" / "x", f": there is no directory {tmp_path / 'no'}"),
    ):
        files = ("-i", f"s={log}", "-o", out, "--dead-letters", given)
        ran = driftline("run", tmp_path / "q.sql", *files)
        assert (ran.code, ran.err) == (2, f"driftline: --dead-letters{complaint}\n")
    assert log.read_text() == text
