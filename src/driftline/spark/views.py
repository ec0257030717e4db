"""Views of a result: what one micro-batch changes in it, as a user of a table wants to read it.

    changes    kind, vs, ve, vn and the row: inserts and retracts, as the result itself is
    current    op (+ or -) and the row: what changes in the snapshot at the end of time, which holds
               the rows without an end
    upserts    of that snapshot as a table with a key: one upsert or one delete for each key that
               has changed
    history    system_time, batch, weight (+1 or -1), vs, ve and the row: rows for a table that is
               only appended to and forgets nothing (see `driftline.spark.history`); where outputs
               are marked also prefix, which one row of weight 0 has for every micro-batch
    finals     vs, ve and the row: of a result that emits final answers only, each once
    now        op (+ or -), at and the row: what changes in the snapshot at the query's clock, from
               which rows leave when their lifetimes end (see `driftline.spark.now`)

All of them are functions of one micro-batch, but for `now`, which also depends on those before:
what they give is the same when it comes again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch
from driftline.engine.outputs.now_view import NowChanges, in_one_step
from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.slots import Slots
from driftline.engine.tables import changes_table, now_table
from driftline.model.arrays import Int64s, Mask, to_arrow
from driftline.model.old_names import renamed
from driftline.model.prefix import Prefix
from driftline.model.time import INFINITY
from driftline.plan.errors import PlanError

ViewName = Literal["changes", "current", "history", "finals", "now"]

TIMES = ("kind", "vs", "ve", "vn")
SYSTEM_TIME, BATCH, WEIGHT, PREFIX = "system_time", "batch", "weight", "prefix"
MILLISECOND = 1000
"""Spark's clock is in milliseconds; TIMESTAMPs are in microseconds."""


@dataclass(frozen=True)
class MicroBatch:
    """One micro-batch of one result: its changes, its number, the time at which Spark began it (in
    milliseconds; the same when it comes again), whether ticks are TIMESTAMPs, what changes in the
    answer now, where that is kept, and the prefix of the inputs that it stands for, where outputs
    are marked."""

    batch: Batch
    number: int
    time: int
    timestamps: bool
    now: NowChanges | None = None
    prefix: Prefix | None = None


def changes(micro_batch: MicroBatch) -> pa.Table:
    """Inserts and retracts."""
    refuse_clash(micro_batch.batch.payload.schema.names, TIMES)
    return change_rows(micro_batch.batch, micro_batch.timestamps)


def change_rows(batch: Batch, timestamps: bool) -> pa.Table:
    """A batch as rows of changes, with times as TIMESTAMPs where ticks are microseconds."""
    return changes_table(batch.changes(), timestamps=timestamps)


@dataclass(frozen=True)
class Difference:
    """Rows, and by how many copies each has become more or fewer."""

    rows: pa.RecordBatch
    weight: Int64s


def current_difference(batch: Batch) -> Difference:
    """How the rows without an end have changed; since when a row is there does not matter."""
    endless = batch.take(batch.ve == INFINITY)
    return _difference(endless.payload, endless.weight)


def _difference(rows: pa.RecordBatch, weight: Int64s) -> Difference:
    """Rows with their weights added up; first what goes, then what comes."""
    slots, first = Slots().find_or_add(fingerprints(rows.columns, rows.num_rows))
    sums = np.zeros(len(first), np.int64)
    np.add.at(sums, slots, weight)
    kept = np.flatnonzero(sums)
    kept = kept[np.argsort(sums[kept] > 0, kind="stable")]
    return Difference(rows.take(to_arrow(first[kept])), sums[kept])


def current(micro_batch: MicroBatch) -> pa.Table:
    """The changelog of the current values: + a row that has come, - one that has gone."""
    found = current_difference(micro_batch.batch)
    places = np.repeat(np.arange(len(found.weight)), np.abs(found.weight))
    signs = pa.array(["-", "+"], pa.string())
    op = signs.take(to_arrow((found.weight[places] > 0).astype(np.int64)))
    return beside({"op": op}, found.rows.take(to_arrow(places)))


