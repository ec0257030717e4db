"""A pipeline that runs on, and is killed again and again: does anything grow?

`driftline run --follow` over 20,000 rows a second, with a log of final windows and a table of the
answer now. Every minute or so all of its processes are killed, and it goes on from its checkpoint.
Meanwhile is noted what is alive in the heap of the JVM, the memory of the driver in Python and of
the workers, the size of the checkpoint, the time of every micro-batch, and how far the pipeline is
behind. In the end the log has to hold every window once, with all of its rows.

A measure is taken apart into what comes with the age of the processes, and what comes with the
time since the beginning, which no restart takes away:

    measure ~ usual + by age × age + by time × time

It is flat if neither would change it by more than a fifth in the time of the soak, or of a run. A
slope is the median of those between any two points of a run, or between any two runs, so that a
single run or moment that is out of the ordinary does not decide. What warms up is no growth: the
first seconds of every run are left out, and for what comes with time the first run, which begins
with nothing to catch up with and an empty checkpoint.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path

import numpy as np
from rich.table import Table

from bench.processes import DRIVER, JVM, WORKERS, held, kill
from bench.tables import Shown

RATE = 20_000
SECONDS = 300
LIVES = (50, 70)
"""A run lives so many seconds after its first micro-batch, at random."""
WARM = 20
"""So many seconds after its first micro-batch a process is warm."""
LITTLE = 0.2
"""A measure may change by so much of itself."""
WINDOW = 10
MINUTE = 60
LATE = 10
"""A pipeline that is so many seconds behind its source keeps up."""
PAUSE = 5.0
LOOKS = 3
"""Of so many looks at the heap the least counts: others may meet a micro-batch on its way."""
SHORT = 0.5
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

HEAP_AT_ONCE = "spark.driver.extraJavaOptions=-Xms1g -XX:+AlwaysPreTouch"
"""The JVM takes its whole heap at the start: if it grows, that is something else."""

HEAP, CHECKPOINT, BATCH = "live heap", "checkpoint", "micro-batch"


@dataclass(frozen=True)
class Point:
    """A measure at a time: `at`, seconds since the beginning; `age`, since the first micro-batch of
    its run."""

    at: float
    age: float
    value: float


@dataclass(frozen=True)
class Trend:
    """How a measure changes, as parts of its median: over a whole soak for the time, over a whole
    run for the age."""

    median: float
    by_time: float
    by_age: float

    @property
    def is_flat(self) -> bool:
        return max(self.by_time, self.by_age) <= LITTLE


def stored_trend(points: Sequence[Point]) -> Trend:
    """The trend of what is on the disk, and has no age: it goes up and down as state is written
    anew, so that whole minutes are compared, without those of the first run."""
    first = min(each.at - each.age for each in points)
    later = [each for each in points if each.at - each.age > first + 1] or list(points)
    runs: dict[int, list[Point]] = {}
    for each in later:
        runs.setdefault(int(each.at // MINUTE), []).append(each)
    usual = statistics.median(each.value for each in later)
    levels = [(n * MINUTE, statistics.fmean(p.value for p in own)) for n, own in runs.items()]
    whole = max(each.at for each in later) - min(each.at for each in later)
    return Trend(usual, slope(levels) * whole / (usual or 1.0), 0.0)


def trend(points: Sequence[Point]) -> Trend:
    """The trend of a measure while processes are warm. Of one run alone, time and age are the
    same: it is put down to the age."""
    warm = [each for each in points if each.age >= WARM] or list(points)
    median = statistics.median(each.value for each in warm)
    runs: dict[int, list[Point]] = {}
    for each in warm:
        runs.setdefault(round(each.at - each.age), []).append(each)
    inside = [slope((p.age, p.value) for p in own) for own in runs.values() if len(own) > 1]
    within = statistics.median(inside) if inside else 0.0
    later = sorted(runs)[1:] if len(runs) > 2 else sorted(runs)
    levels = [
        (began, statistics.median(p.value - within * p.age for p in runs[began])) for began in later
    ]
    by_time = slope(levels)
    whole, run = (np.ptp([getattr(p, name) for p in warm]) for name in ("at", "age"))
    usual = median or 1.0
    return Trend(median, float(by_time * whole / usual), float((within - by_time) * run / usual))


def slope(points: Iterable[tuple[float, float]]) -> float:
    """The median of the slopes between any two points.

    >>> slope([(0, 1), (1, 2), (2, 99), (3, 4)])
    1.0
    """
    pairs = combinations(sorted(points), 2)
    found = [(y - x) / (b - a) for (a, x), (b, y) in pairs if b > a]
    return float(np.median(found)) if found else 0.0


@dataclass
class Measured:
    """By measure, its points; `behind`: at which times, how many seconds of rows were not yet
    worked on."""

    points: dict[str, list[Point]] = field(default_factory=dict)
    behind: list[tuple[float, float]] = field(default_factory=list)

    def add(self, name: str, at: float, age: float, value: float) -> None:
        self.points.setdefault(name, []).append(Point(at, age, value))


@dataclass(frozen=True)
class Report:
    """`minutes`: of each, the median of every measure; `behind`: the median of the last minute."""

    seconds: float
    kills: int
    windows: int
    rows: int
    behind: float
    trends: dict[str, Trend]
    minutes: list[dict[str, float]]

    @property
    def growing(self) -> list[str]:
        """The measures that are not flat."""
        return [name for name, each in self.trends.items() if not each.is_flat]

    @property
    def keeps_up(self) -> bool:
        return self.behind <= LATE

    def shown(self) -> Iterator[Shown]:
        table = Table("minute", *(f"{name}, {UNITS[name]}" for name in self.trends))
        for number, each in enumerate(self.minutes, 1):
            table.add_row(str(number), *(_shown(name, each.get(name)) for name in self.trends))
        for name, of in TRENDS.items():
            table.add_row(name, *(f"{of(each):+.0%}" for each in self.trends.values()))
        yield table
        yield (
            f"{self.seconds:.0f} s, {self.kills} kills, {self.windows} whole windows, "
            f"{self.rows:,} rows, each once; {self.behind:.0f} s behind in the end: it "
            + ("keeps up" if self.keeps_up else "does not keep up")
            + (f"; growing: {', '.join(self.growing)}" if self.growing else "; all flat")
        )

    def as_dict(self) -> dict[str, object]:
        return {**asdict(self), "growing": self.growing, "keeps up": self.keeps_up}


UNITS = {HEAP: "MiB", JVM: "MiB", DRIVER: "MiB", WORKERS: "MiB", CHECKPOINT: "MiB", BATCH: "s"}
TRENDS: dict[str, Callable[[Trend], float]] = {
    "by time": lambda each: each.by_time,
    "by age": lambda each: each.by_age,
}


def _shown(name: str, value: float | None) -> str:
    return "" if value is None else f"{value:,.{1 if name in (CHECKPOINT, BATCH) else 0}f}"


def measure(events: int) -> Report:
    return soak(SECONDS)


def soak(seconds: float, lives: tuple[float, float] = LIVES) -> Report:
    """Run for so long, and check what was written."""
    draw = random.Random(1)
    measured = Measured()
    with tempfile.TemporaryDirectory(prefix="driftline-soak-") as name:
        folder = Path(name)
        (folder / "pipeline.sql").write_text(SCRIPT)
        start, kills = time.monotonic(), 0
        while time.monotonic() - start < seconds:
            _run(folder, start, draw.uniform(*lives), measured)
            kills += 1
        windows, rows = _check(folder / "windows.jsonl")
        taken = time.monotonic() - start
    return Report(
        taken,
        kills,
        windows,
        rows,
        statistics.median(
            late for at, late in measured.behind if at > measured.behind[-1][0] - MINUTE
        ),
        {
            name: (stored_trend if name == CHECKPOINT else trend)(points)
            for name, points in sorted(measured.points.items(), key=_by_unit)
        },
        minutes(measured.points),
    )


def _by_unit(item: tuple[str, object]) -> int:
    return list(UNITS).index(item[0])


def minutes(points: dict[str, list[Point]]) -> list[dict[str, float]]:
    """Minute by minute, the medians of all measures."""
    last = max(each.at for own in points.values() for each in own)
    found: list[dict[str, float]] = []
    for number in range(int(last // MINUTE) + 1):
        own = {
            name: [each.value for each in values if each.at // MINUTE == number]
            for name, values in points.items()
        }
        found.append({name: statistics.median(values) for name, values in own.items() if values})
    return found


def _run(folder: Path, start: float, lives: float, measured: Measured) -> None:
    """Start the pipeline, and kill all of it when it has lived so long."""
    command = [sys.executable, "-m", "driftline.cli.main", "run", "pipeline.sql", "--follow"]
    command += ["--checkpoint", "state", "--master", "local[2]", "--conf", HEAP_AT_ONCE]
    errors = folder / "errors"
    with errors.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=folder, stdout=file, stderr=file, start_new_session=True
        )
    spark = folder / "state" / "spark"
    began, first, looked = time.monotonic(), None, 0.0
    before = max(_commits(spark), default=-1)
    last: tuple[int, float] | None = None
    heaps: deque[int] = deque(maxlen=LOOKS)
    try:
        while first is None or time.monotonic() - first < lives:
            time.sleep(SHORT)
            if process.poll() is not None:
                raise AssertionError(f"the run has ended: {errors.read_text()}")
            now, commits = time.monotonic(), _commits(spark)
            done = [number for number in sorted(commits) if number > before]
            if not done:
                assert now - began < PATIENCE, "no micro-batch comes to its end"
                continue
            first = now if first is None else first
            for number in done:
                if last is not None and number == last[0] + 1:
                    taken = commits[number] - last[1]
                    measured.add(BATCH, now - start, now - first, taken)
                if last is None or number > last[0]:
                    last = (number, commits[number])
            measured.add(CHECKPOINT, now - start, now - first, _size(folder / "state") / 2**20)
            if now - looked < PAUSE:
                continue
            looked = now
            measured.behind.append((now - start, _behind(spark, done[-1])))
            found, place = held(process.pid), (now - start, now - first)
            if found.heap is not None:
                heaps.append(found.heap)
                measured.add(HEAP, *place, min(heaps) / 2**20)
            for kind, size in found.memory.items():
                measured.add(kind, *place, size / 2**20)
    finally:
        kill(process.pid)
        process.wait()


def _commits(spark: Path) -> dict[int, float]:
    """When each of the last micro-batches was committed."""
    found: dict[int, float] = {}
    for path in spark.glob("commits/*"):
        if path.name.isdigit():
            with suppress(OSError):  # it has gone meanwhile
                found[int(path.name)] = path.stat().st_mtime
    return found


def _behind(spark: Path, number: int) -> float:
    """How many seconds of rows are not yet worked on: the offset of the source counts seconds."""
    began = int(json.loads((spark / "sources" / "0" / "0").read_text().split("\n")[-1])) / 1000
    offset = int((spark / "offsets" / str(number)).read_text().split("\n")[2])
    return time.time() - began - offset


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
