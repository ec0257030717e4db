"""Files that executors write are part of the result once, whatever is written again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from driftline.plan.errors import PlanError
from driftline.spark.sinks import Console, DeadLetterFiles, Delta, Memory, Parquet, Several
from driftline.spark.sinks import read_parquet as whole
from driftline.spark.views import ViewName
from driftline.spark.written import BY_SHARD, targets_of
from tests.spark.saying import EVENTS, TRADES, VOLUME, emitted, in_files, volumes


def delta_rows(path: Path) -> list[dict[str, Any]]:
    deltalake = pytest.importorskip("deltalake")
    found: list[dict[str, Any]] = deltalake.DeltaTable(path).to_pyarrow_table().to_pylist()
    return found


def lines(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(map(str, rows))


@pytest.mark.parametrize("view", [view for view in BY_SHARD if view != "finals"])
def test_what_is_written_again_counts_once(tmp_path: Path, view: ViewName) -> None:
    pytest.importorskip("deltalake")
    memory = Memory()
    for number, each in enumerate(volumes()):
        memory(each)
        for attempt in range(3):
            sink = Several(Parquet(tmp_path / "p", view), Delta(str(tmp_path / "d"), view))
            update = in_files(each, sink)
            assert len(update.batches["result"]) == 0
            if attempt or number % 2:  # else its driver is killed before the commit
                sink(update)
    wanted = lines(memory.table(view=view).to_pylist())
    assert lines(whole(tmp_path / "p").to_pylist()) == wanted
    assert lines(delta_rows(tmp_path / "d")) == wanted
    assert not list((tmp_path / "p").glob(".staged*"))


def test_rows_that_a_driver_has_written_and_files_of_executors_are_the_same(tmp_path: Path) -> None:
    """A query may go on with other sinks beside this one, and executors then write, or do not."""
    pytest.importorskip("deltalake")
    memory = Memory()
    sink = Several(Parquet(tmp_path / "p"), Delta(str(tmp_path / "d")))
    for number, each in enumerate(volumes()):
        memory(each)
        sink(in_files(each, sink, shards=1) if number % 2 else each)
        sink(each if number % 2 else in_files(each, sink, shards=1))
    assert lines(whole(tmp_path / "p").to_pylist()) == lines(memory.table().to_pylist())
    assert lines(delta_rows(tmp_path / "d")) == lines(memory.table().to_pylist())


def test_several_results_and_none(tmp_path: Path) -> None:
    sink = Several(Parquet(tmp_path), DeadLetterFiles(tmp_path / "dead"))
    for each in emitted({"all": TRADES, "volume": VOLUME}, {"trades": EVENTS}, 100):
        sink(in_files(each, sink))
    assert whole(tmp_path, "all").num_rows == 4
    first = volumes()[0]
    nothing = in_files(first, Parquet(tmp_path / "nothing"), shards=0)
    Parquet(tmp_path / "nothing")(nothing)
    assert whole(tmp_path / "nothing").num_rows == 0  # its columns are known


def test_rows_go_to_the_driver_where_they_are_wanted(tmp_path: Path) -> None:
    about, parquet = volumes()[0], Parquet(tmp_path / "p")
    for sink in (
        Memory(),
        Parquet(tmp_path / "p", "current"),
        Several(parquet, Console()),
        Several(parquet, print),
    ):
        assert targets_of(sink, about, "local[2]") is None
    assert targets_of(parquet, about, "local[2]") is not None
    assert targets_of(parquet, about, "spark://elsewhere:7077") is None
    with pytest.raises(PlanError, match="holds the results of another query"):
        targets_of(parquet, volumes(run="two")[0], "local[2]")


def test_tables_that_ask_more_of_a_writer_get_rows(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    about = volumes()[0]
    for name, options in (("p", {"partition_by": ["symbol"]}), ("c", {"schema_mode": "merge"})):
        table = Memory()
        table(about)
        rows = table.table()
        rows = rows if name == "p" else rows.append_column("more", rows.column("vs"))
        deltalake.write_deltalake(tmp_path / name, rows.slice(0, 0), mode="append", **options)
        assert targets_of(Delta(str(tmp_path / name)), about, "local[2]") is None
    assert targets_of(Delta(str(tmp_path / "k"), keys=["symbol"]), about, "local[2]") is None
    asked = Delta(str(tmp_path / "o"), storage_options={"region": "x"})
    assert targets_of(asked, about, "local[2]") is None
