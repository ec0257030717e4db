"""A topic of Kafka as a data source of Spark, without a package of the JVM.

    offset   by partition, the message that comes next: Spark writes it down before a micro-batch,
             so that one that comes again after a crash has the same messages

The topic and its settings travel with the class, and are no options that Spark could print.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from driftline.running.kafka import Position, Topic, limited

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

SCHEMA = "value BINARY, source STRING, line BIGINT"

Offset = dict[str, int]


@dataclass(frozen=True)
class Part(InputPartition):
    """The messages of one partition that a micro-batch has."""

    partition: int
    start: int
    end: int


class KafkaReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """`target`: how far a query reads that takes what is there now."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.target: Position | None = None

    def initialOffset(self) -> Offset:
        first, after = self.topic.ends()
        return _written(after if self.topic.start == "latest" else first)

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable() if self.topic.most is None else ReadMaxRows(self.topic.most)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        return _written(limited(_read(start), self.target or self.topic.ends()[1], most))

    def prepareForTriggerAvailableNow(self) -> None:
        self.target = self.topic.ends()[1]

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        before, after = _read(start), _read(end)
        return [
            Part(number, before.get(number, 0), to)
            for number, to in after.items()
            if to > before.get(number, 0)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Part)
        source = f"{self.topic.shown}/{partition.partition}"
        for messages in self.topic.between(partition.partition, partition.start, partition.end):
            yield pa.RecordBatch.from_pydict(
                {
                    "value": pa.array([each.value() for each in messages], pa.binary()),
                    "source": pa.array([source] * len(messages), pa.string()),
                    "line": pa.array([each.offset() for each in messages], pa.int64()),
                }
            )

    def commit(self, end: Offset) -> None:
        """Nothing is noted but by Spark."""


def messages(spark: SparkSession, topic: Topic) -> DataFrame:
    """The values of a topic's messages, and where each stood."""

    class KafkaSource(DataSource):
        """The data source of one topic."""

        @classmethod
        def name(cls) -> str:
            return f"driftline_kafka_{blake2b(topic.shown.encode(), digest_size=8).hexdigest()}"

        def schema(self) -> str:
            return SCHEMA

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:
            return KafkaReader(topic)

    spark.dataSource.register(KafkaSource)
    return spark.readStream.format(KafkaSource.name()).load()


def _written(position: Position) -> Offset:
    return {str(number): offset for number, offset in sorted(position.items())}


def _read(offset: Offset) -> Position:
    return {int(number): at for number, at in offset.items()}