def now(micro_batch: MicroBatch) -> pa.Table:
    """The changelog of the answer now: one change for a row, without the steps between."""
    refuse_clash(micro_batch.batch.payload.schema.names, ("op", "at"))
    return now_table(in_one_step(kept_now(micro_batch)), timestamps=micro_batch.timestamps)


def kept_now(micro_batch: MicroBatch) -> NowChanges:
    """What changes in the answer now, if that is kept."""
    if micro_batch.now is None:
        raise PlanError("the answer now is kept for sinks with view='now', and for no others")
    return micro_batch.now


def difference_of(view: ViewName, micro_batch: MicroBatch) -> Difference:
    """How the rows of a keyed table change: those of the answer now, or those without an end."""
    if view != "now":
        return current_difference(micro_batch.batch)
    changes = kept_now(micro_batch)
    return _difference(changes.rows, changes.weight)


@dataclass(frozen=True)
class Upserts:
    """What to do to a table with a key. `rows`: to insert, or to put in the place of the row with
    the same key; `new`: which of them have a key that no row had before; `gone`: the rows whose key
    no row has any more."""

    rows: pa.RecordBatch
    new: Mask
    gone: pa.RecordBatch

    def __len__(self) -> int:
        return int(self.rows.num_rows + self.gone.num_rows)


def upserts(found: Difference, keys: Sequence[str]) -> Upserts:
    """The upserts and deletes of a keyed table whose rows differ so, by the columns of its key.

    Two current rows with the same key are refused as far as this micro-batch can tell; `new` lets
    the sink that has the table find the rest."""
    places = key_places(found.rows.schema, keys)
    prints = fingerprints([found.rows.column(place) for place in places], found.rows.num_rows)
    slots, first = Slots().find_or_add(prints)
    added, removed = np.zeros(len(first), np.int64), np.zeros(len(first), np.int64)
    np.add.at(added, slots, np.maximum(found.weight, 0))
    np.add.at(removed, slots, np.maximum(-found.weight, 0))
    twice = np.flatnonzero((added > 1) | (removed > 1))
    if len(twice):
        row = found.rows.slice(int(first[twice[0]]), 1).to_pylist()[0]
        raise same_key([found.rows.schema.names[place] for place in places], row)
    comes = np.flatnonzero(found.weight > 0)
    goes = np.flatnonzero((found.weight < 0) & (added[slots] == 0))
    return Upserts(
        found.rows.take(to_arrow(comes)),
        removed[slots[comes]] == 0,
        found.rows.take(to_arrow(goes)),
    )


def key_names(keys: Sequence[str]) -> list[str]:
    """The columns of a key: a list of names, not a name, whose letters would be taken for these."""
    if isinstance(keys, str):
        raise PlanError(f"keys is a list of names, such as [{keys!r}], not a text")
    return list(keys)


def key_places(schema: pa.Schema, keys: Sequence[str]) -> list[int]:
    """Where the columns of a key are."""
    if not key_names(keys):
        raise PlanError("a keyed table needs the names of its key columns, such as ['symbol']")
    lower = [name.lower() for name in schema.names]
    for key in keys:
        if key.lower() not in lower:
            known = ", ".join(schema.names)
            raise PlanError(f"the key column {key} is not in the result, which has {known}")
    places = [lower.index(key.lower()) for key in keys]
    for number, place in enumerate(places):
        if place in places[:number]:
            raise PlanError(f"the key column {schema.names[place]} is named twice")
    return places


def same_key(keys: Sequence[str], row: Mapping[str, Any]) -> PlanError:
    """The error for two rows with the same key."""
    shown = ", ".join(f"{name} = {row[name]!r}" for name in keys)
    return PlanError(
        f"two current rows have the key {shown}: take more columns into the key, or write changes"
    )


