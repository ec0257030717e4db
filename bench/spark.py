"""Driftline on Spark beside Spark's own operators: parquet in, parquet out, local[2], RocksDB.

Spark has a watermark of 5 s, which is what a user would set who knows how late most events come.
What comes later it drops. A run's first micro-batches are left out of its time: they start workers
and compile; and some runs go before all others, which warms the JVM up. The local runner reads and
writes parquet, too, in the same batches.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from bench.data import events
from bench.engine import DISORDER, IN_ORDER, LATE
from bench.queries import CASES, SECOND, Case
from bench.tables import Shown
from driftline.engine.core.batch import Batch
from driftline.engine.options import Options
from driftline.engine.tables import history_table
from driftline.model.time import BEGINNING
from driftline.spark.query import SparkQuery
from driftline.spark.session import configured, on_disk, session
from driftline.spark.update import SparkUpdate
from driftline.spark.views import change_rows

MASTER = "local[2]"
SIZES = (400_000, 50_000)
BATCHES = 8
COLD = 2
"""Micro-batches at the beginning of a run that are not counted."""
WARMING = 2
"""Runs before those that count: the JVM compiles what is used often."""
FILES = 2
"""Of every micro-batch: a task for each core."""
WATERMARK = "5 seconds"
AT = {
    "Q1": (pl.col("w") + 1) * 10 * SECOND,
    "Q2": pl.col("t"),
    "Q3": pl.max_horizontal("a", "b"),
    "Q4": pl.col("ts"),
    "Q5": pl.col("t"),
}
"""The time that each row of an answer is about."""

NATIVE = ("Q1", "Q2", "Q3")
"""What Spark's own operators can do in one streaming query."""


@dataclass
class Run:
    """Seconds of every micro-batch, and the answer."""

    seconds: list[float]
    wrong: int

    @property
    def warm(self) -> float:
        return sum(self.seconds[COLD:])


