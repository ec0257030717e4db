"""Conditions that look at the match, from expressions to code for `condition_kernel`.

The largest parts of a condition that go by one row, whichever that is, are cells: they are computed
for all rows at once. What is left are comparisons, logic and arithmetic between cells of different
rows, aggregates and the number of the match, which the kernel computes. An operation that it does
not know is a question to the evaluator: the kernel looks its answer up by its operands, which are
the rows of its cells and the values of its aggregates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from driftline.engine.compile.aggregates import FUNCTIONS, argument_of
from driftline.engine.match import condition_kernel as machine
from driftline.engine.state.fingerprints import words
from driftline.plan.depth import room
from driftline.plan.errors import PlanError
from driftline.plan.expressions import (
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Literal,
)
from driftline.plan.functions.operators import is_not_null
from driftline.plan.patterns.navigation import (
    Classifier,
    MatchAggregate,
    MatchNumber,
    Navigation,
)
from driftline.plan.types import BOOLEAN, DOUBLE

T = TypeVar("T")
GREATEST_BIGINT = 2**63 - 1
_CALLS_A_LEVEL = 8
"""Python's calls, at most, for each level of operands."""


class _Place(NamedTuple):
    """Which row a navigation finds."""

    variables: frozenset[str] | None
    last: bool
    offset: int
    physical: int

    @property
    def is_current(self) -> bool:
        return (self.variables, self.last, self.offset) == (None, True, 0)


CURRENT = _Place(None, True, 0, 0)


@dataclass(frozen=True)
class Apart:
    """An expression that was taken apart: `value` goes by columns `$0`, `$1`, …, which stand for
    the `leaves`: what finds rows of the match."""

    value: Expression
    leaves: tuple[Expression, ...]


@dataclass(frozen=True)
class Cell:
    """A value of one row, which all its leaves find; `by_label`: whether the row's variable
    matters."""

    apart: Apart
    by_label: bool


@dataclass(frozen=True)
class Question:
    """An operation that the kernel does not know; of each leaf the number of the cell, or its type
    where the operand is a word."""

    apart: Apart
    operands: tuple[int | pa.DataType, ...]


class NotKnown(Exception):
    """The kernel does not know an operation."""


