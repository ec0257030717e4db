"""Spark sessions: a quiet one of the command's own, and what a query needs in any.

A session that we are given stays as its user has it: settings are those of a query while it starts
(`configured`), and workers are told which Python is ours by the functions alone (`our_python`).
"""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

PYTHON = "PYSPARK_PYTHON"
"""In the environment: the Python of workers."""

DEBUG = "DRIFTLINE_DEBUG"
"""In the environment: Spark may write its log."""

PYSPARKS_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "py4j.clientserver")
"""Loggers that write every failure to stderr, as JSON or with a stack trace; we print one line."""

QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "100",
}
"""Nothing is shown of what has been done, so that little of it is kept: by itself Spark keeps the
plans and metrics of a thousand queries, and every micro-batch is one."""

JAVA_OPTIONS = "spark.driver.defaultJavaOptions"
THROUGHPUT = {JAVA_OPTIONS: "-XX:+UseParallelGC -XX:MetaspaceSize=256m"}
"""For a JVM of our own in which tasks run: messages and state are large arrays, for which the usual
collector marks the whole heap again and again, beside the query. Spark's classes are 170 MB: while
these are loaded the whole heap would be collected five times, to see whether some can go."""

COLLECTOR = re.compile(r"-XX:\+Use\w*GC\b")
"""The choice of a collector among the options of a JVM, which takes only one."""

JVM_VARIABLES = (
    "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS",
    "PYSPARK_SUBMIT_ARGS",
)  # fmt: skip
"""What else may have options of the JVM, in the environment."""

WORKERS = {"spark.python.daemon.module": "driftline.spark.daemon"}
"""Workers that have the engine when they start."""

STATE = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
"""The only state store of Spark that a stateful stage in Python can have."""

SAME_WORKERS = {"spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false"}
"""Spark gives stateful stages workers without simplified tracebacks, whatever the session's
setting, and other functions theirs: with the same setting for all they share one daemon and its
workers."""

STREAMING = {
    **STATE,
    **SAME_WORKERS,
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.timeType.enabled": "true",
}
"""What a query of ours is started with. Rows go to Python so many at a time: with a limit of bytes
Spark counts these after every row, which takes longer than to send it; the largest limit is no
limit. Columns of type TIME are refused by Spark unless it is told to take them."""

BOUNDED = {
    "spark.sql.streaming.minBatchesToRetain": "5",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "5",
    "spark.sql.streaming.stateStore.maintenanceInterval": "10s",
}
"""What a checkpoint keeps of micro-batches that are over, where the session does not say it. A
query goes on from the last one. Spark keeps a hundred, and looks once a minute for what can go, so
that a checkpoint would be hundreds of times what a micro-batch brings."""

PARTITIONS = "spark.sql.shuffle.partitions"

BY_NAME = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}
"""Spark's plain way to write a checkpoint: a file is written and gets its name, if no other has it
(see `Checkpoint.drop_leftovers`). For its other way Hadoop starts four processes more for every
file, to see whether a name is a link."""


