"""Rank and top-k.

    rank, at every time: every row of the snapshot, with its place among the rows of its partition
        row_number   1, 2, 3, 4   ties are broken by the whole row, so the answer is determined
        rank         1, 2, 2, 4   one more than the rows strictly before it
        dense_rank   1, 2, 2, 3   one more than the different order keys strictly before it

    with a limit k: of these the rows whose place is at most k

Nulls come first in ascending order and last in descending order, unless ordered otherwise. The
whole row is compared column by column, in the order of their names.

State and cost: see `ordered`. A change concerns the rows after it; with a limit only if fewer than
so many, which are there from then on, come before it. Of rows that are only added and never end
(`grows`), those that come after the first k at a cti do so for good: it evicts them.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa

from driftline.engine.by_rows import over_kernels, rank_kernels
from driftline.engine.by_rows.block_totals import BlockTotals
from driftline.engine.by_rows.change_kernels import first_ones
from driftline.engine.by_rows.near_kernel import Reach
from driftline.engine.by_rows.order_words import OrderBy
from driftline.engine.by_rows.ordered import Evaluated, OrderedRows, Rows
from driftline.engine.by_rows.over_kernels import ROWS
from driftline.engine.by_rows.place_kernels import FAR
from driftline.engine.by_rows.rank_kernels import DENSE_RANK, RANK, ROW_NUMBER
from driftline.engine.core.snapshot_operator import PERFECT
from driftline.model.arrays import Int64s
from driftline.model.level import Level
from driftline.model.time import INFINITY

Method = Literal["row_number", "rank", "dense_rank"]
METHODS: dict[Method, int] = {"row_number": ROW_NUMBER, "rank": RANK, "dense_rank": DENSE_RANK}


class Rank(OrderedRows):
    """The column `name` holds the place; without `keep_rank` it is left out. `grows`: rows are only
    added, and never end."""

    def __init__(
        self,
        schema: pa.Schema,
        partition: list[str],
        order: list[OrderBy],
        method: Method,
        name: str,
        level: Level,
        limit: int | None = None,
        keep_rank: bool = True,
        *,
        grows: bool = False,
    ) -> None:
        if keep_rank and name in schema.names:
            raise ValueError(f"the input has a column {name!r} already: give the rank another name")
        self.method, self.limit = METHODS[method], FAR if limit is None else limit
        self.keep_rank, self.drops_outranked = keep_rank, grows and limit is not None and limit > 0
        fields = [*schema, pa.field(name, pa.int32())] if keep_rank else [*schema]
        super().__init__(schema, partition, order, schema.names, pa.schema(fields), level)
        by_row, by_key = self.method == ROW_NUMBER, self.method == DENSE_RANK
        self.reach = Reach(
            self.words.width if by_row else self.words.of_order,
            forward=FAR,
            sees_back=FAR,
            first=self.limit,
            counts_keys=by_key,
        )
        if limit is None:
            told_apart = by_key and self.words.orders
            self.reach = self.reach._replace(sees_back=0, in_blocks=True, counts_keys=told_apart)
            self.totals = BlockTotals(
                schema,
                [],
                self.words.of_order if told_apart else 0,
                [item.column for item in order] if by_key and not told_apart else None,
            )

    def _evaluated(self, looked_at: Rows) -> Evaluated:
        open_end = self.watermark if self.level == PERFECT else INFINITY
        bounds, begin, end = looked_at.bounds, looked_at.begin, looked_at.end
        if self.method == ROW_NUMBER and self.limit < FAR:
            steps, start, stop = rank_kernels.steps(bounds, begin, end, open_end)
            piece, entry = first_ones(steps, np.arange(len(begin)), self.limit)
            first = np.concatenate([[0], np.flatnonzero(np.diff(piece)) + 1])
            lengths = np.diff(np.append(first, len(piece)))
            place = np.arange(len(piece)) - np.repeat(first, lengths) + 1
            kept = looked_at.wanted[entry]
            piece, entry, place = piece[kept], entry[kept], place[kept]
            return self._ranked(looked_at, entry, place, start[piece], stop[piece])
        nothing = np.zeros((1, 0), np.int64)
        found = over_kernels.evaluations(
            bounds, begin, end, looked_at.wanted, np.array([ROWS]), np.array([-FAR]),
            np.array([0]), nothing, nothing, open_end,
        )  # fmt: skip
        before = looked_at.before
        counted = np.zeros(len(begin), np.bool_)
        if before is not None and before.keys_before is not None:
            number = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
            names = before.keys_before.prefix.columns
            key = self.members.rows.take_some(looked_at.place, names).columns
            counted = before.keys_before.has(key, number)
        place = rank_kernels.places(
            bounds, begin, end, found, self.group_of(looked_at), self.method, counted
        )
        if before is not None:
            first = before.rows
            if self.method == DENSE_RANK:
                first = before.keys if before.keys_before is None else before.keys_before.number
            place += np.repeat(first, np.diff(found.bounds))
        kept = place <= self.limit
        return self._ranked(
            looked_at, found.entry[kept], place[kept], found.start[kept], found.end[kept]
        )

    def _evict(self, slots: Int64s) -> None:
        super()._evict(slots)
        if not self.drops_outranked or len(slots) == 0:
            return
        freed = np.empty(int(self.members.sizes(slots).sum()), np.int64)
        due = np.empty(len(slots), np.int64)
        gone = rank_kernels.drop_outranked(
            slots, self.members.arrays,
            self.words.width if self.method == ROW_NUMBER else self.words.of_order,
            self.limit, self.method == DENSE_RANK, self._settled(), freed, due,
        )  # fmt: skip
        self.members.free(freed[:gone])
        self.stale.set(slots, due)

    def _ranked(
        self, looked_at: Rows, entry: Int64s, place: Int64s, start: Int64s, end: Int64s
    ) -> Evaluated:
        rows = self.members.rows.take(looked_at.place[entry])
        if self.keep_rank:
            columns = [*rows.columns, pa.array(place, pa.int32())]
            rows = pa.RecordBatch.from_arrays(columns, schema=self.answer_schema)
        return Evaluated(entry, start, end, rows)
