"""MATCH_RECOGNIZE: the matches of a pattern in the rows of each partition; a snapshot operator.

    match, at every time: the rows of each partition of the snapshot are put in order; ties are
    broken by the whole row. From the first row on: of all the ways in which rows from here on match
    the pattern, the first in the pattern's order of preference is the match here. The search goes
    on where `skip` says; where nothing matches, and after an empty match, at the next row.

A way gives each of its rows a variable whose condition is true of it; null is not true, and a
variable without a condition is true of every row. With `within` a row is in a match only if its
distance from the first row in the first column of the order is less. A condition sees the rows of
the match up to the row that it is about, a measure those up to the current row (running) or all.

    one             a row for every match: its partition, and the measures at its last row
    all             a row for every row of a match that is not excluded: its columns, and the
                    measures there; for an empty match one, at the row where it was found
    omit empty      the same without empty matches
    with unmatched  `all`, and the rows that are in no match and begin no empty match; their
                    measures are null

Measures of an empty match see no rows. Matches of a partition are numbered from 1.

Where rows are ordered by their start, are only added and never end, a row that starts after all
those that the search has looked at so far changes nothing of what it has found. The start of the
last one is when that was settled: `settled` is the name of a column for it. It is null as long as
the search has looked for a row after the last one; where that row would have been too far from the
first one (`within`), it is settled when none can come that is near enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from driftline.model.history import Bag, History, Lifetime
from driftline.model.patterns import (
    PAST_LAST_ROW,
    Alternate,
    Anchor,
    Concat,
    Empty,
    Exclude,
    Pattern,
    Permute,
    Repeat,
    Skip,
    SkipError,
    Variable,
)
from driftline.model.reference.aggregates import Aggregate, Argument
from driftline.model.reference.rank import Order
from driftline.model.reference.snapshot_operator import snapshot_operator
from driftline.model.row import Row, Value, sort_key
from driftline.model.time import INFINITY

CLASSIFIER = "CLASSIFIER()"
MATCH_NUMBER = "MATCH_NUMBER()"
"""Two columns that rows have for what is computed of a match."""

Output = Literal["one", "all", "omit empty", "with unmatched"]


@dataclass(frozen=True)
class Seen:
    """What a condition or a measure sees: the partition, where the match begins, the variables of
    its rows, how many of them there are up to the current one, and the number of the match.
    `looked`: at which places of the partition it has looked for rows."""

    rows: Sequence[Row]
    start: int
    labels: tuple[str, ...]
    current: int
    number: int
    looked: list[int] = field(default_factory=list)

    def places(self, variables: Collection[str] | None, running: bool) -> list[int]:
        """Where the rows of some variables are, or of all."""
        seen = self.labels[: self.current] if running else self.labels
        return [
            self.start + place
            for place, label in enumerate(seen)
            if variables is None or label in variables
        ]

    def row(self, place: int, running: bool) -> Row | None:
        """A row of the partition, with its variable and the number of the match."""
        self.looked.append(place)
        if not 0 <= place < len(self.rows):
            return None
        seen = self.labels[: self.current] if running else self.labels
        inside = 0 <= place - self.start < len(seen)
        label = seen[place - self.start] if inside else None
        return Row(self.rows[place], **{CLASSIFIER: label, MATCH_NUMBER: self.number})


Measure = Callable[[Seen], Value]
"""A condition, or a measure."""


def navigation(
    argument: Argument,
    variables: Collection[str] | None = None,
    *,
    last: bool = True,
    offset: int = 0,
    physical: int = 0,
    running: bool = True,
) -> Measure:
    """FIRST or LAST of the rows of some variables, `offset` of them farther inside, and from there
    PREV or NEXT by `physical` rows of the partition; null if there is no such row."""

    def measure(seen: Seen) -> Value:
        places = seen.places(variables, running)
        if offset >= len(places):
            return None
        place = places[-1 - offset] if last else places[offset]
        row = seen.row(place + physical, running)
        return None if row is None else argument(row)

    return measure


def aggregated(
    aggregate: Aggregate, variables: Collection[str] | None = None, *, running: bool = True
) -> Measure:
    """An aggregate over the rows of some variables, or of all; those that go by time go by the
    order of the rows."""

    def measure(seen: Seen) -> Value:
        rows = (seen.row(place, running) for place in seen.places(variables, running))
        return aggregate(
            [Lifetime(place, INFINITY, row) for place, row in enumerate(rows) if row is not None]
        )

    return measure


def match(
    history: History,
    pattern: Pattern,
    defines: Mapping[str, Measure],
    measures: Mapping[str, Measure],
    order: Sequence[Order] = (),
    partition: Mapping[str, Argument] | None = None,
    *,
    rows: Output = "one",
    skip: Skip = PAST_LAST_ROW,
    within: Any = None,
    settled: str | None = None,
) -> History:
    per = partition or {}

    def place(lifetime: Lifetime) -> tuple[Any, ...]:
        return [item.key(lifetime.row) for item in order], lifetime.row

    def operate(alive: Sequence[Lifetime]) -> Bag:
        partitions: dict[Any, list[Lifetime]] = {}
        for lifetime in alive:
            key = tuple(sort_key(part(lifetime.row)) for part in per.values())
            partitions.setdefault(key, []).append(lifetime)
        answer: Bag = Counter()
        for found in partitions.values():
            ordered = sorted(found, key=place)
            times = [order[0].by(each.row) for each in ordered] if order else []
            search = _Search([each.row for each in ordered], defines, within, times)
            common = Row({name: part(ordered[0].row) for name, part in per.items()})
            for row, looked in _output(search, pattern, measures, rows, skip, common):
                if settled is None:
                    answer[row] += 1
                    continue
                time = max(_settled(look, ordered, within) for look in looked)
                answer[Row(row, **{settled: None if time == INFINITY else time})] += 1
        return answer

    return snapshot_operator(operate, history)


Look = tuple[int, int | None]
"""The place of a row that was looked for; if it is for the match, where that begins."""


def _settled(look: Look, rows: Sequence[Lifetime], within: Any) -> int:
    """From when on no row can come that is there where one was looked for."""
    place, start = look
    there = rows[max(place, 0)].vs if place < len(rows) else INFINITY
    if within is None or start is None:
        return there
    return min(there, rows[start].vs + int(within) - 1)


Way = tuple[tuple[str, bool], ...]
"""For each row of a match its variable, and whether it is excluded."""


@dataclass(frozen=True)
class _Search:
    """The rows of a partition, and what they may be; and what was looked at so far."""

    rows: list[Row]
    defines: Mapping[str, Measure]
    within: Any
    times: list[Any]
    looked: set[Look] = field(default_factory=set)

    def ways(
        self, pattern: Pattern, start: int, number: int, before: Way = (), excluded: bool = False
    ) -> Iterator[Way]:
        """All ways to go on from a beginning of a match by a pattern, in order of preference."""

        def then(part: Pattern, way: Way) -> Iterator[Way]:
            return self.ways(part, start, number, way, excluded)

        def one_after_other(parts: tuple[Pattern, ...], way: Way) -> Iterator[Way]:
            if not parts:
                yield way
                return
            for first in then(parts[0], way):
                yield from one_after_other(parts[1:], first)

        def repeated(repeat: Repeat, times: int, way: Way) -> Iterator[Way]:
            if times < repeat.least:
                for once in then(repeat.inner, way):
                    yield from repeated(repeat, times + 1, once)
                return
            if not repeat.greedy:
                yield way
            if repeat.most is None or times < repeat.most:
                for once in then(repeat.inner, way):
                    if len(once) > len(way):
                        yield from repeated(repeat, times + 1, once)
                    else:
                        yield once  # an iteration without rows is the last
            if repeat.greedy:
                yield way

        place = start + len(before)
        match pattern:
            case Empty():
                yield before
            case Anchor(where):
                if where == "end":
                    self.looked.add((place, None))
                if place == (0 if where == "start" else len(self.rows)):
                    yield before
            case Variable(name):
                self.looked.add((place, start))
                if place < len(self.rows) and self.is_true(name, start, number, before):
                    yield (*before, (name, excluded))
            case Concat(parts):
                yield from one_after_other(parts, before)
            case Alternate(choices):
                for choice in choices:
                    yield from then(choice, before)
            case Permute():
                yield from then(pattern.written_out(), before)
            case Repeat():
                yield from repeated(pattern, 0, before)
            case Exclude(inner):
                yield from self.ways(inner, start, number, before, excluded=True)

    def is_true(self, name: str, start: int, number: int, before: Way) -> bool:
        """Whether the next row can be of a variable."""
        if self.within is not None and before:
            first, this = self.times[start], self.times[start + len(before)]
            if first is None or this is None or abs(this - first) >= self.within:
                return False
        labels = (*(label for label, _ in before), name)
        seen = Seen(self.rows, start, labels, len(labels), number)
        answer = name not in self.defines or self.defines[name](seen) is True
        self.looked.update((place, None) for place in seen.looked)
        return answer


def _output(
    search: _Search,
    pattern: Pattern,
    measures: Mapping[str, Measure],
    output: Output,
    skip: Skip,
    key: Row,
) -> Iterator[tuple[Row, set[Look]]]:
    """The rows that the matches of one partition give, each with all that was looked at for it."""
    rows = search.rows
    matched: set[int] = set()
    place, number = 0, 1
    while place < len(rows):
        way = next(search.ways(pattern, place, number), None)
        if way is None:
            if output == "with unmatched" and place not in matched:
                yield Row(rows[place], **dict.fromkeys(measures)), set(search.looked)
            place += 1
            continue
        labels = tuple(label for label, _ in way)

        def measured(row: Row, current: int) -> tuple[Row, set[Look]]:
            seen = Seen(rows, place, labels, current, number)  # noqa: B023 - used at once
            values = {name: measure(seen) for name, measure in measures.items()}
            return Row(row, **values), search.looked | {(place, None) for place in seen.looked}

        if output == "one":
            yield measured(key, len(way))
        elif not way and output != "omit empty":
            yield measured(rows[place], 0)
        else:
            for current, (_, excluded) in enumerate(way, start=1):
                if not excluded:
                    yield measured(rows[place + current - 1], current)
        matched |= set(range(place, place + len(way)))
        place = _next(skip, place, labels)
        number += 1


def _next(skip: Skip, place: int, labels: tuple[str, ...]) -> int:
    """Where the search goes on."""
    if not labels or skip.to == "next":
        return place + 1
    if skip.to == "past last":
        return place + len(labels)
    found = [here for here, label in enumerate(labels) if label in skip.variables]
    target = found[0 if skip.to == "first" else -1] if found else 0
    if target == 0:
        raise SkipError(skip, present=bool(found))
    return place + target
