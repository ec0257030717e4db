"""Union and set operations: nodes over two inputs, whose columns correspond by position."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from driftline.plan.facts import Times, later, latest
from driftline.plan.nodes.answers import KeepsNothing, KeepsRows, OfSnapshots
from driftline.plan.nodes.base import (
    Keys,
    Node,
    Part,
    Places,
    Remarks,
    all_places,
    columns_of,
    same_place,
)
from driftline.plan.nodes.keyed import TIMELINE, whole_rows
from driftline.plan.types import refuse_variant

if TYPE_CHECKING:
    from driftline.plan.expressions import Expression
    from driftline.plan.facts import Delays, Facts
    from driftline.plan.native import Native
    from driftline.plan.types import Schema


@dataclass(frozen=True)
class TwoInputs(Node):
    """A node over two others."""

    left: Node
    right: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def is_table(self, facts: Facts) -> bool:
        return all(map(facts.is_table, self.inputs))

    @property
    def native(self) -> Native | None:
        return None


@dataclass(frozen=True)
class ByPosition(TwoInputs):
    """A node whose columns are those of both inputs, by position."""

    @cached_property
    def schema(self) -> Schema:
        return self.left.schema

    def origin(self, place: int, side: int = 0) -> Expression | None:
        return same_place(self, place, side)

    def after_vs(self, place: int, facts: Facts) -> int | None:
        return None

    def times(self, place: int, facts: Facts) -> Times | None:
        return latest([facts.times(each, place) for each in self.inputs])


@dataclass(frozen=True)
class Union(KeepsNothing, ByPosition):
    """All lifetimes of both inputs; columns correspond by position."""

    def label(self) -> str:
        return "union all"

    @cached_property
    def is_loose(self) -> bool:
        return any(each.is_loose for each in self.inputs)

    @property
    def goes_by(self) -> Part | None:
        return None

    def only_grows(self, facts: Facts) -> bool:
        return all(map(facts.only_grows, self.inputs))

    def never_ends(self, facts: Facts) -> bool:
        return all(map(facts.never_ends, self.inputs))

    def reads(self, wanted: Places) -> tuple[Places, ...]:
        return (wanted, wanted)

    def closes(self, facts: Facts) -> Delays:
        one, other = (facts.closes(each) for each in self.inputs)
        return {place: later(one[place], other[place]) for place in one.keys() & other.keys()}

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        return Remarks("those of both inputs")


@dataclass(frozen=True)
class SetOperation(KeepsRows, OfSnapshots, ByPosition):
    """Intersect or minus; columns correspond by position."""

    kind: Literal["intersect", "minus"]

    def __post_init__(self) -> None:
        super().__post_init__()
        for each in self.schema:
            refuse_variant(each.type, "compare rows")

    distinct: bool

    def label(self) -> str:
        return f"{self.kind}{'' if self.distinct else ' all'}"

    def reads(self, wanted: Places) -> tuple[Places, ...]:
        return tuple(map(all_places, self.inputs))

    def closes(self, facts: Facts) -> Delays:
        return {}

    @property
    def required_keys(self) -> tuple[Keys, ...] | None:
        return self.partitioned_by(columns_of(self.schema))

    def keys_within_reach(self) -> tuple[Keys, ...]:
        return self.required_keys or ()  # whole rows meet, and are partitioned as such

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        return whole_rows(emit, TIMELINE)