def history(micro_batch: MicroBatch) -> pa.Table:
    """Rows for a bitemporal table; where outputs are marked, one more, of weight 0, which has
    nothing but the prefix that the micro-batch stands for."""
    batch = micro_batch.batch.consolidated()
    rows = np.repeat(np.arange(len(batch)), np.abs(batch.weight))
    payload = batch.payload.take(to_arrow(rows))
    weight, vs, ve = np.sign(batch.weight[rows]).astype(np.int32), batch.vs[rows], batch.ve[rows]
    read = {} if micro_batch.prefix is None else dict(micro_batch.prefix.events)
    if read:
        nothing = [pa.nulls(1, field.type) for field in payload.schema]
        if nothing:
            mark = pa.RecordBatch.from_arrays(nothing, schema=payload.schema)
            payload = pa.concat_batches([payload, mark])
        weight = np.append(weight, np.int32(0))
        vs, ve = np.append(vs, INFINITY), np.append(ve, INFINITY)
    count = len(weight)
    system = np.full(count, micro_batch.time * MILLISECOND, np.int64)
    times = {
        SYSTEM_TIME: to_arrow(system).cast(pa.timestamp("us", "UTC")),
        BATCH: to_arrow(np.full(count, micro_batch.number, np.int64)),
        WEIGHT: to_arrow(weight),
        "vs": _times(vs, micro_batch.timestamps),
        "ve": _times(ve, micro_batch.timestamps),
    }
    if read:
        kind = pa.struct([(name, pa.int64()) for name in read])
        times[PREFIX] = pa.array([*(None for _ in range(count - 1)), read], kind)
    return beside(times, payload)


def finals(micro_batch: MicroBatch) -> pa.Table:
    """The rows of a result that is never corrected."""
    batch = micro_batch.batch
    if len(batch) and batch.weight.min() < 0:
        raise PlanError(
            "the result retracts what it has emitted: ask for final answers only, or write changes"
        )
    rows = np.repeat(np.arange(len(batch)), batch.weight)
    times = {
        "vs": _times(batch.vs[rows], micro_batch.timestamps),
        "ve": _times(batch.ve[rows], micro_batch.timestamps),
    }
    return beside(times, batch.payload.take(to_arrow(rows)))


View = Callable[[MicroBatch], pa.Table]

VIEWS: dict[str, View] = {
    "changes": changes,
    "current": current,
    "history": history,
    "finals": finals,
    "now": now,
}


def shown_now(sink: object, results: Sequence[str]) -> list[str]:
    """The results whose answer now a sink, or one of several, asks for. A sink of some results
    says which: `output`, or `outputs`."""
    asked = getattr(sink, "outputs", None) or [getattr(sink, "output", None)]
    own = [name for name in results if name in asked] or results
    if getattr(sink, "view", None) in ("now", now):
        return list(own)
    found = {name for each in getattr(sink, "sinks", ()) for name in shown_now(each, own)}
    return [name for name in own if name in found]


def view_of(name: str) -> View:
    if name not in VIEWS:
        raise PlanError(f"there is no view {name!r} of a result; there are {', '.join(VIEWS)}")
    return VIEWS[name]


def beside(times: Mapping[str, Any], payload: pa.RecordBatch) -> pa.Table:
    """Columns of a view and those of the rows, side by side."""
    refuse_clash(payload.schema.names, tuple(times))
    columns = dict(zip(payload.schema.names, payload.columns, strict=True))
    return pa.table({**times, **columns})


def refuse_clash(names: Sequence[str], taken: Sequence[str]) -> None:
    """An error if a column of a result is called as one of a view."""
    for name in names:
        if name.lower() in taken:
            raise PlanError(f"the result has a column {name}, as the view has: rename it")


def _times(ticks: Int64s, timestamps: bool) -> pa.Array:
    """Ticks as a column; ∞ is null."""
    column = pa.array(ticks, mask=ticks == INFINITY)
    return column.cast(pa.timestamp("us", "UTC")) if timestamps else column


def __getattr__(name: str) -> Any:
    if name == "Moment":
        renamed("Moment", "MicroBatch")
        return MicroBatch
    raise AttributeError(f"module {__name__} has no attribute {name}")
