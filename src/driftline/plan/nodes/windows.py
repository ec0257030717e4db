"""Nodes about lifetimes: windows, which change them; coalesce and final, which go by them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from driftline.plan.conditions import linear_form
from driftline.plan.durations import span
from driftline.plan.expressions import Column, Expression
from driftline.plan.facts import Times
from driftline.plan.nodes.answers import KeepsNothing, KeepsRows
from driftline.plan.nodes.base import (
    Keys,
    Part,
    Places,
    Remarks,
    all_places,
    columns_of,
    places_read,
    same_place,
)
from driftline.plan.nodes.rowwise import OneInput

if TYPE_CHECKING:
    from driftline.plan.facts import Delays, Facts
    from driftline.plan.native import Native
    from driftline.plan.types import Schema

WindowForm = Literal["sliding", "hopping", "within", "now", "unbounded", "general"]


@dataclass(frozen=True)
class SameRows(OneInput):
    """A node that gives the rows of its input, with lifetimes of its own."""

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema

    def never_ends(self, facts: Facts) -> bool:
        return False

    def origin(self, place: int, side: int = 0) -> Expression | None:
        return same_place(self, place)

    def partitioned_by(self, keys: Keys) -> tuple[Keys, ...] | None:
        return (keys,)  # over the same columns

    def closes(self, facts: Facts) -> Delays:
        return {}

    def after_vs(self, place: int, facts: Facts) -> int | None:
        return None

    @property
    def native(self) -> Native | None:
        return None


@dataclass(frozen=True)
class Window(KeepsNothing, SameRows):
    """Other lifetimes; see the reference's `alter_lifetime`. Durations are in ticks."""

    form: WindowForm
    size: int = 0
    slide: int = 0
    start: Expression | None = None
    duration: Expression | None = None

    def label(self) -> str:
        size, slide = self._spans
        match self.form:
            case "sliding":
                return f"window [RANGE {size}]"
            case "hopping":
                return f"window [RANGE {size} SLIDE {slide}]"
            case "within":
                return f"window within {size}"
            case "general":
                return f"window [FROM {self.start} FOR {self.duration}]"
        return f"window [{self.form.upper()}]"

    @property
    def _spans(self) -> tuple[str, str]:
        return span(self.size, self.timestamps), span(self.slide, self.timestamps)

    @cached_property
    def is_loose(self) -> bool:
        return self.goes_by == "stretches" and self.input.is_loose

    @cached_property
    def goes_by(self) -> Part | None:
        """Only when a row starts, only when it ends, or both."""
        if self.form == "within":
            return "stretches"
        if self.form != "general":
            return "starts"
        assert self.start is not None
        assert self.duration is not None
        start, duration = linear_form(self.start), linear_form(self.duration)
        if start is None or duration is None:
            return "stretches"
        if start[1] == duration[1] == 0:
            return "starts"
        # A row without end then vanishes, as ends have it.
        return "ends" if start[0] == duration[0] == 0 and start[1] > 0 else "stretches"

    def over_ends(self) -> Window:
        """The window by ve as one by vs: ends are lifetimes that start when a row ends."""
        assert self.start is not None
        assert self.duration is not None
        start, duration = (each.transform(_from_the_end) for each in (self.start, self.duration))
        return replace(self, start=start, duration=duration)

    def only_grows(self, facts: Facts) -> bool:
        return facts.only_grows(self.input)

    def is_table(self, facts: Facts) -> bool:
        return False

    def reads(self, wanted: Places) -> tuple[Places, ...]:
        return (wanted,)

    def times(self, place: int, facts: Facts) -> Times | None:
        """None if rows that have got other lifetimes may start at any time."""
        times = facts.times(self.input, place)
        if times is None:
            return None
        if self.form == "hopping":
            return Times(times.delay + self.slide, times.of)
        if self.form == "general":
            form = None if self.start is None else linear_form(self.start)
            if form is None or form[:2] != (1, 0):
                return None
            return Times(times.delay + form[2], times.of)
        return times

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        size, slide = self._spans
        match self.form:
            case "sliding":
                return Remarks(f"[vs, vs + {size})")
            case "hopping":
                first = f"the first multiple of {slide} after vs"
                return Remarks(f"from {first} to that after vs + {size}")
            case "within":
                return Remarks(f"from vs to ve, or to vs + {size} if that is sooner")
            case "now":
                return Remarks("[vs, vs + 1)")
            case "unbounded":
                return Remarks("[vs, ∞)")
        return Remarks(f"from {self.start}, for {self.duration}")


