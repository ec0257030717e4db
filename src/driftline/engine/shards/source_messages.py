"""What a task that reads a part of a source has for the shards.

    rows    every shard gets the raw events whose keys fall into it, or all, if they are copied;
            those that the select above a second port drops are not sent there
    times   and of a source that has an order of arrival, the times of all events of the task; of
            one whose records come at one moment, the greatest; shards that read nothing of it, but
            wait for it, get these alone

An event without a row (a cti) goes with the times, and with the rows of the first shard, which
emits the dead letter if there is to be one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from driftline.engine.expressions import evaluate_predicate
from driftline.engine.ingest.source_time import NO_CLOCK
from driftline.engine.readers.fitting import as_json
from driftline.engine.shards.messages import (
    Message,
    MessageKind,
    Target,
    pack,
    packed_by_shard,
    times_of,
    with_times,
)
from driftline.event_log.bad import BadEvent
from driftline.event_log.deadletters import from_text
from driftline.model.arrays import Int64s
from driftline.model.columns import CTI, INSERT, RETRACT
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.nodes import Source
from driftline.time.estimate import summary

KIND, VS, VE, VN, POSITION, CLOCK = "$kind", "$vs", "$ve", "$vn", "$position", "$clock"
"""The columns of raw events beside their payload. Of plain records there is only vs, and the
arrival clock (in milliseconds) where it is known."""

RAW = (KIND, VS, VE, VN, POSITION, CLOCK)

BAD = "$bad"
"""A column beside these, with what is wrong with a record that could not be read."""

NO_CLOCKS = np.empty(0, np.int64)


def source_messages(
    events: pa.RecordBatch,
    payload: pa.RecordBatch,
    targets: Sequence[Target],
    shards: int,
    origin: int,
    *,
    ordered: bool,
    watch: Watch | None = None,
) -> Iterator[Message]:
    """The messages of one task: its events have the columns named above, and a row each in the
    payload. `watch`: what is wanted of their arrival."""
    have = [name for name in RAW if name in events.schema.names]
    columns = {name: times_of(events, name) for name in have}
    if ordered:
        yield from _ordered(columns, payload, targets, shards, origin, watch)
    else:
        yield from _at_one_moment(columns, payload, targets, shards, origin, watch)


@dataclass(frozen=True)
class Watch:
    """`source`: the place of the column that tells sources apart, if there is one."""

    source: int | None


def set_aside(
    events: pa.RecordBatch, payload: pa.RecordBatch, source: Source
) -> tuple[pa.Array, list[BadEvent]]:
    """Which events have a time and a kind that is known; the others are bad records."""
    good = events.column(VS).is_valid()
    if KIND in events.schema.names:
        good = pc.and_(good, pc.greater_equal(events.column(KIND), 0))
    if pc.all(good, min_count=0).as_py():
        return good, []
    nowhere = f"<{source.name}>"
    bad = []
    for row in np.flatnonzero(~good.to_numpy(zero_copy_only=False)).tolist():
        if BAD in events.schema.names and (written := events.column(BAD)[row].as_py()) is not None:
            bad.append(from_text(written))
            continue
        text = as_json(payload.slice(row, 1).to_pylist()[0] if payload.num_columns else {})
        if events.column(VS)[row].as_py() is None:
            name = source.time or "vs"
            bad.append(BadEvent(nowhere, 0, f"it has no time: {name} is null", text, name))
        else:
            bad.append(BadEvent(nowhere, 0, "its kind is none of those of events", text, "kind"))
    return good, bad


def _at_one_moment(
    columns: dict[str, Int64s],
    payload: pa.RecordBatch,
    targets: Sequence[Target],
    shards: int,
    origin: int,
    watch: Watch | None,
) -> Iterator[Message]:
    vs, cti = columns[VS], BEGINNING
    summary = b"" if watch is None else pack(_summary(columns, payload, watch))
    if KIND in columns:  # among plain records only ctis are of another kind
        ctis = columns[KIND] == CTI
        cti = int(vs[ctis].max()) if ctis.any() else BEGINNING
        vs, payload = vs[~ctis], payload.filter(pa.array(~ctis)) if ctis.any() else payload
    high = int(vs.max(initial=BEGINNING, where=vs < INFINITY))  # what is never there moves nothing
    for target in targets:
        parts: Iterable[bytes] = repeat(b"", shards)
        if not target.times_only:
            rows, own = with_times(payload, target.columns, vs=vs), payload
            for condition in target.where:
                read = pa.array(evaluate_predicate(condition, own))
                rows, own = rows.filter(read), own.filter(read)
            parts = packed_by_shard(rows, own, target.keys, shards)
        for shard, part in enumerate(parts):
            to = target.port, shard, origin
            yield Message(target.level, MessageKind.ROWS, *to, cti, high, part)
            if watch is not None:
                yield Message(target.level, MessageKind.TIMES, *to, data=summary)


def _by_clock(columns: dict[str, Int64s], kind: NDArray[np.int8], origin: int) -> Int64s:
    """Places in order of arrival for events that have none: by their arrival clock, which does not
    go back inside a task, and without a clock after the events of the tasks before. What closes a
    stream comes last."""
    if CLOCK not in columns:
        return np.full(len(kind), origin, np.int64)
    closing = (kind == CTI) & (columns[VS] == INFINITY)
    return np.where(closing, INFINITY, np.maximum.accumulate(columns[CLOCK]))


def _summary(columns: dict[str, Int64s], payload: pa.RecordBatch, watch: Watch) -> pa.RecordBatch:
    """The times of each source in a few rows (see `time.estimate.summary`), and when they came."""
    inserts = columns[KIND] == INSERT if KIND in columns else np.ones(payload.num_rows, np.bool_)
    inserts &= columns[VS] < INFINITY
    vs, clock = columns[VS][inserts], columns[CLOCK][inserts] if CLOCK in columns else NO_CLOCKS
    names = pa.nulls(len(vs), pa.string())
    if watch.source is not None:
        names = payload.column(watch.source).filter(pa.array(inserts))
    coded = names.dictionary_encode("encode")
    codes, times, counts = summary(coded.indices.to_numpy(zero_copy_only=False), vs)
    return pa.RecordBatch.from_pydict(
        {
            "source": coded.dictionary.take(pa.array(codes)),
            "vs": times,
            "count": counts,
            "clock": np.full(len(times), clock.max(initial=NO_CLOCK)),
        }
    )


def _ordered(
    columns: dict[str, Int64s],
    payload: pa.RecordBatch,
    targets: Sequence[Target],
    shards: int,
    origin: int,
    watch: Watch | None,
) -> Iterator[Message]:
    count = payload.num_rows
    endless = np.full(count, np.iinfo(np.int64).max, np.int64)
    kind = columns.get(KIND, np.full(count, INSERT, np.int8)).astype(np.int8)
    ve = columns.get(VE, endless)
    position = columns[POSITION] if POSITION in columns else _by_clock(columns, kind, origin)
    times = pa.RecordBatch.from_pydict(
        {
            "kind": kind,
            "vs": columns[VS],
            "ve": ve,
            "vn": columns.get(VN, ve),
            "position": position,
        }
    )
    if watch is not None and CLOCK in columns:
        times = times.append_column("clock", pa.array(columns[CLOCK]))
    if watch is not None and watch.source is not None:
        times = times.append_column("source", payload.column(watch.source))
    packed_times = pack(times)
    for target in targets:
        parts: Iterable[bytes] = repeat(b"", shards)
        if not target.times_only:
            rows = with_times(payload, target.columns, place=np.arange(count))
            parts = packed_by_shard(rows, payload, target.keys, shards, kind > RETRACT)
        for shard, part in enumerate(parts):
            to = target.port, shard, origin
            yield Message(target.level, MessageKind.ROWS, *to, data=part)
            yield Message(target.level, MessageKind.TIMES, *to, data=packed_times)