@dataclass
class Code:
    """The code of some conditions, and what it goes by."""

    lines: list[list[int]] = field(default_factory=list)
    places: list[_Place] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    constants: list[tuple[int, bool]] = field(default_factory=list)
    aggregates: list[tuple[int, int, frozenset[str] | None]] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def lower(self, condition: Expression) -> tuple[int, int]:
        """Write the code of a condition; returns where it begins and ends."""
        begin = len(self.lines)
        with room(condition.height * _CALLS_A_LEVEL):
            self._write(without_numbers(condition))
        return begin, len(self.lines)

    def _put(self, operation: int, one: int = 0, two: int = 0) -> int:
        self.lines.append([operation, one, two])
        return len(self.lines) - 1

    def _land(self, jump: int) -> None:
        """Let a jump go to what is written next."""
        self.lines[jump][1] = len(self.lines)

    def _write(self, value: Expression) -> None:
        places = _places(value)
        if places is not None and len(places) == 1:
            self._cell(value, machine.LOAD, next(iter(places)))
            return
        before = len(self.lines)
        try:
            self._operation(value)
        except NotKnown:
            if not _is_word(value.type):
                raise
            del self.lines[before:]
            self._question(value)

    def _cell(self, value: Expression, operation: int, place: _Place) -> int:
        """Load a cell, or (LOAD_ROW) the row of one."""
        by_label = any(isinstance(part, Classifier) for part in value.walk())
        cell = _number(self.cells, Cell(taken_apart(value), by_label))
        if operation == machine.LOAD_ROW:
            self._put(operation, int(by_label), _number(self.places, place))
        else:
            if not _is_word(value.type) and not _is_ordered(value.type):
                raise NotKnown
            operation = machine.LOAD_BY_LABEL if by_label else operation
            self._put(operation, cell, _number(self.places, place))
        return cell

    def _operation(self, value: Expression) -> None:
        if isinstance(value, Literal):
            self._constant(value)
        elif isinstance(value, MatchNumber):
            self._put(machine.NUMBER)
        elif isinstance(value, MatchAggregate):
            self._aggregate(value)
        elif isinstance(value, Case):
            self._case(value)
        elif isinstance(value, Cast):
            self._cast(value)
        elif isinstance(value, Call):
            self._call(value)
        else:
            raise NotKnown

    def _constant(self, value: Literal) -> None:
        if not _is_word(value.type):
            self._cell(value, machine.LOAD, CURRENT)
            return
        word = 0 if value.value is None else word_of(pa.scalar(value.value, value.type))
        self._put(machine.CONSTANT, _number(self.constants, (word, value.value is None)))

    def _case(self, value: Case) -> None:
        ends: list[int] = []
        for when, then in value.branches:
            self._write(when)
            other = self._put(machine.JUMP_UNLESS)
            self._write(then)
            ends.append(self._put(machine.JUMP))
            self._land(other)
        self._write(value.otherwise)
        for end in ends:
            self._land(end)

    def _cast(self, value: Cast) -> None:
        source, target = value.value.type, value.kind
        whole = pa.types.is_integer(source)
        if whole and target == DOUBLE:
            self._write(value.value)
            self._put(machine.TO_FLOAT)
        elif (whole and pa.types.is_integer(target) and target.bit_width >= source.bit_width) or (
            pa.types.is_floating(source) and target == DOUBLE
        ):
            self._write(value.value)
        else:
            raise NotKnown

    def _call(self, value: Call) -> None:
        name, args = value.function, value.args
        if name in ("and", "or"):
            self._write(args[0])
            over = self._put(machine.JUMP_IF_FALSE if name == "and" else machine.JUMP_IF_TRUE)
            self._write(args[1])
            self._put(machine.AND if name == "and" else machine.OR)
            self._land(over)
        elif name == "coalesce":
            ends: list[int] = []
            for each in args[:-1]:
                self._write(each)
                ends.append(self._put(machine.JUMP_IF_THERE))
            self._write(args[-1])
            for end in ends:
                self._land(end)
        elif name in ("not", "is_null"):
            self._write(args[0])
            self._put(machine.NOT if name == "not" else machine.IS_NULL)
        elif name in _COMPARISONS:
            self._comparison(*_COMPARISONS[name], args)
        elif name in _ARITHMETIC:
            self._arithmetic(value)
        else:
            raise NotKnown

    def _comparison(
        self, operation: int, of_floats: int, swapped: bool, negated: bool,
        args: tuple[Expression, ...],
    ) -> None:  # fmt: skip
        one, other = args
        if one.type != other.type:
            raise NotKnown
        self._write(one)
        self._write(other)
        if swapped:
            self._put(machine.SWAP)
        self._put(of_floats if pa.types.is_floating(one.type) else operation)
        if negated:
            self._put(machine.NOT)

    def _arithmetic(self, value: Call) -> None:
        whole, real = _ARITHMETIC[value.function]
        types = {each.type for each in (value, *value.args)}
        if types == {DOUBLE}:
            operation, greatest = real, 0
        elif all(map(_counts, types)) and whole is not None:
            operation, greatest = whole, GREATEST_BIGINT
            if pa.types.is_integer(value.type):
                greatest = 2 ** (value.type.bit_width - 1) - 1
        else:
            raise NotKnown
        for each in value.args:
            self._write(each)
        self._put(operation, greatest)

    def _aggregate(self, value: MatchAggregate) -> None:
        call = value.call
        argument, known = argument_of(call), FUNCTIONS.get(call.function)
        if argument is None:
            self._put_aggregate(machine.COUNT_ROWS, -1, value)
            return
        if (
            known not in _AGGREGATES
            or (call.distinct and known not in ("min", "max"))
            or any(isinstance(part, MatchNumber) for part in argument.walk())
            or not (_is_number(argument.type) or known not in ("sum", "avg"))
            or not (_is_word(argument.type) or known == "count")
        ):
            raise PlanError(
                "DEFINE can use count, sum, avg, min and max of numbers and times over the rows so "
                f"far, not {value.brief()}; compute that in MEASURES, and select on it"
            )
        of_whole, of_floats = _AGGREGATES[known]
        function = of_floats if pa.types.is_floating(argument.type) else of_whole
        if function == machine.COUNT:
            argument = is_not_null((argument,))
            argument = Case(((argument, Literal(True, BOOLEAN)),), Literal(None, BOOLEAN), BOOLEAN)
        by_label = any(isinstance(part, Classifier) for part in argument.walk())
        cell = _number(self.cells, Cell(taken_apart(Navigation(argument)), by_label))
        self._put_aggregate(function, cell, value)

    def _put_aggregate(self, function: int, cell: int, value: MatchAggregate) -> None:
        number = _number(self.aggregates, (function, cell, value.variables))
        self._put(machine.AGGREGATE, number)

    def _question(self, value: Expression) -> None:
        """Ask the evaluator for a value, by the rows and aggregates that it goes by."""
        apart = taken_apart(value)
        kinds: list[int | pa.DataType] = []
        for leaf in apart.leaves:
            if isinstance(leaf, Navigation):
                kinds.append(self._cell(leaf, machine.LOAD_ROW, place_of(leaf)))
            else:
                self._operation(leaf)
                kinds.append(leaf.type)
        self._put(machine.LOOKUP, _number(self.questions, Question(apart, tuple(kinds))))