def session(
    name: str = "driftline", master: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """A quiet Spark for a process of our own: this machine's cores unless a master is named or
    configured. The workers of a cluster get this package."""
    os.environ.setdefault(PYTHON, sys.executable)
    if is_local(master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark import SparkConf, SparkContext, java_gateway
    from pyspark.sql import SparkSession

    own = _throughput(settings or {}) if is_local(master) else _shipped()
    chosen = {**QUIET, **WORKERS, **STREAMING, **own, **(settings or {}), "spark.app.name": name}
    if master is not None:
        chosen["spark.master"] = master
    if DEBUG in os.environ:
        chosen["spark.log.level"] = "WARN"
    else:
        for each in PYSPARKS_LOGGERS:
            logging.getLogger(each).setLevel(logging.CRITICAL)
    conf = SparkConf(loadDefaults=False).setAll(list(chosen.items()))
    if SparkSession.getActiveSession() is None and DEBUG not in os.environ:
        untyped: Any = java_gateway  # the JVM is noisy when it starts
        gateway = untyped.launch_gateway(conf, {"stderr": subprocess.DEVNULL})
        SparkContext(conf=conf, gateway=gateway)
    builder: Any = SparkSession.builder
    return cast("SparkSession", builder.config(conf=conf).getOrCreate())


def is_local(master: str | None) -> bool:
    """Whether a master is this machine: its workers find the package where the driver does."""
    return master is None or master.startswith("local")


def is_remote(spark: SparkSession) -> bool:
    """Whether a session is one of Spark Connect: its driver is elsewhere."""
    return ".connect." in type(spark).__module__


def parallelism(spark: SparkSession) -> int:
    """How many tasks Spark has room for at once."""
    if not is_remote(spark):
        return max(1, spark.sparkContext.defaultParallelism)
    from pyspark.sql import functions as f

    many = spark.range(1 << 12).select(f.spark_partition_id()).distinct()
    return max(1, many.count())


def _throughput(settings: Mapping[str, str]) -> dict[str, str]:
    """The options of a JVM of our own, unless somebody has chosen a collector."""
    given = [*settings.values(), *(os.environ.get(name, "") for name in JVM_VARIABLES)]
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else None)
    if folder is not None:
        with suppress(OSError, UnicodeDecodeError):
            given.append(Path(folder, "spark-defaults.conf").read_text())
    return {} if any(map(COLLECTOR.search, given)) else THROUGHPUT


def _shipped() -> dict[str, str]:
    from driftline.spark.ship import shipped

    return shipped()


def set_for_good(spark: SparkSession, settings: Mapping[str, str]) -> None:
    """Give a session the settings that it has not: queries that start later have them, too."""
    for key, value in settings.items():
        if spark.conf.get(key, None) != value:
            spark.conf.set(key, value)


def unless_set(spark: SparkSession, settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that a session was not given by its user."""
    return {key: value for key, value in settings.items() if spark.conf.get(key, None) is None}


@contextmanager
def configured(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """The session with other settings for a while: a query keeps those it was started with."""
    before = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


def prepare_workers(spark: SparkSession) -> None:
    """Let the workers of a session on this machine start now, with the engine loaded, while the
    driver does other things."""
    if is_local(spark.sparkContext.master) and spark not in _PREPARED:
        _PREPARED[spark] = threading.Thread(target=_start_workers, args=(spark,), daemon=True)
        _PREPARED[spark].start()


@contextmanager
def our_python(spark: SparkSession) -> Iterator[None]:
    """While functions of ours are given to a session on this machine. They run in the Python that
    the driver has, unless another one was named: else it would be the first python3 on the path."""
    if is_remote(spark) or PYTHON in os.environ or not is_local(spark.sparkContext.master):
        yield
        return
    context: Any = spark.sparkContext
    before, context.pythonExec = context.pythonExec, sys.executable
    try:
        yield
    finally:
        context.pythonExec = before


def mapped(frame: DataFrame, function: Any, columns: Any) -> DataFrame:
    """A DataFrame with a function of ours applied to its batches."""
    with our_python(frame.sparkSession):
        return frame.mapInArrow(function, columns)


def await_workers(spark: SparkSession) -> None:
    """Wait for the workers that are starting: Spark gives up a process that is not there in ten
    seconds, which may be too few for several at once."""
    if spark in _PREPARED:
        _PREPARED[spark].join(LONGEST)


_PREPARED: WeakKeyDictionary[SparkSession, threading.Thread] = WeakKeyDictionary()

LONGEST = 60
"""Seconds that a worker, or a source, is waited for."""


def await_sources(query: StreamingQuery) -> None:
    """Wait until a query that was started has its sources, which a thread of its own makes: those
    of files look up then in which way the session writes checkpoints."""
    with suppress(Exception):  # what goes wrong there ends the query, which reports it
        query._jsq.streamingQuery().awaitInitialization(1000 * LONGEST)


def _start_workers(spark: SparkSession) -> None:
    """Run an empty job on the workers, with the settings that queries have. What goes wrong here
    goes wrong again where they are needed, and is reported there."""
    from driftline.spark.warm import warm

    with suppress(Exception):
        own = spark.newSession()
        for key, value in SAME_WORKERS.items():
            own.conf.set(key, value)
        many = parallelism(spark)
        mapped(own.range(0, many, 1, many), warm, "id BIGINT").collect()


def on_disk(spark: SparkSession) -> dict[str, str]:
    """The settings for a checkpoint on the disk of this machine, where all workers are."""
    return BY_NAME if is_local(spark.sparkContext.master) else {}
