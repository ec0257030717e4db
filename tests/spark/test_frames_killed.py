"""Views of DataFrames whose process is killed: what Spark's sinks hold is there once."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import driftline as dl
from tests.spark.framed import QUERIES, SCHEMA, committed, started
from tests.spark.test_crash import PATIENCE, children, kill

FILES = 8
NAMES = ("symbol", "qty", "ts")
DECLARED = dl.stream("trades", SCHEMA, time="ts", disorder=20)
Rows = list[dict[str, Any]]


def batches(seed: int) -> list[Rows]:
    """Trades that are less than 20 late, a list for each file."""
    draw = random.Random(seed)
    found: list[Rows] = []
    for number in range(FILES):
        times = [15 * number + draw.randrange(20) for _ in range(5)]
        rows = [(draw.choice("ABC"), draw.randrange(9), at) for at in times]
        found.append([dict(zip(NAMES, row, strict=True)) for row in rows])
    return found


def write(folder: Path, files: list[Rows], numbers: range) -> None:
    folder.mkdir(exist_ok=True)
    for number in numbers:
        path = folder / f".{number}.json"
        path.write_text("\n".join(map(json.dumps, files[number])))
        os.utime(path, (number + 1, number + 1))
        path.rename(folder / f"{number}.json")


def run_until_killed(folder: Path, files: list[Rows], new: range, draw: random.Random) -> None:
    """Start, and kill everything while the last of some new files is worked on, or soon after."""
    write(folder / "in", files, new[:-1])
    command = [sys.executable, "-m", "tests.spark.framed", str(folder), *QUERIES]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2], stderr=subprocess.DEVNULL)
    until = time.monotonic() + PATIENCE
    while any(max(committed(folder, view), default=-1) < new[-2] for view in QUERIES):
        assert time.monotonic() < until, "no micro-batch comes to its end"
        assert process.poll() is None, "it has ended before it was killed"
        time.sleep(0.05)
    write(folder / "in", files, new[-1:])
    time.sleep(2 * draw.random())
    below = children(process.pid)
    kill(process.pid, "everything", draw)
    for orphan in below:
        if Path(f"/proc/{orphan}").exists():
            kill(orphan, "everything", draw)
    process.wait()


def micro_batches(folder: Path, view: str) -> list[int]:
    """How many files had been read after each micro-batch: after a crash Spark may put one that it
    had only seen together with the next."""
    offsets = folder / "checkpoints" / view / "offsets"
    texts = [(offsets / str(number)).read_text() for number in committed(folder, view)]
    return [1 + json.loads(text.splitlines()[-1])["logOffset"] for text in texts]


def differences(
    view: str, files: list[Rows], ends: list[int]
) -> Iterator[Counter[tuple[Any, ...]]]:
    """By micro-batch, how the table by symbol changes: + what a key has now, - what is gone."""
    made = dl.sql(QUERIES[view], trades=DECLARED)
    before: dict[str, int] = {}
    for end in ends:
        rows = [row for each in files[:end] for row in each]
        if view == "now":
            table = made.now(trades=rows, keep_open=True, emit="eager").table().to_pylist()
        else:
            history = made.run(trades=rows, keep_open=True, emit="eager").history().to_pylist()
            table = [row for row in history if row["ve"] is None]
        after = {row["symbol"]: row["qty"] for row in table}
        new = [("+", *item) for item in after.items() if before.get(item[0]) != item[1]]
        gone = [("-", *item) for item in before.items() if item[0] not in after]
        yield Counter([*new, *gone])
        before = after


def called_with(folder: Path, number: int) -> Rows:
    """The rows of a micro-batch that a function was called with: if it was called again, with the
    same."""
    (text,) = {path.read_text() for path in (folder / "calls").glob(f"{number}-*")}
    return [json.loads(line) for line in text.splitlines()]


def in_files(folder: Path, number: int) -> Rows:
    """The rows of a micro-batch that Spark's own sink has."""
    log = (folder / "now" / "_spark_metadata" / str(number)).read_text()
    paths = [json.loads(line)["path"].removeprefix("file://") for line in log.splitlines()[1:]]
    return [row for path in paths for row in pq.read_table(path, partitioning=None).to_pylist()]


def check(folder: Path, files: list[Rows]) -> None:
    for view, rows_of in {"current": called_with, "now": in_files}.items():
        ends = micro_batches(folder, view)
        assert ends[-1] == FILES
        for number, step in enumerate(differences(view, files, ends)):
            rows = rows_of(folder, number)
            assert Counter((row["op"], row["symbol"], row["qty"]) for row in rows) == step


@pytest.mark.spark
def test_views_after_a_crash(spark: Any, tmp_path: Path) -> None:
    files = batches(1)
    run_until_killed(tmp_path, files, range(FILES // 2), random.Random(1))
    write(tmp_path / "in", files, range(FILES // 2, FILES))
    for view in QUERIES:
        assert started(spark, tmp_path, view, availableNow=True).awaitTermination(PATIENCE)
    check(tmp_path, files)
