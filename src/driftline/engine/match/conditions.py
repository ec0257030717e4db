"""DEFINE: what is known of the conditions, and their values over some rows.

A condition that goes by the current row alone is a mask over the rows. So is one that also looks at
its neighbours, where these are the same in every snapshot: where rows go by time and are only
added; there is one mask for every number of rows that may follow so far. Any other is code (see
`lowering`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions import EvaluationError, evaluate
from driftline.engine.expressions.arrays import to_mask
from driftline.engine.match import condition_kernel as kernel
from driftline.engine.match.condition_kernel import ConditionMachine, Lookups, RowConditions
from driftline.engine.match.lowering import Apart, Cell, Code, taken_apart
from driftline.engine.state.fingerprints import words
from driftline.engine.state.order_keys import order_keys, valid
from driftline.model.arrays import Int64s, Mask, to_arrow
from driftline.plan.expressions import Expression, Literal
from driftline.plan.patterns.navigation import (
    Classifier,
    MatchAggregate,
    MatchNumber,
    Navigation,
)
from driftline.plan.types import STRING

MOST_AHEAD = 4
"""Masks are made for so many rows that may follow; what looks farther ahead is code."""
_QUESTIONS = 1 << 12
"""So many questions are asked at once."""


class Defines:
    """The conditions of the variables of a pattern; a variable without one is always true.
    `same_neighbours`: a row has the same neighbours in every snapshot, as far as they are there."""

    def __init__(
        self, variables: Sequence[str], conditions: Mapping[str, Expression], same_neighbours: bool
    ) -> None:
        self.variables = list(variables)
        self.code = Code()
        self.masked: dict[int, Apart] = {}
        count = len(self.variables)
        self.kind = np.full(count, kernel.ALWAYS, np.int64)
        self.base, self.stop = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.ahead = np.zeros(count, np.int64)
        self.masks = 0
        for number, name in enumerate(variables):
            if name not in conditions:
                continue
            condition = conditions[name]
            distances = [part.physical for part in navigations(condition)]
            self.ahead[number] = max([0, *distances])
            near = same_neighbours and self.ahead[number] <= MOST_AHEAD
            if is_local(condition) and (near or not any(distances)):
                self.kind[number], self.base[number] = kernel.MASKED, self.masks
                self.masked[number] = taken_apart(condition)
                self.masks += int(self.ahead[number]) + 1
            else:
                self.kind[number] = kernel.CODED
                self.base[number], self.stop[number] = self.code.lower(condition)
        self.back = farthest_back(conditions.values())
        self.is_local = all(map(is_local, conditions.values()))
        self.uses_number = any(map(uses_number, conditions.values()))

    def over(
        self, rows: pa.RecordBatch, bounds: Int64s, by_order: pa.Array | None
    ) -> RowConditions:
        """The conditions over rows, those of each slot between two bounds. `by_order`: the first
        column of the order, if `within` goes by it."""
        size = len(rows)
        masks = np.zeros((self.masks, size + 1), np.bool_)
        for number, apart in self.masked.items():
            for there in range(int(self.ahead[number]) + 1):
                near = _near(apart, rows, bounds, there)
                masks[self.base[number] + there, :size] = to_mask(near)
        cells, first = self._cells(rows)
        words_of, null = _as_words(cells, size + 1)
        code = np.array(self.code.lines, np.int64).reshape(-1, 3)
        loads = np.isin(code[:, 0], [kernel.LOAD, kernel.LOAD_BY_LABEL])
        code[loads, 1] = first[code[loads, 1]]
        places, aggregates = self.code.places, self.code.aggregates
        of = [each.variables for each in places] + [variables for _, _, variables in aggregates]
        aggregate_lines = [
            [function, first[cell] if cell >= 0 else -1, len(places) + number, self._by_label(cell)]
            for number, (function, cell, _) in enumerate(aggregates)
        ]
        place_lines = [[p.last, p.offset, p.physical, p.is_current] for p in places]
        return RowConditions(
            self.kind,
            self.base,
            self.stop,
            self.ahead,
            masks,
            code,
            np.array(place_lines, np.int64).reshape(-1, 4),
            np.array([self._among(each) for each in of], np.bool_).reshape(-1, len(self.variables)),
            words_of,
            words_of.view(np.float64),
            null,
            np.array([word for word, _ in self.code.constants], np.int64),
            np.array([is_null for _, is_null in self.code.constants], np.bool_),
            np.array(aggregate_lines, np.int64).reshape(-1, 4),
            # A copy: Arrow's own numbers are read-only, for which Numba would compile all again.
            np.zeros(size, np.int64) if by_order is None else words(by_order).view(np.int64).copy(),
            np.zeros(size, np.bool_) if by_order is None else ~valid(by_order),
        )

    def columns(self) -> frozenset[str]:
        """The columns that conditions read."""
        cells = [cell.apart for cell in self.code.cells]
        leaves = (leaf for apart in [*cells, *self.masked.values()] for leaf in apart.leaves)
        return frozenset[str]().union(*(leaf.columns() for leaf in leaves))

    def _among(self, variables: frozenset[str] | None) -> list[bool]:
        return [variables is None or name in variables for name in self.variables]

    def _by_label(self, cell: int) -> bool:
        return cell >= 0 and self.code.cells[cell].by_label

    def _cells(self, rows: pa.RecordBatch) -> tuple[list[pa.Array], Int64s]:
        """The columns of all cells, and which is the first of each: one that goes by label has one
        for rows outside of the match, and one for every variable."""
        columns: list[pa.Array] = []
        first: list[int] = []
        for cell in self.code.cells:
            first.append(len(columns))
            labels: list[str | None] = [None]
            if cell.by_label:
                labels += self.variables
            columns += [_cell(cell, rows, label) for label in labels]
        return columns, np.array(first, np.int64)

    def answers(self, asked: Int64s, rows: pa.RecordBatch) -> tuple[Int64s, Mask]:
        """The words of what the kernel asks for, and where it is null; all of one question."""
        question = self.code.questions[int(asked[0, 0])]
        columns: dict[str, pa.Array] = {"": pa.nulls(len(asked))}
        for place, operand in enumerate(question.operands):
            word, null = asked[:, 1 + 2 * place], asked[:, 2 + 2 * place] != 0
            if isinstance(operand, int):
                columns[f"${place}"] = self._values(self.code.cells[operand], word, rows)
            else:
                columns[f"${place}"] = _from_words(word, null, operand)
        found = evaluate(question.apart.value, pa.table(columns))
        return words(found).view(np.int64), ~valid(found)

    def _values(self, cell: Cell, word: Int64s, rows: pa.RecordBatch) -> pa.Array:
        """The values of a cell in some rows with their labels (see LOAD_ROW)."""
        row, label = np.divmod(word, len(self.variables) + 1)
        labels = [None, *self.variables] if cell.by_label else [None]
        every = pa.concat_arrays([_cell(cell, rows, each) for each in labels])
        return every.take(to_arrow(row + label * (len(rows) + 1)))

    @property
    def operands(self) -> Int64s:
        """How many operands each question has."""
        return np.array([len(each.operands) for each in self.code.questions], np.int64)


class ConditionMemory:
    """What the kernel knows from questions that were answered: see `Lookups`."""

    def __init__(self, operands: Int64s) -> None:
        self.operands = operands
        self.width = 1 + 2 * int(operands.max(initial=0))
        self.keys = np.zeros((0, self.width), np.int64)
        self.words, self.null = np.zeros(0, np.int64), np.zeros(0, np.bool_)

    def lookups(self) -> Lookups:
        size = 16
        while size < 2 * len(self.keys):
            size *= 2
        questions = _QUESTIONS if len(self.operands) else 0
        made = Lookups(
            np.zeros(size, np.bool_),
            np.zeros((size, self.width), np.int64),
            np.zeros(size, np.int64),
            np.zeros(size, np.bool_),
            np.zeros((questions, self.width), np.int64),
            np.zeros(1, np.int64),
            self.operands,
        )
        kernel.remember(made, self.keys, self.words, self.null)
        return made

    def learn(self, defines: Defines, lookups: Lookups, rows: pa.RecordBatch) -> bool:
        """Have the evaluator answer what was asked; whether anything was."""
        count = min(int(lookups.asks[0]), len(lookups.asked))
        if count == 0:
            return False
        asked = np.unique(lookups.asked[:count], axis=0)
        for number in np.unique(asked[:, 0]):
            mine = asked[asked[:, 0] == number]
            found, null = defines.answers(mine, rows)
            self.keys = np.concatenate([self.keys, mine])
            self.words = np.concatenate([self.words, found])
            self.null = np.concatenate([self.null, null])
        return True


def machine() -> ConditionMachine:
    """Room for the kernel to compute in."""
    stack = np.zeros(kernel.DEEPEST_STACK, np.int64)
    return ConditionMachine(
        stack,
        stack.view(np.float64),
        np.zeros(kernel.DEEPEST_STACK, np.bool_),
        np.zeros(kernel.PARTIALS),
        np.zeros(1, np.int64),
    )


def check(machine: ConditionMachine) -> None:
    """Raise what went wrong in a condition."""
    if machine.error[0] == kernel.OVERFLOW:
        raise EvaluationError(
            "ARITHMETIC_OVERFLOW", "a number in DEFINE is too large for its type; use a larger type"
        )
    if machine.error[0] == kernel.DIVISION_BY_ZERO:
        raise EvaluationError(
            "DIVIDE_BY_ZERO", "division by zero in DEFINE; use try_divide to get NULL"
        )


def navigations(value: Expression) -> Iterator[Navigation]:
    return (part for part in value.walk() if isinstance(part, Navigation))


def farthest_back(values: Iterable[Expression]) -> int:
    """How many rows before a row of the match expressions look at."""
    return max([0, *(-part.physical for each in values for part in navigations(each))])


def uses_number(value: Expression) -> bool:
    return any(isinstance(part, MatchNumber) for part in value.walk())


def is_local(value: Expression) -> bool:
    """Whether a condition looks only at the current row and its neighbours."""
    return all(part.is_local for part in navigations(value)) and not any(
        isinstance(part, (MatchAggregate, MatchNumber)) for part in value.walk()
    )


def labelled(value: Expression, label: str | None) -> Expression:
    """A value of a row, given the variable of the row."""
    if not any(isinstance(part, Classifier) for part in value.walk()):
        return value
    name = Literal(label, STRING)
    return value.transform(lambda part: name if isinstance(part, Classifier) else part)


def _cell(cell: Cell, rows: pa.RecordBatch, label: str | None) -> pa.Array:
    """A cell over all rows, and at the end for no row."""
    columns: dict[str, pa.Array] = {"": pa.nulls(len(rows) + 1)}
    for place, leaf in enumerate(cell.apart.leaves):
        found = evaluate(labelled(leaf.children[0], label), rows)
        columns[f"${place}"] = pa.concat_arrays([found, pa.nulls(1, found.type)])
    return evaluate(cell.apart.value, pa.table(columns))


def _near(apart: Apart, rows: pa.RecordBatch, bounds: Int64s, there: int) -> pa.Array:
    """A condition over rows and their neighbours, if so many rows follow each."""
    columns: dict[str, pa.Array] = {"": pa.nulls(len(rows))}
    for place, leaf in enumerate(apart.leaves):
        assert isinstance(leaf, Navigation)
        found = evaluate(leaf.value, rows)
        if leaf.physical:
            found = _moved(found, bounds, leaf.physical, there)
        columns[f"${place}"] = found
    return evaluate(apart.value, pa.table(columns))


def _moved(values: pa.Array, bounds: Int64s, distance: int, there: int) -> pa.Array:
    """For every row the value so many rows after it in its slot, or before it; null if there is
    none, or if it is farther than what follows."""
    if distance > there or abs(distance) >= len(values):
        return pa.nulls(len(values), values.type)
    nothing = pa.nulls(abs(distance), values.type)
    if distance < 0:
        moved = pa.concat_arrays([nothing, values.slice(0, len(values) + distance)])
    else:
        moved = pa.concat_arrays([values.slice(distance), nothing])
    outside = np.zeros(len(values), np.bool_)
    for step in range(abs(distance)):
        edges = bounds[:-1] + step if distance < 0 else bounds[1:] - 1 - step
        inside = (edges >= bounds[:-1]) & (edges < bounds[1:])
        outside[edges[inside]] = True
    return pc.if_else(to_arrow(outside), pa.nulls(len(values), values.type), moved)


def _as_words(columns: list[pa.Array], size: int) -> tuple[Int64s, Mask]:
    """Columns as words, with flags for null. Texts and decimals are numbered in order, those of all
    columns of a type together, so that they can be compared."""
    found = np.zeros((len(columns), size), np.int64)
    null = np.zeros((len(columns), size), np.bool_)
    by_order: dict[pa.DataType, list[int]] = {}
    for number, column in enumerate(columns):
        null[number] = ~valid(column)
        if pa.types.is_primitive(column.type) and not pa.types.is_decimal(column.type):
            found[number] = words(column).view(np.int64)
        elif not pa.types.is_nested(column.type) and not pa.types.is_null(column.type):
            by_order.setdefault(column.type, []).append(number)
    for numbers in by_order.values():
        keys = order_keys(pa.concat_arrays([columns[number] for number in numbers]))
        found[numbers] = keys.reshape(len(numbers), size)
    return found, null


def _from_words(word: Int64s, null: Mask, kind: pa.DataType) -> pa.Array:
    """Values of a type from their words."""
    if pa.types.is_floating(kind):
        values = to_arrow(word.view(np.float64)).cast(kind)
    elif pa.types.is_boolean(kind):
        values = to_arrow(word != 0)
    else:
        values = to_arrow(word).cast(pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)  # fmt: skip  # noqa: PLR2004, E501
    return pc.if_else(to_arrow(null), pa.nulls(len(word), kind), values)
