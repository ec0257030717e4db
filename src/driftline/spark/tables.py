"""Tables that do not change, as files beside a query's state.

    DIR/tables/2-0.arrow   what shard 0 of level 2 takes in with its first micro-batch

They are written when a query starts for the first time: after a restart the table is still the one
that the state was made with.
"""

from __future__ import annotations

from collections.abc import Sequence

from driftline.engine.parcels import OUTPUT, Parcel
from driftline.engine.state_log import parcels_from_bytes, parcels_to_bytes
from driftline.spark.places import Place

FOLDER = "tables"
COMPLETE = "complete"


def write_tables(place: Place, parcels: Sequence[Parcel], first: int) -> None:
    """Write what each shard takes in; what leaves the query at once goes to one of the `first`
    level."""
    by_shard: dict[tuple[int, int], list[Parcel]] = {}
    for parcel in parcels:
        level = first if parcel.level == OUTPUT else parcel.level
        by_shard.setdefault((level, parcel.shard), []).append(parcel)
    for (level, shard), own in by_shard.items():
        place.write(f"{FOLDER}/{level}-{shard}.arrow", parcels_to_bytes(own))
    place.write(f"{FOLDER}/{COMPLETE}", b"")


def are_written(place: Place) -> bool:
    return place.read(f"{FOLDER}/{COMPLETE}") is not None


def read_tables(place: Place, level: int, shard: int) -> list[Parcel]:
    data = place.read(f"{FOLDER}/{level}-{shard}.arrow")
    return [] if data is None else parcels_from_bytes(data)
