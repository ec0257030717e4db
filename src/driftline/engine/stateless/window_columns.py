"""Windows as columns: TUMBLE, HOP and CUMULATE.

    hop_{slide, size}(H) = { (vs, ve, r + {window_start: w, window_end: w + size}) :
                             (vs, ve, r) ∈ H, w a multiple of slide, w <= time(r) < w + size }

    tumble_{size} = hop_{size, size}

    cumulate_{step, size}(H) = { (vs, ve, r + {window_start: w, window_end: e}) : (vs, ve, r) ∈ H,
                                 w = the multiple of size with w <= time(r) < w + size,
                                 e - w a multiple of step, time(r) < e <= w + size }

State: none. Lifetimes stay as they are, so a cti goes on as it came. `time` is vs, or a column; a
row whose column is null is in no window. With slide > size there are times in no window. A window
that would reach beyond the times that 64 bits hold starts, or ends, at the last of these.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from driftline.engine.core.batch import Batch, empty
from driftline.engine.core.operator import Operator
from driftline.engine.expressions import expansion
from driftline.engine.stateless.select import with_own_high
from driftline.model.arrays import Int64s, stored, to_arrow, to_numpy
from driftline.model.time import BEGINNING, INFINITY

WINDOW_START, WINDOW_END = "window_start", "window_end"
TIMESTAMP = pa.timestamp("us", "UTC")
Ticks = NDArray[Any]
"""Times as 64 bits, or as Python's integers."""


class Hop(Operator):
    """Gives every row once for each window it is in.

    `schema` is that of the rows that come; two columns are added to it (or take the place of those
    that have these names). `time` names the column that says when a row is, None stands for vs.
    The window's times are whole ticks, or with `timestamps` moments in UTC.
    """

    uses_state = False

    expands = True

    def __init__(
        self,
        schema: pa.Schema,
        slide: int,
        size: int,
        time: str | None = None,
        *,
        timestamps: bool = False,
    ) -> None:
        if slide <= 0 or size <= 0:
            raise ValueError(
                f"a window needs a slide and a size of at least 1, not {slide} and {size}"
            )
        self.kind = TIMESTAMP if timestamps else pa.int64()
        self.kept = [name for name in schema.names if name not in (WINDOW_START, WINDOW_END)]
        fields = [schema.field(name) for name in self.kept]
        added = [pa.field(name, self.kind) for name in (WINDOW_START, WINDOW_END)]
        super().__init__(pa.schema([*fields, *added]))
        self.slide = slide
        self.size = size
        self.time = time

    def process(self, port: int, batch: Batch) -> Batch:
        if len(batch) == 0:
            return empty(self.schema, batch.cti, self._everywhere(batch.high))
        moments, timed = self._moments(batch)
        first, count = self._windows(self._exact(moments))
        count = np.where(timed, count, 0).astype(np.int64)
        made = expansion.total(count)
        expansion.check(
            f"windows of {self.size} every {self.slide} make {made:,} rows of {len(batch):,}",
            made * (expansion.row_bytes(batch.payload) + 16),
            "take a larger slide or a smaller size",
        )
        rows = np.repeat(np.arange(len(batch)), count)
        place = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
        start, end = self._bounds(first[rows], place.astype(first.dtype))
        kept = batch.payload.select(self.kept).take(to_arrow(rows))
        output = Batch(
            batch.vs[rows],
            batch.ve[rows],
            batch.weight[rows],
            pa.RecordBatch.from_arrays(
                [*kept.columns, self._column(start), self._column(end)],
                schema=self.schema,
            ),
            batch.cti,
            batch.high,
        )
        return output if self._everywhere(batch.high) == batch.high else with_own_high(output)

    def _everywhere(self, high: int) -> int:
        """The given `high` if every insert is in some window."""
        return high if self.time is None and self.slide <= self.size else BEGINNING

    def _moments(self, batch: Batch) -> tuple[Int64s, NDArray[np.bool_]]:
        """When each row is, and whether that is known."""
        if self.time is None:
            return batch.vs, np.ones(len(batch), np.bool_)
        column = batch.payload.column(self.time)
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        elif not pa.types.is_integer(column.type):
            raise TypeError(
                f"the column {self.time!r} cannot say when a row is: it is {column.type}, not a "
                "TIMESTAMP or a whole number"
            )
        timed = to_numpy(pc.is_valid(column))
        moments = stored(column.cast(pa.int64()))
        return np.where(timed, moments, 0), timed

    def _bounds(self, first: Ticks, place: Ticks) -> tuple[Ticks, Ticks]:
        """The start and the end of windows: for each its place after the first of its row."""
        start = first + self.slide * place
        return start, start + self.size

    def _windows(self, moments: Ticks) -> tuple[Ticks, Ticks]:
        """The start of the first window of each row, and how many windows it is in."""
        first = (moments - self.size) // self.slide * self.slide + self.slide
        last = moments // self.slide * self.slide
        return first, (last - first) // self.slide + 1

    def _exact(self, moments: Int64s) -> Ticks:
        """The times; as Python's integers if a window around them would reach beyond 64 bits."""
        lowest, highest = int(moments.min()), int(moments.max())
        if lowest - self.size - self.slide < BEGINNING or highest + self.size > INFINITY:
            return moments.astype(object)
        return moments

    def _column(self, ticks: Ticks) -> pa.Array:
        if ticks.dtype == object:
            ticks = np.clip(ticks, BEGINNING, INFINITY).astype(np.int64)
        return to_arrow(ticks).cast(self.kind)


class Cumulate(Hop):
    """Gives every row once for each window that has begun with its own and ends after it: windows
    of one size, side by side, each with those that end a number of steps (`slide`) after its start.
    """

    def _windows(self, moments: Ticks) -> tuple[Ticks, Ticks]:
        inside = moments % self.size
        return moments // self.slide * self.slide + self.slide, (
            (self.size - inside + self.slide - 1) // self.slide
        )

    def _bounds(self, first: Ticks, place: Ticks) -> tuple[Ticks, Ticks]:
        end = first + self.slide * place
        return (first - 1) // self.size * self.size, end


def tumble(
    schema: pa.Schema, size: int, time: str | None = None, *, timestamps: bool = False
) -> Hop:
    """Windows of one size, side by side."""
    return Hop(schema, size, size, time, timestamps=timestamps)
