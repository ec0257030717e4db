"""Rows that are pushed in small batches: what one costs in CPU, start-up left out.

- select: a filter and a product.
- group by: count and sum by key in tumbling windows of ten seconds, emitted as they change.
- join: every row with the windows of that group by that are there at its time.

Rows come from a list, from an iterator (`changes(batch=…)`), and from a CSV file through the code
of `driftline run --batch …`, which writes an event log. What a row costs is the difference between
many rows and few, of each the least of several runs, in processor time of this process with all
its threads. Where there is bytewax (see `on_bytewax`), it has the rows of the list.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from time import process_time
from typing import Any

import pyarrow as pa
import pyarrow.csv
from rich.table import Table

import driftline as dl
from bench.on_bytewax import on_bytewax
from bench.report import RUNS
from bench.tables import Shown
from driftline.cli.run import RunArguments, run
from driftline.cli.scripts import ScriptText
from driftline.running.options import RunOptions

STREAM = """
CREATE STREAM trades (ts BIGINT, symbol STRING, price DOUBLE, qty BIGINT)
    WITH (time = 'ts', disorder = 1000);
"""
_COUNTED = """SELECT symbol, count(*) AS n, sum(qty) AS s
    FROM trades [RANGE 10000 SLIDE 10000] GROUP BY symbol"""
QUERIES = {
    "select": "SELECT symbol, price * qty AS value FROM trades WHERE qty > 10",
    "group by": _COUNTED,
    "join": "SELECT t.symbol, t.price, w.n, w.s FROM trades [NOW] AS t "
    f"JOIN ({_COUNTED}) AS w ON t.symbol = w.symbol",
}
BATCHES = (1, 10, 100, 1_000)
FEW = 10
"""Many rows are so many times as many as few."""


@dataclass
class Row:
    """What a row of a query costs in batches of a size, in ms of CPU; None: no bytewax is there."""

    query: str
    batch: int
    listed: float
    iterated: float
    command: float
    bytewax: float | None


@dataclass
class Report:
    rows: list[Row]

    def shown(self) -> Iterator[Shown]:
        there = any(row.bytewax is not None for row in self.rows)
        table = Table(
            "query", "batch", "list, ms a row", "iterator, ms a row", "command line, ms a row",
            *(["bytewax, ms a row"] if there else []),
        )  # fmt: skip
        for row in self.rows:
            costs = (row.listed, row.iterated, row.command, row.bytewax)
            table.add_row(
                row.query, f"{row.batch:,}", *(f"{cost:.4f}" for cost in costs if cost is not None)
            )
        yield table
        if not there:
            yield "bytewax is not installed (see `on_bytewax.py`)"

    def as_dict(self) -> dict[str, object]:
        return {"rows": [asdict(row) for row in self.rows]}


def measure(events: int) -> Report:
    with tempfile.TemporaryDirectory() as name:
        return Report(
            [
                _measured(query, batch, max(events // 1_000, 2 * FEW * batch), Path(name))
                for query in QUERIES
                for batch in BATCHES
            ]
        )


def _measured(query: str, batch: int, count: int, folder: Path) -> Row:
    rows = _rows(count)
    few, many = rows[: count // FEW], rows
    file = folder / "trades.csv"

    def command(rows: list[dict[str, Any]]) -> float:
        pyarrow.csv.write_csv(pa.Table.from_pylist(rows), file)
        return _seconds(lambda: _command(query, batch, file))

    def a_row(seconds: Callable[[list[dict[str, Any]]], float]) -> float:
        best = [min(seconds(some) for _ in range(RUNS)) for some in (few, many)]
        return 1_000 * (best[1] - best[0]) / (len(many) - len(few))

    there = on_bytewax(query, few, batch) is not None
    return Row(
        query,
        batch,
        a_row(lambda some: _seconds(lambda: _from_python(query, batch, some))),
        a_row(lambda some: _seconds(lambda: _from_python(query, batch, iter(some)))),
        a_row(command),
        a_row(lambda some: on_bytewax(query, some, batch) or 0.0) if there else None,
    )


def _rows(count: int) -> list[dict[str, Any]]:
    return [
        {"ts": 100 * n, "symbol": "ABCDE"[7 * n % 5], "price": 10 + 13 * n % 97 / 4,
         "qty": 31 * n % 50}
        for n in range(count)
    ]  # fmt: skip


def _from_python(query: str, batch: int, rows: Any) -> None:
    for _ in dl.sql(STREAM + QUERIES[query]).changes({"trades": rows}, batch=batch):
        pass


def _command(query: str, batch: int, file: Path) -> None:
    out = file.with_suffix(".jsonl")
    arguments = RunArguments([f"trades={file}"], output=str(out), options=RunOptions(batch=batch))
    run(ScriptText(None, STREAM + QUERIES[query]), "local", arguments)


def _seconds(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start
