from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from driftline.plan.errors import PlanError
from driftline.spark.sinks import Memory, Parquet, read_parquet
from driftline.spark.views import VIEWS, ViewName
from tests.spark.saying import EVENTS, TRADES, VOLUME, emitted, volumes


@pytest.mark.parametrize("view", [name for name in VIEWS if name not in ("finals", "now")])
def test_all_rows_once(tmp_path: Path, view: ViewName) -> None:
    sink, memory = Parquet(tmp_path, view), Memory()
    for each in volumes():
        memory(each)
        sink(each)
        Parquet(tmp_path, view)(each)  # comes again after a crash
    assert read_parquet(tmp_path).equals(memory.table(view=view))
    assert pq.read_table(tmp_path).num_rows == memory.table(view=view).num_rows


def test_half_files_are_passed_over(tmp_path: Path) -> None:
    Parquet(tmp_path)(volumes()[0])
    whole = read_parquet(tmp_path)
    (tmp_path / ".part-000000001.parquet.half").write_bytes(b"PAR1")
    (tmp_path / "part-000000007.parquet").write_bytes(b"PAR1")
    assert read_parquet(tmp_path).equals(whole)


def test_several_results_are_in_folders(tmp_path: Path) -> None:
    sink = Parquet(tmp_path)
    for each in emitted({"all": TRADES, "volume": VOLUME}, {"trades": EVENTS}, 100):
        sink(each)
    assert read_parquet(tmp_path, "all").num_rows == 4
    assert isinstance(read_parquet(tmp_path, "volume"), pa.Table)
    with pytest.raises(PlanError, match=r"there are no results in"):
        read_parquet(tmp_path)


def test_a_folder_of_another_query_is_refused(tmp_path: Path) -> None:
    Parquet(tmp_path)(volumes()[0])
    with pytest.raises(PlanError, match=r"holds the results of another query"):
        Parquet(tmp_path)(volumes(run="two")[0])
