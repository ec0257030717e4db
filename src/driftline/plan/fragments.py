"""Cutting a plan into fragments, each of which runs on shards that know nothing of each other.

    A fragment is a part of a plan whose stateful operators all find the rows that belong together
    in one shard, because its inputs are partitioned by keys that suit every one of them. Rows that
    have to meet rows of other shards go through an exchange: there the plan is cut.

An operator requires its input to be partitioned by its keys: an aggregate by its groups, a join by
both sides of its equalities, a set operator by whole rows, a rank by its partitions. The required
keys go down the plan, written in the columns of each input, until they reach a source, or an
operator that is partitioned by other keys: there the plan is cut. An operator whose consumer
requires some of its own keys is partitioned by those alone, so that a join with an aggregate by the
same key needs no exchange between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from driftline.plan import nodes
from driftline.plan.depth import room
from driftline.plan.expressions import Column
from driftline.plan.lifetimes import Coalescing
from driftline.plan.nodes import EVERY_SHARD, Keys
from driftline.plan.nodes.base import columns_of

ONE_SHARD: Keys = ()
"""Rows without a key are held by one shard."""

RESULT = "result"


@dataclass(frozen=True)
class SourcePrefix:
    """A source, and what is computed before its rows come into a fragment: selects, projects and
    aliases, from the source on up."""

    source: nodes.Source
    steps: tuple[nodes.Node, ...] = ()


@dataclass(frozen=True)
class Input:
    """What a leaf of a fragment stands for: a source or the output of another fragment, partitioned
    into shards by keys (over the columns of the leaf)."""

    leaf: nodes.Leaf
    origin: SourcePrefix | str
    keys: Keys


@dataclass(frozen=True)
class Fragment:
    """A part of a plan: its name, what it computes from its leaves, and its place in the order in
    which fragments run (1: it needs sources only)."""

    name: str
    plan: nodes.Node
    inputs: tuple[Input, ...]
    level: int


def cut(plan: nodes.Node, name: str = RESULT) -> tuple[Fragment, ...]:
    """The fragments of a plan, each after those it needs; the last one has its answer."""
    return cut_together({name: plan})


@room(nodes.CALLS)
def cut_together(
    plans: Mapping[str, nodes.Node], outside: Callable[[nodes.Source], bool] = lambda source: False
) -> tuple[Fragment, ...]:
    """The fragments of several plans, in which what they share is there once. `outside`: of which
    sources the stateless beginning is computed before it comes into a fragment."""
    lifetimes = Coalescing()
    whole = {name: lifetimes.of(plan) for name, plan in plans.items()}
    streams = {name for plan in whole.values() for name in plan.sources()}
    cutter = _Cutter(prefixes(list(whole.values()), outside), {*whole, *streams})
    for name, plan in whole.items():
        cutter.fragment(plan, name)
    return tuple(sorted(cutter.fragments, key=lambda fragment: fragment.level))


def prefixes(
    plans: Sequence[nodes.Node], outside: Callable[[nodes.Source], bool]
) -> dict[int, SourcePrefix]:
    """By the id of their uppermost node, the stateless beginnings of plans. There is one for a
    source that is used once; one that is used in several ways comes in as it is."""
    above: dict[int, dict[int, nodes.Node]] = {}
    found: dict[str, dict[int, nodes.Source]] = {}
    for plan in plans:
        above.setdefault(id(plan), {})[0] = plan  # the output of a plan is one more use
        for node in plan.walk():
            for child in node.inputs:
                above.setdefault(id(child), {})[id(node)] = node
            if isinstance(node, nodes.Source):
                found.setdefault(node.name, {})[id(node)] = node
    made: dict[int, SourcePrefix] = {}
    for same in found.values():
        (source, *others) = same.values()
        if others or not outside(source):
            continue
        top: nodes.Node = source
        steps: list[nodes.Node] = []
        while len(uses := above.get(id(top), {})) == 1:
            (user,) = uses.values()
            if user is top or user.native is None:
                break
            steps.append(user)
            top = user
        made[id(top)] = SourcePrefix(source, tuple(steps))
    return made


def _time_after(prefix: SourcePrefix) -> str | None:
    """The column that gives plain records their time, as it is called after what is computed."""
    name = prefix.source.time
    for step in prefix.steps:
        origins = ((own, step.origin(place)) for place, own in enumerate(step.schema.names))
        same = (own for own, value in origins if isinstance(value, Column) and value.name == name)
        name = next(same, None)
    return name


class _Cutter:
    """`prefixes`: by the id of a node, what is computed before it comes into a fragment; `taken`:
    the names of streams and results, which nothing else is called by; `inputs`: by the name of a
    leaf; `cuts`: the fragment made for a node; `gathered`: by the id of a node and the keys of its
    inputs, what has become of it, so that what is used twice is computed once."""

    def __init__(self, prefixes: Mapping[int, SourcePrefix], taken: set[str]) -> None:
        self.prefixes, self.taken = prefixes, taken
        self.fragments: list[Fragment] = []
        self.inputs: dict[str, Input] = {}
        self.cuts: dict[int, Fragment] = {}
        self.gathered: dict[tuple[int, tuple[Keys, ...]], nodes.Node] = {}
        self.kept: list[nodes.Node] = []  # a node that lives keeps its id

    def fragment(self, node: nodes.Node, name: str) -> Fragment:
        plan, _ = self.place(node, None)
        leaves = [each for each in plan.walk() if isinstance(each, nodes.Leaf)]
        inputs = tuple({leaf.name: self.inputs[leaf.name] for leaf in leaves}.values())
        levels = {fragment.name: fragment.level for fragment in self.fragments}
        below = [levels[each.origin] for each in inputs if isinstance(each.origin, str)]
        made = Fragment(name, plan, inputs, 1 + max(below, default=0))
        self.fragments.append(made)
        return made

    def place(self, node: nodes.Node, required: Keys | None) -> tuple[nodes.Node, bool]:
        """The node with leaves where it is cut, and whether it is partitioned by the required
        keys (None: any partitioning will do)."""
        if id(node) in self.prefixes:
            return self._prefixed(node, self.prefixes[id(node)], required)
        if isinstance(node, nodes.Source):
            return self._prefixed(node, SourcePrefix(node), required)
        if node.required_keys is None:
            return self._through(node, required)
        return self._gathered(node, required)

    def _through(self, node: nodes.Node, required: Keys | None) -> tuple[nodes.Node, bool]:
        """A node whose rows do not meet: its inputs get the required keys, in their own columns."""
        asked = None if required is None else node.partitioned_by(required)
        if asked is None:
            made = [self.place(each, None)[0] for each in node.inputs]
            return node.with_inputs(made), required is None
        if len(asked) == 1:
            placed, fulfilled = self.place(node.inputs[0], asked[0])
            return node.with_inputs([placed]), fulfilled
        made = [
            self._partitioned(each, keys) for each, keys in zip(node.inputs, asked, strict=True)
        ]
        return node.with_inputs(made), True

    def _gathered(self, node: nodes.Node, required: Keys | None) -> tuple[nodes.Node, bool]:
        """A node that needs its inputs partitioned by its required keys, or by some of them."""
        asked = None
        if required and required != EVERY_SHARD:  # what is copied is computed once, before
            asked = node.partitioned_by(required)
        keys = asked or node.keys_within_reach()
        fulfilled = (
            required is None or asked is not None or (required == ONE_SHARD and not any(keys))
        )
        if (id(node), keys) not in self.gathered:
            made = map(self._partitioned, node.inputs, keys)
            self.kept.append(node)
            self.gathered[id(node), keys] = node.with_inputs(list(made))
        return self.gathered[id(node), keys], fulfilled

    def _partitioned(self, node: nodes.Node, keys: Keys) -> nodes.Node:
        """The node partitioned by keys, if need be through an exchange."""
        placed, fulfilled = self.place(node, keys)
        if fulfilled:
            return placed
        if id(node) not in self.cuts:
            self.kept.append(node)
            self.cuts[id(node)] = self.fragment(node, self._new("part ", len(self.cuts) + 1))
        return self._leaf_of(node, self.cuts[id(node)].name, keys)

    def _new(self, start: str, number: int, end: str = "") -> str:
        """A name with the first number from this one on that nothing is called by."""
        while (name := f"{start}{number}{end}") in self.taken:
            number += 1
        self.taken.add(name)
        return name

    def _leaf_of(self, node: nodes.Node, origin: SourcePrefix | str, keys: Keys) -> nodes.Leaf:
        name = origin if isinstance(origin, str) else origin.source.name
        for each in self.inputs.values():
            if each.origin == origin and each.keys == keys:
                return each.leaf
        uses = sum(each.origin == origin for each in self.inputs.values())
        leaf = nodes.Leaf(
            name if uses == 0 else self._new(f"{name} (", uses + 1, ")"),
            node.schema,
            node.timestamps,
            None if isinstance(origin, str) else _time_after(origin),
        )
        self.inputs[leaf.name] = Input(leaf, origin, keys)
        return leaf

    def _prefixed(
        self, node: nodes.Node, prefix: SourcePrefix, required: Keys | None
    ) -> tuple[nodes.Node, bool]:
        return self._leaf_of(
            node, prefix, columns_of(node.schema) if required is None else required
        ), True
