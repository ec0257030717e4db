"""What a worker does with the parcels of one shard and micro-batch.

Spark calls it once for every shard and micro-batch, with all parcels for that shard, and keeps its
store: what is written there becomes true when the micro-batch is committed, and only then. Shards
are kept from one micro-batch to the next in this process; which process gets a shard is up to
Spark, so what is kept is checked against the store and brought up to date.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from driftline.engine.parcels import OUTPUT, Parcel
from driftline.engine.shard import Answer, Stage
from driftline.engine.state_log import Kept, StateLog, Store
from driftline.spark.letters import DEAD, letters_to_bytes
from driftline.spark.places import Place
from driftline.spark.tables import read_tables
from driftline.spark.wire import from_pandas, to_pandas

if TYPE_CHECKING:
    import pandas as pd

COUNTERS = "$counters"

_kept: dict[str, Kept] = {}
"""The shards that this process has, by lineage."""


def stepped(
    stage: Stage, tables: str | None, store: Store, rows: Iterable[pd.DataFrame]
) -> pd.DataFrame:
    """Take the parcels in that are for this stage; its answer, and the parcels for later ones."""
    parcels = from_pandas(rows)
    mine = [parcel for parcel in parcels if parcel.level == stage.level]
    passing = [parcel for parcel in parcels if parcel.level != stage.level]
    if mine:
        number = mine[0].shard
        log = StateLog(stage, number, store, _kept)
        if tables is not None and log.head.version == 0:
            for parcel in read_tables(Place(tables), stage.level, number):
                (passing if parcel.level == OUTPUT else mine).append(parcel)
        answer = log.step(mine)
        passing += answer.parcels
        passing += _reports(answer, number, stage.level, log.head.to_bytes())
    return to_pandas(passing, stage.shards)


def _reports(answer: Answer, number: int, level: int, head: bytes) -> Iterator[Parcel]:
    for name, letters in answer.dead.items():
        yield Parcel(OUTPUT, DEAD + name, 0, number, data=letters_to_bytes(letters))
    yield Parcel(OUTPUT, f"{COUNTERS} {level}", 0, number, data=head)
