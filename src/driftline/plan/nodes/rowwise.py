"""Nodes that keep no rows: each row of the input is answered by itself, with its lifetime."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from driftline.plan.durations import span
from driftline.plan.errors import PlanError
from driftline.plan.expressions import Column, Expression
from driftline.plan.facts import END, START, Closes, Times
from driftline.plan.native import Native, is_tame
from driftline.plan.nodes.answers import KeepsNothing
from driftline.plan.nodes.base import (
    SETTLED,
    Keys,
    Named,
    Node,
    Places,
    Remarks,
    column_at,
    places_read,
    same_place,
)
from driftline.plan.types import BIGINT, TIMESTAMP, Field, Schema, is_timestamp

if TYPE_CHECKING:
    from driftline.plan.facts import Delays, Facts
    from driftline.plan.nodes.base import Part


@dataclass(frozen=True)
class OneInput(Node):
    """A node over one other."""

    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True)
class Rowwise(KeepsNothing, OneInput):
    """Every row of the input becomes none, one or some, each with the lifetime of that row.

    That is what a new stateless operator is. It has to define its columns (`schema`), where these
    come from (`origin`), what it computes with (`computes_with`), what it goes by of the lifetime
    of a row (`goes_by`), whether Spark can run it (`native`) and its label; all else follows."""

    @property
    @abstractmethod
    def computes_with(self) -> Keys:
        """The values that are computed for every row, whichever columns are wanted."""

    @cached_property
    def is_loose(self) -> bool:
        return self.input.is_loose

    def only_grows(self, facts: Facts) -> bool:
        return facts.only_grows(self.input)

    def never_ends(self, facts: Facts) -> bool:
        return facts.never_ends(self.input)

    def is_table(self, facts: Facts) -> bool:
        return facts.is_table(self.input)

    def reads(self, wanted: Places) -> tuple[Places, ...]:
        values = [value for place in wanted if (value := self.origin(place)) is not None]
        return (places_read(self.input, [*values, *self.computes_with]),)

    def closes(self, facts: Facts) -> Delays:
        return closing_origins(self, facts)

    def after_vs(self, place: int, facts: Facts) -> int | None:
        return facts.value_after_vs(self.input, self.origin(place))

    def times(self, place: int, facts: Facts) -> Times | None:
        return facts.value_times(self.input, self.origin(place))

    def with_settled(self, facts: Facts) -> Node | None:
        below = self.input.with_settled(facts)
        return None if below is None else self.with_inputs([below])

    @property
    def natural_keys(self) -> Keys | None:
        below = self.input.natural_keys
        if below is None:
            return None
        own = {
            origin.name: column
            for place in range(len(self.schema))
            if isinstance(origin := self.origin(place), Column)
            and (column := column_at(self.schema, place)) is not None
        }
        found = [own[key.name] for key in below if isinstance(key, Column) and key.name in own]
        return tuple(found) if found and len(found) == len(below) else None

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        return Remarks()


def closing_origins(node: OneInput, facts: Facts) -> dict[int, Closes]:
    """The columns of a node that are columns of its input that close, moved or not."""
    found = {
        place: facts.value_closes(node.input, node.origin(place))
        for place in range(len(node.schema))
    }
    return {place: closes for place, closes in found.items() if closes is not None}


@dataclass(frozen=True)
class Alias(Rowwise):
    """The input under another name."""

    name: str

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema.qualified(self.name)

    def label(self) -> str:
        return f"as {self.name}"

    @property
    def goes_by(self) -> Part | None:
        return None

    def origin(self, place: int, side: int = 0) -> Expression | None:
        return same_place(self, place)

    @property
    def computes_with(self) -> Keys:
        return ()

    @property
    def native(self) -> Native | None:
        return Native()


@dataclass(frozen=True)
class Select(Rowwise):
    """The rows for which a predicate is true."""

    predicate: Expression

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema

    def label(self) -> str:
        return f"select {self.predicate}"

    @property
    def goes_by(self) -> Part | None:
        return None

    def origin(self, place: int, side: int = 0) -> Expression | None:
        return same_place(self, place)

    def partitioned_by(self, keys: Keys) -> tuple[Keys, ...] | None:
        return (keys,)  # over the same columns

    @property
    def computes_with(self) -> Keys:
        return (self.predicate,)

    @property
    def native(self) -> Native | None:
        return Native(where=self.predicate) if is_tame(self.predicate) else None


@dataclass(frozen=True)
class Project(Rowwise):
    """Other columns, computed from the input's."""

    columns: tuple[Named, ...]

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(Field(column.name, column.value.type) for column in self.columns))

    def label(self) -> str:
        return f"project {', '.join(map(str, self.columns))}"

    @property
    def goes_by(self) -> Part | None:
        return None

    def origin(self, place: int, side: int = 0) -> Expression | None:
        return self.columns[place].value

    def with_settled(self, facts: Facts) -> Node | None:
        below = self.input.with_settled(facts)
        if below is None:
            return None
        return Project(below, (*self.columns, Named(SETTLED, Column(SETTLED, BIGINT))))

    @property
    def computes_with(self) -> Keys:
        return ()

    @property
    def native(self) -> Native | None:
        tame = all(is_tame(each.value) for each in self.columns)
        return Native(columns=self.columns) if tame else None


