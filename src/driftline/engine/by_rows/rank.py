"""Rank and top-k.

    rank, at every time: every row of the snapshot, with its place among the rows of its partition
        row_number   1, 2, 3, 4   ties are broken by the whole row, so the answer is determined
        rank         1, 2, 2, 4   one more than the rows strictly before it
        dense_rank   1, 2, 2, 3   one more than the different order keys strictly before it

    with a limit k: of these the rows whose place is at most k

Nulls come first in ascending order and last in descending order, unless ordered otherwise. The
whole row is compared column by column, in the order of their names.

State: see `snapshots`; whole rows are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from driftline.engine.by_rows.change_kernels import first_ones
from driftline.engine.by_rows.pieces import ChangedPieces, Pieces, PiecesOperator
from driftline.engine.state.order_keys import order_keys, valid
from driftline.model.arrays import Int64s
from driftline.model.compiled import njit
from driftline.model.level import Level

Method = Literal["row_number", "rank", "dense_rank"]
METHODS: dict[Method, int] = {"row_number": 0, "rank": 1, "dense_rank": 2}
_ROW_NUMBER, _RANK, _DENSE_RANK = 0, 1, 2
NO_LIMIT = 2**62


@dataclass(frozen=True)
class OrderBy:
    """One item of an ORDER BY."""

    column: str
    descending: bool = False
    nulls_first: bool | None = None  # None: first when ascending, last when descending


class Rank(PiecesOperator):
    """The column `name` holds the place; without `keep_rank` it is left out."""

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
    ) -> None:
        if keep_rank and name in schema.names:
            raise ValueError(f"the input has a column {name!r} already: give the rank another name")
        self.order, self.method, self.limit = order, METHODS[method], limit
        self.keep_rank = keep_rank
        self.goes_by_changes = limit is not None and method == "row_number"
        fields = [*schema, pa.field(name, pa.int32())] if keep_rank else [*schema]
        super().__init__(schema, partition, schema.names, pa.schema(fields), level, with_keys=False)

    def evaluate(self, pieces: Pieces) -> tuple[Int64s, pa.RecordBatch]:
        position, group = self._positions(pieces.rows)
        piece_of, members, places = _places(
            pieces.offsets,
            pieces.members,
            position,
            group,
            self.method,
            NO_LIMIT if self.limit is None else self.limit,
        )
        return piece_of, self._ranked(pieces.rows, members, places)

    def evaluate_changes(self, pieces: ChangedPieces) -> tuple[Int64s, pa.RecordBatch]:
        position, _ = self._positions(pieces.rows)
        member_at = np.argsort(position)
        assert self.limit is not None
        piece_of, found = first_ones(pieces.steps, position, self.limit)
        first = np.concatenate([[0], np.flatnonzero(np.diff(piece_of)) + 1])
        lengths = np.diff(np.append(first, len(piece_of)))
        places = np.arange(len(piece_of)) - np.repeat(first, lengths) + 1
        return piece_of, self._ranked(pieces.rows, member_at[found], places)

    def _ranked(self, rows: pa.RecordBatch, members: Int64s, places: Int64s) -> pa.RecordBatch:
        rows = rows.take(pa.array(members))
        if not self.keep_rank:
            return rows
        columns = [*rows.columns, pa.array(places, pa.int32())]
        return pa.RecordBatch.from_arrays(columns, schema=self.answer_schema)

    def _positions(self, rows: pa.RecordBatch) -> tuple[Int64s, Int64s]:
        """Where each row comes among all, and the number of its order key among all."""
        order_by: list[Int64s] = []
        for item in self.order:
            side, key = with_nulls(rows.column(item.column), item)
            order_by += [side, ~key if item.descending else key]
        ties = [
            key
            for name in sorted(rows.schema.names)
            for key in with_nulls(rows.column(name), OrderBy(name))
        ]
        order = np.lexsort([*reversed(ties), *reversed(order_by)])
        position, group = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
        position[order] = np.arange(len(order))
        changes = np.zeros(len(order), np.bool_)
        for key in order_by:
            changes[1:] |= key[order][1:] != key[order][:-1]
        group[order] = np.cumsum(changes)
        return position, group


def with_nulls(column: pa.Array, item: OrderBy) -> tuple[Int64s, Int64s]:
    """Two keys: whether a value is null (in the order of nulls and values), and its own."""
    is_valid = valid(column)
    nulls_first = not item.descending if item.nulls_first is None else item.nulls_first
    side = is_valid if nulls_first else ~is_valid
    return side.astype(np.int64), np.where(is_valid, order_keys(column), 0)


@njit(cache=True, nogil=True)
def _places(
    offsets: Int64s, members: Int64s, position: Int64s, group: Int64s, method: int, limit: int
) -> tuple[Int64s, Int64s, Int64s]:
    """The ranked rows: the piece, the member and the place of each."""
    member_at = np.empty(len(position), np.int64)
    for member in range(len(position)):
        member_at[position[member]] = member
    piece_of, ranked = np.empty(len(members), np.int64), np.empty(len(members), np.int64)
    places = np.empty(len(members), np.int64)
    made = 0
    for piece in range(len(offsets) - 1):
        mine = position[members[offsets[piece] : offsets[piece + 1]]]
        if method == _ROW_NUMBER and limit < len(mine):
            mine = _least(mine, limit)
        else:
            mine.sort()
        place = 0
        for before in range(len(mine)):
            member = member_at[mine[before]]
            tied = before > 0 and group[member] == group[member_at[mine[before - 1]]]
            if method == _ROW_NUMBER or (method == _RANK and not tied):
                place = before + 1
            elif method == _DENSE_RANK and not tied:
                place += 1
            if place > limit:
                break
            piece_of[made], ranked[made], places[made] = piece, member, place
            made += 1
    return piece_of[:made].copy(), ranked[:made].copy(), places[:made].copy()


@njit(cache=True, nogil=True)
def _least(numbers: Int64s, count: int) -> Int64s:
    """The least numbers, sorted: each is compared with the greatest of those found so far."""
    found = np.sort(numbers[:count])
    for number in numbers[count:]:
        if count and number < found[-1]:
            place = count - 1
            while place > 0 and found[place - 1] > number:
                found[place] = found[place - 1]
                place -= 1
            found[place] = number
    return found
