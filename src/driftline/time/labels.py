"""Heartbeats inside a plan: of the query, of each operator, and with an eye on memory (section 7).

An operator takes in rows in order, up to its heartbeat: the least heartbeat of the streams in its
label.

    query level       R[o] = all streams of the plan
    operator level    R[o] = U[o], the streams below o
    memory-aware      R[o] = R[parent of o]  if a memory link leads from o or below to above o
                      R[o] = U[o]            otherwise

A memory link leads from an operator that emits more than it takes in (selectivity above 1) to its
lowest ancestor such that the chain up to there emits no more than goes in: rows that it emitted
before that ancestor is ready would only be held in between. The output consumes everything: its
selectivity is 0.

An operator that does not depend on order needs no heartbeat: its label is empty, and its input is
never held back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from driftline.model.time import INFINITY

Labels = dict[str, frozenset[str]]


@dataclass(frozen=True)
class TreeOperator:
    """A node of a plan that is a tree. Names are unique; `streams` are those it reads itself."""

    name: str
    children: tuple[TreeOperator, ...] = ()
    streams: frozenset[str] = frozenset()
    selectivity: float = 1.0
    ordered: bool = True
    """Whether it needs its input in order."""

    def below(self) -> Iterator[TreeOperator]:
        """The operator and all below it."""
        yield self
        for child in self.children:
            yield from child.below()

    @property
    def inputs(self) -> frozenset[str]:
        """U: the streams that come in at or below it."""
        return frozenset().union(*(operator.streams for operator in self.below()))


def query_level(root: TreeOperator) -> Labels:
    return {each.name: root.inputs if each.ordered else frozenset() for each in root.below()}


def operator_level(root: TreeOperator) -> Labels:
    return {each.name: each.inputs if each.ordered else frozenset() for each in root.below()}


def memory_links(root: TreeOperator) -> dict[str, str]:
    """For each operator that emits more than it takes in, the ancestor to wait for.

    >>> first = TreeOperator("O1", streams=frozenset({"S1", "S2"}), selectivity=3)
    >>> memory_links(TreeOperator("O2", (first,), frozenset({"S3"})))
    {'O1': 'O2'}
    """
    links: dict[str, str] = {}

    def visit(operator: TreeOperator, above: tuple[TreeOperator, ...]) -> None:
        chain = operator.selectivity
        for ancestor in reversed(above):
            if chain <= 1:
                break
            chain *= 0.0 if ancestor is root else ancestor.selectivity
            links[operator.name] = ancestor.name
        for child in operator.children:
            visit(child, (*above, operator))

    visit(root, ())
    return links


def memory_aware(root: TreeOperator) -> Labels:
    """The paper's AssignLabels.

    >>> first = TreeOperator("O1", streams=frozenset({"S1", "S2"}), selectivity=3)
    >>> labels = memory_aware(TreeOperator("O2", (first,), frozenset({"S3"})))
    >>> {name: sorted(label) for name, label in labels.items()}
    {'O2': ['S1', 'S2', 'S3'], 'O1': ['S1', 'S2', 'S3']}
    """
    links = memory_links(root)
    labels: Labels = {}
    whole: Labels = {}

    def visit(operator: TreeOperator, above: tuple[TreeOperator, ...]) -> None:
        ancestors = {ancestor.name for ancestor in above}
        linked = any(links.get(each.name) in ancestors for each in operator.below())
        label = whole[above[-1].name] if linked else operator.inputs
        whole[operator.name] = label
        labels[operator.name] = label if operator.ordered else frozenset()
        for child in operator.children:
            visit(child, (*above, operator))

    visit(root, ())
    return labels


def heartbeats(labels: Labels, streams: Mapping[str, int]) -> dict[str, int]:
    """The heartbeat of each operator from those of the streams; ∞ if nothing holds it back.

    >>> heartbeats({"O1": frozenset({"S1", "S2"}), "O2": frozenset()}, {"S1": 5, "S2": 3})["O1"]
    3
    """
    return {
        name: min((streams[stream] for stream in label), default=INFINITY)
        for name, label in labels.items()
    }
