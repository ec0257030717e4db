"""Nodes that compute something of each group of rows, snapshot by snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from driftline.plan.errors import PlanError
from driftline.plan.expressions import AggregateCall, Column, Expression
from driftline.plan.nodes.answers import KeepsRows
from driftline.plan.nodes.base import (
    Keys,
    Named,
    OrderItem,
    Part,
    Places,
    Remarks,
    all_places,
    columns_of,
    places_read,
    same_place,
)
from driftline.plan.nodes.rowwise import OneInput, closing_origins
from driftline.plan.types import INT, Field, Schema, refuse_variant

if TYPE_CHECKING:
    from driftline.plan.by_session import OfSession
    from driftline.plan.facts import Delays, Facts, Times
    from driftline.plan.native import Native
    from driftline.plan.nodes.sources import Source

RankMethod = Literal["row_number", "rank", "dense_rank"]

BY_START = ("first", "last", "any_value", "array_agg", "collect_set")
"""The aggregates that go by the start of lifetimes."""

TIMELINE = "endpoints before it, and groups in which nothing is left"
"""What a cti evicts of a timeline."""


@dataclass(frozen=True)
class Keyed(KeepsRows, OneInput):
    """Of every group of rows that are alive together something is emitted, while it lasts. Its
    required keys are those of the groups."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in self._group_keys:
            refuse_variant(key.type, "group")

    @property
    def is_loose(self) -> bool:
        return True

    def only_grows(self, facts: Facts) -> bool:
        return False

    def never_ends(self, facts: Facts) -> bool:
        return False

    def is_table(self, facts: Facts) -> bool:
        return facts.is_table(self.input)

    def reads(self, wanted: Places) -> tuple[Places, ...]:
        return (all_places(self.input),)

    def closes(self, facts: Facts) -> Delays:
        return closing_origins(self, facts)

    def after_vs(self, place: int, facts: Facts) -> int | None:
        return None

    def times(self, place: int, facts: Facts) -> Times | None:
        return facts.value_times(self.input, self.origin(place))

    @property
    def native(self) -> Native | None:
        return None

    def closing_key(self, facts: Facts) -> tuple[int, int] | None:
        """The first key of its groups that closes, and its delay: a cti that has passed a value by
        that much evicts its groups, and their answer stays."""
        for number, key in enumerate(self._group_keys):
            closes = facts.value_closes(self.input, key)
            if closes is not None:
                return number, max(closes.delay, 0)
        return None

    @property
    def _group_keys(self) -> Keys:
        """What makes a group."""
        return self.required_keys[0] if self.required_keys else ()

    def _evicted(self, emit: str, facts: Facts) -> str:
        closed = emit != "perfect" and self.closing_key(facts) is not None
        return TIMELINE + "; of plain records, groups whose window is over" * closed


@dataclass(frozen=True)
class Distinct(Keyed):
    """At every time one copy of each row. `of_a_set`: the input never has two."""

    of_a_set: bool = False

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema

    def label(self) -> str:
        return "distinct"

    @property
    def goes_by(self) -> Part | None:
        return None

    def origin(self, place: int, side: int = 0) -> Expression | None:
        return same_place(self, place)

    def after_vs(self, place: int, facts: Facts) -> int | None:
        return facts.after_vs(self.input, place)  # copies of a row start together

    def partitioned_by(self, keys: Keys) -> tuple[Keys, ...] | None:
        return (keys,)  # over the same columns

    @property
    def required_keys(self) -> tuple[Keys, ...] | None:
        return (columns_of(self.schema),)

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        return whole_rows(emit, self._evicted(emit, facts))


@dataclass(frozen=True)
class Stitch(Distinct):
    """At every time the copies of each row, in the longest stretches: lifetimes of equal rows are
    one where one ends as the next begins. See the reference's `coalesce`."""

    def label(self) -> str:
        return "stitch"


def whole_rows(emit: str, evicted: str) -> Remarks:
    """How an operator that goes by whole rows is described."""
    lifetimes = f"while a row is there, emitted {emit}"
    return Remarks(lifetimes, "the whole row", "a timeline for every row", evicted)


@dataclass(frozen=True)
class Aggregate(Keyed):
    """One row for every group that is not empty: its keys, then its aggregates."""

    keys: tuple[Named, ...]
    aggregates: tuple[Named, ...]  # each value is an AggregateCall
    definitions: tuple[tuple[str, object], ...] = field(default=(), compare=False)
    # user-defined aggregates: the object behind the name of the function

    def __post_init__(self) -> None:
        super().__post_init__()
        for each in self.aggregates:
            if not isinstance(each.value, AggregateCall):
                raise PlanError(f"{each.value} is not an aggregate")

    @cached_property
    def schema(self) -> Schema:
        columns = (*self.keys, *self.aggregates)
        return Schema(tuple(Field(column.name, column.value.type) for column in columns))

    def label(self) -> str:
        keys = ", ".join(map(str, self.keys))
        if not self.aggregates:
            return f"distinct {keys}"
        by = f" by {keys}" if keys else ""
        return f"aggregate {', '.join(map(str, self.aggregates))}{by}"

    @property
    def goes_by(self) -> Part | None:
        if self.session is not None:
            return None
        calls = (each.value for each in self.aggregates)
        by_start = any(isinstance(c, AggregateCall) and c.function in BY_START for c in calls)
        return "stretches" if by_start else None

    def origin(self, place: int, side: int = 0) -> Expression | None:
        return self.keys[place].value if place < len(self.keys) else None

    def reads(self, wanted: Places) -> tuple[Places, ...]:
        values = [each.value for each in (*self.keys, *self.aggregates)]
        return (places_read(self.input, values),)

    @property
    def required_keys(self) -> tuple[Keys, ...] | None:
        return (self._group_keys if self.session is None else self.session.keys,)

    @property
    def _group_keys(self) -> Keys:
        return tuple(key.value for key in self.keys)

    def partitioned_by(self, keys: Keys) -> tuple[Keys, ...] | None:
        below = super().partitioned_by(keys)
        if below is None or self.session is None:
            return below
        return below if set(below[0]) <= set(self.session.keys) else None

    @cached_property
    def session(self) -> OfSession | None:
        """The sessions that its groups are; None if they are none. It is then partitioned as these
        are, so that a session and its aggregate are in one shard."""
        from driftline.plan.by_session import of_session

        return of_session(self)

    @property
    def natural_keys(self) -> Keys | None:
        by = set(self._group_keys if self.session is None else self.session.keys)
        own = (Column(key.name, key.value.type) for key in self.keys if key.value in by)
        return tuple(own) or None

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        return Remarks(
            f"one for every value the answer has, emitted {emit}",
            _listed(self.keys),
            "a timeline for every group",
            self._evicted(emit, facts),
        )


