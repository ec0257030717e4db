"""The stateful stage: what Spark's transformWithStateInPandas is given.

Spark makes it in a process of its own first, only to hear which state it has. So the engine, which
takes seconds to load, is not needed for that: the stage is packed until rows come.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from pyspark.serializers import CPickleSerializer
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

if TYPE_CHECKING:
    import pandas as pd

    from driftline.engine.shards.stored import Stepped

_PICKLER: Any = CPickleSerializer()
"""What Spark itself packs functions with."""

_NAME = StructType([StructField("name", StringType())])
_VALUE = StructType([StructField("value", BinaryType())])


class StageProcessor(StatefulProcessor):
    """Runs the shards of one stage. `tables`: where the tables are that do not change; a shard
    takes its own messages of these in with its first micro-batch. `fixed`: there are as many shards
    as the stage says; else as many as its state has partitions."""

    def __init__(self, stage: Stepped, tables: str | None = None, *, fixed: bool = True) -> None:
        self.packed = _PICKLER.dumps(stage)
        self.tables, self.fixed = tables, fixed

    @cached_property
    def stage(self) -> Stepped:
        from driftline.spark.labels import state_partitions

        stage: Any = _PICKLER.loads(self.packed)
        if not self.fixed:
            stage = replace(stage, shards=state_partitions(stage.shards))
        return cast("Stepped", stage)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.store = _Store(handle)

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        from driftline.spark.stepping import stepped

        yield stepped(self.stage, self.tables, self.store, rows)

    def close(self) -> None:
        """Nothing is open."""


class _Store:
    """Spark's store as a map from names to bytes. One map: every variable costs a call to open."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self.map = handle.getMapState("log", _NAME, _VALUE)

    def get(self, name: str) -> bytes | None:
        found = self.map.getValue((name,))
        return None if found is None else bytes(found[0])

    def put(self, name: str, value: bytes) -> None:
        self.map.updateValue((name,), (value,))

    def remove(self, name: str) -> None:
        self.map.removeKey((name,))
