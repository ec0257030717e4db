from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import driftline as dl
from driftline.plan.errors import PlanError
from driftline.spark.sinks import Delta, Memory
from tests.spark.saying import CURRENT, EVENTS, TRADES, VOLUME, emitted, volumes

deltalake = pytest.importorskip("deltalake")


def rows(path: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = deltalake.DeltaTable(path).to_pyarrow_table().to_pylist()
    return sorted(found, key=str)


def test_every_micro_batch_is_appended_once(tmp_path: Path) -> None:
    memory, sink = Memory(), Delta(str(tmp_path))
    for each in volumes():
        memory(each)
        sink(each)
        Delta(str(tmp_path))(each)  # comes again after a crash
    assert rows(tmp_path) == sorted(memory.table().to_pylist(), key=str)


def test_another_query_may_append_too(tmp_path: Path) -> None:
    for run in ("one", "two"):
        Delta(str(tmp_path))(volumes(run=run)[0])
    assert len(rows(tmp_path)) == 2 * len(volumes()[0].batches["result"])


def test_current_values_of_another_query_are_refused(tmp_path: Path) -> None:
    first, *_ = volumes()
    Delta(str(tmp_path / "t"), keys=["symbol"])(first)
    with pytest.raises(PlanError, match="holds the results of another query"):
        Delta(str(tmp_path / "t"), keys=["symbol"])(replace(first, run="another"))


def test_a_table_of_current_values(tmp_path: Path) -> None:
    for batch in (1, 2, 100):
        path = tmp_path / str(batch)
        for each in volumes(batch):
            Delta(str(path), keys=["symbol"])(each)
            Delta(str(path), keys=["symbol"])(each)
        assert rows(path) == sorted(CURRENT, key=str)


def test_several_results_have_tables(tmp_path: Path) -> None:
    sink = Delta(str(tmp_path), "history")
    for each in emitted({"all": TRADES, "volume": VOLUME}, {"trades": EVENTS}, 100):
        sink(each)
    assert len(rows(tmp_path / "all")) >= 3
    assert {"system_time", "batch", "weight", "symbol"} <= rows(tmp_path / "volume")[0].keys()


def test_a_key_that_is_none_is_refused_also_over_several_micro_batches(tmp_path: Path) -> None:
    events = [dl.Insert(time, dl.INFINITY, dl.Row(symbol="A", qty=time)) for time in (1, 2)]
    first, second, *_ = emitted({"result": TRADES}, {"trades": events}, 1)
    sink = Delta(str(tmp_path), keys=["symbol"])
    sink(first)
    with pytest.raises(PlanError, match=r"two current rows have the key symbol = 'A'"):
        sink(second)


def test_a_key_of_several_columns(tmp_path: Path) -> None:
    columns = {"k": "STRING", "x": "BIGINT", "at": "TIMESTAMP"}
    stream = dl.stream("s", columns, time="at")
    sums = stream.tumble("1 minute").group_by("window_end", "k").agg("sum(x) AS x")
    come = [{"k": "a", "x": x, "at": f"2026-01-01T10:{minute:02}:00Z"} for x, minute in KEYED]
    for each in emitted({"result": sums}, {"s": come}, 1):
        Delta(str(tmp_path), keys=["window_end", "k"])(each)
    assert [(row["k"], row["x"]) for row in rows(tmp_path)] == [("a", 5), ("a", 2)]


KEYED = [(1, 0), (2, 1), (4, 0)]


def test_a_table_with_a_key_has_current_values(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="a table with a key has the view current or now"):
        Delta(str(tmp_path), "history", keys=["symbol"])
    assert Delta(str(tmp_path), keys=["symbol"]).name == "current"


def test_a_table_that_takes_the_place_of_another(tmp_path: Path) -> None:
    """Of a table that is known only what is new is read."""
    first, second, *_ = volumes()
    sink = Delta(str(tmp_path / "t"))
    sink(first)
    shutil.rmtree(tmp_path / "t")
    sink(first)
    sink(second)
    Delta(str(tmp_path / "u"))(first)
    Delta(str(tmp_path / "u"))(second)
    assert rows(tmp_path / "t") == rows(tmp_path / "u")