@dataclass
class Findings:
    """By query, version and size of micro-batches: events/s and wrong results."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    startup: dict[str, float] = field(default_factory=dict)

    def shown(self) -> Iterator[Shown]:
        table = Table(
            "query", "events", "rows per micro-batch", "Driftline, events/s", "Spark, events/s",
            "Driftline ÷ Spark", "local ÷ Driftline", "wrong: Driftline", "wrong: Spark",
            title="Driftline on Spark beside Spark's own operators",
        )  # fmt: skip
        for row in self.rows:
            spark = row["spark"]
            table.add_row(
                row["query"], row["version"], f"{row['size']:,}", f"{row['driftline']:,}",
                "–" if spark is None else f"{spark:,}",
                "–" if spark is None else f"{row['driftline'] / spark:.2f}",
                f"{row['local'] / row['driftline']:.1f}", f"{row['wrong']:,}",
                "–" if spark is None else f"{row['spark wrong']:,}",
            )  # fmt: skip
        yield table
        for name, seconds in self.startup.items():
            yield f"{name}: {seconds:.2f} s"

    def as_dict(self) -> dict[str, object]:
        return {"rows": self.rows, "seconds": self.startup}


def measure(count: int) -> Findings:
    found = Findings()
    start = time.perf_counter()
    spark = session("bench", MASTER, {"spark.sql.shuffle.partitions": "2"})
    found.startup["starting Spark"] = round(time.perf_counter() - start, 2)
    try:
        for size in SIZES:
            rows = min(count, size * BATCHES)
            for _ in range(WARMING):
                _compared(spark, "Q1", CASES["Q1"], events(rows, late=False), False, size)
            for late in (False, True):
                table = events(rows, late)
                for name, case in CASES.items():
                    found.rows.append(_compared(spark, name, case, table, late, size))
                    Console().print(found.rows[-1])
        _fixed_costs(spark, found)
    finally:
        spark.stop()
    return found


def _compared(
    spark: Any, name: str, case: Case, table: pa.Table, late: bool, size: int
) -> dict[str, Any]:
    truth = case.polars(pl.DataFrame(pl.from_arrow(table)))
    warm = table.num_rows - COLD * size
    ours = _driftline(spark, name, case, table, late, size, truth)
    theirs = _native(spark, name, case, table, size, truth) if name in NATIVE else None
    return {
        "query": name,
        "version": LATE if late else IN_ORDER,
        "size": size,
        "driftline": round(warm / ours.warm),
        "wrong": ours.wrong,
        "local": round(warm / _local(case, table, late, size)),
        "spark": None if theirs is None else round(warm / theirs.warm),
        "spark wrong": None if theirs is None else theirs.wrong,
    }


def _driftline(
    spark: Any, name: str, case: Case, table: pa.Table, late: bool, size: int, truth: pl.DataFrame
) -> Run:
    query = case.query(DISORDER[LATE if late else IN_ORDER])
    final = BEGINNING
    emitted: list[Batch] = []
    with scratch() as folder:
        frames = frames_of(spark, case.inputs(table), folder, size)
        out = folder / "out"
        out.mkdir()

        def sink(each: SparkUpdate) -> None:
            nonlocal final
            batch = each.batches["result"]
            emitted.append(batch)
            final = max(final, batch.cti)
            changes = change_rows(batch, timestamps=False)
            pq.write_table(changes, out / f"{each.batch_id:06}.parquet")

        run = SparkQuery({"result": query.plan}, frames, Options(), 2)
        started = run.start(sink, checkpoint=folder / "checkpoint", trigger={"availableNow": True})
        started.awaitTermination()
        seconds = seconds_of(started)
    history = history_table(emitted, query.plan.schema.arrow)
    closed = history.set_column(1, "ve", pc.fill_null(history["ve"], final))
    answer = case.answer(closed, table)
    # What is final has to be right.
    return Run(
        seconds, _differences(answer.filter(AT[name] < final), truth.filter(AT[name] < final))
    )


def _local(case: Case, table: pa.Table, late: bool, size: int) -> float:
    """Seconds of the local runner for the same batches, parquet in and parquet out."""
    with scratch() as folder:
        inputs = {name: folder / f"{name}.parquet" for name in case.inputs(table)}
        for name, part in case.inputs(table).items():
            pq.write_table(part, inputs[name], row_group_size=size // len(inputs))
        query = case.query(DISORDER[LATE if late else IN_ORDER])
        taken, start = [], time.perf_counter()
        for number, emitted in enumerate(query.changes(inputs, batch=size // len(inputs))):
            changes = change_rows(emitted.batch, timestamps=False)
            pq.write_table(changes, folder / f"{number:06}.parquet")
            taken.append(time.perf_counter() - start)
            start = time.perf_counter()
        return sum(taken[COLD : table.num_rows // size])


def _native(
    spark: Any, name: str, case: Case, table: pa.Table, size: int, truth: pl.DataFrame
) -> Run:
    with scratch() as folder:
        frames = frames_of(spark, case.inputs(table), folder, size)
        answer = _NATIVE[name](frames)
        started = (
            answer.writeStream.format("parquet")
            .option("checkpointLocation", str(folder / "checkpoint"))
            .option("path", str(folder / "out"))
            .outputMode("append")
            .trigger(availableNow=True)
            .start()
        )
        started.awaitTermination()
        seconds = seconds_of(started)
        rows = pl.DataFrame(pl.from_arrow(_read(folder / "out")))
    emitted = rows.select(truth.columns).cast(dict(truth.schema.items()))
    # What it has not closed yet it has not emitted: only what it could have emitted is compared.
    return Run(seconds, _differences(emitted, _final(name, truth, table)))


def _final(name: str, truth: pl.DataFrame, table: pa.Table) -> pl.DataFrame:
    """The answers that Spark's append mode has given by the end of the data."""
    if name == "Q3":
        return truth
    reached = int(table["ts"].to_numpy().max()) - 5 * SECOND
    return truth.filter(AT[name] <= reached)


def _read(folder: Path) -> pa.Table:
    return pq.ParquetDataset([str(path) for path in sorted(folder.glob("*.parquet"))]).read()


def _differences(one: pl.DataFrame, other: pl.DataFrame) -> int:
    """Rows that only one of two answers has."""
    columns = one.columns
    mine = one.with_columns(pl.lit(1).alias("by"))
    theirs = other.select(columns).with_columns(pl.lit(-1).alias("by"))
    counts = pl.concat([mine, theirs]).group_by(columns).agg(pl.col("by").sum())
    return int(counts.filter(pl.col("by") != 0).height)


