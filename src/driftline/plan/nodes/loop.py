"""The fixed point of recursive rules, and the edge back.

A loop is one node over what comes into it from outside. Its rules say what each recursive name is:
a body, over leaves (`input 0`, `input 1`, …: the inputs) and over edges back, which are nodes
without inputs that have the name of a rule. Make loops with `driftline.plan.recursion`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from driftline.plan.expressions import Column
from driftline.plan.fingerprint import NO_MEANING
from driftline.plan.nodes.answers import KeepsRows, OfSnapshots, WithoutTimes
from driftline.plan.nodes.base import EVERY_SHARD, Node, Places, Remarks, all_places
from driftline.plan.nodes.sources import Beginning
from driftline.plan.types import INT, Field, Schema

if TYPE_CHECKING:
    from driftline.plan.carried import Carried
    from driftline.plan.expressions import Expression
    from driftline.plan.facts import Facts, Times
    from driftline.plan.native import Native
    from driftline.plan.nodes.base import Keys


def leaf_name(number: int) -> str:
    """The name of the leaf that stands for an input."""
    return f"input {number}"


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
class Loop(KeepsRows, OfSnapshots, WithoutTimes):
    """The least fixed point of the rules in every snapshot. A loop of several rules emits the rows
    of all of them, each with the number of its rule, and with null in the columns of the others.
    `limit`: the deepest level at which a row may be derived."""

    given: tuple[Node, ...]
    rules: tuple[Rule, ...]
    limit: int = field(metadata=NO_MEANING)  # a query that comes to it is stopped

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
        return f"fixed point of {names}"

    def is_table(self, facts: Facts) -> bool:
        return all(map(facts.is_table, self.given))

    def origin(self, place: int, side: int = 0) -> Expression | None:
        return None

    def reads(self, wanted: Places) -> tuple[Places, ...]:
        return tuple(map(all_places, self.given))

    @cached_property
    def _carried(self) -> tuple[list[Carried], list[str]]:
        from driftline.plan.carried import carried

        return carried(self.rules)

    @property
    def required_keys(self) -> tuple[Keys, ...] | None:
        return self.keys_within_reach()

    def keys_within_reach(self) -> tuple[Keys, ...]:
        """By a column that goes around unchanged: if there is one, by one that the inputs have
        without an exchange."""
        ways = [self._inputs([way]) for way in self._carried[0]]
        return next(
            filter(self._is_within_reach, ways), ways[0] if ways else ((),) * len(self.given)
        )

    def _is_within_reach(self, keys: tuple[Keys, ...]) -> bool:
        return all(
            own == EVERY_SHARD or all(map(given.reaches, own))
            for given, own in zip(self.given, keys, strict=True)
        )

    def partitioned_by(self, keys: Keys) -> tuple[Keys, ...] | None:
        """By columns that go around unchanged. Of several rules, the rows of the one whose columns
        these are: a select above the loop drops the others."""
        chosen = []
        for key in keys:
            places = self.schema.places
            place = places.get(key.name) if isinstance(key, Column) else None
            way = next((way for way in self._carried[0] if place in self._outside(way)), None)
            if way is None:
                return None
            chosen.append(way)
        return self._inputs(chosen) if chosen else None

    def _outside(self, way: Carried) -> Places:
        """The columns that go around unchanged, by place."""
        if len(self.rules) == 1:
            return frozenset(way.places.values())
        found, before = set(), 1
        for rule in self.rules:
            found.add(before + way.places[rule.name])
            before += len(rule.columns)
        return frozenset(found)

    def _inputs(self, ways: Sequence[Carried]) -> tuple[Keys, ...]:
        """How each input is partitioned, if it is by several columns that go around."""
        found = []
        for number in range(len(self.given)):
            keys = [way.inputs[leaf_name(number)] for way in ways]
            all_in_part = EVERY_SHARD not in keys
            found.append(tuple(k for own in keys for k in own) if all_in_part else EVERY_SHARD)
        return tuple(found)

    @property
    def native(self) -> Native | None:
        return None

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        return Remarks(
            "while a row is derived",
            self._keys(),
            f"of every row its derivations by level, at most {self.limit:,} levels deep, and what "
            "the joins of the loop keep",
            "derivations that ended before it",
        )

    def _keys(self) -> str:
        ways, reasons = self._carried
        if not ways:
            return f"none, so one shard on Spark: {'; '.join(reasons)}"
        columns = (
            f"{rule.name}.{rule.columns.fields[way.places[rule.name]].name}"
            for way in ways
            for rule in self.rules
        )
        return f"{', '.join(columns)}, which goes around unchanged: on Spark by that"

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        return replace(self, given=tuple(inputs))

    def inside(self) -> list[str]:
        lines: list[str] = []
        heads: dict[str, int] = {}
        for rule in self.rules:
            heads[rule.name] = len(lines)
            kind = "a set" if rule.distinct else "a bag"
            lines.append(f"{rule.name} ({', '.join(rule.columns.names)}), {kind}:")
            lines += [f"  {line}" for line in rule.body.tree().split("\n")]
        return with_edges_back(
            lines,
            [
                (head, [n for n, line in enumerate(lines) if line.endswith(f" back from {name}")])
                for name, head in heads.items()
            ],
        )

    def drawn(self, remarks: Sequence[str], inputs: Sequence[Sequence[str]]) -> list[str]:
        named = [
            [f"{leaf_name(number)}: {first}", *rest] for number, (first, *rest) in enumerate(inputs)
        ]
        return super().drawn(remarks, named)


def with_edges_back(lines: list[str], edges: Sequence[tuple[int, Sequence[int]]]) -> list[str]:
    """Lines of text with an edge, beside them, from some of them back to another.

    >>> print("\\n".join(with_edges_back(["r:", "  join", "  ├─ back", "  └─ e"], [(0, [2])])))
    r: ◄───────┐
      join     │
      ├─ back ─┘
      └─ e
    """
    width = max(map(len, lines)) + 2
    grid = [list(line.ljust(width + 2 * len(edges))) for line in lines]
    for number, (head, ends) in enumerate(edges):
        rows, rail = [head, *ends], width + 2 * number
        first, last = min(rows), max(rows)
        for row in range(first, last + 1) if ends else ():
            grid[row][rail] = "│"
        for row in rows if ends else ():
            for place in range(len(lines[row]) + 1, rail):
                grid[row][place] = "┼" if grid[row][place] == "│" else "─"
            grid[row][rail] = "┐" if row == first else "┘" if row == last else "┤"
        if ends:
            grid[head][len(lines[head]) + 1] = "◄"
    return ["".join(row).rstrip() for row in grid]
