"""The tour's question, put to the engine: trades and shares per symbol and minute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from driftline.cli.demo.feed import MINUTE

if TYPE_CHECKING:
    from driftline.cli.demo.on_spark import Answer
    from driftline.model.event import Event
    from driftline.model.reference import Level


@dataclass
class Run:
    """What a run of the question said, and what was left."""

    said: int
    taken_back: int
    state: int
    final: Answer


def answers(events: list[Event], level: Level, batch: int) -> Run:
    """Ask a feed, in batches, at a latency level."""
    import pyarrow as pa

    from driftline.engine.aggregates import Aggregate
    from driftline.engine.alter_lifetime import AlterLifetime
    from driftline.engine.group_by import GroupBy
    from driftline.engine.plain import batch_of, events_of
    from driftline.model.event import Insert, Retract
    from driftline.model.history import canonical_history
    from driftline.model.time import format_timestamp

    schema = pa.schema(
        [("id", pa.int64()), ("symbol", pa.string()), ("price", pa.float64()), ("qty", pa.int64())]
    )
    minutes = AlterLifetime.hopping(schema, size=MINUTE, slide=MINUTE)
    counts = GroupBy(
        schema,
        ["symbol"],
        [Aggregate("n", "count", None, pa.int64()), Aggregate("s", "sum", "qty", pa.int64())],
        level,
    )
    said: list[Event] = []
    state = 0
    for start in range(0, len(events), batch):
        incoming = batch_of(events[start : start + batch], schema)
        said += events_of(counts.receive(0, minutes.receive(0, incoming)))
        state = max(state, counts.state_size()[0])
    final: Answer = {}
    for vs, _, row in canonical_history(said):
        # The window [T - 1 minute, T) is answered from T on.
        minute = format_timestamp(vs - MINUTE)[11:16]
        final[row["symbol"], minute] = (row["n"], row["s"])
    inserts = sum(isinstance(event, Insert) for event in said)
    return Run(inserts, sum(isinstance(event, Retract) for event in said), state, final)
