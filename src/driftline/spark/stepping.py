"""What a worker does with the messages of one shard and micro-batch.

Spark calls it once for every shard and micro-batch, with all messages for that shard, and keeps its
store: what is written there becomes true when the micro-batch is committed, and only then. Shards
are kept from one micro-batch to the next in this process; which process gets a shard is up to
Spark, so what is kept is checked against the store and brought up to date, or lent by the process
that has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import TYPE_CHECKING

from driftline.engine.shards.lending import Lending
from driftline.engine.shards.long_lived import LATELY, give_back
from driftline.engine.shards.messages import OUTPUT, Message, MessageKind
from driftline.engine.shards.state_log import Head, StateLog, Store
from driftline.engine.shards.stored import Kept, Stepped
from driftline.spark.places import Place
from driftline.spark.tables import read_tables
from driftline.spark.wire import from_pandas, to_pandas

if TYPE_CHECKING:
    import pandas as pd

_kept: dict[str, Kept] = {}
"""The shards that this process has, by lineage."""

_lending = Lending(_kept)

_steps = count(1)


def stepped(
    stage: Stepped, tables: str | None, store: Store, rows: Iterable[pd.DataFrame]
) -> pd.DataFrame:
    """Take the messages in that are for this stage; returns those for later ones, and outputs."""
    messages = from_pandas(rows)
    mine = [message for message in messages if message.level == stage.level]
    passing = [message for message in messages if message.level != stage.level]
    if next(_steps) % LATELY == 0:
        give_back()
    if mine:
        number = mine[0].shard
        log = StateLog(stage, number, store, _kept, _lending)
        if tables is not None and log.head.version == 0:
            for message in read_tables(Place(tables), stage, number):
                (passing if message.level == OUTPUT else mine).append(message)
        passing += log.step(mine)
        _lending.drop_unused()
        head = log.head.to_bytes()
        passing.append(
            Message(OUTPUT, MessageKind.COUNTERS, str(stage.level), 0, number, data=head)
        )
    return to_pandas(passing, stage.shards)


def stepped_once(stage: Stepped, rows: pd.DataFrame) -> pd.DataFrame:
    """The same for messages that are all that there will ever be: nothing is kept."""
    messages = from_pandas([rows])
    mine = [message for message in messages if message.level == stage.level]
    passing = [message for message in messages if message.level != stage.level]
    if mine:
        number = mine[0].shard
        shard = stage.shard(number)
        passing += shard.step(mine)
        head = Head(counters=shard.counters()).to_bytes()
        passing.append(
            Message(OUTPUT, MessageKind.COUNTERS, str(stage.level), 0, number, data=head)
        )
    return to_pandas(passing, stage.shards)
