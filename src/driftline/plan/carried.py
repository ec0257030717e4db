"""Which columns of recursive rows go around unchanged: by these a loop can be partitioned.

    A column goes around unchanged if every row takes its value from that column of each recursive
    row that it is derived from. Rows with different values then have nothing to do with each other:
    a shard that has the base rows of a value derives all rows of that value by itself.

The column of a rule goes down its body as a key (`Node.partitioned_with_copies`). An edge back has
to get it in the column by which its own rule is partitioned; an input of the loop is partitioned by
it, or copied to every shard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from driftline.plan.expressions import Cast, Column
from driftline.plan.nodes import EVERY_SHARD, Back, Join, Leaf
from driftline.plan.nodes.base import column_at

if TYPE_CHECKING:
    from driftline.plan.nodes import Keys, Node, Rule


@dataclass(frozen=True)
class Carried:
    """`places`: of each rule, by name, the column that goes around unchanged; `inputs`: by the name
    of a leaf, how the input is partitioned."""

    places: Mapping[str, int]
    inputs: Mapping[str, Keys]


class Changed(Exception):
    """Why a column does not go around unchanged."""


def carried(rules: Sequence[Rule]) -> tuple[list[Carried], list[str]]:
    """The ways to partition a loop, one for each column of its first rule that goes around
    unchanged; and why the others do not."""
    first, *others = rules
    ways, reasons = [], []
    for place in range(len(first.columns)):
        found = _Way({rule.name: rule for rule in rules})
        try:
            found.follow(first, place)
            for rule in others:
                found = found.with_any_column_of(rule)
        except Changed as reason:
            reasons.append(str(reason))
        else:
            ways.append(Carried(found.places, found.inputs))
    return ways, list(dict.fromkeys(reasons))


@dataclass
class _Way:
    rules: Mapping[str, Rule]
    places: dict[str, int] = field(default_factory=dict)
    inputs: dict[str, Keys] = field(default_factory=dict)

    def with_any_column_of(self, rule: Rule) -> _Way:
        """With a column of a rule that the others do not use, too."""
        if rule.name in self.places:
            return self
        reasons = []
        for place in range(len(rule.columns)):
            tried = _Way(self.rules, {**self.places}, {**self.inputs})
            try:
                tried.follow(rule, place)
            except Changed as reason:
                reasons.append(str(reason))
            else:
                return tried
        raise Changed("; ".join(reasons))

    def follow(self, rule: Rule, place: int) -> None:
        """Follow a column of a rule through its body, and the columns that this asks of others
        through theirs."""
        self.places[rule.name] = place
        key = column_at(rule.body.schema, place)
        assert key is not None
        column = rule.columns.fields[place]
        self._down(
            rule.body,
            (key if key.type == column.type else Cast(key, column.type),),
            f"{rule.name}.{column.name}",
        )

    def _down(self, node: Node, keys: Keys, head: str) -> None:
        if isinstance(node, Leaf):
            self._input(node, keys, head)
            return
        if isinstance(node, Back):
            self._back(node, keys, head)
            return
        below = node.partitioned_with_copies(keys)
        if below is None and isinstance(keys[0], Column):
            raise Changed(f"{head} is computed by: {node.label()}")
        if below is None:
            raise Changed(f"{head} becomes {keys[0]}")
        for given, own in zip(node.inputs, below, strict=True):
            if isinstance(given, Leaf):
                self._input(given, own, head, is_joined=isinstance(node, Join))
            elif own == EVERY_SHARD:
                from_outside = any(isinstance(each, Leaf) for each in node.inputs)
                raise Changed(
                    f"{head} is {keys[0]}, which comes from outside the loop"
                    if from_outside
                    else f"{head} is not equal in the recursive rows that are joined"
                )
            else:
                self._down(given, own, head)

    def _input(self, leaf: Leaf, keys: Keys, head: str, *, is_joined: bool = False) -> None:
        """Partition an input; one that is joined to what goes round may be copied instead."""
        before = self.inputs.get(leaf.name, keys)
        if before != keys and not is_joined:
            raise Changed(f"{head} begins with rows that another column begins with, too")
        self.inputs[leaf.name] = keys if before == keys else EVERY_SHARD

    def _back(self, node: Back, keys: Keys, head: str) -> None:
        (key,) = keys
        if not isinstance(key, Column):
            raise Changed(f"{head} becomes {key}")
        place = node.schema.places[key.name]
        if node.name not in self.places:
            self.follow(self.rules[node.name], place)
        elif self.places[node.name] != place:
            raise Changed(f"{head} is taken from {node.name}.{node.columns.fields[place].name}")
