"""Window functions: aggregates OVER (…), LAG, LEAD, NTH_VALUE; a snapshot operator.

    over, at every time: every row r of the snapshot, with f(frame of r) for every function f

The rows of r's partition are put in order; ties are broken by the whole row. With start and end
counted from r (negative: before it; None: without bound), r's frame is

    rows    the rows from place(r) + start to place(r) + end
    range   the rows whose order value is in [value(r) + start, value(r) + end], in the direction of
            the order; 0 means the rows with the same order key as r, its peers. A null is at no
            distance from a value: its frame, where bounded, is that of the nulls

Functions go by the order in the frame: the first value is that of the frame's first row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from driftline.model.history import Bag, History, Lifetime
from driftline.model.reference.aggregates import Aggregate, Argument
from driftline.model.reference.rank import Order
from driftline.model.reference.snapshot_operator import snapshot_operator
from driftline.model.row import Row, Value, sort_key
from driftline.model.time import INFINITY


@dataclass(frozen=True)
class Frame:
    """Which rows around a row its functions see; None: without bound."""

    unit: Literal["rows", "range"] = "range"
    start: Any = None
    end: Any = 0


Function = Callable[[Sequence[Row], Row], Value]
"""From the rows of a frame in order, and the row it is the frame of."""


def of_frame(aggregate: Aggregate) -> Function:
    """An aggregate over the frame; those that go by time go by the order in the frame."""

    def function(frame: Sequence[Row], row: Row) -> Value:
        return aggregate([Lifetime(place, INFINITY, each) for place, each in enumerate(frame)])

    return function


def nth(
    argument: Argument,
    place: int,
    default: Argument = lambda row: None,
    *,
    ignore_nulls: bool = False,
) -> Function:
    """The value of the row at a place of the frame, from 1, or from the end: -1, -2, …; with
    `ignore_nulls`, among the rows of the frame that have a value."""

    def function(frame: Sequence[Row], row: Row) -> Value:
        rows = [each for each in frame if not ignore_nulls or argument(each) is not None]
        if abs(place) > len(rows):
            return default(row)
        return argument(rows[place - 1 if place > 0 else place])

    return function


def over(
    history: History,
    functions: Mapping[str, tuple[Frame, Function]],
    order: Sequence[Order] = (),
    partition: Sequence[Argument] = (),
) -> History:
    def operate(alive: Sequence[Lifetime]) -> Bag:
        partitions: dict[Any, list[Row]] = {}
        for lifetime in alive:
            key = tuple(sort_key(part(lifetime.row)) for part in partition)
            partitions.setdefault(key, []).append(lifetime.row)
        answer: Bag = Counter()
        for rows in partitions.values():
            ordered = sorted(rows, key=lambda row: ([item.key(row) for item in order], row))
            for place, row in enumerate(ordered):
                values = {
                    name: function(_frame(frame, ordered, place, order), row)
                    for name, (frame, function) in functions.items()
                }
                answer[Row(row, **values)] += 1
        return answer

    return snapshot_operator(operate, history)


def _frame(frame: Frame, ordered: list[Row], place: int, order: Sequence[Order]) -> list[Row]:
    if frame.unit == "rows":
        first = 0 if frame.start is None else max(0, place + frame.start)
        last = len(ordered) - 1 if frame.end is None else place + frame.end
        return ordered[first : max(first, last + 1)]

    def moved(distance: Any) -> list[tuple[Any, ...]]:
        """The order key of this row, moved by a distance."""
        if distance == 0:
            return [item.key(ordered[place]) for item in order]
        (item,) = order
        value = item.by(ordered[place])
        if value is not None:
            value = value - distance if item.descending else value + distance
        return [item.key_of(value)]

    found: list[Row] = []
    for row in ordered:
        key = [item.key(row) for item in order]
        if (frame.start is None or not key < moved(frame.start)) and (
            frame.end is None or not moved(frame.end) < key
        ):
            found.append(row)
    return found
