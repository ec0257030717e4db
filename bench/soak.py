"""A pipeline that runs on, and is killed again and again: does anything grow?

`driftline run --follow` over 20,000 rows a second, with a log of final windows and a table of the
answer now. Every minute or so all of its processes are killed, and it goes on from its checkpoint.
Meanwhile its memory, the size of its checkpoint and the time of its micro-batches are noted. In the
end the log has to hold every window once, with all of its rows.
"""

from __future__ import annotations

import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

from bench.tables import Shown

RATE = 20_000
SECONDS = 300
LIVES = (60, 100)
"""A run lives so many seconds after its first micro-batch, at random."""
WINDOW = 10
PAUSE = 2.0
PATIENCE = 300

SCRIPT = f"""
CREATE STREAM ticks (timestamp TIMESTAMP, value BIGINT)
  WITH (time = 'timestamp', disorder = '1s', path = 'rate://?rowsPerSecond={RATE}');
CREATE SINK windows WITH (type = 'eventlog', path = 'windows.jsonl', view = 'finals') AS
  SELECT window_end, value % 100 AS k, count(*) AS n
  FROM TUMBLE(ticks, INTERVAL {WINDOW} SECONDS) GROUP BY window_end, value % 100;
CREATE SINK busy WITH (type = 'sqlite', path = 'busy.sqlite', keys = 'k', view = 'now') AS
  SELECT value % 100 AS k, count(*) AS n, max(value) AS value
  FROM ticks [RANGE 5 SECONDS] GROUP BY value % 100;
"""


@dataclass(frozen=True)
class Sample:
    """At a time of a run: bytes in memory, bytes of the checkpoint, and how many micro-batches were
    committed."""

    run: int
    at: float
    memory: int
    checkpoint: int
    batches: int


@dataclass(frozen=True)
class Report:
    """`runs`: of each, the greatest memory and checkpoint, and the median of a micro-batch."""

    seconds: float
    kills: int
    windows: int
    rows: int
    runs: list[tuple[int, int, float]]

    def shown(self) -> Iterator[Shown]:
        table = Table("run", "memory MiB", "checkpoint MiB", "micro-batch s")
        for number, (memory, checkpoint, batch) in enumerate(self.runs, 1):
            sizes = (f"{memory / 2**20:,.0f}", f"{checkpoint / 2**20:.1f}", f"{batch:.2f}")
            table.add_row(str(number), *sizes)
        yield table
        yield (
            f"{self.seconds:.0f} s, {self.kills} kills, {self.windows} whole windows, "
            f"{self.rows:,} rows, each once"
        )

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def measure(events: int) -> Report:
    return soak(SECONDS)


def soak(seconds: float) -> Report:
    """Run for so long, and check what was written."""
    draw = random.Random(1)
    samples: list[Sample] = []
    with tempfile.TemporaryDirectory(prefix="driftline-soak-") as name:
        folder = Path(name)
        (folder / "pipeline.sql").write_text(SCRIPT)
        start, kills = time.monotonic(), 0
        while time.monotonic() - start < seconds:
            samples += _run(folder, kills, draw.uniform(*LIVES))
            kills += 1
        windows, rows = _check(folder / "windows.jsonl")
        taken = time.monotonic() - start
    runs = [_of_run([each for each in samples if each.run == run]) for run in range(kills)]
    return Report(taken, kills, windows, rows, runs)


def _run(folder: Path, run: int, lives: float) -> list[Sample]:
    """Start the pipeline, and kill all of it when it has lived so long."""
    command = [sys.executable, "-m", "driftline.cli.main", "run", "pipeline.sql", "--follow"]
    command += ["--checkpoint", "state", "--master", "local[2]"]
    errors = folder / "errors"
    with errors.open("wb") as file:
        process = subprocess.Popen(command, cwd=folder, stderr=file, start_new_session=True)
    samples: list[Sample] = []
    began, first = time.monotonic(), None
    before = _batches(folder)
    try:
        while first is None or time.monotonic() - first < lives:
            time.sleep(PAUSE)
            if process.poll() is not None:
                raise AssertionError(f"the run has ended: {errors.read_text()}")
            now, batches = time.monotonic(), _batches(folder)
            if first is None and batches > before:
                first = now
            if first is None:
                assert now - began < PATIENCE, "no micro-batch comes to its end"
                continue
            memory, size = _memory(process.pid), _size(folder / "state")
            samples.append(Sample(run, now - first, memory, size, batches))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return samples


def _of_run(samples: Sequence[Sample]) -> tuple[int, int, float]:
    """The greatest memory and checkpoint of a run, and the seconds of a micro-batch."""
    first, last = samples[0], samples[-1]
    batches = max(1, last.batches - first.batches)
    sizes = statistics.median(each.checkpoint for each in samples[len(samples) // 2 :])
    return max(each.memory for each in samples), int(sizes), (last.at - first.at) / batches


def of_runs(runs: Sequence[tuple[int, int, float]]) -> tuple[float, ...]:
    """The medians of several runs."""
    return tuple(statistics.median(values) for values in zip(*runs, strict=True))


def _batches(folder: Path) -> int:
    note = folder / "state" / "output.json"
    try:
        return int(json.loads(note.read_text())["batches"]["0"])
    except FileNotFoundError:
        return -1


def _memory(group: int) -> int:
    """The bytes that the processes of a group hold."""
    pages = 0
    for place in Path("/proc").glob("[0-9]*"):
        try:
            stat = (place / "stat").read_text().rsplit(") ", 1)[1].split()
            if int(stat[2]) == group:
                pages += int((place / "statm").read_text().split()[1])
        except OSError:
            continue
    return pages * os.sysconf("SC_PAGE_SIZE")


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except OSError:  # it has gone meanwhile
            continue
    return total


def _check(log: Path) -> tuple[int, int]:
    """How many windows and rows the log has, if it has each once: all windows follow one another,
    and all but the first are full."""
    counts: dict[str, dict[int, int]] = {}
    for line in log.read_text().splitlines():
        try:
            event = json.loads(line)
        except ValueError:  # the last line of a run that was killed
            break
        if event["kind"] == "cti":
            continue
        if event["kind"] != "insert":
            raise AssertionError(f"what was final is taken back: {line}")
        row = event["row"]
        window = counts.setdefault(row["window_end"], {})
        if row["k"] in window:
            raise AssertionError(f"this is there twice: {line}")
        window[row["k"]] = row["n"]
    ends = sorted(counts)[1:]
    for end in ends[:-1]:
        rows = sum(counts[end].values())
        if rows != RATE * WINDOW:
            raise AssertionError(f"the window up to {end} has {rows:,} rows")
    return len(ends), sum(sum(counts[end].values()) for end in ends)
