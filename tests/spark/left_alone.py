"""Somebody's own code in a process in which Driftline runs too: it sees nothing of that.

python -m tests.spark.left_alone DIR     (by test_left_alone.py)
"""

from __future__ import annotations

import dataclasses
import gc
import locale
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

import driftline as dl
from driftline.kernels import compiled
from driftline.model.arrays import Int64s
from driftline.spark import sinks

NUMBAS = ("caching", "codegen", "dispatcher", "environment")
TRADES = dl.stream("trades", {"symbol": "STRING", "qty": "BIGINT", "at": "TIMESTAMP"}, time="at")
VOLUME = TRADES.tumble("1 minute").group_by("window_end", "symbol").agg("sum(qty) AS qty")
DEEP = " + ".join(["qty"] * 2000)


def functions_of(module: ModuleType) -> Iterator[tuple[str, object]]:
    """What a module has, and what its classes have."""
    for name, value in vars(module).items():
        if isinstance(value, type) and value.__module__ == module.__name__:
            yield from ((f"{name}.{each}", made) for each, made in vars(value).items())
        if callable(value):
            yield name, value


def seen(spark: Any) -> dict[str, object]:
    """What code in this process can see."""
    modules = [dataclasses, *(import_module(f"numba.core.{name}") for name in NUMBAS)]
    loggers = [logging.getLogger(), *map(logging.getLogger, ("py4j", "pyspark", "numba"))]
    return {
        **{module.__name__: dict(functions_of(module)) for module in modules},
        "finders": [*sys.meta_path],
        "import hooks": [*sys.path_hooks],
        "recursion": sys.getrecursionlimit(),
        "environment": dict(os.environ),
        "streams": (sys.stdin, sys.stdout, sys.stderr, *map(os.readlink, descriptors())),
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook, sys.displayhook),
        "garbage": (gc.get_threshold(), gc.get_freeze_count(), gc.isenabled()),
        "signals": [signal.getsignal(each) for each in signal.valid_signals()],
        "locale": locale.setlocale(locale.LC_ALL),
        "warnings": [*warnings.filters],
        "loggers": [(each.level, each.disabled, *each.handlers) for each in loggers],
        "folder": Path.cwd(),
        "session": dict(spark.conf.getAll),
        "context": dict(spark.sparkContext.getConf().getAll()),
        "python of workers": spark.sparkContext.pythonExec,
        "log of the context": spark.sparkContext._jvm.org.apache.log4j.Logger.getRootLogger()
        .getLevel()
        .toString(),
    }


def descriptors() -> list[str]:
    return [f"/proc/self/fd/{number}" for number in range(3)]


def own_code(spark: Any) -> list[object]:
    """A plain query, a function for Numba, and a dataclass."""
    njit: Any = numba.njit

    @njit  # type: ignore[untyped-decorator]
    def twice(values: NDArray[np.int64]) -> Any:
        return values + values

    @dataclasses.dataclass(frozen=True, order=True)
    class Pair:
        one: int
        two: str = "b"

    counted = spark.range(10).selectExpr("id % 3 AS k").groupBy("k").count()
    made = Pair.__eq__.__code__, Pair.__hash__.__code__, Pair.__repr__.__qualname__
    return [
        sorted(map(tuple, counted.collect())),
        twice(np.arange(3)).tolist(),
        type(twice._cache).__name__,
        [twice.nopython_signatures, str(twice.targetoptions)],
        (repr(Pair(1)), Pair(1) < Pair(2), Pair(1) == Pair(1), hash(Pair(1)) == hash(Pair(1))),
        [getattr(each, "co_code", each) for each in made],
    ]


@compiled
def tripled(values: Int64s) -> Int64s:
    """A kernel of Driftline's kind that no library has: Numba compiles it here."""
    return values * 3


def ours(spark: Any, folder: Path) -> None:
    """All that Driftline does, on this machine and on Spark."""
    assert tripled(np.arange(3)).tolist() == [0, 3, 6]
    rows = [{"symbol": "A", "qty": 1, "at": "2026-01-01T10:00:01Z"}]
    assert TRADES.select(f"{DEEP} AS n").run(trades=rows).history() != []
    assert VOLUME.run(trades=rows).history() != []
    (folder / "in").mkdir()
    (folder / "in" / "a.json").write_text('{"symbol":"A","qty":5,"at":"2026-01-01T10:00:01Z"}\n')
    frame = spark.readStream.schema("symbol STRING, qty INT, at STRING").json(str(folder / "in"))
    memory = sinks.Memory()
    running = dl.on_spark(VOLUME, {"trades": frame}).start(
        memory, checkpoint=str(folder / "checkpoint"), trigger={"availableNow": True}
    )
    running.awaitTermination()
    assert memory.table(view="current")["qty"].to_pylist() == [5]


def main(folder: Path) -> None:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").getOrCreate()
    own = own_code(spark)
    before = seen(spark)
    ours(spark, folder)
    after = seen(spark)
    for name, value in before.items():
        assert after[name] == value, f"{name}: {value} was {after[name]} afterwards"
    again = own_code(spark)
    assert again == own, (own, again)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
