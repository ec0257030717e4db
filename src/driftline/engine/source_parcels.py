"""What a task that reads a part of a source has for the shards.

    rows    every shard gets the raw events whose keys fall into it
    times   and of a source that has an order of arrival, the times of all events of the task; of
            one whose records come at one moment, the greatest

An event without a row (a cti) goes with the times, and with the rows of the first shard, which is
who says that it is dead if it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from driftline.engine.dead_letters import WITHOUT_TIME, DeadLetters
from driftline.engine.parcels import (
    TIMES,
    Parcel,
    Target,
    pack,
    shard_of,
    spread,
    times_of,
    with_times,
)
from driftline.model.columns import CTI, INSERT, RETRACT
from driftline.model.time import BEGINNING

Int64s = NDArray[np.int64]

KIND, VS, VE, VN, POSITION = "$kind", "$vs", "$ve", "$vn", "$position"
"""The columns of raw events beside their payload. Of plain records there is only vs."""

RAW = (KIND, VS, VE, VN, POSITION)


def source_parcels(
    events: pa.RecordBatch,
    payload: pa.RecordBatch,
    targets: Sequence[Target],
    shards: int,
    origin: int,
    *,
    ordered: bool,
) -> Iterator[Parcel]:
    """The parcels of one task: its events have the columns named above, and a row each in the
    payload."""
    have = [name for name in RAW if name in events.schema.names]
    columns = {name: times_of(events, name) for name in have}
    if ordered:
        yield from _ordered(columns, payload, targets, shards, origin)
    else:
        yield from _at_one_moment(columns, payload, targets, shards, origin)


def without_time(events: pa.RecordBatch, payload: pa.RecordBatch) -> tuple[pa.Array, DeadLetters]:
    """Which events have a time and a kind that is known; the others as dead letters."""
    good = events.column(VS).is_valid()
    if KIND in events.schema.names:
        good = pc.and_(good, pc.greater_equal(events.column(KIND), 0))
    bad = pc.invert(good)
    count = pc.sum(bad).as_py() or 0
    nothing = np.zeros(count, np.int64)
    letters = DeadLetters(
        nothing,
        np.full(count, INSERT, np.int8),
        nothing,
        nothing,
        nothing,
        payload.filter(bad),
        np.full(count, WITHOUT_TIME, np.int8),
        np.zeros((3, count), np.int64),
    )
    return good, letters


def _at_one_moment(
    columns: dict[str, Int64s],
    payload: pa.RecordBatch,
    targets: Sequence[Target],
    shards: int,
    origin: int,
) -> Iterator[Parcel]:
    vs, cti = columns[VS], BEGINNING
    if KIND in columns:  # among plain records only ctis are of another kind
        ctis = columns[KIND] == CTI
        cti = int(vs[ctis].max()) if ctis.any() else BEGINNING
        vs, payload = vs[~ctis], payload.filter(pa.array(~ctis)) if ctis.any() else payload
    high = int(vs.max()) if len(vs) else BEGINNING
    for target in targets:
        rows = with_times(payload, target.columns, vs=vs)
        of = shard_of(payload, target.keys, shards)
        for shard, part in enumerate(spread(rows, of, shards)):
            yield Parcel(target.level, target.port, shard, origin, cti, high, pack(part))


def _ordered(
    columns: dict[str, Int64s],
    payload: pa.RecordBatch,
    targets: Sequence[Target],
    shards: int,
    origin: int,
) -> Iterator[Parcel]:
    count = payload.num_rows
    endless = np.full(count, np.iinfo(np.int64).max, np.int64)
    kind = columns.get(KIND, np.full(count, INSERT, np.int8)).astype(np.int8)
    ve = columns.get(VE, endless)
    # Without positions the events of a task come after those of the tasks before it.
    position = columns.get(POSITION, np.full(count, origin, np.int64))
    times = pa.RecordBatch.from_pydict(
        {
            "kind": kind,
            "vs": columns[VS],
            "ve": ve,
            "vn": columns.get(VN, ve),
            "position": position,
        }
    )
    packed_times = pack(times)
    for target in targets:
        rows = with_times(payload, target.columns, place=np.arange(count))
        of = shard_of(payload, target.keys, shards)
        of[kind > RETRACT] = 0
        for shard, part in enumerate(spread(rows, of, shards)):
            yield Parcel(target.level, target.port, shard, origin, data=pack(part))
            port = target.port + TIMES
            yield Parcel(target.level, port, shard, origin, data=packed_times)
