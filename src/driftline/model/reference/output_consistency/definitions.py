"""When an output belongs to a prefix of the inputs: the definitions.

Let a run be given, and an output state: what an operator has put out so far. A prefix P takes some
number of the first events of every inbound stream, of those that have been read when the output is
in this state.

    update-complete               no inbound event actively derives both an element of the state
                                  and one that comes later
    input-prefix update-complete  there is a P such that the state holds all and only those
                                  elements that are actively derived from events of P
    closed                        the same, and no work on an event of P has used anything that is
                                  derived from outside of P
    input-prefix consistent       there is a P such that the state is the query's answer for P
    synchronised                  the same, where P is cut from all inputs at one time t: the events
                                  in it are before t, those that follow are at t or later

The first three speak of one execution: another schedule over the same inputs gives other verdicts.
The last two see inputs and answers only.

    closed ⊂ input-prefix update-complete ⊂ update-complete
    closed ⊂ input-prefix consistent ⊃ synchronised

All inclusions are strict; no others hold. The paper has no "closed". It takes every state that is
input-prefix update-complete for consistent (Figure 3), but its own Figure 4 is one that is not:
there a join puts out a2b2 while it works on a2, another one has not worked on b2 yet, and the
output is all that is ever derived *actively* from a1, a2 and b1. Nor is it enough that whatever is
in the output is derived from P: a filter, or an aggregate whose value did not change, leaves no
element behind, and yet the work on an event of P may have come to nothing only because an event
from outside of P had been there before. "Closed" therefore speaks of works, and not of elements.

Of a batch, all elements put out are actively derived from everything that was taken. Then "all" is
read as: derived from some event of P, and "only" as: from no other.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TypeVar

from driftline.model.reference.output_consistency.trace import Inbound, Prefix, Trace, Work

Event = TypeVar("Event")
Answer = TypeVar("Answer")
Inputs = Mapping[str, Sequence[Event]]
Query = Callable[[Inputs[Event]], Answer]


@dataclass(frozen=True)
class OutputState:
    """What an operator has put out when `so_far` elements have come out of it."""

    trace: Trace
    operator: str
    so_far: int

    @cached_property
    def elements(self) -> list[object]:
        return [*self.trace.output(self.operator)[: self.so_far]]

    @cached_property
    def later(self) -> list[object]:
        return [*self.trace.output(self.operator)[self.so_far :]]

    @cached_property
    def read(self) -> dict[str, int]:
        """How many events of each stream have been read while the output is in this state.

        An event that is being worked on has been read.
        """
        read: dict[str, int] = {}
        put = 0
        for work in self.trace.works:
            after = put + (len(work.puts) if work.operator == self.operator else 0)
            if put == self.so_far < after:  # the next element comes out of this work
                break
            for element in work.takes:
                if isinstance(element, Inbound):
                    read[element.stream] = max(read.get(element.stream, 0), element.number)
            if self.so_far < after:  # the state is one in the middle of this work
                break
            put = after
        return read


def is_update_complete(state: OutputState) -> bool:
    """Definition 1: an inbound event has come out with all that it derives, or not at all."""
    origins = state.trace.origins
    shown = {event for element in state.elements for event in origins[element]}
    return not any(shown & origins[element] for element in state.later)


def is_input_prefix_update_complete(state: OutputState, prefix: Prefix | None = None) -> bool:
    """Definition 2, for the given prefix or for any."""
    candidates = _candidates(state.read, prefix)
    return any(_all_and_only(state, candidate) for candidate in candidates)


def update_complete_prefixes(state: OutputState) -> Iterator[Prefix]:
    """The prefixes that make a state input-prefix update-complete, the shortest first."""
    return (prefix for prefix in prefixes(state.read) if _all_and_only(state, prefix))


def is_closed(state: OutputState, prefix: Prefix | None = None) -> bool:
    """Definition 2, and works on the prefix use nothing else; for the given prefix or for any."""
    candidates = _candidates(state.read, prefix)
    return any(_closed(state, candidate) for candidate in candidates)


def closed_prefixes(state: OutputState) -> Iterator[Prefix]:
    """The prefixes for which a state is closed, the shortest first."""
    return (prefix for prefix in prefixes(state.read) if _closed(state, prefix))


def is_input_prefix_consistent(
    inputs: Inputs[Event],
    query: Query[Event, Answer],
    answer: Answer,
    prefix: Prefix | None = None,
    same: Callable[[Answer, Answer], bool] = operators.eq,
) -> bool:
    """Definition 3, for the given prefix or for any; `inputs` are what has been read.

    `answer` is the meaning of the output so far: a bag, a canonical history. `same` says when two
    of them are equal.
    """
    candidates = _candidates(_lengths(inputs), prefix)
    return any(same(query(cut(inputs, candidate)), answer) for candidate in candidates)


def consistent_prefixes(
    inputs: Inputs[Event],
    query: Query[Event, Answer],
    answer: Answer,
    same: Callable[[Answer, Answer], bool] = operators.eq,
) -> Iterator[Prefix]:
    """The prefixes for which the output so far is the exact answer, the shortest first."""
    for prefix in prefixes(_lengths(inputs)):
        if same(query(cut(inputs, prefix)), answer):
            yield prefix


def is_synchronised_input_prefix_consistent(
    inputs: Inputs[Event],
    query: Query[Event, Answer],
    answer: Answer,
    time: Callable[[Event], int | None],
    read: Prefix | None = None,
    same: Callable[[Answer, Answer], bool] = operators.eq,
) -> bool:
    """Definition 4: the prefixes of all inputs end at one time."""
    witnesses = synchronised_prefixes(inputs, query, answer, time, read, same)
    return next(witnesses, None) is not None


def synchronised_prefixes(
    inputs: Inputs[Event],
    query: Query[Event, Answer],
    answer: Answer,
    time: Callable[[Event], int | None],
    read: Prefix | None = None,
    same: Callable[[Answer, Answer], bool] = operators.eq,
) -> Iterator[Prefix]:
    """The prefixes that a time t cuts from the inputs and whose exact answer is the output so far.

    `inputs` are whole: what comes later may still be before t. Of them, `read` have been read.
    `time` gives the time of an event; None where it has none and may be on either side of t.
    """
    for prefix in prefixes(_lengths(inputs) if read is None else read):
        if is_cut_at_one_time(inputs, prefix, time) and same(query(cut(inputs, prefix)), answer):
            yield prefix


def is_cut_at_one_time(
    inputs: Inputs[Event], prefix: Prefix, time: Callable[[Event], int | None]
) -> bool:
    """Whether there is a t such that all events of the prefix are before t, and no others."""
    before, after = set[int](), set[int]()
    for stream, events in inputs.items():
        for number, event in enumerate(events, start=1):
            at = time(event)
            if at is not None:
                (before if Inbound(stream, number).within(prefix) else after).add(at)
    return not before or not after or max(before) < min(after)


def prefixes(lengths: Prefix) -> Iterator[Prefix]:
    """All prefixes of streams that have these lengths, the shortest first."""
    counts = product(*(range(length + 1) for length in lengths.values()))
    return (dict(zip(lengths, each, strict=True)) for each in sorted(counts, key=sum))


def cut(inputs: Inputs[Event], prefix: Prefix) -> dict[str, Sequence[Event]]:
    """The first events of each input, as many as the prefix says."""
    return {stream: events[: prefix.get(stream, 0)] for stream, events in inputs.items()}


def _lengths(inputs: Inputs[Event]) -> Prefix:
    return {stream: len(events) for stream, events in inputs.items()}


def _candidates(read: Prefix, prefix: Prefix | None) -> Iterable[Prefix]:
    """All prefixes of what has been read, or the given one if it has been read."""
    if prefix is None:
        return prefixes(read)
    return [prefix] if all(n <= read.get(stream, 0) for stream, n in prefix.items()) else []


def _all_and_only(state: OutputState, prefix: Prefix) -> bool:
    origins = state.trace.origins
    only = all(event.within(prefix) for each in state.elements for event in origins[each])
    return only and not any(event.within(prefix) for each in state.later for event in origins[each])


def _closed(state: OutputState, prefix: Prefix) -> bool:
    if not _all_and_only(state, prefix):
        return False
    ancestors = state.trace.ancestors(state.operator)
    return all(
        event.within(prefix)
        for work in state.trace.works
        if work.operator in ancestors and _is_work_on(work, state.trace, prefix)
        for element in work.takes + work.uses
        for event in state.trace.lineage[element]
    )


def _is_work_on(work: Work, trace: Trace, prefix: Prefix) -> bool:
    return any(event.within(prefix) for each in work.takes for event in trace.origins[each])
