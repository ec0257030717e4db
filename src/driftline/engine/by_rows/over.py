"""Window functions: aggregates OVER (…), LAG, LEAD, NTH_VALUE, FIRST_VALUE, LAST_VALUE.

    over, at every time: every row r of the snapshot, with f(frame of r) for every function f

The rows of r's partition are put in order, ties by the whole row, column by column in the order of
their names. A frame goes by rows, from place(r) + start to place(r) + end, or by range, with the
rows whose order value is at such a distance; see the reference's `over`. Functions go by the order
in the frame.

State: see `operator`; whole rows are kept, and a cti evicts those that ended by then. A row that
never ends stays: a late row may change the answers of all rows whose frames it comes into.

A batch costs the rows of the partitions it touches, once, and the frames that change: from one to
the next only the rows that come and go are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.additive.aggregates import Aggregate
from driftline.engine.by_rows import general_aggregates, incremental_aggregates, over_kernels
from driftline.engine.by_rows.change_kernels import Steps
from driftline.engine.by_rows.operator import Answers, RowsOperator
from driftline.engine.by_rows.over_kernels import FAR, RANGE, ROWS, Evaluations
from driftline.engine.by_rows.pieces import ROWS_AT_ONCE, ChangedPieces, Pieces
from driftline.engine.by_rows.rank import OrderBy, with_nulls
from driftline.engine.by_rows.snapshot_kernel import COPIES, PLACE
from driftline.engine.core.snapshot_operator import PERFECT
from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.order_keys import order_keys, valid
from driftline.model.arrays import Int64s
from driftline.model.level import Level
from driftline.model.time import INFINITY

_GREATEST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Frame:
    """Which rows around a row its functions see: from `start` to `end`, in rows or in units of the
    order column (micros, days, units of the last digit); negative: before; None: without bound."""

    unit: Literal["rows", "range"] = "range"
    start: float | None = None
    end: float | None = 0


@dataclass(frozen=True)
class OverColumn:
    """One window function: an aggregate over the frame; or the value of `argument` in the row at
    the place `nth` of it, from 1, or from the end: -1, -2, …, and else that of `default`; with
    `ignore_nulls` only rows count in which it is not null."""

    name: str
    type: pa.DataType
    frame: Frame
    aggregate: Aggregate | None = None
    argument: str | None = None
    nth: int = 0
    default: str | None = None
    ignore_nulls: bool = False

    @property
    def place(self) -> tuple[int, str | None]:
        """The place in the frame, and the column whose nulls are passed over."""
        return self.nth, self.argument if self.ignore_nulls else None


@dataclass(frozen=True)
class _Entries:
    """The rows that are looked at, one for every copy, sorted by slot and order."""

    bounds: Int64s
    begin: Int64s
    end: Int64s
    row: Int64s
    group: Int64s  # the number of the order key
    rows: pa.RecordBatch


class Over(RowsOperator):
    """`carried` are the columns of the input that the answer has, before those of the functions;
    by them ties are broken."""

    def __init__(
        self,
        schema: pa.Schema,
        partition: list[str],
        order: list[OrderBy],
        columns: list[OverColumn],
        level: Level,
        carried: list[str] | None = None,
    ) -> None:
        self.order, self.columns = order, columns
        self.carried = schema.names if carried is None else carried
        taken = [each.name for each in columns if each.name in self.carried]
        if taken:
            raise ValueError(f"the input has a column {taken[0]!r} already: give it another name")
        self.frames = list(dict.fromkeys(each.frame for each in columns))
        for frame in self.frames:
            if frame.unit == "range" and {frame.start, frame.end} - {None, 0} and len(order) != 1:
                raise ValueError("a RANGE with a distance needs an order by one column")
        answer = [schema.field(name) for name in self.carried]
        answer += [pa.field(each.name, each.type) for each in columns]
        super().__init__(schema, partition, schema.names, pa.schema(answer), level, with_keys=False)

    def _answers(self, slots: Int64s, earliest: Int64s, limit: int) -> Answers:
        entries = self._entries(slots, earliest, limit)
        low, high = self._ranges(entries)
        start = np.array([_rows(each.start, -FAR, each) for each in self.frames], np.int64)
        stop = np.array([_rows(each.end, FAR, each) for each in self.frames], np.int64)
        unit = np.array([ROWS if each.unit == "rows" else RANGE for each in self.frames], np.int64)
        frames_at = over_kernels.evaluations(
            entries.bounds, entries.begin, entries.end, unit, start, stop, low, high,
            limit if self.level == PERFECT else INFINITY,
        )  # fmt: skip
        found: dict[str, pa.Array] = {}
        for number, frame in enumerate(self.frames):
            mine = [each for each in self.columns if each.frame == frame]
            nths = list(dict.fromkeys(each.place for each in mine if each.aggregate is None))
            aggregates = [each.aggregate for each in mine if each.aggregate is not None]
            steps, chosen = over_kernels.frames(
                entries.bounds, entries.begin, entries.end, frames_at, unit[number], start[number],
                stop[number], low[number], high[number],
                np.array([nth for nth, _ in nths], np.int64), *_passed_over(entries, nths),
                len(aggregates) > 0,
            )  # fmt: skip
            if aggregates:
                names = [each.name for each in aggregates]
                found |= zip(names, self._aggregated(entries, steps, aggregates), strict=True)
            for each in mine:
                if each.aggregate is None:
                    found[each.name] = _at(entries, frames_at, chosen[nths.index(each.place)], each)
        carried = entries.rows.select(self.carried).take(pa.array(entries.row[frames_at.entry]))
        rows = pa.RecordBatch.from_arrays(
            [*carried.columns, *(found[each.name] for each in self.columns)],
            schema=self.answer_schema,
        )
        prints = fingerprints(rows.columns, len(rows))
        lines = np.stack(
            [prints.low.view(np.int64), prints.high.view(np.int64), frames_at.start], axis=1
        )
        ends = frames_at.end
        over_kernels.tell_copies_apart(frames_at.bounds, lines, ends)
        return Answers(frames_at.bounds, lines, ends, rows)

    def _entries(self, slots: Int64s, earliest: Int64s, limit: int) -> _Entries:
        number, member, begin, end = over_kernels.entries(
            slots, earliest, limit, self.level == PERFECT, self.members.arrays
        )
        places, copies = self.members.arrays.ints[member][:, [PLACE, COPIES]].T
        rows = self.member_rows.take(places)
        order_by: list[Int64s] = [number]
        for item in self.order:
            side, key = with_nulls(rows.column(item.column), item)
            order_by += [side, ~key if item.descending else key]
        ties = [
            key
            for name in sorted(self.carried)
            for key in with_nulls(rows.column(name), OrderBy(name))
        ]
        order = np.lexsort([*reversed(ties), *reversed(order_by)])
        changes = np.zeros(len(order), np.bool_)
        for key in order_by:
            changes[1:] |= key[order][1:] != key[order][:-1]
        times = copies[order]
        row = np.repeat(order, times)
        bounds = np.searchsorted(number[row], np.arange(len(slots) + 1))
        return _Entries(
            bounds, begin[row], end[row], row, np.repeat(np.cumsum(changes), times), rows
        )

    def _ranges(self, entries: _Entries) -> tuple[Int64s, Int64s]:
        """Of each frame by range, the first entry in that of every entry, and the one after it."""
        low = np.zeros((len(self.frames), len(entries.row)), np.int64)
        high = np.zeros_like(low)
        if all(frame.unit == "rows" for frame in self.frames):
            return low, high
        first_peer, after_peers = over_kernels.peers(entries.bounds, entries.group)
        sizes = np.diff(entries.bounds)
        for number, frame in enumerate(self.frames):
            if frame.unit == "rows":
                continue
            low[number] = (
                np.repeat(entries.bounds[:-1], sizes)
                if frame.start is None
                else self._bound(entries, frame.start, first_peer, is_end=False)
            )
            high[number] = (
                np.repeat(entries.bounds[1:], sizes)
                if frame.end is None
                else self._bound(entries, frame.end, after_peers, is_end=True)
            )
        return low, high

    def _bound(self, entries: _Entries, distance: float, peer: Int64s, is_end: bool) -> Int64s:
        if distance == 0:
            return peer
        (item,) = self.order
        column = entries.rows.column(item.column).take(pa.array(entries.row))
        sign = -1 if item.descending else 1
        if pa.types.is_floating(column.type):
            column = column.cast(pa.float64())
            key = order_keys(column)
            numbers = column.fill_null(0.0).to_numpy(zero_copy_only=False)
            wanted = order_keys(pa.array(numbers + sign * distance))
        else:
            key = order_keys(column)
            wanted = _moved(key, sign * int(distance))
        there = valid(column)
        if item.descending:
            key, wanted = ~key, ~wanted
        return over_kernels.at_distance(entries.bounds, there, key, wanted, is_end, peer)

    def _aggregated(
        self, entries: _Entries, steps: Steps, aggregates: list[Aggregate]
    ) -> list[pa.Array]:
        """The aggregates of every frame; their time is the place in the order."""
        used = {name for each in aggregates for name in (each.argument, each.only)} - {None}
        rows = entries.rows.select(sorted(map(str, used))).take(pa.array(entries.row))
        place = np.arange(len(entries.row))
        if all(map(incremental_aggregates.is_possible, aggregates)):
            columns = incremental_aggregates.columns(ChangedPieces(steps, rows, place), aggregates)
            if columns is not None:
                return columns
        return _by_rows(steps, rows, place, aggregates)


def _by_rows(
    steps: Steps, rows: pa.RecordBatch, place: Int64s, aggregates: list[Aggregate]
) -> list[pa.Array]:
    """The aggregates from all rows of every frame, some frames at a time."""
    sizes = np.cumsum(np.diff(steps.come_bounds) - np.diff(steps.go_bounds))
    reached = np.cumsum(sizes)
    inside = np.zeros(len(place), np.bool_)
    parts: list[list[pa.Array]] = [[pa.nulls(0, each.type) for each in aggregates]]
    begin = 0
    while begin < len(reached):
        done = int(reached[begin - 1]) if begin else 0
        stop = max(begin + 1, int(np.searchsorted(reached, done + ROWS_AT_ONCE, "right")))
        offsets, members = over_kernels.listed(steps, begin, stop, inside)
        pieces = Pieces(offsets, members, rows, place)
        parts.append(general_aggregates.columns(pieces, aggregates))
        begin = stop
    return [pa.concat_arrays(column) for column in zip(*parts, strict=True)]


def _passed_over(
    entries: _Entries, nths: list[tuple[int, str | None]]
) -> tuple[Int64s, NDArray[np.bool_]]:
    """Of each place which mask it goes by (-1: none), and the masks: where a column is null."""
    columns = list(dict.fromkeys(name for _, name in nths if name is not None))
    numbers = [-1 if name is None else columns.index(name) for _, name in nths]
    masks = [~valid(entries.rows.column(name))[entries.row] for name in columns]
    nothing = np.zeros((0, len(entries.row)), np.bool_)
    return np.array(numbers, np.int64), np.stack(masks) if masks else nothing


def _at(entries: _Entries, frames_at: Evaluations, chosen: Int64s, column: OverColumn) -> pa.Array:
    """The values of the chosen entries, and defaults where there is none."""
    assert column.argument is not None
    none = chosen < 0
    places = np.where(none, 0, entries.row[chosen] if len(entries.row) else 0)
    if column.default is None:
        taken = entries.rows.column(column.argument).take(pa.array(places, mask=none))
        return taken.cast(column.type)
    both: Any = pa.concat_arrays(
        [entries.rows.column(name).cast(column.type) for name in (column.argument, column.default)]
    )
    own = len(entries.rows) + entries.row[frames_at.entry]
    return both.take(pa.array(np.where(none, own, places)))


def _rows(bound: float | None, none: int, frame: Frame) -> int:
    return none if bound is None or frame.unit == "range" else max(-FAR, min(FAR, int(bound)))


def _moved(key: Int64s, distance: int) -> Int64s:
    """Keys and a distance, added; what does not fit is the greatest or the least number."""
    with np.errstate(over="ignore"):
        total = key + np.int64(max(-_GREATEST, min(_GREATEST, distance)))
    wrong = total < key if distance >= 0 else total > key
    return np.where(wrong, _GREATEST if distance >= 0 else ~_GREATEST, total)
