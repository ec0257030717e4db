"""The fixed point of recursive rules, and the edge back.

A loop is one node over what comes into it from outside. Its rules say what each recursive name is:
a body, over leaves (`input 0`, `input 1`, …: the inputs) and over edges back, which are nodes
without inputs that have the name of a rule. Make loops with `driftline.plan.recursion`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from driftline.plan.nodes.base import Node, Places, Remarks, all_places
from driftline.plan.nodes.sources import Beginning
from driftline.plan.types import INT, Field, Schema

if TYPE_CHECKING:
    from driftline.plan.expressions import Expression
    from driftline.plan.facts import Delays, Facts, Times
    from driftline.plan.native import Native
    from driftline.plan.nodes.base import Keys, Part

RULE = "$rule"
"""The column of a loop of several rules that says of which one a row is."""


@dataclass(frozen=True)
class Back(Beginning):
    """An edge back: what a rule has derived so far."""

    ticks_are_timestamps: bool = False

    @cached_property
    def schema(self) -> Schema:
        return self.columns.qualified(self.name)

    @cached_property
    def timestamps(self) -> bool:
        return self.ticks_are_timestamps

    def label(self) -> str:
        return f"back from {self.name}"

    def after_vs(self, place: int, facts: Facts) -> int | None:
        return None

    def times(self, place: int, facts: Facts) -> Times | None:
        return None

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        return Remarks()


@dataclass(frozen=True)
class Rule:
    """What a recursive name is: a set if `distinct`, else a bag with all derivations."""

    name: str
    columns: Schema
    body: Node
    distinct: bool


@dataclass(frozen=True)
class Loop(Node):
    """The least fixed point of the rules in every snapshot. A loop of several rules emits the rows
    of all of them, each with the number of its rule, and with null in the columns of the others.
    `limit`: the deepest level at which a row may be derived."""

    given: tuple[Node, ...]
    rules: tuple[Rule, ...]
    limit: int

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.given

    @cached_property
    def schema(self) -> Schema:
        if len(self.rules) == 1:
            return self.rules[0].columns
        columns = (
            Field(f"{rule.name} {each.name}", each.type)
            for rule in self.rules
            for each in rule.columns
        )
        return Schema((Field(RULE, INT), *columns))

    def label(self) -> str:
        names = ", ".join(rule.name for rule in self.rules)
        return f"fixed point of {names}, at most {self.limit} levels deep"

    @property
    def is_loose(self) -> bool:
        return True

    @property
    def goes_by(self) -> Part | None:
        return None

    def only_grows(self, facts: Facts) -> bool:
        return False

    def never_ends(self, facts: Facts) -> bool:
        return False

    def is_table(self, facts: Facts) -> bool:
        return all(map(facts.is_table, self.given))

    def origin(self, place: int, side: int = 0) -> Expression | None:
        return None

    def reads(self, wanted: Places) -> tuple[Places, ...]:
        return tuple(map(all_places, self.given))

    def closes(self, facts: Facts) -> Delays:
        return {}

    def after_vs(self, place: int, facts: Facts) -> int | None:
        return None

    def times(self, place: int, facts: Facts) -> Times | None:
        return None

    @property
    def required_keys(self) -> tuple[Keys, ...] | None:
        return ((),) * len(self.given)

    @property
    def is_stateless(self) -> bool:
        return False

    @property
    def wants_order(self) -> bool:
        return True

    @property
    def native(self) -> Native | None:
        return None

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        return Remarks(
            "while a row is derived",
            "none: one shard",
            "of every row its derivations by level, and what the joins of the loop keep",
            "derivations that ended before it",
        )

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return replace(self, given=tuple(inputs))

    def tree(self) -> str:
        lines = [self.label()]
        for rule in self.rules:
            kind = "a set" if rule.distinct else "a bag"
            lines.append(f"├─ {rule.name} ({', '.join(rule.columns.names)}), {kind}:")
            lines += [f"│    {line}" for line in rule.body.tree().split("\n")]
        for number, given in enumerate(self.given):
            last = number == len(self.given) - 1
            first, *rest = given.tree().split("\n")
            lines.append(f"{'└─' if last else '├─'} input {number}: {first}")
            lines += [f"{'  ' if last else '│ '} {line}" for line in rest]
        return "\n".join(lines)
