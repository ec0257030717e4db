"""The trace of an execution: which operator took which elements, and what it put out.

An element is anything that lies in a queue: one change, or a batch of several. Every element has an
identity of its own, any hashable value; the n-th event of an inbound stream is
`Inbound(stream, n)`, counted from 1 in arrival order.

A trace must hold

    - a `Work` for every time that an operator takes something, in the order in which that
      happened, also where nothing came out of it;
    - in `takes` the elements that it took. A batch of several events is either one element or
      several in one `Work`;
    - in `uses` the stored elements that took part, alive or retracted since: all on which the
      result depends, so that it would be the same if nothing else had ever been stored. If that
      is not known, everything that the operator has taken before;
    - in `puts` what came out, in this order. An element that goes to several operators is one
      element, put out once and taken by each of them;
    - the plan's edges: for every operator, the operators that take what it puts out;
    - the whole run, until the queues are empty. What is complete depends on what comes later: an
      output state is a place in a trace, not its end.

An element put out is **actively derived** from what was taken, and **passively derived** from what
was used. Its `origins` are the inbound events from which it is actively derived through all
operators, one if nothing was taken in batches. Its `lineage` is all inbound events from which it is
derived in one way or the other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

Element = Hashable
"""The identity of what lies in a queue."""

Prefix = Mapping[str, int]
"""How many events of each inbound stream, counted in arrival order."""


class Inbound(NamedTuple):
    """The event `number` of an inbound stream; the first one is number 1."""

    stream: str
    number: int

    def within(self, prefix: Prefix) -> bool:
        return self.number <= prefix.get(self.stream, 0)


@dataclass(frozen=True)
class Work:
    """An operator takes elements, uses what it has stored, and puts elements out."""

    operator: str
    takes: tuple[Element, ...]
    uses: tuple[Element, ...] = ()
    puts: tuple[Element, ...] = ()


@dataclass(frozen=True)
class Trace:
    """All works of a run, in the order in which they were done, and the edges of the plan."""

    works: Sequence[Work]
    edges: Mapping[str, Sequence[str]]

    def output(self, operator: str) -> list[Element]:
        """What an operator put out in the whole run, in order."""
        return [
            element for work in self.works if work.operator == operator for element in work.puts
        ]

    def ancestors(self, output: str) -> set[str]:
        """The output, and all operators that lead to it."""
        found = {output}
        while more := {
            operator
            for operator, children in self.edges.items()
            if operator not in found and not found.isdisjoint(children)
        }:
            found |= more
        return found

    @cached_property
    def origins(self) -> Mapping[Element, frozenset[Inbound]]:
        """The inbound events from which every element is actively derived."""
        return self._inherited(lambda work: work.takes)

    @cached_property
    def lineage(self) -> Mapping[Element, frozenset[Inbound]]:
        """The inbound events from which every element is derived, actively or passively."""
        return self._inherited(lambda work: work.takes + work.uses)

    def _inherited(self, parents: Callable[[Work], tuple[Element, ...]]) -> _Inherited:
        inherited = _Inherited()
        for work in self.works:
            inbound = frozenset[Inbound]().union(*(inherited[each] for each in parents(work)))
            inherited.update(dict.fromkeys(work.puts, inbound))
        return inherited


class _Inherited(dict[Element, frozenset[Inbound]]):
    """An inbound event is derived from itself."""

    def __missing__(self, element: Element) -> frozenset[Inbound]:
        if not isinstance(element, Inbound):
            raise ValueError(f"the trace takes {element!r} before any operator put it out")
        return frozenset({element})
