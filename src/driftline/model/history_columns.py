"""The canonical history of a stream over columns: the results of `canonical_history`, fast."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from driftline.model.arrays import Int64s
from driftline.model.codes import row_codes
from driftline.model.columns import INSERT, StreamColumns, take_rows
from driftline.model.history import History, Lifetime
from driftline.model.lifetimes import number_lifetimes
from driftline.model.row import Row


@dataclass(frozen=True, slots=True, eq=False)
class HistoryColumns:
    """A bag of lifetimes in order of vs, then ve, then the row, as the plain `History` has it."""

    vs: Int64s
    ve: Int64s
    payload: pa.Table

    def __len__(self) -> int:
        return len(self.vs)

    def alive(self, t: int) -> HistoryColumns:
        """The lifetimes that hold t."""
        kept = np.flatnonzero((self.vs <= t) & (t < self.ve))
        return HistoryColumns(self.vs[kept], self.ve[kept], take_rows(self.payload, kept))

    def to_history(self) -> History:
        """The plain form, for tests and small histories."""
        rows = self.payload.to_pylist() if self.payload.num_columns else [{}] * len(self)
        times = zip(self.vs.tolist(), self.ve.tolist(), rows, strict=True)
        return History(Lifetime(vs, ve, Row(row)) for vs, ve, row in times)


def history_columns(stream: StreamColumns) -> HistoryColumns:
    """The canonical history of a stream or of any prefix of one.

    >>> from driftline.model.event import Insert, Retract
    >>> a = Row(a=1)
    >>> events = [Insert(1, 9, a), Insert(1, 5, a), Retract(1, 9, 5, a)]
    >>> history_columns(StreamColumns.from_events("s", events)).to_history()
    History([[1, 5) {'a': 1}, [1, 5) {'a': 1}])
    """
    lifetimes = number_lifetimes(stream)
    copies = _counts(lifetimes.gives, len(lifetimes.vs))
    copies -= _counts(lifetimes.takes, len(lifetimes.vs))
    if (copies < 0).any():
        first = int(np.flatnonzero(copies < 0)[0])
        raise ValueError(
            f"{_lifetime(stream, int(lifetimes.event[first]), int(lifetimes.ve[first]))} "
            "is retracted, but no insert or earlier retract gave it"
        )
    left = np.repeat(np.arange(len(copies)), copies)
    vs, ve, event = lifetimes.vs[left], lifetimes.ve[left], lifetimes.event[left]
    order = _by_time_then_row(vs, ve, event, stream.payload)
    event = event[order]
    return HistoryColumns(vs[order], ve[order], take_rows(stream.payload, event))


def _counts(lifetimes: Int64s, size: int) -> Int64s:
    return np.bincount(lifetimes[lifetimes >= 0], minlength=size).astype(np.int64)


def _by_time_then_row(vs: Int64s, ve: Int64s, event: Int64s, payload: pa.Table) -> Int64s:
    """The order by vs, ve, row; rows are compared only where the times tie."""
    order = np.lexsort((ve, vs)).astype(np.int64)
    tie = (np.diff(vs[order]) == 0) & (np.diff(ve[order]) == 0)
    tied = np.zeros(len(order), np.bool_)
    tied[1:] |= tie
    tied[:-1] |= tie
    places = np.flatnonzero(tied)
    if len(places) and payload.num_columns:
        among = order[places]
        rows = row_codes(take_rows(payload, event[among]), len(among), ordered=True)
        order[places] = among[np.lexsort((rows, ve[among], vs[among]))]
    return order


def _lifetime(stream: StreamColumns, event: int, ve: int) -> Lifetime:
    one = replace(stream.take(np.array([event])), kind=np.array([INSERT], np.int8))
    [insert] = one.to_events()
    row: Row = insert.row  # type: ignore[union-attr]  # its kind was just set
    return Lifetime(int(stream.vs[event]), ve, row)
