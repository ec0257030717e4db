"""What was said is kept once, however often it comes and however many files there are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import driftline as dl
from driftline.engine.core.batch import Batch, empty
from driftline.engine.ingest.dead_letters import unreadable
from driftline.event_log.bad import BadEvent
from driftline.spark import emitted as module
from driftline.spark.emitted import EmittedFiles
from driftline.spark.update import SparkUpdate

QUERY = dl.stream("s", {"k": "BIGINT", "t": "BIGINT"}, time="t")
PLANS = {"result": QUERY.plan}
SOURCES = QUERY.plan.sources()


def _said(number: int, *, dead: bool = False) -> SparkUpdate:
    rows = pa.record_batch({"k": [number], "t": [number]}, schema=QUERY.plan.schema.arrow)
    one = np.ones(1, np.int64)
    batch = Batch(one * number, one * (number + 1), one, rows, cti=number)
    bad = BadEvent("s.csv", 2, "it has no time: t is null", b"1,", "t")
    letters = unreadable(rows.schema, [bad])
    return SparkUpdate(number, {"result": batch}, {"s": letters} if dead else {})


def _read(folder: Path) -> list[tuple[int, list[int], int, int]]:
    return [
        (
            said.batch_id,
            said.batches["result"].payload.column(0).to_pylist(),
            said.batches["result"].cti,
            sum(map(len, said.dead_letters.values())),
        )
        for said in EmittedFiles(folder, PLANS, SOURCES)
    ]


def test_files_are_put_together_when_there_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MANY", 3)
    kept = EmittedFiles(tmp_path, PLANS, SOURCES)
    for number in range(8):
        kept.add(_said(number, dead=number == 4))
        assert number in kept
        assert number + 1 not in kept
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "000000000-000000002.arrow",
        "000000003-000000005.arrow",
        "000000006.arrow",
        "000000007.arrow",
    ]
    assert _read(tmp_path) == [(n, [n], n, int(n == 4)) for n in range(8)]


def test_a_crash_between_writing_many_and_removing_single_ones_says_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MANY", 3)
    kept = EmittedFiles(tmp_path, PLANS, SOURCES)
    for number in range(3):
        kept.add(_said(number))
    left = EmittedFiles(tmp_path / "left", PLANS, SOURCES)
    left.add(_said(1))
    (tmp_path / "left" / "000000001.arrow").rename(tmp_path / "000000001.arrow")
    (tmp_path / "000000003.half").write_bytes(b"half")
    assert [number for number, *_ in _read(tmp_path)] == [0, 1, 2]


def test_a_batch_without_rows_keeps_its_cti(tmp_path: Path) -> None:
    said = _said(5)
    nothing = replace(empty(QUERY.plan.schema.arrow), cti=7)
    EmittedFiles(tmp_path, PLANS, SOURCES).add(replace(said, batches={"result": nothing}))
    assert _read(tmp_path) == [(5, [], 7, 0)]
