from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from driftline.engine.ingest.dead_letters import TOO_LATE, DeadLetters, unreadable
from driftline.engine.shards.letters import letters_from_bytes, letters_to_bytes
from driftline.event_log.bad import BadEvent
from driftline.event_log.reader import read_log
from driftline.model.columns import INSERT
from driftline.model.history import canonical_history
from driftline.plan.errors import PlanError
from driftline.spark.sinks import DeadLetterFiles, EventLog, EventLogFiles
from driftline.spark.update import SparkUpdate
from tests.spark.saying import EVENTS, TRADES, VOLUME, emitted, volumes


def test_a_file_for_every_micro_batch(tmp_path: Path) -> None:
    sink = EventLogFiles(tmp_path / "log")
    for each in volumes():
        sink(each)
        sink(each)
    files = sorted((tmp_path / "log").glob("*.jsonl"))
    assert [file.name for file in files] == [f"{n:09}.jsonl" for n in range(len(volumes()))]
    whole = tmp_path / "whole.jsonl"
    whole.write_bytes(b"".join(file.read_bytes() for file in files))
    assert _history(whole) == _wanted(tmp_path)


def _history(path: Path) -> object:
    return canonical_history(read_log(path).streams["result"].to_events())


def _wanted(folder: Path) -> object:
    sink = EventLog(folder / "wanted.jsonl")
    sink(emitted({"result": VOLUME}, {"trades": EVENTS}, 1000)[0])
    sink(emitted({"result": VOLUME}, {"trades": EVENTS}, 1000)[1])
    return _history(folder / "wanted.jsonl")


@pytest.mark.parametrize("crash_after", range(4))
@pytest.mark.parametrize("written", [0, 7, 10_000])
def test_one_file_goes_on_after_a_crash(tmp_path: Path, crash_after: int, written: int) -> None:
    path = tmp_path / "log.jsonl"
    steps = volumes()
    undisturbed = EventLog(tmp_path / "undisturbed.jsonl")
    for each in steps:
        undisturbed(each)
    first = EventLog(path)
    first.claim("one")
    for each in steps[:crash_after]:
        first(each)
    with path.open("ab") as file:  # what the next micro-batch had written when it was killed
        file.write(b"x" * written)
    second = EventLog(path)
    for each in steps[max(0, crash_after - 1) :]:  # the last one comes again
        second(each)
    assert path.read_bytes() == (tmp_path / "undisturbed.jsonl").read_bytes()


def test_ctis_are_said_when_they_advance(tmp_path: Path) -> None:
    sink = EventLog(tmp_path / "log.jsonl")
    for each in volumes():
        sink(each)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    ctis = [line["t"] for line in lines if line["kind"] == "cti"]
    assert ctis == [2, None]


def test_a_log_of_another_query_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    EventLog(path)(volumes()[0])
    with pytest.raises(PlanError, match=r"is the event log of another query"):
        EventLog(path)(volumes(run="two")[0])
    path.write_bytes(b"")
    with pytest.raises(PlanError, match=r"is shorter than log.jsonl.progress says"):
        EventLog(path)(volumes()[1])
    (tmp_path / "other.jsonl").write_text("{}\n")
    with pytest.raises(PlanError, match=r"is there already"):
        EventLog(tmp_path / "other.jsonl")(volumes()[0])


def test_dead_letters_are_kept(tmp_path: Path) -> None:
    sink = DeadLetterFiles(tmp_path / "dead")
    for each in [*volumes(), *volumes()]:
        sink(each)
    [file] = (tmp_path / "dead").glob("*.jsonl")
    [line] = [json.loads(line) for line in file.read_text().splitlines()]
    assert line == {
        "number": 5,
        "reason": "too late: its sync time 1 is before the watermark 2",
        "event": {
            "stream": "trades",
            "kind": "insert",
            "vs": 1,
            "ve": None,
            "row": {"symbol": "C", "qty": 9},
        },
    }


def test_what_could_not_be_read_is_kept_as_it_was(tmp_path: Path) -> None:
    bad = [
        BadEvent(
            "in/a.jsonl",
            3,
            "'x' is no INT",
            b'{"qty":"x",\n"y":1.10}',
            "qty",
            "x",
        ),
        BadEvent("in/a.jsonl", 4, "malformed JSON", b"{oops"),
    ]
    schema = pa.schema([("symbol", pa.string()), ("qty", pa.int64())])
    one = pa.RecordBatch.from_pydict({"symbol": ["C"], "qty": [3]}, schema=schema)
    zero, kind = np.zeros(1, np.int64), np.full(1, INSERT, np.int8)
    late = np.full(1, TOO_LATE, np.int8)
    events = DeadLetters(zero, kind, zero, zero + 5, zero, one, late, np.zeros((3, 1), np.int64))
    letters = unreadable(schema, bad[:1]).with_more([events, unreadable(schema, bad[1:])])
    assert len(letters) == 3
    again = letters_from_bytes(letters_to_bytes(letters), schema)
    assert again.bad == tuple(bad)
    assert again.to_events() == letters.to_events()
    DeadLetterFiles(tmp_path)(SparkUpdate(0, {}, {"trades": again}, run="one"))
    lines = (tmp_path / "000000000.jsonl").read_text().splitlines()
    assert lines[0] == (
        '{"source":"in/a.jsonl","line":3,"column":"qty","value":"x","reason":'
        '"\'x\' is no INT","event":{"qty":"x", "y":1.10}}'
    )
    assert json.loads(lines[1])["event"] == "{oops"
    assert json.loads(lines[2])["event"]["row"] == {"symbol": "C", "qty": 3}


def test_several_results_are_in_one_log(tmp_path: Path) -> None:
    sink = EventLogFiles(tmp_path)
    for each in emitted({"all": TRADES, "volume": VOLUME}, {"trades": EVENTS}, 100):
        sink(each)
    assert set(read_log(tmp_path / "000000000.jsonl").streams) == {"all", "volume"}
