"""From file to file with `driftline run --runner local`, start-up included, beside DuckDB.

The query counts, adds up and takes the greatest over a window of a minute that hops by ten seconds,
of late events, from CSV and from Parquet to Parquet. DuckDB computes the same over the finished
file and writes Parquet, too; it runs in this process, so its start-up is not in its time. Driftline
starts from bytecode, as an installed package does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.csv
import pyarrow.parquet
from rich.table import Table

from bench.data import VERY_LATE_BY, events
from bench.report import RUNS, seconds
from bench.tables import Shown

SIZE, SLIDE = 60_000, 10_000
SCRIPT = f"""
CREATE STREAM events (ts BIGINT, key BIGINT, item BIGINT, price DOUBLE, qty BIGINT)
    WITH (time = 'ts', disorder = {VERY_LATE_BY + 10_000});
SELECT key, count(*) AS n, sum(qty) AS s, max(price) AS m
FROM events [RANGE {SIZE} SLIDE {SLIDE}] GROUP BY key;
"""
DUCKDB = f"""
COPY (
    WITH cells AS (
        SELECT key, ts // {SLIDE} AS c, count(*) AS n, sum(qty)::BIGINT AS s, max(price) AS m
        FROM '{{path}}' GROUP BY ALL
    )
    SELECT key, (c + h) * {SLIDE} AS t, sum(n)::BIGINT AS n, sum(s)::BIGINT AS s, max(m) AS m
    FROM cells, range(1, {SIZE // SLIDE + 1}) hops(h) GROUP BY ALL
) TO '{{out}}' (FORMAT parquet)
"""
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
"""With it every run would compile the source files that it loads."""
SIX_LINES = "".join(
    f'{{"stream":"events","kind":"insert","vs":{n},"ve":null,"row":{{"key":{n % 2}}}}}\n'
    for n in range(6)
)
SMALL_SCRIPT = """
CREATE STREAM events (key INT);
SELECT key, count(*) AS n FROM events [RANGE 5] GROUP BY key;
"""


@dataclass
class Findings:
    """`cpu`: of a run over six lines; `start`: from its start to its end; then, by format, what
    Driftline takes in all, and DuckDB."""

    events: int
    cpu: float = 0.0
    start: float = 0.0
    ours: dict[str, float] = field(default_factory=dict)
    duckdb: dict[str, float] = field(default_factory=dict)
    wrong: dict[str, int] = field(default_factory=dict)

    def shown(self) -> Iterator[Shown]:
        yield f"six lines: {self.cpu:.2f} s of CPU, {self.start:.2f} s from start to end"
        table = Table(
            "from", "Driftline, s", "after start-up, s", "DuckDB, s", "after start-up ÷ DuckDB",
            "wrong results", title=f"{self.events:,} late events from a file to Parquet",
        )  # fmt: skip
        for row in self.rows():
            table.add_row(*map(str, row))
        yield table

    def rows(self) -> list[tuple[object, ...]]:
        return [
            (
                name, f"{ours:.2f}", f"{ours - self.start:.2f}", f"{self.duckdb[name]:.2f}",
                f"{(ours - self.start) / self.duckdb[name]:.1f}", self.wrong[name],
            )
            for name, ours in self.ours.items()
        ]  # fmt: skip

    def as_dict(self) -> dict[str, object]:
        return {
            "events": self.events,
            "six lines, CPU s": round(self.cpu, 3),
            "six lines, s": round(self.start, 3),
            "rows": self.rows(),
        }


def measure(count: int) -> Findings:
    """Everything, of each the best of some runs."""
    found = Findings(count)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "small.sql").write_text(SMALL_SCRIPT)
        (folder / "six.jsonl").write_text(SIX_LINES)
        (folder / "query.sql").write_text(SCRIPT)
        table = events(count, late=True)
        pyarrow.csv.write_csv(table, folder / "events.csv")
        pyarrow.parquet.write_table(table, folder / "events.parquet")
        small = ["small.sql", "--input", "six.jsonl", "--output", "small.jsonl"]
        runs = [_run(folder, small) for _ in range(RUNS + 2)][1:]
        found.cpu, found.start = min(cpu for cpu, _ in runs), min(wall for _, wall in runs)
        for form in ("csv", "parquet"):
            arguments = ["query.sql", "--input", f"events=events.{form}", "--output", "out.parquet"]
            found.ours[form] = min(_run(folder, arguments)[1] for _ in range(RUNS))
            _run(folder, [*arguments, "--table"])
            query = DUCKDB.format(path=folder / f"events.{form}", out=folder / "duckdb.parquet")
            with duckdb.connect() as rival:
                rival.execute("SET threads = 2")
                found.duckdb[form] = seconds(lambda: rival.execute(query))  # noqa: B023
            found.wrong[form] = _wrong(folder)
    return found


def _run(folder: Path, arguments: list[str]) -> tuple[float, float]:
    """The seconds of CPU and those on the clock that a run takes."""
    command = [sys.executable, "-m", "driftline.cli.main", "run", "--runner", "local", *arguments]
    environment = {name: os.environ[name] for name in os.environ if name != NO_BYTECODE}
    before = os.times()
    subprocess.run(command, cwd=folder, env=environment, check=True)
    after = os.times()
    user, system = after.children_user, after.children_system
    cpu = user + system - before.children_user - before.children_system
    return cpu, after.elapsed - before.elapsed


def _wrong(folder: Path) -> int:
    """Rows of one answer that are not in the other, one for every hop."""
    ours = pl.read_parquet(folder / "out.parquet").select(
        "key", pl.int_ranges("vs", "ve", SLIDE).alias("t"), "n", "s", "m"
    )
    ours, theirs = ours.explode("t"), pl.read_parquet(folder / "duckdb.parquet")
    columns = ["key", "t", "n", "s", "m"]
    return len(ours.join(theirs, columns, "anti")) + len(theirs.join(ours, columns, "anti"))
