"""Raw events as a source takes them in: one value, for a runner that reads files and for a shard
that gets only the rows of its keys.

    in order       the times of all events of the source, in order of arrival, and the rows of
                   those that are its own: every shard judges its rows by the times of all
    at one moment  plain records that have no order: the times of its own, and of all others what
                   their `Moment` says
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.model.arrays import Int64s, rows_at
from driftline.model.columns import CTI
from driftline.model.time import BEGINNING, INFINITY
from driftline.time.estimate import summary


class EventTimes(Protocol):
    """The times of raw events in order of arrival."""

    @property
    def kind(self) -> NDArray[np.int8]: ...
    @property
    def vs(self) -> Int64s: ...
    @property
    def ve(self) -> Int64s: ...
    @property
    def vn(self) -> Int64s: ...


class _Events(EventTimes, Protocol):
    """Raw events in order of arrival, as `driftline.model.columns.StreamColumns` has them."""

    @property
    def payload(self) -> pa.Table | pa.RecordBatch: ...


class Summary(NamedTuple):
    """The times of records and how many had each (see `time.estimate.summary`), the sources that
    sent them, and the arrival clock if there is one."""

    times: Int64s
    counts: Int64s
    sources: pa.Array | None
    clock: int | None


class Moment(NamedTuple):
    """All records that came at one moment, in any shard: their greatest vs, the cti after them,
    and their times as far as estimates and bounds need them."""

    high: int = BEGINNING
    cti: int = BEGINNING
    summary: Summary | None = None


@dataclass(frozen=True, slots=True)
class ArrivedEvents:
    """`kind`, `vs`, `ve`, `vn`: the times of all events; `payload`: the rows of those that are
    `own` (their places, in order; None: all are), but ctis after the last change need none;
    `sources`, `clock`: which source sent each event and when it arrived, where that is known;
    `moment`: the events came at one moment."""

    kind: NDArray[np.int8]
    vs: Int64s
    ve: Int64s
    vn: Int64s
    payload: pa.RecordBatch
    own: Int64s | None = None
    sources: pa.Array | pa.ChunkedArray | None = None
    clock: Int64s | None = None
    moment: Moment | None = None

    @staticmethod
    def of(
        events: _Events,
        schema: pa.Schema,
        source: str | None = None,
        clock: Int64s | None = None,
    ) -> ArrivedEvents:
        """Events in order that are all own; `source`: the column that names the source of each."""
        payload = events.payload
        sources = None if source is None else payload.column(source)
        rows = _one_batch(payload, schema)
        return ArrivedEvents(
            events.kind, events.vs, events.ve, events.vn, rows, None, sources, clock
        )

    def __len__(self) -> int:
        return len(self.kind)

    def at_one_moment(self) -> ArrivedEvents:
        """The same plain records, if none of them came before another, and a cti after them."""
        ctis = self.kind == CTI
        if ctis.any():
            records = self.take(np.flatnonzero(~ctis)).at_one_moment()
            assert records.moment is not None
            moment = records.moment._replace(cti=int(self.vs[ctis].max()))
            return replace(records, moment=moment)
        names = pa.nulls(len(self), pa.string()) if self.sources is None else self.sources
        names = names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names
        finite = self.vs < INFINITY
        vs, coded = self.vs[finite], names.filter(pa.array(finite)).dictionary_encode("encode")
        codes, times, counts = summary(coded.indices.to_numpy(zero_copy_only=False), vs)
        senders = coded.dictionary.take(pa.array(codes))
        clock = None if self.clock is None else int(self.clock.max())
        moment = Moment(
            int(vs.max(initial=BEGINNING)), summary=Summary(times, counts, senders, clock)
        )
        return replace(self, sources=None, clock=None, moment=moment)

    def mine(self) -> ArrivedEvents:
        """The own events alone."""
        own = self.own
        if own is None:
            return self
        return ArrivedEvents(self.kind[own], self.vs[own], self.ve[own], self.vn[own], self.payload)

    def take(self, indices: Int64s) -> ArrivedEvents:
        """Some of events that are all own."""
        if len(indices) == len(self.kind) and self.payload.num_columns:
            return self
        return ArrivedEvents(
            self.kind[indices],
            self.vs[indices],
            self.ve[indices],
            self.vn[indices],
            rows_at(self.payload, indices),
        )


def nothing(schema: pa.Schema) -> ArrivedEvents:
    """No event at all."""
    times, rows = np.empty(0, np.int64), pa.RecordBatch.from_pylist([], schema=schema)
    return ArrivedEvents(np.empty(0, np.int8), times, times, times, rows)


def one_cti(schema: pa.Schema, cti: int) -> ArrivedEvents:
    """A cti that comes alone."""
    times = np.full(1, cti, np.int64)
    return ArrivedEvents(np.full(1, CTI, np.int8), times, times, times, nothing(schema).payload)


def _one_batch(payload: pa.Table | pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    if isinstance(payload, pa.RecordBatch):
        return payload
    if payload.num_columns == 0:
        return pa.RecordBatch.from_arrays([], schema=schema)
    columns = [_one_array(column) for column in payload.columns]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
