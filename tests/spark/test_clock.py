from __future__ import annotations

from pathlib import Path

from driftline.spark.checkpoint import Checkpoint
from driftline.spark.clock import began_at, run_id


def test_what_spark_has_written_down(tmp_path: Path) -> None:
    (tmp_path / "spark" / "offsets").mkdir(parents=True)
    (tmp_path / "spark" / "metadata").write_text('{"id":"one"}')
    (tmp_path / "spark" / "offsets" / "7").write_text(
        'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1767261600000,"conf":{}}\n{"logOffset":0}'
    )
    checkpoint = Checkpoint(str(tmp_path))
    assert run_id(checkpoint) == "one"
    assert began_at(checkpoint, 7) == 1767261600000