def seconds_of(started: Any) -> list[float]:
    """Of every micro-batch that had data."""
    return [
        progress["durationMs"]["triggerExecution"] / 1000
        for progress in started.recentProgress
        if progress["numInputRows"]
    ]


def _windowed(frame: Any, *window: str) -> Any:
    from pyspark.sql import functions as f

    return _timed(frame).groupBy("key", f.window("at", *window))


def _timed(frame: Any) -> Any:
    from pyspark.sql import functions as f

    return frame.withColumn("at", f.timestamp_millis("ts")).withWatermark("at", WATERMARK)


def _native_q1(frames: dict[str, Any]) -> Any:
    from pyspark.sql import functions as f

    number = (f.unix_millis("window.start") / (10 * SECOND)).cast("bigint")
    return (
        _windowed(frames["events"], "10 seconds")
        .agg(f.count("*").alias("n"), f.sum("qty").alias("s"), f.max("price").alias("m"))
        .select("key", number.alias("w"), "n", "s", "m")
    )


def _native_q2(frames: dict[str, Any]) -> Any:
    from pyspark.sql import functions as f

    return (
        _windowed(frames["events"], "60 seconds", "5 seconds")
        .agg(f.sum("qty").alias("s"), f.count("*").alias("n"))
        .select("key", f.unix_millis("window.end").alias("t"), "s", "n")
    )


def _native_q3(frames: dict[str, Any]) -> Any:
    from pyspark.sql import functions as f

    sides = {name: _timed(frame).alias(name) for name, frame in frames.items()}
    near = "l.at BETWEEN r.at - INTERVAL 5 SECONDS AND r.at + INTERVAL 5 SECONDS"
    joined = sides["l"].join(sides["r"], f.expr(f"l.key = r.key AND l.item = r.item AND {near}"))
    return joined.selectExpr(
        "l.key AS key", "l.item AS item", "l.ts AS a", "r.ts AS b", "l.qty AS q", "r.qty AS p"
    )


_NATIVE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "Q1": _native_q1,
    "Q2": _native_q2,
    "Q3": _native_q3,
}


def frames_of(spark: Any, inputs: dict[str, pa.Table], folder: Path, size: int) -> dict[str, Any]:
    """Each input as files, one for every micro-batch."""
    whole = sum(table.num_rows for table in inputs.values())
    made = {}
    for name, table in inputs.items():
        path = folder / name
        path.mkdir()
        share = max(1, size * table.num_rows // whole // FILES)
        for number, start in enumerate(range(0, table.num_rows, share)):
            file = path / f"{number:06}.parquet"
            pq.write_table(table.slice(start, share), file)
            os.utime(file, (number + 1, number + 1))
        schema = spark.read.parquet(str(path)).schema
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", FILES)
        made[name] = reader.parquet(str(path))
    return made


def _fixed_costs(spark: Any, found: Findings) -> None:
    """The first micro-batch of a query, one that has almost nothing to do, and a small one beside
    Spark's own with the same settings."""
    table = events(20, late=False)
    case = CASES["Q1"]
    truth = case.polars(pl.DataFrame(pl.from_arrow(table)))
    run = _driftline(spark, "Q1", case, table, False, 2, truth)
    found.startup["first micro-batch, workers warm"] = round(run.seconds[0], 2)
    found.startup["an almost empty micro-batch"] = round(min(run.seconds[1:]), 2)
    size = SIZES[-1]
    table = events(size * BATCHES, late=False)
    truth = case.polars(pl.DataFrame(pl.from_arrow(table)))
    ours = _driftline(spark, "Q1", case, table, False, size, truth)
    with configured(spark, on_disk(spark)):
        theirs = _native(spark, "Q1", case, table, size, truth)
    name = f"Q1 in micro-batches of {size:,} rows"
    found.startup[name] = round(median(ours.seconds[COLD:]), 2)
    found.startup[f"{name}, Spark's own with Driftline's checkpoint settings"] = round(
        median(theirs.seconds[COLD:]), 2
    )


@contextmanager
def scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="driftline-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
