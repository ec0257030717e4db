"""Sinks: where the results of a query on Spark go, each micro-batch once.

    query.start(sinks.Parquet("answers"), checkpoint="checkpoints/answers")

    memory, console         for notebooks
    event_log, parquet      files (`files`: written in full or not at all)
    delta, postgres         tables;  databases: of DuckDB and SQLite;  tables: what goes into one
    kafka                   messages of a topic
    dead_letters            events that were no part of their stream
    foreach                 a function that takes DataFrames
    several                 several sinks as one;  one_result: a sink for one of several results

A sink is anything that can be called with a `SparkUpdate`. After a crash the last micro-batch comes
again, with the same number and the same contents: the sinks here know by the number, and by the
query's name in its checkpoint, that they have it already.
"""

from __future__ import annotations

from driftline.spark.sinks.console import Console
from driftline.spark.sinks.databases import DuckDB, SQLite
from driftline.spark.sinks.dead_letters import DeadLetterFiles
from driftline.spark.sinks.delta import Delta
from driftline.spark.sinks.event_log import EventLog, EventLogFiles
from driftline.spark.sinks.foreach import ForeachBatch
from driftline.spark.sinks.kafka import Kafka
from driftline.spark.sinks.memory import Memory
from driftline.spark.sinks.one_result import OneResult
from driftline.spark.sinks.parquet import Parquet, read_parquet
from driftline.spark.sinks.postgres import Postgres
from driftline.spark.sinks.several import Several, held_for

__all__ = [
    "Console",
    "DeadLetterFiles",
    "Delta",
    "DuckDB",
    "EventLog",
    "EventLogFiles",
    "ForeachBatch",
    "Kafka",
    "Memory",
    "OneResult",
    "Parquet",
    "Postgres",
    "SQLite",
    "Several",
    "held_for",
    "read_parquet",
]
