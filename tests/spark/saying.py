"""What a query says on Spark, made by the local runner: for tests of what comes after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

import driftline as dl
from driftline.engine.local import run_all
from driftline.engine.options import Options
from driftline.engine.plan_sources import sources_of
from driftline.model.history import History, Lifetime
from driftline.model.time import BEGINNING
from driftline.spark.update import SparkUpdate
from driftline.spark.views import view_of
from driftline.spark.written import FileTarget, WrittenFile, targets_of, write_file

START = 1_767_261_600_000  # 2026-01-01 10:00
MINUTE = 60_000


def emitted(
    queries: Mapping[str, dl.Query], inputs: Mapping[str, Any], batch: int, run: str = "one"
) -> list[SparkUpdate]:
    """Every micro-batch takes so many events, and begins a minute after the one before it."""
    plans = {name: query.plan for name, query in queries.items()}
    nodes = {**sources_of(plans.values()), **plans}
    stamps = frozenset(name for name, node in nodes.items() if node.timestamps)
    final = dict.fromkeys(plans, BEGINNING)
    found = []
    for number, outputs in enumerate(run_all(plans, inputs, Options(batch=batch))):
        batches = {}
        for name, each in outputs.batches.items():
            final[name] = max(final[name], each.cti)
            batches[name] = replace(each, cti=final[name])
        found.append(
            SparkUpdate(
                number,
                batches,
                outputs.dead,
                time=START + number * MINUTE,
                run=run,
                timestamps=stamps,
            )
        )
    return found


def in_files(update: SparkUpdate, sink: Any, shards: int = 2) -> SparkUpdate:
    """The update as it is where executors have written the rows for a sink, if they can."""
    nothing = {name: batch.take(np.empty(0, np.int64)) for name, batch in update.batches.items()}
    about = replace(update, batches=nothing)
    targets = targets_of(sink, about, "local[2]")
    if targets is None:
        return update
    files: dict[FileTarget, list[WrittenFile]] = {}
    for name, own in targets.items():
        whole = update.micro_batch(name)
        for shard in range(shards):
            rows = np.flatnonzero(whole.batch.row_fingerprints().high % np.uint64(shards) == shard)
            part = replace(whole, batch=whole.batch.take(rows))
            for target in own:
                file = write_file(target, view_of(target.view)(part), shard)
                files.setdefault(target, []).extend([file] if file.rows else [])
    return replace(about, files=files)


def coalesced(table: pa.Table) -> History:
    """What a history table means, however it was emitted."""
    for place, name in enumerate(table.column_names):
        if name in ("vs", "ve"):
            table = table.set_column(place, name, table.column(name).cast("int64"))
    lines = table.to_pylist()
    return History(
        Lifetime(_ticks(line.pop("vs")), _ticks(line.pop("ve")), dl.Row(line)) for line in lines
    ).coalesced()


def _ticks(time: int | None) -> int:
    return dl.INFINITY if time is None else time


TRADES = dl.stream("trades", {"symbol": "STRING", "qty": "BIGINT"})
VOLUME = TRADES.group_by("symbol").agg("sum(qty) AS qty", "count(*) AS n")
EVENTS = [
    dl.Insert(1, dl.INFINITY, dl.Row(symbol="A", qty=5)),
    dl.Insert(2, dl.INFINITY, dl.Row(symbol="B", qty=7)),
    dl.Insert(3, dl.INFINITY, dl.Row(symbol="A", qty=1)),
    dl.Cti(2),
    dl.Retract(2, dl.INFINITY, 4, dl.Row(symbol="B", qty=7)),
    dl.Insert(1, dl.INFINITY, dl.Row(symbol="C", qty=9)),  # too late
    dl.Insert(5, dl.INFINITY, dl.Row(symbol=None, qty=None)),
]
"""Of B nothing is left; C is a dead letter."""

CURRENT = [
    {"symbol": None, "qty": None, "n": 1},
    {"symbol": "A", "qty": 6, "n": 2},
]


def volumes(batch: int = 2, run: str = "one") -> list[SparkUpdate]:
    return emitted({"result": VOLUME}, {"trades": EVENTS}, batch, run)
