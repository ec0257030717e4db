"""What is put out of matches: rows, and the measures at each, column by column.

Where a row of a match is looked at, its place is found for all output rows at once by a kernel;
aggregates are those of `by_rows.aggregates` over the rows that each sees. What is left of a measure
are operations on these columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.additive.aggregates import Aggregate
from driftline.engine.by_rows.aggregates import changed_columns, columns, goes_by_changes
from driftline.engine.by_rows.change_kernels import Steps
from driftline.engine.by_rows.piece_values import ChangedPieces, Pieces
from driftline.engine.by_rows.pieces import CHANGES_ARE_CHEAPER, ROWS_AT_ONCE
from driftline.engine.compile.aggregates import aggregate_of, argument_of, rows_of
from driftline.engine.expressions import evaluate
from driftline.engine.match.lowering import Apart, taken_apart
from driftline.engine.match.version_kernel import CARRIED_ROW, NO_ROW, UNMATCHED
from driftline.kernels import compiled
from driftline.model.arrays import Int64s, Mask, to_arrow
from driftline.plan.expressions import Column, Expression
from driftline.plan.nodes import RowsPerMatch
from driftline.plan.patterns.navigation import (
    Classifier,
    MatchAggregate,
    MatchNumber,
    Navigation,
)
from driftline.plan.types import BIGINT, STRING

_CLASSIFIER, _NUMBER = "CLASSIFIER()", "MATCH_NUMBER()"
_ONE, _ALL, _OMIT_EMPTY = range(3)

Rows = Callable[[Int64s, Sequence[str]], pa.RecordBatch]
"""Some columns of some entries."""


class Versions(NamedTuple):
    """What `sweep_kernel` finds: the columns of versions, and of their rows."""

    slot: Int64s
    kind: Int64s
    since: Int64s
    until: Int64s
    settled: Int64s
    number: Int64s
    first: Int64s
    size: Int64s
    row: Int64s
    symbol: Int64s

    @staticmethod
    def of(versions: Int64s, rows: Int64s) -> Versions:
        return Versions(*np.ascontiguousarray(versions.T), *np.ascontiguousarray(rows.T))


@dataclass(frozen=True)
class OutputRows:
    """Rows that are put out: the version of each, and the last one that has it, too; how many rows
    of the match are up to it, and its entry."""

    version: Int64s
    last: Int64s
    current: Int64s
    entry: Int64s

    def take(self, which: Int64s) -> OutputRows:
        """Some of them."""
        return OutputRows(
            self.version[which], self.last[which], self.current[which], self.entry[which]
        )


class Measures:
    """`measures`: by name; `variables`: of the pattern, in order; `before`: how many rows before a
    match are among its rows (see `Versions`)."""

    def __init__(
        self, measures: Sequence[tuple[str, Expression]], variables: Sequence[str],
        rows: RowsPerMatch, before: int,
    ) -> None:  # fmt: skip
        self.parts: list[tuple[str, pa.DataType, Apart]] = [
            (name, value.type, taken_apart(value)) for name, value in measures
        ]
        leaves = dict.fromkeys(leaf for _, _, apart in self.parts for leaf in apart.leaves)
        self.leaves = {
            leaf: _Aggregated.of(leaf) if isinstance(leaf, MatchAggregate) else _of_row(leaf)
            for leaf in leaves
        }
        self.variables, self.before = list(variables), before
        self.mode = {"one": _ONE, "omit empty": _OMIT_EMPTY}.get(rows, _ALL)
        # Whether the rows of a match stay as they are when it grows.
        self.keeps_rows = self.mode != _ONE and all(
            leaf.running and (isinstance(leaf, MatchAggregate) or leaf.physical <= 0)
            for leaf in leaves
            if isinstance(leaf, MatchAggregate | Navigation)
        )

    def output(self, versions: Versions, carried: Int64s) -> OutputRows:
        """The rows that versions put out; `carried`: by slot, how many rows of the match that goes
        on growing have been put out."""
        return OutputRows(*_listed(versions, self.mode, self.before, self.keeps_rows, carried))

    def columns(self, versions: Versions, output: OutputRows, rows: Rows) -> dict[str, pa.Array]:
        """The measures at every output row; those of a row without a match are null."""
        unmatched = versions.kind[output.version] == UNMATCHED
        number = to_arrow(versions.number[output.version])
        if unmatched.any():
            number = pc.if_else(to_arrow(unmatched), pa.nulls(len(number), BIGINT), number)
        found: dict[Expression, pa.Array] = {}
        for leaf, plan in self.leaves.items():
            if isinstance(leaf, MatchNumber):
                found[leaf] = number
            elif isinstance(plan, Expression):
                assert isinstance(leaf, Navigation)
                found[leaf] = self._navigated(leaf, plan, versions, output, rows)
            else:
                found[leaf] = self._aggregated(plan, versions, output, rows)
        columns: dict[str, pa.Array] = {}
        for name, kind, apart in self.parts:
            inputs = {f"${place}": found[leaf] for place, leaf in enumerate(apart.leaves)}
            value = evaluate(apart.value, pa.table({"": pa.nulls(len(number)), **inputs}))
            value = value if value.type == kind else value.cast(kind)
            if unmatched.any():
                value = pc.if_else(to_arrow(unmatched), pa.nulls(len(value), kind), value)
            columns[name] = value
        return columns

    def _among(self, variables: frozenset[str] | None) -> Mask:
        return np.array(
            [variables is None or name in variables for name in self.variables], np.bool_
        )

    def _navigated(
        self, leaf: Navigation, value: Expression, versions: Versions, output: OutputRows,
        rows: Rows,
    ) -> pa.Array:  # fmt: skip
        """The value of the row that each output row looks at."""
        place = _navigated(
            versions, output.version, output.current, self._among(leaf.variables), leaf.last,
            leaf.offset, leaf.physical, leaf.running, self.before,
        )  # fmt: skip
        there = place >= 0
        seen = output.current if leaf.running else versions.size[output.version]
        found = self._values(
            value, versions, place[there], output.version[there], seen[there], rows
        )
        if there.all():
            return found
        index = np.where(there, np.cumsum(there) - 1, 0)
        return found.take(pa.array(index, mask=~there))

    def _values(
        self, value: Expression, versions: Versions, place: Int64s, version: Int64s, seen: Int64s,
        rows: Rows,
    ) -> pa.Array:  # fmt: skip
        """A value of rows of matches, at places of `versions.row`, with what they are there: their
        variable, if they are among those that are seen, and the number of the match."""
        names = value.columns()
        table = rows(versions.row[place], sorted(names - {_CLASSIFIER, _NUMBER}))
        columns = {"": pa.nulls(len(place)), **dict(zip(table.schema.names, table.columns, strict=True))}  # fmt: skip  # noqa: E501
        if _CLASSIFIER in names:
            inside = place - versions.first[version] - self.before
            label = np.where((inside >= 0) & (inside < seen), versions.symbol[place] >> 1, -1)
            texts = pa.array([*self.variables, None], STRING)
            columns[_CLASSIFIER] = texts.take(pa.array(np.where(label < 0, len(texts) - 1, label)))
        if _NUMBER in names:
            columns[_NUMBER] = to_arrow(versions.number[version])
        return evaluate(value, pa.table(columns))

    def _aggregated(
        self, plan: _Aggregated, versions: Versions, output: OutputRows, rows: Rows
    ) -> pa.Array:
        """An aggregate over the rows that each output row sees, some output rows at a time."""
        among, running = self._among(plan.leaf.variables), plan.leaf.running
        sizes = _counted(versions, output.version, output.current, among, running, self.before)
        if plan.aggregate.argument is None:
            return to_arrow(sizes).cast(plan.aggregate.type)
        reached = np.cumsum(sizes)
        if len(sizes) and goes_by_changes(plan.aggregate):
            found = self._by_changes(plan, versions, output, rows, int(reached[-1]))
            if found is not None:
                return found
        parts = [pa.nulls(0, plan.aggregate.type)]
        begin = 0
        while begin < len(sizes):
            done = int(reached[begin - 1]) if begin else 0
            stop = max(begin + 1, int(np.searchsorted(reached, done + ROWS_AT_ONCE, "right")))
            offsets = np.concatenate([[0], reached[begin:stop] - done])
            place = _seen(
                versions, output.version[begin:stop], output.current[begin:stop], among, running,
                self.before, int(offsets[-1]),
            )  # fmt: skip
            # Each row of a version once, however many output rows see it.
            used, members = np.unique(place, return_inverse=True)
            table = self._values_at(plan, versions, used, rows)
            pieces = Pieces(offsets, members.astype(np.int64), table, used)
            parts += columns(pieces, [plan.aggregate])
            begin = stop
        return pa.concat_arrays(parts)

    def _by_changes(
        self, plan: _Aggregated, versions: Versions, output: OutputRows, rows: Rows, seen: int
    ) -> pa.Array | None:
        """An aggregate from the rows by which what is seen grows from one output row to the next;
        None where all of them have to be looked at, or are not many more."""
        among, running = self._among(plan.leaf.variables), plan.leaf.running
        steps, places = _changes(
            versions, output.version, output.current, among, running, self.before
        )
        if seen <= CHANGES_ARE_CHEAPER * len(places):
            return None
        table = self._values_at(plan, versions, places, rows)
        found = changed_columns(ChangedPieces(steps, table, places), [plan.aggregate])
        return None if found is None else found[0]

    def _values_at(
        self, plan: _Aggregated, versions: Versions, places: Int64s, rows: Rows
    ) -> pa.RecordBatch:
        """What an aggregate is computed from, at places of `versions.row`."""
        version = np.asarray(np.searchsorted(versions.first, places, "right"), np.int64) - 1
        values = {
            name: self._values(value, versions, places, version, versions.size[version], rows)
            for name, value in plan.values.items()
        }
        return pa.RecordBatch.from_arrays(list(values.values()), names=list(values))


@dataclass(frozen=True)
class _Aggregated:
    """An aggregate over rows of a match: how it is computed, and from which values of rows."""

    leaf: MatchAggregate
    aggregate: Aggregate
    values: dict[str, Expression]

    @staticmethod
    def of(leaf: MatchAggregate) -> _Aggregated:
        argument, only = argument_of(leaf.call), rows_of(leaf.call)
        values: dict[str, Expression] = {}
        if argument is not None:
            values["argument"] = _over_columns(argument)
        made = aggregate_of("", leaf.call, None if argument is None else "argument", {})
        if only is not None:
            values["only"] = _over_columns(only)
            made = replace(made, only="only")
        return _Aggregated(leaf, made, values)


def _of_row(leaf: Expression) -> Expression:
    return _over_columns(leaf.value) if isinstance(leaf, Navigation) else leaf


def _over_columns(value: Expression) -> Expression:
    """A value of a row, with columns for its variable and the number of its match."""

    def changed(part: Expression) -> Expression:
        if isinstance(part, Classifier):
            return Column(_CLASSIFIER, STRING)
        return Column(_NUMBER, BIGINT) if isinstance(part, MatchNumber) else part

    return value.transform(changed)


@compiled
def _listed(
    versions: Versions, mode: int, before: int, keeps_rows: bool, carried: Int64s
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """See `OutputRows`. A version that has the rows of an earlier one and some more begins at the
    same place: where these rows stay as they are, only the others are listed."""
    count = len(versions.size)
    skipped, last = np.zeros(count, np.int64), np.arange(count)
    if keeps_rows:
        latest = np.full(len(versions.row), -1, np.int64)
        earlier = np.full(count, -1, np.int64)
        for version in range(count):
            first = versions.first[version]
            earlier[version] = latest[first]
            latest[first] = version
            if earlier[version] >= 0:
                skipped[version] = versions.size[earlier[version]]
            elif versions.size[version] > 0 and versions.row[first + before] <= CARRIED_ROW:
                skipped[version] = carried[versions.slot[version]]
        for version in range(count - 1, -1, -1):
            if earlier[version] >= 0:
                last[earlier[version]] = last[version]
    room = 0
    for version in range(count):
        room += max(1, versions.size[version] - skipped[version])
    version_of, current_of = np.empty(room, np.int64), np.empty(room, np.int64)
    entry_of, made = np.empty(room, np.int64), 0
    for version in range(count):
        first, size = versions.first[version], versions.size[version]
        if size == 0 or mode == _ONE:
            if mode == _OMIT_EMPTY:
                continue
            version_of[made], current_of[made] = version, size
            entry_of[made] = versions.row[first + (before if size else 0)]
            made += 1
            continue
        for place in range(skipped[version], size):
            if versions.symbol[first + before + place] & 1:
                continue  # excluded
            version_of[made], current_of[made] = version, place + 1
            entry_of[made] = versions.row[first + before + place]
            made += 1
    return version_of[:made], last[version_of[:made]], current_of[:made], entry_of[:made]


@compiled
def _navigated(
    versions: Versions,
    version_of: Int64s,
    current: Int64s,
    among: Mask,
    last: bool,
    offset: int,
    physical: int,
    running: bool,
    before: int,
) -> Int64s:
    """The place in `versions.row` of what each output row looks at; -1: there is no such row. Where
    one sees the rows of the one before and some more, only these are gone through."""
    found = np.full(len(version_of), -1, np.int64)
    first, seen, left, place = -1, 0, 0, -1
    for number in range(len(version_of)):
        version = version_of[number]
        size = current[number] if running else versions.size[version]
        if versions.first[version] + before != first or size < seen:
            first, seen, left, place = versions.first[version] + before, 0, offset, -1
        if not last:
            for at in range(first + seen, first + size):
                if place >= 0:
                    break
                if among[versions.symbol[at] >> 1]:
                    if left == 0:
                        place = at
                    left -= 1
        else:
            # The last one of before is still the last, if there is none among the new rows.
            back_to = seen if offset == 0 else 0
            left = offset
            place = place if offset == 0 else -1
            for at in range(first + size - 1, first + back_to - 1, -1):
                if among[versions.symbol[at] >> 1]:
                    if left == 0:
                        place = at
                        break
                    left -= 1
        seen = size
        if place >= 0 and versions.row[place + physical] != NO_ROW:
            found[number] = place + physical
    return found


@compiled
def _counted(
    versions: Versions,
    version_of: Int64s,
    current: Int64s,
    among: Mask,
    running: bool,
    before: int,
) -> Int64s:
    """How many rows each output row sees."""
    counts = np.zeros(len(version_of), np.int64)
    every = among.all()
    first, seen, count = -1, 0, 0
    for number in range(len(version_of)):
        version = version_of[number]
        size = current[number] if running else versions.size[version]
        if every:
            counts[number] = size
            continue
        if versions.first[version] + before != first or size < seen:
            first, seen, count = versions.first[version] + before, 0, 0
        for place in range(first + seen, first + size):
            count += among[versions.symbol[place] >> 1]
        seen = size
        counts[number] = count
    return counts


@compiled
def _changes(
    versions: Versions,
    version_of: Int64s,
    current: Int64s,
    among: Mask,
    running: bool,
    before: int,
) -> tuple[Steps, Int64s]:
    """The rows that each output row sees, as those that come and go from one to the next; and the
    places of all of them in `versions.row`."""
    count = len(version_of)
    fresh, room, first, seen = np.zeros(count, np.bool_), 0, -1, 0
    for number in range(count):
        version = version_of[number]
        size = current[number] if running else versions.size[version]
        if versions.first[version] + before != first or size < seen:
            first, seen, fresh[number] = versions.first[version] + before, 0, True
        room += size - seen
        seen = size
    places, made, gone = np.empty(room, np.int64), 0, 0
    come_bounds, go_bounds = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    for number in range(count):
        version = version_of[number]
        size = current[number] if running else versions.size[version]
        if fresh[number]:
            first, seen, gone = versions.first[version] + before, 0, made
        for place in range(first + seen, first + size):
            if among[versions.symbol[place] >> 1]:
                places[made] = place
                made += 1
        seen = size
        come_bounds[number + 1], go_bounds[number + 1] = made, gone
    numbers = np.arange(made)
    steps = Steps(fresh, come_bounds, numbers, go_bounds, numbers[:gone], np.ones(made, np.int64))
    return steps, places[:made]


@compiled
def _seen(
    versions: Versions,
    version_of: Int64s,
    current: Int64s,
    among: Mask,
    running: bool,
    before: int,
    count: int,
) -> Int64s:
    """The places in `versions.row` of the rows that each output row sees, one after the other."""
    places, found = np.empty(count, np.int64), 0
    for number in range(len(version_of)):
        version = version_of[number]
        first = versions.first[version] + before
        size = current[number] if running else versions.size[version]
        for place in range(first, first + size):
            if among[versions.symbol[place] >> 1]:
                places[found] = place
                found += 1
    return places