def taken_apart(value: Expression) -> Apart:
    """An expression over columns that stand for what finds rows of the match."""
    names: dict[Expression, Expression] = {}

    def leaf(part: Expression) -> Expression:
        return names.setdefault(part, Column(f"${len(names)}", part.type))

    return Apart(replaced(value, leaf), tuple(names))


def replaced(value: Expression, leaf: Callable[[Expression], Expression]) -> Expression:
    """An expression with something else for what finds rows of the match."""

    def changed(part: Expression) -> Expression:
        if isinstance(part, (Navigation, MatchAggregate, MatchNumber)):
            return leaf(part)
        children = tuple(map(changed, part.children))
        return part.with_children(children) if children else part

    with room(value.height * _CALLS_A_LEVEL):
        return changed(value)


def place_of(value: Navigation) -> _Place:
    return _Place(value.variables, value.last, value.offset, value.physical)


def without_numbers(value: Expression) -> Expression:
    """The same with the number of the match outside of navigations."""

    def leaf(part: Expression) -> Expression:
        if not isinstance(part, Navigation) or not _has_number(part.value):
            return part
        navigation = part

        def moved(inner: Expression) -> Expression:
            if isinstance(inner, (Column, Classifier)):
                return navigation.with_children((inner,))
            return inner

        there = Call("is_null", (navigation.with_children((Literal(True, BOOLEAN),)),), BOOLEAN)
        nothing = Literal(None, part.type)
        return Case(((there, nothing),), part.value.transform(moved), part.type)

    return replaced(value, leaf)


def _has_number(value: Expression) -> bool:
    return any(isinstance(part, MatchNumber) for part in value.walk())


def _places(value: Expression) -> set[_Place] | None:
    """The rows that an expression goes by; None if it goes by more than rows."""
    found: set[_Place] = set()
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Navigation):
            found.add(place_of(part))
        elif isinstance(part, (MatchAggregate, MatchNumber)):
            return None
        else:
            waiting.extend(part.children)
    return found


def _is_word(kind: pa.DataType) -> bool:
    """Whether values of a type are words as they are."""
    return bool(_counts(kind) or pa.types.is_boolean(kind) or pa.types.is_floating(kind)
                or pa.types.is_date32(kind))  # fmt: skip


def _is_ordered(kind: pa.DataType) -> bool:
    """Whether values of a type are compared by order keys."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_decimal(kind)
    )


def _counts(kind: pa.DataType) -> bool:
    """Whether values are whole numbers of something, and are added as such."""
    return bool(
        (pa.types.is_integer(kind) and kind != pa.uint64())
        or pa.types.is_timestamp(kind)
        or pa.types.is_duration(kind)
    )


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or kind == DOUBLE)


def word_of(value: pa.Scalar) -> int:
    """The word of a constant."""
    return int(words(pa.array([value.as_py()], value.type)).view(np.int64)[0])


def _number(known: list[T], item: T) -> int:
    if item not in known:
        known.append(item)
    return known.index(item)


_COMPARISONS = {
    # the operation, that of floats, whether the operands change places, whether it is negated
    "equal": (machine.EQUAL, machine.EQUAL_FLOAT, False, False),
    "not_equal": (machine.EQUAL, machine.EQUAL_FLOAT, False, True),
    "less": (machine.LESS, machine.LESS_FLOAT, False, False),
    "less_equal": (machine.LESS_EQUAL, machine.LESS_EQUAL_FLOAT, False, False),
    "greater": (machine.LESS, machine.LESS_FLOAT, True, False),
    "greater_equal": (machine.LESS_EQUAL, machine.LESS_EQUAL_FLOAT, True, False),
    "null_safe_equal": (machine.SAME, machine.SAME_FLOAT, False, False),
}
_ARITHMETIC: dict[str, tuple[int | None, int]] = {
    "add": (machine.ADD, machine.ADD_FLOAT),
    "subtract": (machine.SUBTRACT, machine.SUBTRACT_FLOAT),
    "multiply": (machine.MULTIPLY, machine.MULTIPLY_FLOAT),
    "divide": (None, machine.DIVIDE_FLOAT),
    "negate": (machine.NEGATE, machine.NEGATE_FLOAT),
    "abs": (machine.ABSOLUTE, machine.ABSOLUTE_FLOAT),
    "add_interval": (machine.ADD, machine.ADD_FLOAT),
    "subtract_interval": (machine.SUBTRACT, machine.SUBTRACT_FLOAT),
    "subtract_timestamps": (machine.SUBTRACT, machine.SUBTRACT_FLOAT),
}
_AGGREGATES = {
    "count": (machine.COUNT, machine.COUNT),
    "sum": (machine.SUM, machine.SUM_FLOAT),
    "avg": (machine.AVERAGE, machine.AVERAGE_FLOAT),
    "min": (machine.LEAST, machine.LEAST_FLOAT),
    "max": (machine.GREATEST, machine.GREATEST_FLOAT),
}
