"""Dead letters are written as they come, each once."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import driftline as dl
from driftline.cli.inputs import EventPlaces, Inputs
from driftline.cli.letters import Letters
from driftline.engine.ingest.dead_letters import TOO_LATE, DeadLetters
from driftline.engine.step_outputs import Outputs
from driftline.event_log.bad import BadEvent
from driftline.model.columns import INSERT
from driftline.model.time import INFINITY
from driftline.running.files import FilePlaces
from tests.cli.run import driftline

TRADES = dl.stream("trades", {"symbol": "STRING"}).plan.sources()
BAD = BadEvent("in.jsonl", 2, "malformed JSON", b"{oops")


def late(symbol: str, vs: int) -> Outputs:
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
    return Outputs({}, {"trades": dead})


def letters(path: Path | None, bad: tuple[BadEvent, ...] = ()) -> Letters:
    places = {"trades": EventPlaces(("in",), read=FilePlaces())}
    return Letters(Inputs({}, places, list(bad)), TRADES, None if path is None else str(path))


def symbols(path: Path) -> list[str | None]:
    found = [json.loads(line)["event"] for line in path.read_text().splitlines()]
    return [event["row"]["symbol"] if isinstance(event, dict) else event for event in found]


def test_what_has_come_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "dead.jsonl"
    with letters(path, (BAD,)) as written:
        assert not path.exists()
        written.add(Outputs({}, {}))
        assert symbols(path) == ["{oops"]
        written.add(late("A", 3))
        assert symbols(path) == ["{oops", "A"]
        written.add(late("B", 4))
        assert symbols(path) == ["{oops", "A", "B"]
    [reason] = {json.loads(line)["reason"] for line in path.read_text().splitlines()[1:2]}
    assert reason == "too late: its sync time 3 is before the watermark 9"


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
    written.report()
    assert "2 events of trades came too late or are invalid: left out" in capsys.readouterr().err


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


BAD_FILES = {
    "csv": (
        b't,x,k\n1, 7 ,"a\nb"\n2,one,c\n3,3\n4,4,d,e\n,5,f\n6,6,\xff\n7,3000000000,g\n8,8,h\n',
        [
            (4, "x", "one", "'one' in the column x is not an INT"),
            (5, None, None, "it has 2 fields, but the first line names 3"),
            (6, None, None, "it has 4 fields, but the first line names 3"),
            (7, "t", None, "it has no time: t is null"),
            (8, "k", "\ufffd", "'\ufffd' in the column k is not UTF-8"),
            (9, "x", "3000000000", "'3000000000' in the column x is not an INT"),
        ],
    ),
    "jsonl": (
        b'{"t":1,"x":" 7 ","k":"a"}\n\n{"t":2,"x":"one"}\n{"t":3,"x":[1]}\n{"x":5}\n'
        b'{"t":6,"k":"\xff"}\n'
        b'{"t":7,"x":3000000000}\n{oops\n{"t":8,"x":8,"k":"h"}\n',
        [
            (3, "x", "one", "'one' in the column x is not an INT"),
            (4, "x", "[1]", "'[1]' in the column x is not an INT"),
            (5, "t", None, "it has no time: t is null"),
            (6, None, None, "malformed JSON"),
            (7, "x", "3000000000", "'3000000000' in the column x is not an INT"),
            (8, None, None, "malformed JSON"),
        ],
    ),
}


@pytest.mark.parametrize("form", BAD_FILES)
@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize("runner", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_a_run_goes_on_without_what_cannot_be_read(
    tmp_path: Path, form: str, folder: bool, runner: str
) -> None:
    text, expected = BAD_FILES[form]
    (tmp_path / "q.sql").write_text(
        "CREATE STREAM s (k STRING, x INT, t INT) WITH (time = 't'); SELECT x FROM s"
    )
    path = tmp_path / "in" / f"s.{form}"
    path.parent.mkdir()
    path.write_bytes(text)
    dead = tmp_path / "dead.jsonl"
    command = ("run", tmp_path / "q.sql", "-i", f"s={path.parent if folder else path}")
    options = ("--runner", runner, "--table")
    ran = driftline(*command, *options, "--dead-letters", dead)
    assert ran.code == 0, ran.err
    assert [json.loads(line)["row"]["x"] for line in ran.out.splitlines()] == [7, 8]
    found = [json.loads(line) for line in dead.read_text().splitlines()]
    assert {letter["source"] for letter in found} == {str(path)}
    for letter, (line, column, value, reason) in zip(found, expected, strict=True):
        assert (letter["line"], letter.get("column"), letter.get("value")) == (line, column, value)
        assert letter["reason"].startswith(reason)
        assert letter["event"]
    emitted = [line for line in ran.err.splitlines() if line.startswith("driftline:")]
    assert emitted[0] == f"driftline: 6 records could not be read: in {dead}"
    assert [line.startswith(f"driftline: {path}:") for line in emitted[1:4]] == [True] * 3
    assert emitted[4:] == ["driftline: and 3 more"]

    if runner == "spark" and not folder:
        return  # it is read before a runner has it
    ran = driftline(*command, *options, "--strict")
    assert ran.code == 2
    assert ran.err.startswith(f"{path}:{expected[0][0]}: {expected[0][3]}")


def test_a_file_without_a_header_is_refused(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(
        "CREATE STREAM s (x INT, t INT) WITH (time = 't'); SELECT x FROM s"
    )
    (tmp_path / "s.csv").write_text("1,2\n")
    ran = driftline("run", tmp_path / "q.sql", "-i", tmp_path / "s.csv")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"driftline: {tmp_path / 's.csv'}: its first line names no column x of s, but 1, 2: the "
        "first line of CSV must name the columns\n"
    )


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_late_records_of_a_directory_have_their_file_and_line(tmp_path: Path, form: str) -> None:
    script, folder = tmp_path / "query.sql", tmp_path / "in"
    script.write_text(
        "CREATE STREAM t (k STRING, ts BIGINT) WITH (time = 'ts', disorder = 10);\nSELECT k FROM t;"
    )
    folder.mkdir()
    for number, rows in enumerate([[("a", 100), ("b", 200)], [], [("c", 300), ("late", 5)]]):
        lines = [f'{{"k":"{k}","ts":{ts}}}' for k, ts in rows]
        if form == "csv":
            lines = ["k,ts", *(f"{k},{ts}" for k, ts in rows)] if rows else []
        path = folder / f"{number}.{form}"
        path.write_text("".join(f"{line}\n" for line in lines))
        os.utime(path, (number, number))
    ran = driftline(
        "run", script, "--input", f"t={folder}", "--runner", "local", "--dead-letters",
        tmp_path / "dead.jsonl", "--output", tmp_path / "out.jsonl",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    [letter] = [json.loads(line) for line in (tmp_path / "dead.jsonl").read_text().splitlines()]
    line = 2 if form == "jsonl" else 3
    assert (letter["source"], letter["line"]) == (str(folder / f"2.{form}"), line)
