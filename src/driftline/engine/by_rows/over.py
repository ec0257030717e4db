"""Window functions: aggregates OVER (…), LAG, LEAD, NTH_VALUE, FIRST_VALUE, LAST_VALUE.

    over, at every time: every row r of the snapshot, with f(frame of r) for every function f

The rows of r's partition are put in order, ties by the whole row, column by column in the order of
their names. A frame goes by rows, from place(r) + start to place(r) + end, or by range, with the
rows whose order value is at such a distance; see the reference's `over`. Functions go by the order
in the frame.

State and cost: see `ordered`. A row that never ends stays: a late row may change the answers of all
rows whose frames it comes into. From one frame to the next only the rows that come and go are
looked at. Where frames go to the last row, rows are held from the last to the first, and frames,
places and times are mirrored: what then comes before a change counts as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.additive.aggregates import Aggregate
from driftline.engine.by_rows import (
    aggregates as functions,
)
from driftline.engine.by_rows import (
    block_totals,
    over_kernels,
)
from driftline.engine.by_rows.block_totals import BlockTotals
from driftline.engine.by_rows.change_kernels import Steps
from driftline.engine.by_rows.near_kernel import Reach
from driftline.engine.by_rows.order_words import OrderBy
from driftline.engine.by_rows.ordered import Evaluated, OrderedRows, Rows
from driftline.engine.by_rows.over_kernels import RANGE, ROWS, Evaluations
from driftline.engine.by_rows.piece_values import Before, ChangedPieces, Pieces
from driftline.engine.by_rows.pieces import ROWS_AT_ONCE
from driftline.engine.by_rows.place_kernels import FAR
from driftline.engine.core.snapshot_operator import PERFECT
from driftline.engine.expressions.datetimes import days_and_clock, plus_months
from driftline.engine.state.order_keys import order_keys, valid
from driftline.model.arrays import Int64s, Mask
from driftline.model.level import Level
from driftline.model.time import INFINITY
from driftline.plan.temporal import DAY

_GREATEST = np.iinfo(np.int64).max
_LONGEST_MONTH = 31


@dataclass(frozen=True)
class Frame:
    """Which rows around a row its functions see: from `start` to `end`, in rows or in units of the
    order column (micros, days, units of the last digit; `months`: in months, of dates and times);
    negative: before; None: without bound."""

    unit: Literal["rows", "range"] = "range"
    start: float | None = None
    end: float | None = 0
    months: bool = False

    @property
    def has_distance(self) -> bool:
        """Whether it goes by how far order values are apart."""
        return self.unit == "range" and bool({self.start, self.end} - {None, 0})

    def mirrored(self) -> Frame:
        """The same rows, in an order that is the other way round."""
        start, end = (None if each is None else -each for each in (self.end, self.start))
        return replace(self, start=start, end=end)


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

    @property
    def reads(self) -> set[str]:
        """The columns that it is computed from."""
        made = self.aggregate
        of_rows = (self.argument, self.default)
        names = of_rows if made is None else (made.argument, made.only)
        return {name for name in names if name is not None}

    def mirrored(self) -> OverColumn:
        """The same function, in an order that is the other way round."""
        return replace(self, frame=self.frame.mirrored(), nth=-self.nth)


class Over(OrderedRows):
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
        self.carried = schema.names if carried is None else carried
        taken = [each.name for each in columns if each.name in self.carried]
        if taken:
            raise ValueError(f"the input has a column {taken[0]!r} already: give it another name")
        if len(order) != 1 and any(each.frame.has_distance for each in columns):
            raise ValueError("a RANGE with a distance needs an order by one column")
        answer = [schema.field(name) for name in self.carried]
        answer += [pa.field(each.name, each.type) for each in columns]
        self.is_mirrored = _is_mirrored(columns, order, schema)
        if self.is_mirrored:
            columns, order = [each.mirrored() for each in columns], [by.mirrored() for by in order]
        super().__init__(
            schema, partition, order, self.carried, pa.schema(answer), level, self.is_mirrored
        )
        self.columns = columns
        self.frames = list(dict.fromkeys(each.frame for each in columns))
        self.passed_over = sorted({each.argument or "" for each in columns if each.ignore_nulls})
        by_range = any(frame.unit == "range" for frame in self.frames)
        words = self.words.of_order if by_range else self.words.width
        self.reach = _reach(columns, order, schema)._replace(words=words)
        if self.reach.in_blocks:
            made = [
                each.aggregate for each in columns if each.aggregate and _is_running(each, schema)
            ]
            self.totals = BlockTotals(schema, made)
        self.start = np.array([_rows(each.start, -FAR, each) for each in self.frames], np.int64)
        self.stop = np.array([_rows(each.end, FAR, each) for each in self.frames], np.int64)
        units = [ROWS if each.unit == "rows" else RANGE for each in self.frames]
        self.unit = np.array(units, np.int64)
        self.looked_up = sorted({name for each in columns for name in each.reads})
        if any(frame.has_distance for frame in self.frames):
            self.looked_up = sorted({*self.looked_up, order[0].column})

    def _counts(self) -> Mask:
        if not self.passed_over:
            return super()._counts()
        there = [self.members.rows.there(name) for name in self.passed_over]
        return np.logical_and.reduce(there) if len(there) > 1 else there[0]

    def _evaluated(self, looked_at: Rows) -> Evaluated | None:
        values = self.members.rows.take_some(looked_at.place, self.looked_up)
        low, high = self._ranges(looked_at, values)
        frames_at = over_kernels.evaluations(
            looked_at.bounds, looked_at.begin, looked_at.end, looked_at.wanted, self.unit,
            self.start, self.stop, low, high,
            self.watermark if self.level == PERFECT else INFINITY,
        )  # fmt: skip
        found: dict[str, pa.Array] = {}
        for number, frame in enumerate(self.frames):
            mine = [each for each in self.columns if each.frame == frame]
            nths = list(dict.fromkeys(each.place for each in mine if each.aggregate is None))
            aggregates = [each.aggregate for each in mine if each.aggregate is not None]
            steps, chosen = over_kernels.frames(
                looked_at.bounds, looked_at.begin, looked_at.end, frames_at, self.unit[number],
                self.start[number], self.stop[number], low[number], high[number],
                np.array([nth for nth, _ in nths], np.int64), *_passed_over(values, nths),
                len(aggregates) > 0,
            )  # fmt: skip
            if aggregates:
                before = None
                if looked_at.before is not None and frame.start is None:
                    slots = np.arange(len(looked_at.bounds) - 1)
                    slot_of = np.repeat(slots, np.diff(frames_at.bounds))
                    own = np.repeat(slots, np.diff(looked_at.bounds))
                    before = Before(looked_at.before, slot_of, own)
                totals = self._aggregated(values, steps, aggregates, before)
                if totals is None:
                    return None
                found |= zip([each.name for each in aggregates], totals, strict=True)
            for each in mine:
                if each.aggregate is None:
                    found[each.name] = _at(values, frames_at, chosen[nths.index(each.place)], each)
        carried = self.members.rows.take_some(looked_at.place[frames_at.entry], self.carried)
        rows = pa.RecordBatch.from_arrays(
            [*carried.columns, *(found[each.name] for each in self.columns)],
            schema=self.answer_schema,
        )
        return Evaluated(frames_at.entry, frames_at.start, frames_at.end, rows)

    def _ranges(self, looked_at: Rows, values: pa.RecordBatch) -> tuple[Int64s, Int64s]:
        """Of each frame by range, the first row in that of every row, and the one after it."""
        low = np.zeros((len(self.frames), len(looked_at.place)), np.int64)
        high = np.zeros_like(low)
        if all(frame.unit == "rows" for frame in self.frames):
            return low, high
        first_peer, after_peers = over_kernels.peers(looked_at.bounds, self.group_of(looked_at))
        sizes = np.diff(looked_at.bounds)
        for number, frame in enumerate(self.frames):
            if frame.unit == "rows":
                continue
            low[number] = (
                np.repeat(looked_at.bounds[:-1], sizes)
                if frame.start is None
                else self._bound(looked_at, values, frame, first_peer, is_end=False)
            )
            high[number] = (
                np.repeat(looked_at.bounds[1:], sizes)
                if frame.end is None
                else self._bound(looked_at, values, frame, after_peers, is_end=True)
            )
        return low, high

    def _bound(
        self,
        looked_at: Rows,
        values: pa.RecordBatch,
        frame: Frame,
        peer: Int64s,
        is_end: bool,
    ) -> Int64s:
        distance = frame.end if is_end else frame.start
        if not distance:
            return peer
        (item,) = self.order
        column = values.column(item.column)
        sign = -1 if item.descending else 1
        if pa.types.is_floating(column.type):
            column = column.cast(pa.float64())
            key = order_keys(column)
            numbers = column.fill_null(0.0).to_numpy(zero_copy_only=False)
            wanted = order_keys(pa.array(numbers + sign * distance))
        else:
            key = order_keys(column)
            move = _moved_by_months if frame.months else _moved
            wanted = move(key, sign * int(distance), column.type)
        there = valid(column)
        if item.descending:
            key, wanted = ~key, ~wanted
        return over_kernels.at_distance(looked_at.bounds, there, key, wanted, is_end, peer)

    def _aggregated(
        self,
        values: pa.RecordBatch,
        steps: Steps,
        aggregates: list[Aggregate],
        before: Before | None,
    ) -> list[pa.Array] | None:
        """The aggregates of every frame, with what comes before all of its rows; None if that
        cannot be added. Their time is the place in the order."""
        place = np.arange(len(steps.copies))
        if self.is_mirrored:
            place = -place
        if all(map(functions.goes_by_changes, aggregates)):
            columns = functions.changed_columns(
                ChangedPieces(steps, values, place), aggregates, before
            )
            if columns is not None or before is not None:
                return columns
        return _by_rows(steps, values, place, aggregates)


def _is_running(column: OverColumn, schema: pa.Schema) -> bool:
    """Whether what comes before the rows of a frame that are near its end counts as a whole."""
    made, frame = column.aggregate, column.frame
    if made is None or frame.start is not None or frame.end is None:
        return False
    return block_totals.has_total(made, schema)


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
        parts.append(functions.columns(pieces, aggregates))
        begin = stop
    return [pa.concat_arrays(column) for column in zip(*parts, strict=True)]


def _passed_over(
    values: pa.RecordBatch, nths: list[tuple[int, str | None]]
) -> tuple[Int64s, NDArray[np.bool_]]:
    """Of each place which mask it goes by (-1: none), and the masks: where a column is null."""
    columns = list(dict.fromkeys(name for _, name in nths if name is not None))
    numbers = [-1 if name is None else columns.index(name) for _, name in nths]
    masks = [~valid(values.column(name)) for name in columns]
    nothing = np.zeros((0, len(values)), np.bool_)
    return np.array(numbers, np.int64), np.stack(masks) if masks else nothing


def _at(
    values: pa.RecordBatch, frames_at: Evaluations, chosen: Int64s, column: OverColumn
) -> pa.Array:
    """The values of the chosen rows, and defaults where there is none."""
    assert column.argument is not None
    none = chosen < 0
    places = np.where(none, 0, chosen)
    if column.default is None:
        taken = values.column(column.argument).take(pa.array(places, mask=none))
        return taken.cast(column.type)
    both: Any = pa.concat_arrays(
        [values.column(name).cast(column.type) for name in (column.argument, column.default)]
    )
    return both.take(pa.array(np.where(none, len(values) + frames_at.entry, places)))


def _is_mirrored(columns: list[OverColumn], order: list[OrderBy], schema: pa.Schema) -> bool:
    """Whether fewer rows are looked at the other way round: what comes before rows counts as a
    whole, what comes after them does not."""
    back = [item.mirrored() for item in order]
    return _sees_all(_reach(columns, order, schema)) and not _sees_all(
        _reach([each.mirrored() for each in columns], back, schema)
    )


def _sees_all(reach: Reach) -> bool:
    return max(reach.sees_back, reach.sees_forward) >= FAR


def _reach(columns: list[OverColumn], order: list[OrderBy], schema: pa.Schema) -> Reach:
    """How far a change is seen by rows with some frames."""
    reach = Reach(0)
    if order:
        reach = reach._replace(value_side=int(order[0].starts_with_nulls))
    for column in columns:
        frame = column.frame
        start, end = frame.start, frame.end
        counted = _reach_of_nth(reach, column, schema)
        if counted is not None:
            reach = counted
            continue
        if frame.has_distance and not _is_whole(schema.field(order[0].column).type):
            reach = _reach_of_floats(reach, frame, -1 if order[0].descending else 1)
        elif frame.has_distance:
            kind = schema.field(order[0].column).type
            most = _most_of_a_month(kind) if frame.months else 1
            low, high = (0 if each is None else int(each) * most for each in (start, end))
            if start is None:
                low = min(0, high)  # all before that counts as a whole, if anything does
            reach = reach._replace(
                by_value=True,
                low=min(reach.low, -high),
                high=max(reach.high, -low),
                sees_low=min(reach.sees_low, low),
                sees_high=max(reach.sees_high, high),
            )
        is_rows = frame.unit == "rows"
        before = FAR if start is None else max(0, -int(start)) if is_rows else 0
        after = FAR if end is None else max(0, int(end)) if is_rows else 0
        running = _is_running(column, schema)
        sees = max(0, -int(end or 0)) if running and is_rows else 0 if running else before
        reach = reach._replace(
            back=max(reach.back, after),
            forward=max(reach.forward, before),
            sees_back=max(reach.sees_back, sees),
            sees_forward=max(reach.sees_forward, after),
            in_blocks=reach.in_blocks or running,
        )
    return reach if reach.sees_back < FAR else reach._replace(in_blocks=False)


def _reach_of_nth(reach: Reach, column: OverColumn, schema: pa.Schema) -> Reach | None:
    """How far a change is seen where a function looks for a row that counts, from an end of the
    frame on: no farther than there are so many such rows. None: that is not known."""
    frame, nth = column.frame, column.nth
    if column.aggregate is not None or frame.has_distance or nth == 0:
        return None
    if column.ignore_nulls and pa.types.is_nested(schema.field(column.argument).type):
        return None
    offset = int(frame.end or 0) if frame.unit == "rows" else 0
    if frame.start is None and frame.end is not None:
        reach = reach._replace(
            back=max(reach.back, offset),
            forward=max(reach.forward, -offset),
            sees_back=max(reach.sees_back, -offset),
            sees_forward=max(reach.sees_forward, offset),
        )
        if nth > 0:
            return reach._replace(head=max(reach.head, nth))
        return reach._replace(
            count_forward=max(reach.count_forward, -nth),
            count_sees_back=max(reach.count_sees_back, -nth),
        )
    offset = int(frame.start or 0) if frame.unit == "rows" else 0
    if frame.end is None and frame.start is not None and nth > 0:
        return reach._replace(
            forward=max(reach.forward, -offset),
            sees_back=max(reach.sees_back, -offset),
            back=max(reach.back, offset),
            sees_forward=max(reach.sees_forward, offset),
            count_back=max(reach.count_back, nth),
            count_sees_forward=max(reach.count_sees_forward, nth),
        )
    return None


def _reach_of_floats(reach: Reach, frame: Frame, sign: int) -> Reach:
    low, high = (0.0 if each is None else float(each) for each in (frame.start, frame.end))
    if frame.start is None:
        low = min(0.0, high)
    return reach._replace(
        by_value=True,
        of_floats=sign,
        float_low=min(reach.float_low, -high),
        float_high=max(reach.float_high, -low),
        float_sees_low=min(reach.float_sees_low, low),
        float_sees_high=max(reach.float_sees_high, high),
    )


def _is_whole(kind: pa.DataType) -> bool:
    return not pa.types.is_floating(kind)


def _rows(bound: float | None, none: int, frame: Frame) -> int:
    return none if bound is None or frame.unit == "range" else max(-FAR, min(FAR, int(bound)))


def _moved_by_months(key: Int64s, months: int, kind: pa.DataType) -> Int64s:
    """The keys of dates or times so many months later, as `d + INTERVAL n MONTH` has them."""
    if pa.types.is_date(kind):
        return plus_months(key, np.array(months))
    days, clock = days_and_clock(key)
    return plus_months(days, np.array(months)) * DAY + clock


def _most_of_a_month(kind: pa.DataType) -> int:
    """How far a month can be, in units of the order column."""
    return _LONGEST_MONTH if pa.types.is_date(kind) else _LONGEST_MONTH * DAY


def _moved(key: Int64s, distance: int, _: pa.DataType) -> Int64s:
    """Keys and a distance, added; what does not fit is the greatest or the least number."""
    with np.errstate(over="ignore"):
        total = key + np.int64(max(-_GREATEST, min(_GREATEST, distance)))
    wrong = total < key if distance >= 0 else total > key
    return np.where(wrong, _GREATEST if distance >= 0 else ~_GREATEST, total)
