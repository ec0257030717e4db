"""Writes Spark's classes as a JVM has them in memory: with them a JVM starts with half the work.

    python -m tests.spark.archive FILE

A session runs a query, and its JVM writes what it has loaded when it ends. Tests whose processes
are killed start a dozen of them (see `tests/conftest.py`).
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from pyspark import SparkContext

from driftline.spark.session import session
from tests.cli.run import driftline
from tests.cli.test_golden import GOLDEN
from tests.conftest import JVM

QUERY = "pipeline"


def main(path: Path) -> None:
    unfinished = path.with_suffix(".part")
    os.environ["SPARK_SUBMIT_OPTS"] = f"{JVM} -XX:ArchiveClassesAtExit={unfinished}"
    spark = session("driftline-archive", "local[2]")
    with tempfile.TemporaryDirectory() as folder:
        ran = driftline(
            "run", GOLDEN / f"{QUERY}.sql", "--input", GOLDEN / f"{QUERY}.input.jsonl",
            "--runner", "spark", "--checkpoint", folder, "--table",
        )  # fmt: skip
    assert ran.code == 0, ran.err
    jvm = SparkContext._gateway.proc  # type: ignore[union-attr]
    spark.stop()
    jvm.stdin.close()  # upon which it ends
    jvm.wait()
    unfinished.rename(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
