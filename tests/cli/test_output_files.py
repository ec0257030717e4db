"""Answers in Parquet are written group by group, and are there in full or not at all."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from driftline.cli import output_files
from tests.cli.run import Ran, driftline

QUERY = "CREATE STREAM s (t INT, x INT) WITH (time = 't'); SELECT 100 / x AS y FROM s;"


def _run(folder: Path, last: int) -> Ran:
    (folder / "q.sql").write_text(QUERY)
    rows = [f"{t},1\n" for t in range(20)] + [f"20,{last}\n"]
    (folder / "s.csv").write_text("t,x\n" + "".join(rows))
    given: list[str | Path] = [
        "run",
        folder / "q.sql",
        "-i",
        f"s={folder / 's.csv'}",
        "--runner",
        "local",
    ]
    return driftline(*given, "-o", folder / "out.parquet", "--batch", "4")


@pytest.fixture(autouse=True)
def _small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_files, "ROW_GROUP", 5)


def test_all_groups_are_in_the_file(tmp_path: Path) -> None:
    assert _run(tmp_path, 2).code == 0
    file = pq.ParquetFile(tmp_path / "out.parquet")
    assert file.num_row_groups > 1
    rows = file.read().to_pylist()
    assert [row["y"] for row in rows if row["kind"] == "insert"] == [100.0] * 20 + [50.0]


def test_after_an_error_there_is_no_file(tmp_path: Path) -> None:
    assert _run(tmp_path, 0).code != 0
    assert {path.name for path in tmp_path.iterdir()} == {"q.sql", "s.csv"}
