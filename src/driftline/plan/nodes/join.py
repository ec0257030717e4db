"""The plan node of joins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from driftline.model.time import INFINITY
from driftline.plan.bands import spans_of
from driftline.plan.conditions import conjuncts, equality
from driftline.plan.durations import span
from driftline.plan.expressions import Column, Expression
from driftline.plan.facts import Closes, Times, later
from driftline.plan.nodes.answers import KeepsRows
from driftline.plan.nodes.base import (
    EVERY_SHARD,
    Keys,
    Part,
    Places,
    Remarks,
    column_at,
    unqualified,
)
from driftline.plan.nodes.two_inputs import TwoInputs

if TYPE_CHECKING:
    from driftline.plan.facts import Delays, Facts
    from driftline.plan.types import Schema

JoinKind = Literal["inner", "left", "right", "full", "semi", "anti"]

_KNOWN_BY = {"inner": (0, 1), "right": (1,), "full": ()}
"""The sides whose keys determine the shard of a row of the result; else the left. A row that an
outer join pads with nulls is not in the shard of its key."""


@dataclass(frozen=True)
class Join(KeepsRows, TwoInputs):
    """Pairs of rows that are alive together and fulfil a condition (None: all pairs). `for_good`:
    of an anti join whose right never ends, and matches only what starts before it."""

    how: JoinKind
    condition: Expression | None
    for_good: bool = False

    @cached_property
    def schema(self) -> Schema:
        return self.left.schema if self.how in ("semi", "anti") else self.both

    @cached_property
    def both(self) -> Schema:
        """The columns of the left and of the right, as the condition names them."""
        return self.left.schema + self.right.schema

    @cached_property
    def parts(self) -> tuple[tuple[tuple[Expression, Expression], ...], tuple[Expression, ...]]:
        """The condition: equalities between a value of the left and one of the right, and what else
        has to be true."""
        names, width = self.both.names, len(self.left.schema)
        left, right = frozenset(names[:width]), frozenset(names[width:])
        pairs, rest = [], []
        for part in conjuncts(self.condition):
            pair = equality(part, left, right)
            if pair is not None:
                pairs.append(pair)
            else:
                rest.append(part)
        return tuple(pairs), tuple(rest)

    @cached_property
    def equal_columns(self) -> tuple[tuple[int, int], ...]:
        """The columns of the left and of the right that have to be equal, by place."""
        places, width = self.both.places, len(self.left.schema)
        return tuple(
            (places[one.name], places[other.name] - width)
            for one, other in self.parts[0]
            if isinstance(one, Column) and isinstance(other, Column)
        )

    def label(self) -> str:
        on = f" on {self.condition}" if self.condition is not None else ""
        return f"{self.how} join{on}"

    @cached_property
    def is_loose(self) -> bool:
        return self.how != "inner" or any(each.is_loose for each in self.inputs)

    @property
    def goes_by(self) -> Part | None:
        return None

    def only_grows(self, facts: Facts) -> bool:
        return self.how == "inner" and all(map(facts.only_grows, self.inputs))

    def never_ends(self, facts: Facts) -> bool:
        return self.how == "inner" and all(map(facts.never_ends, self.inputs))

    def origin(self, place: int, side: int = 0) -> Expression | None:
        width = len(self.left.schema)
        if (place < width) != (side == 0):
            return None
        return column_at(self.inputs[side].schema, place - width * side)

    def reads(self, wanted: Places) -> tuple[Places, ...]:
        width = len(self.left.schema)
        if self.condition is not None:
            columns = self.condition.columns()
            wanted |= {place for place, name in enumerate(self.both.names) if name in columns}
        left = frozenset(place for place in wanted if place < width)
        return left, frozenset(place - width for place in wanted - left)

    def closes(self, facts: Facts) -> Delays:
        found: dict[int, Closes] = {}
        width = len(self.left.schema)
        if self.how == "inner":
            for (place, closes), (match, others) in self.closing_pairs(facts):
                found |= dict.fromkeys((place, width + match), later(closes, others))
        return found

    def closing_pairs(self, facts: Facts) -> list[tuple[tuple[int, Closes], tuple[int, Closes]]]:
        """The columns of the left and of the right that have to be equal and that both close."""
        left, right = (facts.closes(each) for each in self.inputs)
        return [
            ((place, left[place]), (match, right[match]))
            for place, match in self.equal_columns
            if place in left and match in right
        ]

    def after_vs(self, place: int, facts: Facts) -> int | None:
        return None

    def times(self, place: int, facts: Facts) -> Times | None:
        """A pair starts when the later of its rows does: both have to be known."""
        width = len(self.left.schema)
        is_left = place < width
        own, other = self.inputs if is_left else self.inputs[::-1]
        times = facts.times(own, place if is_left else place - width)
        if times is None or facts.is_table(other):
            return times
        for match in self._partners.get(place, ()):
            found = facts.times(other, match)
            if found is not None:
                return Times(max(times.delay, found.delay), times.of)
        return None

    @cached_property
    def _partners(self) -> dict[int, list[int]]:
        """By the place of a column, those of the other side that have to be equal."""
        width = len(self.left.schema)
        found: dict[int, list[int]] = {}
        for place, match in self.equal_columns:
            found.setdefault(place, []).append(match)
            found.setdefault(width + match, []).append(place)
        return found

    @property
    def required_keys(self) -> tuple[Keys, ...] | None:
        return self._of_sides(self.parts[0])

    def _of_sides(self, pairs: tuple[tuple[Expression, Expression], ...]) -> tuple[Keys, ...]:
        """Equal values in the names of each side."""
        names, width = self.both.names, len(self.left.schema)
        own = (names[:width], names[width:])
        to_side = [
            dict(zip(names, given.schema.names, strict=True))
            for names, given in zip(own, self.inputs, strict=True)
        ]

        def renamed(key: Expression, names: dict[str, str]) -> Expression:
            def change(part: Expression) -> Expression:
                return Column(names[part.name], part.type) if isinstance(part, Column) else part

            return key.transform(change)

        return tuple(
            tuple(renamed(pair[side], names) for pair in pairs)
            for side, names in enumerate(to_side)
        )

    def partitioned_by(self, keys: Keys) -> tuple[Keys, ...] | None:
        found = []
        for key in keys:
            wanted = self._in_both(key)
            pairs = (
                pair
                for pair in self.parts[0]
                for side in _KNOWN_BY.get(self.how, (0,))
                if unqualified(pair[side]) == wanted
            )
            match = next(pairs, None)
            if match is None:
                return None
            found.append(match)
        return self._of_sides(tuple(found))

    def partitioned_with_copies(self, keys: Keys) -> tuple[Keys, ...] | None:
        found = self.partitioned_by(keys)
        if found is not None:
            return found
        for side in _KNOWN_BY.get(self.how, (0,)):
            below = self.below(keys, side)
            if below is not None:
                return (below, EVERY_SHARD) if side == 0 else (EVERY_SHARD, below)
        return None

    def _in_both(self, key: Expression) -> Expression:
        """A key over the result in the names of both sides together."""
        own, both = self.schema.places, self.both.names

        def change(part: Expression) -> Expression:
            return Column(both[own[part.name]], part.type) if isinstance(part, Column) else part

        return key.transform(change)

    def reaches(self, key: Expression) -> bool:
        return False  # it has keys of its own to choose

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        pairs = [f"{one} = {other}" for one, other in self.parts[0]]
        return Remarks(
            "the part in which both rows are alive"
            if self.how == "inner"
            else "the parts in which rows have, or lack, a partner",
            ", ".join(pairs) or "none: every pair is tried",
            "the lifetimes of both sides, by key",
            "lifetimes that ended before it" + self._bounded(emit, facts),
        )

    def _bounded(self, emit: str, facts: Facts) -> str:
        """Which rows of plain records are evicted although they never end."""
        found = spans_of(self, facts, closing=emit != "perfect")
        left, right = found[:2] if self.how == "inner" else (found.both, found.both)
        exactly = 1_000 if self.timestamps else 1  # a tick more or less is nothing to read
        lasting = [
            f"{span(max(each, 0) // exactly * exactly, self.timestamps)} old on the {side}"
            for side, each in {"left": left, "right": right}.items()
            if each < INFINITY
        ]
        return f"; of plain records, those {' and '.join(lasting)}" if lasting else ""