@dataclass(frozen=True)
class Clip(KeepsNothing, SameRows):
    """Lifetimes cut at a time that each row says, some ticks after `bound`; see the reference's
    `clip`. `keeps`: what is before it, or what is after."""

    bound: Expression
    delay: int
    keeps: Literal["until", "since"]

    def label(self) -> str:
        later = "" if self.delay == 0 else f", {self.delay} ticks later"
        return f"clip {self.keeps} {self.bound}{later}"

    @cached_property
    def is_loose(self) -> bool:
        return self.input.is_loose

    @property
    def goes_by(self) -> Part | None:
        return None  # the parts of a lifetime are cut where the whole is

    def only_grows(self, facts: Facts) -> bool:
        return facts.only_grows(self.input)

    def is_table(self, facts: Facts) -> bool:
        return False

    def reads(self, wanted: Places) -> tuple[Places, ...]:
        return (wanted | places_read(self.input, [self.bound]),)

    def times(self, place: int, facts: Facts) -> Times | None:
        return facts.times(self.input, place) if self.keeps == "until" else None

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        if self.keeps == "until":
            return Remarks("from vs to the time that the row says, or to ve if that is sooner")
        return Remarks("from the time that the row says, or vs if that is later, to ve")


def _from_the_end(part: Expression) -> Expression:
    is_end = isinstance(part, Column) and part.name.lower() == "ve"
    return Column("vs", part.type) if is_end else part


@dataclass(frozen=True)
class Coalesce(KeepsRows, SameRows):
    """The longest stretches of each row, or their starts or ends alone; see the reference's
    `coalesce`. `driftline.plan.lifetimes` puts it where it is needed."""

    part: Part = "stretches"

    def label(self) -> str:
        return "coalesce" if self.part == "stretches" else self.part

    @property
    def is_loose(self) -> bool:
        return self.part == "stretches"  # which may still grow

    @property
    def goes_by(self) -> Part | None:
        return None

    def only_grows(self, facts: Facts) -> bool:
        return False

    def is_table(self, facts: Facts) -> bool:
        return facts.is_table(self.input)

    def reads(self, wanted: Places) -> tuple[Places, ...]:
        return (all_places(self.input),)

    def times(self, place: int, facts: Facts) -> Times | None:
        return None

    @property
    def required_keys(self) -> tuple[Keys, ...] | None:
        return (self.input.natural_keys or columns_of(self.schema),)

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        return Remarks(
            f"the {'longest stretches' if self.part == 'stretches' else self.part} of each row",
            "the whole row",
            "the stretches of every row",
            "stretches that ended before it",
        )


@dataclass(frozen=True)
class Final(KeepsRows, SameRows):
    """What can not change any more, each row once; see the reference's `finals`. `windows`: the
    columns by which rows are answers about windows, and how long after the time in each these are
    over. `driftline.plan.finals` makes it."""

    windows: tuple[tuple[str, int], ...] = ()

    def label(self) -> str:
        if not self.windows:
            return "final"
        parts = [
            f"{name} {'+-'[delay < 0]} {span(abs(delay), self.timestamps)}" if delay else name
            for name, delay in self.windows
        ]
        return f"final by {', '.join(parts)}"

    @property
    def is_loose(self) -> bool:
        return False

    @property
    def goes_by(self) -> Part | None:
        return None if self.windows else "stretches"

    def only_grows(self, facts: Facts) -> bool:
        return False

    def is_table(self, facts: Facts) -> bool:
        return False

    def reads(self, wanted: Places) -> tuple[Places, ...]:
        return (all_places(self.input),)

    def times(self, place: int, facts: Facts) -> Times | None:
        return None

    @property
    def required_keys(self) -> tuple[Keys, ...] | None:
        return None

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        return Remarks(
            state="rows that can still change",
            evicted="rows that it makes final, which are emitted",
        )