@dataclass(frozen=True)
class Partitioned(Keyed):
    """The rows of each partition, with something that depends on all of it."""

    partition: tuple[Expression, ...]

    def origin(self, place: int, side: int = 0) -> Expression | None:
        column = same_place(self, place)
        return column if column in self._partition_columns else None

    @cached_property
    def _partition_columns(self) -> frozenset[Expression]:
        return frozenset(
            Column(each.name, each.type) for each in self.partition if isinstance(each, Column)
        )

    @property
    def required_keys(self) -> tuple[Keys, ...] | None:
        return (self.partition,)

    def _remarks(self, lifetimes: str, emit: str, facts: Facts) -> Remarks:
        return Remarks(
            f"{lifetimes}, emitted {emit}",
            _listed(self.partition),
            "the rows of every group, with a timeline",
            self._evicted(emit, facts),
        )


@dataclass(frozen=True)
class Rank(Partitioned):
    """The rows of each partition with their place in an order; with a limit only the first."""

    order: tuple[OrderItem, ...]
    method: RankMethod = "row_number"
    name: str | None = "rank"  # None: the place is not a column
    limit: int | None = None

    @cached_property
    def schema(self) -> Schema:
        if self.name is None:
            return self.input.schema
        return self.input.schema + Schema((Field(self.name, INT),))

    def label(self) -> str:
        what = f"top {self.limit}" if self.limit is not None else self.method
        per = f" per {', '.join(map(str, self.partition))}" if self.partition else ""
        return f"{what}{per} by {', '.join(map(str, self.order))}"

    @property
    def goes_by(self) -> Part | None:
        return None

    def drops_outranked(self, facts: Facts) -> bool:
        """Whether rows that come after the first ones do so for good."""
        grows = facts.only_grows(self.input) and facts.never_ends(self.input)
        return grows and self.limit is not None

    def closes(self, facts: Facts) -> Delays:
        """Of the first rows by the time of plain records all columns close that do before: rows to
        come are later, and outrank none of them."""
        if self._by_time(facts) != "first":
            return super().closes(facts)
        return {**super().closes(facts), **facts.starts(self.input), **facts.closes(self.input)}

    def after_vs(self, place: int, facts: Facts) -> int | None:
        return facts.after_vs(self.input, place) if self._keeps(place, facts) else None

    def times(self, place: int, facts: Facts) -> Times | None:
        if self._keeps(place, facts) and self._by_time(facts) is not None:
            return facts.times(self.input, place)
        return super().times(place, facts)

    def _keeps(self, place: int, facts: Facts) -> bool:
        """Whether rows have a column as before, and are among the first when they start, if ever:
        those that start later only outrank them."""
        same_place_for_good = self.limit == 1 or self._by_time(facts) == "first"
        as_before = self.name is None or same_place_for_good
        return place < len(self.input.schema) and as_before and self.drops_outranked(facts)

    def _by_time(self, facts: Facts) -> Literal["first", "last"] | None:
        """Whether it has the first or the last of plain records by their time."""
        by = self.order[0]
        if not self.drops_outranked(facts) or facts.value_after_vs(self.input, by.value) is None:
            return None
        return "last" if by.descending else "first"

    def _evicted(self, emit: str, facts: Facts) -> str:
        first = "the first" if self.limit == 1 else f"the first {self.limit}"
        outranked = f"; of plain records, rows that come after {first} for good"
        return super()._evicted(emit, facts) + outranked * self.drops_outranked(facts)

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        return self._remarks("while a row has its place", emit, facts)


@dataclass(frozen=True)
class Latest(Rank):
    """A stream with a primary key: at every time the latest row of each key, which replaces the one
    before. Its input has all of them."""

    def label(self) -> str:
        return f"latest per {', '.join(map(str, self.partition))} by {self.order[0].value}"


def latest(source: Source, keys: Sequence[str]) -> Latest:
    """A stream whose rows replace those before them that are equal in some columns."""
    if source.time is None:
        raise PlanError(
            f"a primary key needs the time of {source.name}, by which a row replaces those before "
            "it: time = …"
        )
    columns: list[Column] = []
    for name in (*keys, source.time):
        found = source.schema.find(name)
        if not found:
            raise PlanError(f"{source.name} has no column {name}, which its key names")
        columns.append(Column(source.schema.key(found[0]), found[0].type, source.name))
    *key, time = columns
    if len(set(key)) < len(key) or not key:
        raise PlanError(f"a primary key has some columns of {source.name}, each once")
    return Latest(source, tuple(key), (OrderItem(time, descending=True),), name=None, limit=1)


def _listed(keys: tuple[object, ...]) -> str:
    return ", ".join(map(str, keys)) or "none: one group"
