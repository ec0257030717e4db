"""From the start of `driftline run` to its first line of answers, where nothing was run before.

The wheel is built and installed into an environment of its own, and every run has an empty home.
Nothing is compiled there: a kernel that would have to be is an error. On Spark a plain PySpark
query of the same shape stands beside it, on `local[*]` in the same environment; they take turns.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median

from rich.table import Table

from bench.report import RUNS
from bench.tables import Shown

ROWS = 2000
STREAMS = """
CREATE STREAM s (at TIMESTAMP, key INT, other INT, value DOUBLE)
  WITH (time = 'at', disorder = '5s');
CREATE STREAM t (at TIMESTAMP, key INT, other INT, value DOUBLE)
  WITH (time = 'at', disorder = '5s');
"""
WINDOWS = """
SELECT window_start, key, count(*) AS n, sum(value) AS s, min(value) AS mn, max(value) AS mx,
  avg(value) AS a
FROM TUMBLE(s, INTERVAL 10 SECONDS) GROUP BY window_start, window_end, key;
"""
QUERIES = {
    "select": "SELECT key, value * 2 AS twice FROM s WHERE value > 0.5;",
    "group by in windows": WINDOWS,
    "equi-join": "SELECT s.key, t.value FROM s JOIN t ON s.key = t.key AND s.other = t.other;",
    "distinct": "SELECT DISTINCT key, other FROM s;",
    "session": "SELECT key, count(*) AS n FROM SESSION(TABLE s PARTITION BY key, "
    "INTERVAL 3 SECONDS) GROUP BY key, window_start, window_end;",
    "as-of join": "SELECT s.key, t.value FROM s ASOF JOIN t MATCH_CONDITION (s.at >= t.at) "
    "ON s.key = t.key;",
    "top-k": "SELECT key, value FROM s ORDER BY value DESC LIMIT 5;",
    "with recursive": "WITH RECURSIVE p (a, b) AS (SELECT key, other FROM s UNION "
    "SELECT p.a, s.other FROM p JOIN s ON p.b = s.key) SELECT a, b FROM p;",
    "match_recognize": "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY key ORDER BY at "
    "MEASURES FIRST(a.value) AS f, LAST(b.value) AS l PATTERN (a b+) "
    "DEFINE b AS value > PREV(value));",
}
OURS, PLAIN = "driftline run", "plain PySpark"
PYSPARK = """
from pyspark.sql import SparkSession
from pyspark.sql.functions import avg, count, max, min, sum, window

spark = SparkSession.builder.master("local[*]").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
schema = "at TIMESTAMP, key INT, other INT, value DOUBLE"
rows = spark.readStream.schema(schema).option("header", True).csv("s")
aggregates = [count("*").alias("n"), *(f("value") for f in (sum, min, max, avg))]
counts = (
    rows.withWatermark("at", "5 seconds").groupBy(window("at", "10 seconds"), "key")
    .agg(*aggregates)
)

def show(batch, number):
    for row in batch.collect():
        print(row, flush=True)

query = counts.writeStream.outputMode("update").foreachBatch(show).trigger(availableNow=True)
query.start().awaitTermination()
"""


@dataclass
class Findings:
    """Seconds of every run, by query on this machine, and on Spark by whose it is."""

    local: dict[str, list[float]] = field(default_factory=dict)
    spark: dict[str, list[float]] = field(default_factory=lambda: {OURS: [], PLAIN: []})

    @property
    def ratio(self) -> float:
        return median(self.spark[OURS]) / median(self.spark[PLAIN])

    def shown(self) -> Iterator[Shown]:
        for name, seconds in {"on this machine": self.local, "on Spark": self.spark}.items():
            title = f"from start to the first answer {name}"
            table = Table("", "median, s", "runs, s", title=title)
            for row in rows(seconds):
                table.add_row(*row)
            yield table
        yield f"{OURS} ÷ {PLAIN}: {self.ratio:.2f}"

    def as_dict(self) -> dict[str, object]:
        ratio = round(self.ratio, 2)
        return {"local": rows(self.local), "spark": rows(self.spark), "ratio": ratio}


def rows(seconds: dict[str, list[float]]) -> list[tuple[str, str, str]]:
    return [
        (name, f"{median(taken):.2f}", ", ".join(f"{each:.2f}" for each in taken))
        for name, taken in seconds.items()
    ]


def measure(_: int) -> Findings:
    """Every query by itself, in processes of their own."""
    found = Findings()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = _installed(folder)
        for stream in ("s", "t"):
            (folder / stream).mkdir()
            (folder / stream / "rows.csv").write_text(_records(Random(stream)))
        (folder / "plain.py").write_text(PYSPARK)
        for query, text in QUERIES.items():
            script = folder / "query.sql"
            script.write_text(STREAMS + text)
            inputs = ["s", "t"] if " t " in text else ["s"]
            command = _command(inputs, "local")
            found.local[query] = [_first_line(folder, python, command) for _ in range(RUNS)]
        (folder / "query.sql").write_text(STREAMS + WINDOWS)
        for _ in range(RUNS):
            found.spark[PLAIN].append(_first_line(folder, python, ["plain.py"]))
            found.spark[OURS].append(_first_line(folder, python, _command(["s"], "spark")))
    return found


def _installed(folder: Path) -> Path:
    """The Python of an environment that has the wheel."""
    subprocess.run(["make", "--no-print-directory", "wheel"], check=True)
    subprocess.run(["scripts/install-wheel", sys.executable, folder / "venv"], check=True)
    return folder / "venv" / "bin" / "python"


def _command(inputs: Sequence[str], runner: str) -> list[str]:
    given = [part for name in inputs for part in ("--input", f"{name}={name}/rows.csv")]
    return ["-m", "driftline.cli.main", "run", "--runner", runner, "query.sql", *given]


def _records(random: Random) -> str:
    lines = [
        f"2024-05-01T09:{n // 60 % 60:02}:{n % 60:02}Z,{random.randrange(50)},"
        f"{random.randrange(50)},{random.random()}\n"
        for n in range(ROWS)
    ]
    return "at,key,other,value\n" + "".join(lines)


def _first_line(folder: Path, python: Path, arguments: Sequence[str]) -> float:
    """How long a Python process takes to print a first line, in an empty home."""
    with tempfile.TemporaryDirectory(dir=folder) as home:
        own = {"HOME": home, "DRIFTLINE_KERNELS": "shipped", "PYSPARK_PYTHON": str(python)}
        start = time.perf_counter()
        process = subprocess.Popen(
            [python, *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **own},
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        taken = time.perf_counter() - start
        _, complained = process.communicate()
    if process.returncode or not line:
        raise RuntimeError(f"{' '.join(arguments)} gave no answer: {complained.decode()}")
    return taken
