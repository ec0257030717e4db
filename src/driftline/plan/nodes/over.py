"""The plan node of window functions: aggregates OVER (…), LAG, LEAD, NTH_VALUE."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from driftline.plan.errors import PlanError
from driftline.plan.expressions import Expression
from driftline.plan.nodes.base import OrderItem, Part, Remarks
from driftline.plan.nodes.keyed import Partitioned
from driftline.plan.types import Field, Schema

if TYPE_CHECKING:
    from driftline.plan.facts import Facts

Unit = Literal["rows", "range"]


@dataclass(frozen=True)
class Frame:
    """Which rows around a row its functions see: from `start` to `end`, in rows or in units of the
    order column (micros, days, units of the last digit; `months`: in months, of dates and times);
    negative: before; None: without bound."""

    unit: Unit = "range"
    start: float | None = None
    end: float | None = 0
    months: bool = False

    def __str__(self) -> str:
        unit = f"{self.unit} in months" if self.months else self.unit
        return f"{unit} {_bound(self.start, 'first')} to {_bound(self.end, 'last')}"


def _bound(bound: float | None, none: str) -> str:
    return none if bound is None else "current" if bound == 0 else f"{bound:+}"


@dataclass(frozen=True)
class OverColumn:
    """A window function: an aggregate over the frame; or, with `nth`, the value in the row at that
    place of the frame (from 1, or from the end: -1, -2, …; with `ignore_nulls` among those that
    have a value), and else the default."""

    name: str
    value: Expression
    frame: Frame
    nth: int | None = None
    default: Expression | None = None
    ignore_nulls: bool = False

    def __str__(self) -> str:
        place = "" if self.nth is None else f" at {self.nth}"
        place += " of those not null" if self.ignore_nulls else ""
        return f"{self.value.sql()}{place} over {self.frame} AS {self.name}"


@dataclass(frozen=True)
class Over(Partitioned):
    """The rows, with functions of what is around them in the order of their partition."""

    order: tuple[OrderItem, ...]
    columns: tuple[OverColumn, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        frames = (each.frame for each in self.columns)
        if len(self.order) != 1 and any(
            frame.unit == "range" and {frame.start, frame.end} - {None, 0} for frame in frames
        ):
            raise PlanError("a RANGE with a distance needs ORDER BY with one item")

    @cached_property
    def schema(self) -> Schema:
        fields = tuple(Field(each.name, each.value.type) for each in self.columns)
        return self.input.schema + Schema(fields)

    def label(self) -> str:
        per = f" per {', '.join(map(str, self.partition))}" if self.partition else ""
        by = f" by {', '.join(map(str, self.order))}" if self.order else ""
        return f"{', '.join(map(str, self.columns))}{per}{by}"

    @property
    def goes_by(self) -> Part | None:
        return None

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        return self._remarks("while the functions of a row have their values", emit, facts)
