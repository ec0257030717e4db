"""Explode: every row once for each item of a list or a map that it holds.

    explode_f(H) = { (vs, ve, r + i) : (vs, ve, r) ∈ H, i an item of f(r) }

State: none. Lifetimes stay as they are, so a cti goes on as it came. A row whose list is empty or
null is left out; with `outer` it is there once, without an item.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.core.batch import Batch, empty
from driftline.engine.core.operator import Operator
from driftline.engine.expressions import expansion
from driftline.engine.stateless.select import with_own_high
from driftline.model.arrays import Int64s, list_lengths
from driftline.model.time import BEGINNING

POSITION, ITEM, KEY, VALUE = "$position", "$item", "$key", "$value"


class Explode(Operator):
    """`column` names the list or map of a row, which the answer has no more; the columns of the
    item come after the others: its place from 0, if that is wanted, and its value, or its key and
    its value, or with `fields` (of a list of structs) its fields."""

    uses_state = False

    expands = True

    def __init__(
        self,
        schema: pa.Schema,
        column: str,
        *,
        outer: bool = False,
        position: bool = False,
        fields: bool = False,
    ) -> None:
        self.column, self.outer, self.position = column, outer, position
        kind = schema.field(column).type
        self.kept = [name for name in schema.names if name != column]
        self.apart = pa.types.is_map(kind) or fields
        columns = [schema.field(name) for name in self.kept]
        if position:
            columns.append(pa.field(POSITION, pa.int32()))
        if pa.types.is_map(kind):
            columns += [pa.field(KEY, kind.key_type), pa.field(VALUE, kind.item_type)]
        elif fields:
            kinds = enumerate(kind.value_type)
            columns += [pa.field(f"{ITEM} {place}", each.type) for place, each in kinds]
        elif pa.types.is_list(kind):
            columns.append(pa.field(ITEM, kind.value_type))
        else:
            raise TypeError(f"explode takes a list or a map, and {column} is {kind}")
        super().__init__(pa.schema(columns))

    def process(self, port: int, batch: Batch) -> Batch:
        if len(batch) == 0:
            return empty(self.schema, batch.cti, batch.high if self.outer else BEGINNING)
        lists = batch.payload.column(self.column)
        if pa.types.is_map(lists.type):
            kind = lists.type
            lists = lists.cast(pa.list_(pa.struct([kind.key_field, kind.item_field])))
        lengths = list_lengths(lists)
        none = lengths == 0
        count = np.where(none, 1, lengths) if self.outer else lengths
        made, kept = expansion.total(count), batch.payload.select(self.kept)
        expansion.check(
            f"explode makes {made:,} rows of {len(batch):,}",
            made * (expansion.row_bytes(kept) + 8),
            "drop columns before it, or make the lists shorter",
        )
        rows = np.repeat(np.arange(len(batch)), count)
        place = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
        columns = list(kept.take(pa.array(rows)).columns)
        columns += self._items(lists, lengths, rows, place, none[rows])
        output = Batch(
            batch.vs[rows],
            batch.ve[rows],
            batch.weight[rows],
            pa.RecordBatch.from_arrays(columns, schema=self.schema),
            batch.cti,
            batch.high,
        )
        return output if self.outer else with_own_high(output)

    def _items(
        self,
        lists: pa.Array,
        lengths: Int64s,
        rows: Int64s,
        place: Int64s,
        none: NDArray[np.bool_],
    ) -> list[pa.Array]:
        items = lists.flatten()
        if none.any():
            first = np.cumsum(lengths) - lengths
            items = items.take(pa.array(np.where(none, 0, first[rows] + place), mask=none))
        places = [pa.array(place.astype(np.int32), mask=none)] if self.position else []
        return [*places, *(items.flatten() if self.apart else [items])]