@dataclass(frozen=True)
class WindowColumns(Rowwise):
    """TUMBLE, HOP and CUMULATE: the windows of a row as columns; lifetimes stay. `cumulative`:
    windows of the size, and those that begin with them and end a number of slides later."""

    slide: int
    size: int
    time: Expression | None = None  # of a row of the input; None: vs
    cumulative: bool = False

    @cached_property
    def schema(self) -> Schema:
        kind = TIMESTAMP if self.timestamps else BIGINT
        if self.time is not None:
            kind = self.time.type if is_timestamp(self.time.type) else BIGINT
        return self.input.schema + Schema((Field("window_start", kind), Field("window_end", kind)))

    def label(self) -> str:
        by = f" by {self.time}" if self.time is not None else ""
        stamps = is_timestamp(self.schema.fields[-1].type)
        size, slide = span(self.size, stamps), span(self.slide, stamps)
        if self.cumulative:
            return f"windows of {size}, cumulated by {slide}{by}"
        return f"windows of {size} every {slide}{by}"

    @property
    def goes_by(self) -> Part | None:
        return "stretches" if self.time is None else None

    def is_table(self, facts: Facts) -> bool:
        return False

    def origin(self, place: int, side: int = 0) -> Expression | None:
        return same_place(self, place)

    @property
    def computes_with(self) -> Keys:
        return () if self.time is None else (self.time,)

    def closes(self, facts: Facts) -> Delays:
        """The end of windows closes with the delay 0 and their start with that of their size, if
        rows are only added, never end, and are in them by their vs; of windows by a column that
        closes, when all values in them have."""
        given = self.input
        if any(each.name in ("window_start", "window_end") for each in given.schema):
            return {}  # the new ones take their place
        before = facts.closes(given)
        start = len(given.schema)
        if facts.only_grows(given) and facts.never_ends(given):
            after = 0 if self.time is None else facts.value_after_vs(given, self.time)
            if after is not None:
                ends = Closes(-after, self.size + after)
                return {**before, start: Closes(self.size - after, after), start + 1: ends}
        found = facts.value_closes(given, self.time)
        if found is not None:
            delay, reach = found
            delay -= 1  # values in a window are before its end
            ends = Closes(delay, reach + self.size)
            return {**before, start: Closes(delay + self.size, reach), start + 1: ends}
        return before

    def times(self, place: int, facts: Facts) -> Times | None:
        start = len(self.input.schema)
        if place < start:
            return super().times(place, facts)
        delay = self._delay(facts)
        return Times(delay + self.size, START) if place == start else Times(delay, END)

    def _delay(self, facts: Facts) -> int:
        """The delay of the end of windows."""
        if self.time is None:
            return 0
        times = facts.value_times(self.input, self.time)
        if times is None:
            raise PlanError(
                f"windows by {self.time} have no final answers: ctis are about the time of the "
                "stream; take windows by that (of an event log it is vs: name no column)"
            )
        # Values in a window are before its end; of the ends of others, it is over when these are.
        return times.delay - (times.of != END)

    @property
    def native(self) -> Native | None:
        return None
