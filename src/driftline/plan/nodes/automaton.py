"""The plan node of the runs of an automaton."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from driftline.model.automaton import Automaton
from driftline.plan.nodes.answers import KeepsRows, WithoutTimes
from driftline.plan.nodes.base import (
    Keys,
    Part,
    Places,
    Remarks,
    all_places,
    columns_of,
    same_place,
)
from driftline.plan.nodes.rowwise import OneInput
from driftline.plan.types import BIGINT, STRING, Field, Schema

if TYPE_CHECKING:
    from driftline.plan.expressions import Expression
    from driftline.plan.facts import Facts
    from driftline.plan.native import Native

NUMBER, SYMBOLS = "$number", "$symbols"
"""The last two columns of the input: the number of a row in its sequence, and its symbols as bits,
in the order of the automaton's alphabet."""


@dataclass(frozen=True)
class AutomatonRuns(KeepsRows, WithoutTimes, OneInput):
    """All runs of an automaton over rows with consecutive numbers. The first columns of the input
    are the key; only rows of one key are in a run. `partial`: whether runs in states that are not
    final are wanted."""

    automaton: Automaton
    partial: bool = False

    @property
    def keys(self) -> Keys:
        return columns_of(self.input.schema)[:-2]

    @cached_property
    def schema(self) -> Schema:
        whole = ("begins", "ends")
        return Schema(
            (
                *self.input.schema.fields[:-2],
                *(Field(name, BIGINT) for name in whole),
                Field("state", STRING),
                *(Field(name, BIGINT) for name in self.automaton.registers),
            )
        )

    def label(self) -> str:
        per = f" per {', '.join(map(str, self.keys))}" if self.keys else ""
        size = f"{len(self.automaton.states)} states, {len(self.automaton.transitions)} transitions"
        what = "all runs" if self.partial else "complete runs"
        return f"{what} of an automaton ({size}){per}"

    @property
    def is_loose(self) -> bool:
        return False

    @property
    def goes_by(self) -> Part | None:
        return "stretches"

    def only_grows(self, facts: Facts) -> bool:
        return facts.only_grows(self.input)

    def never_ends(self, facts: Facts) -> bool:
        return facts.never_ends(self.input)

    def is_table(self, facts: Facts) -> bool:
        return facts.is_table(self.input)

    def origin(self, place: int, side: int = 0) -> Expression | None:
        return same_place(self, place) if place < len(self.keys) else None

    def reads(self, wanted: Places) -> tuple[Places, ...]:
        return (all_places(self.input),)

    @property
    def required_keys(self) -> tuple[Keys, ...] | None:
        return (self.keys,)

    @property
    def native(self) -> Native | None:
        return None

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        ends = (
            "" if not facts.never_ends(self.input) else "; rows that never end stay: use a window"
        )
        return Remarks(
            "the part in which all rows of a run are alive",
            ", ".join(map(str, self.keys)) or "none: one sequence",
            "of every number its rows, and the runs that end there",
            f"rows and runs that ended before it{ends}",
        )
