"""Finite inputs as files of their own, one for every micro-batch."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import driftline as dl
from driftline.engine.shards.source_messages import KIND, POSITION, VS
from driftline.model.columns import CTI, INSERT
from driftline.model.time import INFINITY
from driftline.plan.errors import PlanError
from driftline.spark.spool import spool

SOURCES = {
    name: dl.stream(name, {"t": "BIGINT"}, time="t").plan.sources()[name] for name in ("a", "b")
}
INPUTS = {"a": [{"t": 5}, {"t": 3}, {"t": 9}], "b": [{"t": 1}]}


def test_every_source_has_a_file_for_every_micro_batch(tmp_path: Path) -> None:
    folders = spool(SOURCES, INPUTS, tmp_path, 2, keep_open=False)
    a = [pq.read_table(path) for path in sorted(folders["a"].glob("*.parquet"))]
    assert [table[VS].to_pylist() for table in a] == [[5, 3], [9], [INFINITY]]
    assert [table[KIND].to_pylist() for table in a] == [[INSERT] * 2, [INSERT], [CTI]]
    assert a[0][POSITION].to_pylist() == [0, 1]
    b = [pq.read_table(path) for path in sorted(folders["b"].glob("*.parquet"))]
    assert [len(table) for table in b] == [1, 0, 1]


def test_logs_that_are_read_one_by_one_come_in_the_order_of_their_clock(tmp_path: Path) -> None:
    inputs = {"slow": tmp_path / "slow.jsonl", "fast": tmp_path / "fast.jsonl"}
    for (name, path), step in zip(inputs.items(), (100, 1), strict=True):
        insert = {"stream": name, "kind": "insert", "ve": None, "row": {"k": 1}}
        lines = [json.dumps(insert | {"vs": n, "at": step * n}) for n in range(4)]
        path.write_text("\n".join(lines), encoding="utf-8")
    sources = {name: dl.stream(name, {"k": "INT"}).plan.sources()[name] for name in inputs}
    folders = spool(sources, inputs, tmp_path / "spool", 4, keep_open=True)
    found = {
        name: [pq.read_table(path)[VS].to_pylist() for path in sorted(folder.glob("*.parquet"))]
        for name, folder in folders.items()
    }
    assert found == {"slow": [[0], [1, 2, 3]], "fast": [[0, 1, 2], [3]]}


def test_a_spool_is_written_once(tmp_path: Path) -> None:
    folders = spool(SOURCES, INPUTS, tmp_path, 2, keep_open=True)
    before = {path: path.stat().st_mtime_ns for path in folders["a"].glob("*.parquet")}
    assert len(before) == 2
    spool(SOURCES, INPUTS, tmp_path, 2, keep_open=True)
    assert {path: path.stat().st_mtime_ns for path in folders["a"].glob("*.parquet")} == before


def test_another_input_is_refused(tmp_path: Path) -> None:
    spool(SOURCES, INPUTS, tmp_path / "input", 2, keep_open=True)
    other = {**INPUTS, "b": [{"t": 2}]}
    with pytest.raises(PlanError, match="the input b is another one than when .* was made"):
        spool(SOURCES, other, tmp_path / "input", 2, keep_open=True)
