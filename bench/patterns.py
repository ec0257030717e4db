"""Patterns: `DOWN+ UP` of the price per key, in order (A) and late (B), compared match by match
with Polars on the finished data; what late rows and ten times the events cost, and what is kept.
Seconds are processor time of this process.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from time import process_time

import polars as pl
import pyarrow as pa
from rich.table import Table

import driftline as dl
from bench import data
from bench.engine import BATCH, DISORDER, IN_ORDER, LATE
from bench.queries import trades
from bench.tables import Shown
from driftline.engine.core.batch import Batch
from driftline.model.arrays import Int64s

FACTOR = 10
MIB = 1 << 20


@dataclass(frozen=True)
class Run:
    """`events` in `seconds`; matches that Polars finds and Driftline does not, and the other way
    round; the most that was kept."""

    events: int
    seconds: float
    missing: int
    wrong: int
    state_mib: float


@dataclass(frozen=True)
class Report:
    in_order: Run
    late: Run
    tenth: Run

    def shown(self) -> Iterator[Shown]:
        table = Table("DOWN+ UP", "events", "CPU s", "events/s", "missing", "false", "state, MiB")
        for name, run in (("A", self.in_order), ("B", self.late), ("B, a tenth", self.tenth)):
            table.add_row(
                name, f"{run.events:,}", f"{run.seconds:.2f}", f"{run.events / run.seconds:,.0f}",
                str(run.missing), str(run.wrong), f"{run.state_mib:.1f}",
            )  # fmt: skip
        yield table
        late, growth = (
            self.late.seconds / self.in_order.seconds,
            self.late.seconds / self.tenth.seconds,
        )
        yield (
            f"B takes {late:.2f} times as long as A; {FACTOR} times the events {growth:.1f} times"
        )

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def measure(events: int) -> Report:
    _run(BATCH, LATE)  # kernels are compiled
    return Report(_run(events, IN_ORDER), _run(events, LATE), _run(events // FACTOR, LATE))


def falls(disorder: int) -> dl.Query:
    """The falls of a price, each with the rise after it."""
    return trades(disorder).match(
        "DOWN+ UP",
        {"DOWN": "price < PREV(price)", "UP": "price > PREV(price)"},
        {
            "since": "FIRST(DOWN.ts)",
            "until": "UP.ts",
            "low": "LAST(DOWN.price)",
            "high": "UP.price",
        },
        per="key",
        by="ts",
    )


def _run(count: int, version: str) -> Run:
    table = data.events(count, version == LATE)
    found: list[Batch] = []
    state, start = 0, process_time()
    for emitted in falls(DISORDER[version]).changes({"events": table}, batch=BATCH):
        found.append(emitted.batch)
        state = max(state, sum(each["state_bytes"] for each in emitted.counters.values()))
    taken = process_time() - start
    answer = pl.concat(as_frame(each.payload, each.weight) for each in found)
    keys = ["key", "since", "until", "low", "high"]
    left = answer.group_by(keys).agg(pl.col("weight").sum()).filter(pl.col("weight") != 0)
    truth = _on_polars(table).group_by(keys).agg(pl.len().cast(pl.Int64).alias("weight"))
    both = left.join(truth, on=[*keys, "weight"])
    return Run(count, taken, len(truth) - len(both), len(left) - len(both), state / MIB)


def as_frame(rows: pa.RecordBatch, weight: Int64s) -> pl.DataFrame:
    """The rows of a batch, with how many of each come or go."""
    changes = pa.Table.from_batches([rows]).append_column("weight", pa.array(weight))
    made = pl.from_arrow(changes)
    assert isinstance(made, pl.DataFrame)
    return made


def _on_polars(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    # Rows of the same time go by the others of their columns, in the order of their names.
    ordered = frame.sort("key", "ts", "item", "price", "qty")
    steps = ordered.with_columns(
        down=(pl.col("price") < pl.col("price").shift()).over("key").fill_null(False),
        up=(pl.col("price") > pl.col("price").shift()).over("key").fill_null(False),
    )
    # The first of the falls in a row that a fall belongs to.
    steps = steps.with_columns(
        first=pl.when(pl.col("down") & ~pl.col("down").shift(fill_value=False).over("key"))
        .then("ts").forward_fill().over("key"),
    )  # fmt: skip
    return steps.select(
        "key",
        since=pl.col("first").shift().over("key"),
        until="ts",
        low=pl.col("price").shift().over("key"),
        high="price",
        is_match=pl.col("up") & pl.col("down").shift(fill_value=False).over("key"),
    ).filter("is_match")
