"""From the start of the process to the first answer on Spark, beside a plain PySpark query.

Both count the rows of each key in windows of ten seconds over one small CSV file, as a stream: one
by `driftline run`, the other by `readStream`, `groupBy(window, key)` and `foreachBatch` on
`local[*]`. They take turns.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from rich.table import Table

from bench.report import RUNS
from bench.tables import Shown

OURS, PLAIN = "driftline run", "plain PySpark"
ROWS = "at,key\n" + "".join(f"2024-05-01T09:00:{n:02}Z,{n % 3}\n" for n in range(30))
SCRIPT = """
CREATE STREAM s (at TIMESTAMP, key INT) WITH (time = 'at', disorder = '5s');
SELECT window_start, key, count(*) AS n FROM TUMBLE(s, INTERVAL 10 SECONDS)
GROUP BY window_start, window_end, key;
"""
PYSPARK = """
from pyspark.sql import SparkSession
from pyspark.sql.functions import count, window

spark = SparkSession.builder.master("local[*]").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
rows = spark.readStream.schema("at TIMESTAMP, key INT").option("header", True).csv("s")
counts = (
    rows.withWatermark("at", "5 seconds")
    .groupBy(window("at", "10 seconds"), "key")
    .agg(count("*").alias("n"))
)

def show(batch, number):
    for row in batch.collect():
        print(row, flush=True)

query = counts.writeStream.outputMode("update").foreachBatch(show).trigger(availableNow=True)
query.start().awaitTermination()
"""


@dataclass
class Findings:
    """Seconds of every run."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {OURS: [], PLAIN: []})

    @property
    def ratio(self) -> float:
        return median(self.seconds[OURS]) / median(self.seconds[PLAIN])

    def shown(self) -> Iterator[Shown]:
        table = Table("", "median, s", "runs, s", title="from start to the first answer on Spark")
        for row in self.rows():
            table.add_row(*row)
        yield table
        yield f"{OURS} ÷ {PLAIN}: {self.ratio:.2f}"

    def rows(self) -> list[tuple[str, str, str]]:
        return [
            (name, f"{median(taken):.1f}", ", ".join(f"{each:.1f}" for each in taken))
            for name, taken in self.seconds.items()
        ]

    def as_dict(self) -> dict[str, object]:
        return {"rows": self.rows(), "ratio": round(self.ratio, 2)}


def measure(_: int) -> Findings:
    """Both in turn, in processes of their own."""
    found = Findings()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "s").mkdir()
        (folder / "s" / "rows.csv").write_text(ROWS)
        (folder / "query.sql").write_text(SCRIPT)
        (folder / "plain.py").write_text(PYSPARK)
        ours = [
            "-m", "driftline.cli.main", "run", "--runner", "spark", "query.sql", "--input",
            "s=s/rows.csv",
        ]  # fmt: skip
        for _run in range(RUNS):
            found.seconds[PLAIN].append(_first_line(folder, ["plain.py"]))
            found.seconds[OURS].append(_first_line(folder, ours))
    return found


def _first_line(folder: Path, arguments: list[str]) -> float:
    """How long a Python process takes to print a first line."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    taken = time.perf_counter() - start
    process.stdout.read()
    process.wait()
    if process.returncode or not line:
        raise RuntimeError(f"{' '.join(arguments)} gave no answer")
    return taken
