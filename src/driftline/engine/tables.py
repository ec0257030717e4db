"""Batches as Arrow tables: the changes one by one, or the canonical history of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.core.batch import Batch, Changes, empty, joined
from driftline.engine.lifetimes.coalesce import coalesced
from driftline.engine.outputs.now_view import NowChanges
from driftline.event_log.text import FIRST_ISO, LAST_ISO, plain_values
from driftline.event_log.writer import now_lines, text_bytes
from driftline.model.arrays import to_arrow
from driftline.model.columns import INSERT
from driftline.model.time import INFINITY

STAMP = pa.timestamp("us", "UTC")


def changes_table(changes: Changes, *, timestamps: bool = False) -> pa.Table:
    """Inserts and retracts as a table: kind, vs, ve, vn, and the columns of the rows.
    `timestamps`: times are TIMESTAMPs."""
    kinds = np.where(changes.kind == INSERT, "insert", "retract")
    inserts = changes.kind == INSERT
    times = {
        "kind": pa.array(kinds.tolist(), pa.string()),
        "vs": pa.array(changes.vs),
        "ve": pa.array(changes.ve, mask=changes.ve == INFINITY),
        "vn": pa.array(changes.vn, mask=inserts),
    }
    rows = changes.rows()
    columns = {name: rows.column(place) for place, name in enumerate(rows.schema.names)}
    table = pa.table({**times, **columns})
    return stamped(table, "vs", "ve", "vn") if timestamps else table


def current_table(batches: Sequence[Batch], schema: pa.Schema) -> pa.Table:
    """The rows without an end, since whenever they are there, in the order of their columns (but of
    lists, maps and structs, which have none)."""
    whole = joined(batches) if batches else empty(schema)
    endless = whole.take(np.flatnonzero(whole.ve == INFINITY))
    there = replace(endless, vs=np.zeros_like(endless.vs)).consolidated()
    copies = np.repeat(np.arange(len(there)), there.weight)
    rows = pa.Table.from_batches([there.payload.take(to_arrow(copies))])
    places = [place for place, each in enumerate(rows.schema) if not pa.types.is_nested(each.type)]
    keys = pa.table([rows.column(place) for place in places], list(map(str, places)))
    order = [(name, "ascending") for name in keys.column_names]
    return rows.take(pc.sort_indices(keys, order)) if order else rows


def stamped(table: pa.Table, *names: str) -> pa.Table:
    """A table with some of its columns, which are ticks, as TIMESTAMPs; one before the year 1 or
    after 9999, which has always been or never ends, is null."""
    for name in names:
        place, ticks = table.column_names.index(name), table.column(name)
        known = pc.and_(pc.greater_equal(ticks, FIRST_ISO), pc.less(ticks, LAST_ISO))
        times = pc.if_else(known, ticks, pa.scalar(None, pa.int64())).cast(STAMP)
        table = table.set_column(place, name, times)
    return table


def now_table(changes: NowChanges, *, timestamps: bool = False) -> pa.Table:
    """Changes of the answer now as a table: op, at, and the columns of the rows, of which one that
    is called as these are has `row.` before its name; a row with several copies is there so often.
    `timestamps`: times are written as TIMESTAMPs."""
    at, weight, rows = changes.at, changes.weight, changes.rows
    copies = np.abs(weight)
    if (copies > 1).any():
        places = np.repeat(np.arange(len(changes)), copies)
        at, weight, rows = at[places], weight[places], rows.take(to_arrow(places))
    signs = pa.array(["-", "+"], pa.string())
    moments = to_arrow(at)
    times = {
        "op": signs.take(to_arrow((weight > 0).view(np.int8))),
        "at": moments.cast(pa.timestamp("us", "UTC")) if timestamps else moments,
    }
    names = [f"row.{name}" if name in times else name for name in rows.schema.names]
    return pa.table({**times, **dict(zip(names, rows.columns, strict=True))})


def python_values(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column as Python has them; where it has none, as of times after the year
    9999, as texts."""
    return plain_values(column)


def now_json(stream: str, changes: NowChanges, *, timestamps: bool) -> pa.Buffer:
    """Changes of the answer now as JSON Lines."""
    table = now_table(changes)
    rows = table.select(range(2, table.num_columns)).rename_columns(changes.rows.schema.names)
    op, at = table.column("op").combine_chunks(), table.column("at").to_numpy()
    return text_bytes(now_lines(stream, timestamps, op, at, rows))


def history_table(
    batches: list[Batch], schema: pa.Schema, *, loose: bool = False, timestamps: bool = False
) -> pa.Table:
    """The canonical history of all batches: vs, ve (null: ∞), and the rows. Where only
    snapshots have a meaning (`loose`), in the longest stretches, however it was emitted.
    `timestamps`: times are TIMESTAMPs."""
    whole = joined(batches) if batches else empty(schema)
    left = coalesced(whole) if loose else whole.consolidated()
    if len(left) and left.weight.min() < 0:
        raise ValueError("more was retracted than was inserted")
    rows = np.repeat(np.arange(len(left)), left.weight)
    order = rows[np.lexsort((left.ve[rows], left.vs[rows]))]
    payload = left.payload.take(pa.array(order))
    columns = {name: payload.column(place) for place, name in enumerate(payload.schema.names)}
    ve = left.ve[order]
    times = {"vs": left.vs[order], "ve": pa.array(ve, mask=ve == INFINITY)}
    table = pa.table({**times, **columns})
    return stamped(table, *times) if timestamps else table
