"""The stateful stage: a shard inside Spark's transformWithStateInPandas.

Spark calls it once for every shard and micro-batch, with all parcels for that shard, and keeps its
store: what is written there becomes true when the micro-batch is committed, and only then. Shards
are kept from one micro-batch to the next in this process; which process gets a shard is up to
Spark, so what is kept is checked against the store and brought up to date.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from driftline.engine.parcels import OUTPUT, Parcel
from driftline.engine.shard import Answer, Stage
from driftline.engine.state_log import Kept, StateLog
from driftline.spark.letters import DEAD, letters_to_bytes
from driftline.spark.places import Place
from driftline.spark.tables import read_tables
from driftline.spark.wire import from_pandas, to_pandas

if TYPE_CHECKING:
    import pandas as pd

COUNTERS = "$counters"

_kept: dict[str, Kept] = {}
"""The shards that this process has, by lineage."""

_NAME = StructType([StructField("name", StringType())])
_VALUE = StructType([StructField("value", BinaryType())])


class StageProcessor(StatefulProcessor):
    """Runs the shards of one stage. `tables`: where the tables are that do not change; a shard
    takes its own parcels of these in with its first micro-batch."""

    def __init__(self, stage: Stage, tables: str | None = None) -> None:
        self.stage = stage
        self.tables = tables

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.store = _Store(handle)

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        level = self.stage.level
        parcels = from_pandas(rows)
        mine = [parcel for parcel in parcels if parcel.level == level]
        passing = [parcel for parcel in parcels if parcel.level != level]
        if mine:
            number = mine[0].shard
            log = StateLog(self.stage, number, self.store, _kept)
            if self.tables is not None and log.head.version == 0:
                mine += read_tables(Place(self.tables), level, number)
            answer = log.step(mine)
            passing += answer.parcels
            passing += _reports(answer, number, level, log.head.to_bytes())
        yield to_pandas(passing, self.stage.shards)

    def close(self) -> None:
        """Nothing is open."""


def _reports(answer: Answer, number: int, level: int, head: bytes) -> Iterator[Parcel]:
    for name, letters in answer.dead.items():
        yield Parcel(OUTPUT, DEAD + name, 0, number, data=letters_to_bytes(letters))
    yield Parcel(OUTPUT, f"{COUNTERS} {level}", 0, number, data=head)


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
