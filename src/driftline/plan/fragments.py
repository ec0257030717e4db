"""Cutting a plan into fragments, each of which runs on shards that know nothing of each other.

    A fragment is a part of a plan whose stateful operators all find what belongs together in one
    shard, because its inputs are spread by keys that every one of them agrees on. Rows that have to
    meet others than their shard holds go through an exchange, which is where a plan is cut.

An operator asks its input to be spread by its keys: an aggregate by its groups, a join by both
sides of its equalities, a set operator by whole rows, a rank by its partitions. The wish goes down
the plan, written in the columns of the input, to a source or to an operator that has to spread by
other keys: there the plan is cut. An operator that is asked for some of its own keys spreads by
those alone, so that a join with an aggregate by the same key needs no exchange between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from driftline.plan import nodes
from driftline.plan.conditions import conjuncts, equality
from driftline.plan.explode import Explode
from driftline.plan.expressions import EXPANDING, Call, Cast, Column, Expression
from driftline.plan.lifetimes import Coalescing
from driftline.plan.over import Over
from driftline.plan.types import Schema

Keys = tuple[Expression, ...]

ONE_SHARD: Keys = ()
"""What has no key to be spread by is held by one shard."""

RESULT = "result"


_HIGHEST = 100
"""Levels of operands, at most, in what is left to Spark."""


@dataclass(frozen=True)
class Prefix:
    """A source, and what is computed before its rows come into a fragment: selects, projects and
    aliases, from the source on up."""

    source: nodes.Source
    steps: tuple[nodes.Node, ...] = ()


@dataclass(frozen=True)
class Input:
    """What a leaf of a fragment stands for: a source or the answer of another fragment, spread over
    the shards by keys (over the columns of the leaf)."""

    leaf: nodes.Leaf
    origin: Prefix | str
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


def cut_together(
    plans: Mapping[str, nodes.Node], outside: Callable[[nodes.Source], bool] = lambda source: False
) -> tuple[Fragment, ...]:
    """The fragments of several plans, in which what they share is there once. `outside`: of which
    sources the stateless beginning is computed before it comes into a fragment."""
    lifetimes = Coalescing()
    whole = {name: lifetimes.of(plan) for name, plan in plans.items()}
    cutter = _Cutter(prefixes(list(whole.values()), outside))
    for name, plan in whole.items():
        cutter.fragment(plan, name)
    return tuple(sorted(cutter.fragments, key=lambda fragment: fragment.level))


def prefixes(
    plans: Sequence[nodes.Node], outside: Callable[[nodes.Source], bool]
) -> dict[int, Prefix]:
    """By the id of their uppermost node, the stateless beginnings of plans. There is one for a
    source that is used once; one that is used in several ways comes in as it is."""
    above: dict[int, dict[int, nodes.Node]] = {}
    found: dict[str, dict[int, nodes.Source]] = {}
    for plan in plans:
        above.setdefault(id(plan), {})[0] = plan  # what is wanted itself has a use more
        for node in plan.walk():
            for child in node.inputs:
                above.setdefault(id(child), {})[id(node)] = node
            if isinstance(node, nodes.Source):
                found.setdefault(node.name, {})[id(node)] = node
    made: dict[int, Prefix] = {}
    for same in found.values():
        (source, *others) = same.values()
        if others or not outside(source):
            continue
        top: nodes.Node = source
        steps: list[nodes.Node] = []
        while len(uses := above.get(id(top), {})) == 1:
            (user,) = uses.values()
            if user is top or not _is_native(user):
                break
            steps.append(user)
            top = user
        made[id(top)] = Prefix(source, tuple(steps))
    return made


def _is_native(node: nodes.Node) -> bool:
    """Can it be left to Spark? A chain of operands that is very long overflows the stack of its
    parser, and what may expand without end has no limit there."""
    match node:
        case nodes.Alias():
            return True
        case nodes.Select(predicate=predicate):
            return _is_tame(predicate)
        case nodes.Project(columns=columns):
            return all(_is_tame(each.value) for each in columns)
    return False


def _is_tame(value: Expression) -> bool:
    return value.height <= _HIGHEST and not any(
        isinstance(part, Call) and part.function in EXPANDING for part in value.walk()
    )


def _time_after(prefix: Prefix) -> str | None:
    """The column that gives plain records their time, as it is called after what is computed."""
    name = prefix.source.time
    for step in prefix.steps:
        if isinstance(step, nodes.Project):
            same = (
                column.name
                for column in step.columns
                if isinstance(column.value, Column) and column.value.name == name
            )
            name = next(same, None)
    return name


class _Cutter:
    """`prefixes`: by the id of a node, what is computed before it comes into a fragment; `inputs`:
    by the name of a leaf; `cuts`: the fragment made for a node."""

    def __init__(self, prefixes: Mapping[int, Prefix]) -> None:
        self.prefixes = prefixes
        self.fragments: list[Fragment] = []
        self.inputs: dict[str, Input] = {}
        self.cuts: dict[int, Fragment] = {}
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

    def place(self, node: nodes.Node, wish: Keys | None) -> tuple[nodes.Node, bool]:
        """The node with leaves where it is cut, and whether it is spread by the wish (None: it does
        not matter how)."""
        if id(node) in self.prefixes:
            return self._prefixed(node, self.prefixes[id(node)], wish)
        place = getattr(self, f"_{type(node).__name__.lower()}")
        return cast("tuple[nodes.Node, bool]", place(node, wish))

    def _spread(self, node: nodes.Node, keys: Keys) -> nodes.Node:
        """The node spread by keys, if need be through an exchange."""
        placed, fulfilled = self.place(node, keys)
        if fulfilled:
            return placed
        if id(node) not in self.cuts:
            self.kept.append(node)
            self.cuts[id(node)] = self.fragment(node, f"part {len(self.cuts) + 1}")
        return self._leaf_of(node, self.cuts[id(node)].name, keys)

    def _leaf_of(self, node: nodes.Node, origin: Prefix | str, keys: Keys) -> nodes.Leaf:
        name = origin if isinstance(origin, str) else origin.source.name
        for each in self.inputs.values():
            if each.origin == origin and each.keys == keys:
                return each.leaf
        uses = sum(each.origin == origin for each in self.inputs.values())
        leaf = nodes.Leaf(
            name if uses == 0 else f"{name} ({uses + 1})",
            node.schema,
            node.timestamps,
            None if isinstance(origin, str) else _time_after(origin),
        )
        self.inputs[leaf.name] = Input(leaf, origin, keys)
        return leaf

    def _source(self, node: nodes.Source, wish: Keys | None) -> tuple[nodes.Node, bool]:
        return self._prefixed(node, Prefix(node), wish)

    _constant = _source

    def _prefixed(
        self, node: nodes.Node, prefix: Prefix, wish: Keys | None
    ) -> tuple[nodes.Node, bool]:
        return self._leaf_of(node, prefix, all_columns(node.schema) if wish is None else wish), True

    def _through(
        self, node: nodes.Node, wish: Keys | None, below: Mapping[str, Expression] | None
    ) -> tuple[nodes.Node, bool]:
        """A stateless node over one input; `below`: what its columns are there (None: the same)."""
        (child,) = node.inputs
        asked = wish if wish is None or below is None else _substituted(wish, below)
        placed, fulfilled = self.place(child, asked)
        made = replace(node, input=placed)  # type: ignore[call-arg]
        return made, fulfilled and (wish is None or asked is not None)

    def _select(self, node: nodes.Select, wish: Keys | None) -> tuple[nodes.Node, bool]:
        return self._through(node, wish, None)

    def _alias(self, node: nodes.Alias, wish: Keys | None) -> tuple[nodes.Node, bool]:
        return self._through(node, wish, _by_place(node.schema, node.input.schema))

    def _project(self, node: nodes.Project, wish: Keys | None) -> tuple[nodes.Node, bool]:
        return self._through(node, wish, {column.name: column.value for column in node.columns})

    def _windowcolumns(
        self, node: nodes.WindowColumns, wish: Keys | None
    ) -> tuple[nodes.Node, bool]:
        return self._through(node, wish, _by_place(node.schema, node.input.schema))

    def _explode(self, node: Explode, wish: Keys | None) -> tuple[nodes.Node, bool]:
        return self._through(node, wish, _by_place(node.schema, node.input.schema))

    def _window(self, node: nodes.Window, wish: Keys | None) -> tuple[nodes.Node, bool]:
        return self._through(node, wish, None)

    def _final(self, node: nodes.Final, wish: Keys | None) -> tuple[nodes.Node, bool]:
        return self._through(node, wish, None)

    def _coalesce(self, node: nodes.Coalesce, wish: Keys | None) -> tuple[nodes.Node, bool]:
        return self._keyed(node, natural(node.input) or all_columns(node.schema), wish, None)

    def _union(self, node: nodes.Union, wish: Keys | None) -> tuple[nodes.Node, bool]:
        sides: list[nodes.Node] = []
        for side in node.inputs:
            asked = (
                None if wish is None else _substituted(wish, _by_place(node.schema, side.schema))
            )
            sides.append(self.place(side, None)[0] if asked is None else self._spread(side, asked))
        return nodes.Union(*sides), True

    def _join(self, node: nodes.Join, wish: Keys | None) -> tuple[nodes.Node, bool]:
        both = node.left.schema + node.right.schema
        width = len(node.left.schema)
        pairs = [
            pair
            for part in conjuncts(node.condition)
            if (
                pair := equality(part, frozenset(both.names[:width]), frozenset(both.names[width:]))
            )
        ]
        # The result's columns in the names of both sides together.
        own = _by_place(node.schema, Schema(tuple(both)[: len(node.schema)]), both.names)
        chosen = _chosen(pairs, None if not wish else _substituted(wish, own), node.how)
        to_left = _renaming(both.names[:width], node.left.schema)
        to_right = _renaming(both.names[width:], node.right.schema)
        free = [
            (one, other)
            for one, other in pairs
            if reaches(node.left, _renamed(one, to_left))
            and reaches(node.right, _renamed(other, to_right))
        ]
        keys = chosen or free or pairs
        left = tuple(_renamed(one, to_left) for one, _ in keys)
        right = tuple(_renamed(other, to_right) for _, other in keys)
        made = replace(
            node, left=self._spread(node.left, left), right=self._spread(node.right, right)
        )
        return made, wish is None or bool(chosen) or (wish == ONE_SHARD and not keys)

    def _aggregate(self, node: nodes.Aggregate, wish: Keys | None) -> tuple[nodes.Node, bool]:
        keys = {key.name: key.value for key in node.keys}
        return self._keyed(node, tuple(keys.values()), wish, keys)

    def _distinct(self, node: nodes.Distinct, wish: Keys | None) -> tuple[nodes.Node, bool]:
        return self._keyed(node, all_columns(node.schema), wish, None)

    def _over(self, node: Over, wish: Keys | None) -> tuple[nodes.Node, bool]:
        return self._rank(node, wish)

    def _rank(self, node: nodes.Rank | Over, wish: Keys | None) -> tuple[nodes.Node, bool]:
        below = _by_place(node.schema, node.input.schema)
        own = {_plain(value) for value in node.partition}
        partition = {name: value for name, value in below.items() if value in own}
        return self._keyed(node, node.partition, wish, partition)

    def _keyed(
        self,
        node: nodes.Node,
        own: Keys,
        wish: Keys | None,
        below: Mapping[str, Expression] | None,
    ) -> tuple[nodes.Node, bool]:
        """An operator over one input that needs it spread by its own keys, or by some of them."""
        asked = None
        if wish:
            asked = wish if below is None else _substituted(wish, below)
        (child,) = node.inputs
        keys = asked or tuple(key for key in own if reaches(child, key)) or own
        made = replace(node, input=self._spread(child, keys))  # type: ignore[call-arg]
        return made, wish is None or bool(asked) or wish == own == ONE_SHARD

    def _setoperation(self, node: nodes.SetOperation, wish: Keys | None) -> tuple[nodes.Node, bool]:
        keys = wish or all_columns(node.schema)
        sides = [
            self._spread(side, _substituted(keys, _by_place(node.schema, side.schema)) or keys)
            for side in node.inputs
        ]
        return replace(node, left=sides[0], right=sides[1]), _fulfilled(wish, keys)


def reaches(node: nodes.Node, key: Expression) -> bool:
    """Whether a node can be spread by a key without an exchange above it. An operator takes those
    of its keys for which that is so, if there are any: rows that are together by all of its keys
    are together by some."""
    match node:
        case nodes.Select() | nodes.Window():
            return reaches(node.input, key)
        case nodes.Alias() | nodes.WindowColumns() | Explode():
            below = _substituted((key,), _by_place(node.schema, node.input.schema))
            return below is not None and reaches(node.input, below[0])
        case nodes.Project():
            below = _substituted((key,), {each.name: each.value for each in node.columns})
            return below is not None and reaches(node.input, below[0])
        case nodes.Union():
            sides = [
                (s, _substituted((key,), _by_place(node.schema, s.schema))) for s in node.inputs
            ]
            return all(below is not None and reaches(side, below[0]) for side, below in sides)
        case nodes.Aggregate():
            return key.columns() <= {each.name for each in node.keys}
        case nodes.Rank() | Over():
            partition = {each.name for each in node.partition if isinstance(each, Column)}
            return key.columns() <= partition
        case nodes.Join():
            return False  # it has keys of its own to choose
    return True


def all_columns(schema: Schema) -> Keys:
    """Every column as a key; rows without columns are all in one shard."""
    return tuple(Column(name, item.type) for name, item in zip(schema.names, schema, strict=True))


def natural(node: nodes.Node) -> Keys | None:
    """Columns by which the rows of a node are spread when an aggregate below it goes by its own
    keys; None if there are none."""
    match node:
        case nodes.Aggregate(keys=keys):
            return tuple(Column(key.name, key.value.type) for key in keys) or None
        case nodes.Select(input=given):
            return natural(given)
        case nodes.Project(input=given, columns=columns):
            kept = {
                column.value.name: Column(column.name, column.value.type)
                for column in columns
                if isinstance(column.value, Column)
            }
            below = natural(given) or ()
            found = [
                kept[key.name] for key in below if isinstance(key, Column) and key.name in kept
            ]
            return tuple(found) if found and len(found) == len(below) else None
    return None


def _fulfilled(wish: Keys | None, keys: Keys) -> bool:
    return wish is None or wish == keys


def _by_place(
    schema: Schema, inner: Schema, names: Sequence[str] | None = None
) -> dict[str, Expression]:
    """The columns of a schema as those at the same place in another, cast to the same type."""
    found: dict[str, Expression] = {}
    pairs = zip(schema.names, schema, names or inner.names, inner, strict=False)
    for outer_name, outer, inner_name, item in pairs:
        value: Expression = Column(inner_name, item.type)
        found[outer_name] = value if item.type == outer.type else Cast(value, outer.type)
    return found


def _substituted(keys: Keys, values: Mapping[str, Expression]) -> Keys | None:
    """The keys with every column replaced by what it is computed from; None if one is not known."""
    if any(not key.columns() <= values.keys() for key in keys):
        return None

    def change(part: Expression) -> Expression:
        return values[part.name] if isinstance(part, Column) else part

    return tuple(_plain(key.transform(change)) for key in keys)


def _plain(key: Expression) -> Expression:
    """Without qualifiers, which do not change what a key is."""

    def change(part: Expression) -> Expression:
        return Column(part.name, part.type) if isinstance(part, Column) else part

    return key.transform(change)


def _renaming(names: Sequence[str], schema: Schema) -> dict[str, str]:
    return dict(zip(names, schema.names, strict=True))


def _renamed(key: Expression, names: Mapping[str, str]) -> Expression:
    def change(part: Expression) -> Expression:
        return Column(names[part.name], part.type) if isinstance(part, Column) else part

    return key.transform(change)


def _chosen(
    pairs: list[tuple[Expression, Expression]], wish: Keys | None, how: nodes.JoinKind
) -> list[tuple[Expression, Expression]]:
    """The equalities of a join that spread its result by a wish; none if it cannot be done.

    What an outer join pads with nulls is not where its key says."""
    if not wish:
        return []
    sides = {"inner": (0, 1), "right": (1,), "full": ()}.get(how, (0,))
    found: list[tuple[Expression, Expression]] = []
    for key in wish:
        match = next(
            (pair for pair in pairs for side in sides if _plain(pair[side]) == _plain(key)), None
        )
        if match is None:
            return []
        found.append(match)
    return found
