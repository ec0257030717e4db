"""Finite inputs as files of their own, one for every micro-batch."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


KEYED = {"s": dl.stream("s", {"t": "BIGINT", "k": "STRING"}, time="t").plan.sources()["s"]}


@settings(max_examples=30)
@given(
    rows=st.lists(st.tuples(st.integers(0, 9), st.text(max_size=2)), min_size=1, max_size=4),
    place=st.integers(0, 3),
    other=st.text(max_size=2) | st.none(),
)
def test_an_input_is_known_by_its_rows(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int, str | None]],
    place: int,
    other: str | None,
) -> None:
    """Another value under the same times is another input."""
    folder = tmp_path_factory.mktemp("spool")

    def spooled_rows() -> None:
        given = {"s": [{"t": time, "k": key} for time, key in rows]}
        spool(KEYED, given, folder / "input", 2, keep_open=True)

    spooled_rows()
    time, key = rows[place % len(rows)]
    rows[place % len(rows)] = (time, other)
    if other == key:
        spooled_rows()
    else:
        with pytest.raises(PlanError, match="the input s is another one than when"):
            spooled_rows()


def test_a_spool_that_was_moved_or_damaged_is_refused(tmp_path: Path) -> None:
    spool(SOURCES, INPUTS, tmp_path / "one" / "input", 2, keep_open=True)
    (tmp_path / "one").rename(tmp_path / "two")
    said = f"{tmp_path}/two was made as {tmp_path}/one, and Spark knows its files by that path"
    with pytest.raises(PlanError, match=f"{said}: move it back, or give --checkpoint another"):
        spool(SOURCES, INPUTS, tmp_path / "two" / "input", 2, keep_open=True)
    (tmp_path / "two").rename(tmp_path / "one")
    spool(SOURCES, INPUTS, tmp_path / "one" / "input", 2, keep_open=True)
    file = tmp_path / "one" / "input" / "a" / "000000001.parquet"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(PlanError, match=r"000000001.parquet is damaged, or was changed"):
        spool(SOURCES, INPUTS, tmp_path / "one" / "input", 2, keep_open=True)
