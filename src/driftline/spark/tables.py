"""Tables that do not change, as files beside a query's state.

    DIR/tables/2-0.arrow   what shard 0 of level 2 takes in with its first micro-batch

They are written when a query starts for the first time: after a restart the table is still the one
that the state was made with.
"""

from __future__ import annotations

from collections.abc import Sequence

from driftline.engine.shards.messages import OUTPUT, Message
from driftline.engine.shards.shard import Stage
from driftline.engine.shards.stored import Stepped, messages_from_bytes, messages_to_bytes
from driftline.plan.errors import PlanError
from driftline.running.notes import sealed, unsealed
from driftline.spark.places import Place

FOLDER = "tables"
COMPLETE = "complete"


def write_tables(place: Place, messages: Sequence[Message], first: Stage) -> None:
    """Write what each shard takes in; what leaves the query at once goes to one of the `first`
    stage."""
    by_shard: dict[tuple[int, int], list[Message]] = {}
    for message in messages:
        level = first.level if message.level == OUTPUT else message.level
        by_shard.setdefault((level, message.shard), []).append(message)
    for (level, shard), own in by_shard.items():
        place.write(f"{FOLDER}/{level}-{shard}.arrow", sealed(messages_to_bytes(own)))
    place.write(f"{FOLDER}/{COMPLETE}", str(first.shards).encode())


def are_written(place: Place) -> bool:
    return place.read(f"{FOLDER}/{COMPLETE}") is not None


def read_tables(place: Place, stage: Stepped, shard: int) -> list[Message]:
    """What a shard of a stage takes in."""
    made = place.read(f"{FOLDER}/{COMPLETE}")
    if made and int(made) != stage.shards:
        raise PlanError(
            f"the tables of the query were written for {int(made)} shards, and its state has "
            f"{stage.shards} partitions: start it inside configured(spark, query.settings)"
        )
    data = place.read(f"{FOLDER}/{stage.level}-{shard}.arrow")
    where = f"{place}/{FOLDER}/{stage.level}-{shard}.arrow"
    return [] if data is None else messages_from_bytes(unsealed(data, where))
