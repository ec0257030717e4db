"""Plans of a few operators: what the executions run for which consistency is defined.

An operator is a function from bags of rows, one for each port, to a bag. Operators form a graph
without cycles: they take inbound streams and each other's output, which several may share.

    answer(P) of an output = its operator's function of the answers of what it takes

Rows are any hashable values, and application time plays no part: a lifetime is a row in each of
its snapshots, and a snapshot is a group like any other.

An operator also says which stored rows take part when it works on a row (`takes_part`): of a join,
the rows of the other side that match; of an aggregate, the rows of the group (of one over
lifetimes, of the snapshots that change). Rows that have been retracted count as long as what has
been stored and what has retracted it may lie on both sides of a prefix's end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

Row = Any
Bag = Counter[Row]


class Change(NamedTuple):
    """`weight` copies of a row come, or go if it is negative; `at` is the change's time."""

    row: Row
    weight: int = 1
    at: int = 0


@dataclass(frozen=True)
class Operator:
    """A function of bags, and which stored rows take part in the work on a row."""

    function: Callable[..., Bag]
    takes_part: Callable[[int, Row, int, Row], bool]
    """Given the port and the row that is worked on, the port and the row that is stored."""


@dataclass(frozen=True)
class PlanNode:
    """An operator in a plan, and the names of the streams or nodes it takes, one for each port."""

    operator: Operator
    takes: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """Named nodes, each after those it takes."""

    streams: tuple[str, ...]
    nodes: Mapping[str, PlanNode]
    outputs: tuple[str, ...]

    @cached_property
    def edges(self) -> dict[str, list[str]]:
        """For every stream and node the nodes that take it, one entry for each port."""
        edges: dict[str, list[str]] = {name: [] for name in [*self.streams, *self.nodes]}
        for name, node in self.nodes.items():
            for taken in node.takes:
                edges[taken].append(name)
        return edges

    def ancestors(self, output: str) -> frozenset[str]:
        """The output, and all nodes and streams that lead to it."""
        taken = self.nodes[output].takes if output in self.nodes else ()
        return frozenset({output}).union(*(self.ancestors(name) for name in taken))

    def answer(self, output: str, inputs: Mapping[str, Iterable[Change]]) -> Bag:
        """The exact answer for these inputs."""
        if output in self.streams:
            return bag(inputs[output])
        node = self.nodes[output]
        return node.operator.function(*(self.answer(taken, inputs) for taken in node.takes))


def bag(changes: Iterable[Change]) -> Bag:
    """What is left of changes."""
    sums: Bag = Counter()
    for change in changes:
        sums[change.row] += change.weight
    return +sums


def select(condition: Callable[[Row], bool]) -> Operator:
    def function(rows: Bag) -> Bag:
        return Counter({row: count for row, count in rows.items() if condition(row)})

    return Operator(function, _nothing)


def project(expression: Callable[[Row], Row]) -> Operator:
    def function(rows: Bag) -> Bag:
        return bag(Change(expression(row), count) for row, count in rows.items())

    return Operator(function, _nothing)


def union() -> Operator:
    def function(*bags: Bag) -> Bag:
        return sum(bags, Counter())

    return Operator(function, _nothing)


def join(
    condition: Callable[[Row, Row], bool], combined: Callable[[Row, Row], Row] = lambda a, b: a + b
) -> Operator:
    def function(left: Bag, right: Bag) -> Bag:
        return bag(
            Change(combined(row, other), count * copies)
            for row, count in left.items()
            for other, copies in right.items()
            if condition(row, other)
        )

    def matches(port: int, row: Row, stored_port: int, stored: Row) -> bool:
        if port == stored_port:
            return False
        return condition(row, stored) if port == 0 else condition(stored, row)

    return Operator(function, matches)


def aggregate(key: Callable[[Row], Hashable], value: Callable[[Sequence[Row]], Any]) -> Operator:
    """One row (key, value) for each group that has rows; `value` takes these, sorted."""

    def function(rows: Bag) -> Bag:
        groups: dict[Hashable, list[Row]] = {}
        for row in sorted(rows.elements()):
            groups.setdefault(key(row), []).append(row)
        return Counter((group, value(members)) for group, members in groups.items())

    return Operator(function, lambda _, row, __, stored: key(row) == key(stored))


def distinct() -> Operator:
    return Operator(lambda rows: Counter(set(rows)), lambda _, row, __, stored: row == stored)


def minus() -> Operator:
    """What is left of the first bag without the second."""
    return Operator(lambda left, right: left - right, lambda _, row, __, stored: row == stored)


def _nothing(port: int, row: Row, stored_port: int, stored: Row) -> bool:
    return False
