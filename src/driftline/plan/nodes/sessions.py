"""Nodes of session windows: rows that follow each other within a gap belong together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from driftline.plan.durations import span
from driftline.plan.expressions import Column
from driftline.plan.facts import END, START, Closes, Times
from driftline.plan.nodes.base import Part, Places, Remarks, columns_of, places_read
from driftline.plan.nodes.keyed import Partitioned
from driftline.plan.types import BIGINT, TIMESTAMP, Field, Schema

if TYPE_CHECKING:
    from driftline.plan.expressions import Expression
    from driftline.plan.facts import Delays, Facts


@dataclass(frozen=True)
class Session(Partitioned):
    """The rows, each alive until its session ends; see the reference's `session`. Durations are in
    ticks; `at_most`: how long a session may be."""

    gap: int
    at_most: int | None = None

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema

    def label(self) -> str:
        return f"window [SESSION {self._described}]"

    @property
    def _described(self) -> str:
        most = "" if self.at_most is None else f" MAX {span(self.at_most, self.timestamps)}"
        per = f" PER {', '.join(map(str, self.partition))}" if self.partition else ""
        return f"{span(self.gap, self.timestamps)}{most}{per}"

    @property
    def goes_by(self) -> Part | None:
        return "starts"

    def is_table(self, facts: Facts) -> bool:
        return False

    def reads(self, wanted: Places) -> tuple[Places, ...]:
        own = frozenset(place for place in wanted if place < len(self.input.schema))
        return (own | places_read(self.input, self.partition),)

    def closes(self, facts: Facts) -> Delays:
        return {}

    def times(self, place: int, facts: Facts) -> Times | None:
        return None

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        return Remarks(
            "from vs to the end of the session",
            self._keys,
            "the rows of every session that is open",
            "sessions that have ended",
        )

    @property
    def _keys(self) -> str:
        return ", ".join(map(str, self.partition)) or "none: one sequence"


@dataclass(frozen=True)
class SessionColumns(Session):
    """The rows with their session as columns; see the reference's `session_columns`."""

    @cached_property
    def schema(self) -> Schema:
        kind = TIMESTAMP if self.timestamps else BIGINT
        return self.input.schema + Schema((Field("window_start", kind), Field("window_end", kind)))

    def label(self) -> str:
        return f"sessions [{self._described}]"

    @property
    def window(self) -> tuple[Column, Column]:
        """The columns of its window."""
        start, end = columns_of(self.schema)[-2:]
        return cast("Column", start), cast("Column", end)

    @property
    def goes_by(self) -> Part | None:
        return "stretches"

    def closes(self, facts: Facts) -> Delays:
        """The end of a session closes a tick later, as a row may start just then and prolong it, if
        rows are only added; its start, if it may only be so long, so much later."""
        given = self.input
        if not (facts.only_grows(given) and facts.never_ends(given)):
            return {}
        start = len(given.schema)
        found = {start + 1: Closes(1, self.gap)}
        if self.at_most is not None:
            found[start] = Closes(self.at_most, 0)
        return found

    def times(self, place: int, facts: Facts) -> Times | None:
        start = len(self.input.schema)
        if place == start + 1:
            return Times(1, END)
        if place == start and self.at_most is not None:
            return Times(self.at_most, START)
        return None

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        grows = facts.only_grows(self.input)
        return Remarks(
            "those of the rows, in a piece for every time at which their session becomes longer",
            self._keys,
            "the rows of every session",
            "sessions that have ended" if grows else "sessions whose rows have all ended",
        )


@dataclass(frozen=True)
class SessionMembers(SessionColumns):
    """The rows with the start of their session, and of every session a row with its end, one for
    each value of `further` in it; see the reference's `session_members`. An aggregate by session is
    one of these."""

    further: tuple[Expression, ...] = ()

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema + Schema(
            (super().schema.fields[-2], Field("window_end", BIGINT)),
        )

    def label(self) -> str:
        by = f" by {', '.join(map(str, self.further))}" if self.further else ""
        return f"members of sessions [{self._described}]{by}"

    def reads(self, wanted: Places) -> tuple[Places, ...]:
        (own,) = super().reads(wanted)
        return (own | places_read(self.input, self.further),)

    @property
    def is_loose(self) -> bool:
        return False

    def closes(self, facts: Facts) -> Delays:
        return {}

    def times(self, place: int, facts: Facts) -> Times | None:
        return None

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        grows = facts.only_grows(self.input)
        return Remarks(
            "those of the rows, and from each start of a session to the next",
            self._keys,
            "the rows of every session",
            "rows before the last one that it has passed, and sessions that have ended"
            if grows
            else "sessions whose rows have all ended",
        )
