"""Where a plan begins: streams, rows that are always there, and what comes from another part."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from driftline.plan.durations import span
from driftline.plan.facts import Times
from driftline.plan.nodes.answers import KeepsNothing
from driftline.plan.nodes.base import Node, Places, Remarks
from driftline.plan.timing import NOTHING_KNOWN, Timing
from driftline.plan.types import INT, Field, Schema, type_name

if TYPE_CHECKING:
    from driftline.plan.expressions import Expression
    from driftline.plan.facts import Delays, Facts
    from driftline.plan.native import Native
    from driftline.plan.nodes.base import Part

ROW = "$scalar row"
"""The column of a Constant that numbers its rows."""
FIRST_TICK = -(10**18)
FIRST_TIMESTAMP = -62_135_596_800_000_000
"""The year 1."""


@dataclass(frozen=True)
class Beginning(KeepsNothing):
    """A node without inputs, whose rows come from outside under its name."""

    name: str
    columns: Schema

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    @property
    def is_loose(self) -> bool:
        return False

    @property
    def goes_by(self) -> Part | None:
        return None

    def only_grows(self, facts: Facts) -> bool:
        return self.name in facts.inserts_only

    def never_ends(self, facts: Facts) -> bool:
        return self.name in facts.inserts_only

    def is_table(self, facts: Facts) -> bool:
        return self.name in facts.tables

    def origin(self, place: int, side: int = 0) -> Expression | None:
        return None

    def reads(self, wanted: Places) -> tuple[Places, ...]:
        return ()

    def closes(self, facts: Facts) -> Delays:
        return facts.closing.get(self.name, {})

    @property
    def native(self) -> Native | None:
        return None

    def _has_its_vs(self, place: int, time: str | None, facts: Facts) -> bool:
        """Whether a column is the one that plain records have their vs from."""
        return self.name in facts.inserts_only and self.schema.names[place] == time


@dataclass(frozen=True)
class Source(Beginning):
    """A stream. Plain records become inserts [time, ∞) by their column `time`."""

    time: str | None = None
    ticks_are_timestamps: bool = False
    timing: Timing = NOTHING_KNOWN

    @cached_property
    def schema(self) -> Schema:
        return self.columns.qualified(self.name)

    @property
    def disorder(self) -> int | None:
        """How many ticks plain records are late at most, if that is declared."""
        return self.timing.disorder

    @cached_property
    def timestamps(self) -> bool:
        return self.ticks_are_timestamps

    def label(self) -> str:
        fields = ", ".join(f"{each.name} {type_name(each.type)}" for each in self.columns)
        time = f" by {self.time}" if self.time else ""
        return f"source {self.name}{time} ({fields})"

    def after_vs(self, place: int, facts: Facts) -> int | None:
        return 0 if self._has_its_vs(place, self.time, facts) else None

    def times(self, place: int, facts: Facts) -> Times | None:
        return Times(1) if self._has_its_vs(place, self.time, facts) else None

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        lifetimes = "those of the event log"
        if self.time is not None:
            lifetimes += f", or [{self.time}, ∞) for plain records"
        return Remarks(
            lifetimes,
            state="lifetimes that may still be retracted, and what waits for block",
            evicted="lifetimes that ended before it",
            final=f"by ctis of the log{self._bounds()}",
        )

    def _bounds(self) -> str:
        """The other bounds on how far rows are final."""
        timing = self.timing
        if not timing.is_promised:
            return ""
        by = "" if timing.apart_by is None else f" of each {timing.apart_by}"
        if timing.bounds is None:
            behind = timing.disorder or 0
            behind += timing.skew or 0 if timing.groups is not None else 0
            parts = [f", or the latest time{by} less {span(behind, self.timestamps)}"]
        else:
            parts = [f", or by {len(timing.bounds.pairs)} bounds between the times{by}"]
        if timing.skew is not None and timing.groups is None:
            parts.append(f", clocks at most {span(timing.skew, self.timestamps)} apart")
        if timing.latency:
            parts.append(f", at most {timing.latency} ms on their way")
        if timing.timeout is not None:
            parts.append(f", silent ones not waited for after {timing.timeout} ms")
        if timing.rate is not None:
            ticks, milliseconds = timing.rate
            gained = span(1_000 * ticks // milliseconds, self.timestamps)
            parts.append(f", clocks at least {gained} on in a second")
        return "".join(parts)


@dataclass(frozen=True)
class Constant(Source):
    """Rows numbered from 0 that are there for ever, and come from no stream: what VALUES and SELECT
    without FROM are computed from. Make it with `constant`."""

    count: int = 1

    @property
    def schema(self) -> Schema:
        return self.columns

    @property
    def start(self) -> int:
        """When the rows come to life: before all else."""
        return FIRST_TIMESTAMP if self.timestamps else FIRST_TICK

    def label(self) -> str:
        return "one row" if self.count == 1 else f"{self.count} rows"


def constant(count: int, timestamps: bool) -> Constant:
    """`count` rows that are there for ever."""
    kind = "of timestamps" if timestamps else "of ticks"
    columns = Schema((Field(ROW, INT),))
    return Constant(f"$rows {count} {kind}", columns, None, timestamps, count=count)


@dataclass(frozen=True)
class Leaf(Beginning):
    """What comes into a part of a plan from outside it; see `driftline.plan.fragments`."""

    ticks_are_timestamps: bool = False
    time: str | None = None  # the column that gives plain records their time, if it is there

    @cached_property
    def schema(self) -> Schema:
        return self.columns

    @cached_property
    def timestamps(self) -> bool:
        return self.ticks_are_timestamps

    def label(self) -> str:
        return f"from {self.name}"

    def after_vs(self, place: int, facts: Facts) -> int | None:
        return 0 if self._has_its_vs(place, self.time, facts) else None

    def times(self, place: int, facts: Facts) -> Times | None:
        return None  # final answers are asked of whole plans

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        return Remarks()
