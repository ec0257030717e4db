"""Additive aggregates: which columns of state they need, and how a batch's rows fill these.

count, sum, avg, variance and stddev of numbers are kept as sums that rows are added to and taken
away from; of the arguments of min and max (numbers, times and truth values) all values are kept,
see `extremes`. All of a group-by's aggregates are computed in one pass, and share what they have in
common.

Sums are exact. Integers are summed in two halves, and a total that does not fit 64 bits is an
error; floats in three parts (see `exact_floats`), with NaN and infinities counted apart, and great
numbers added up apart. An average is the rounded sum divided by the count: it may differ from the
exact one in its last digit, and is infinite where the sum is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from driftline.engine.additive import layout
from driftline.engine.additive.layout import ValueRules
from driftline.engine.state.exact_floats import GREAT_SQUARED
from driftline.engine.state.fingerprints import words
from driftline.engine.state.order_keys import order_keys, valid, values_of_keys
from driftline.kernels import in_place
from driftline.model.arrays import Floats, FrozenFloats, FrozenInt64s, Int64s, Int64Table, to_arrow

ADDITIVE = {"count", "sum", "avg", "variance", "variance_pop", "stddev", "stddev_pop"}
EXTREMES = {"min": layout.LEAST, "max": layout.GREATEST}
OF_PAIRS = {"covar_pop", "covar_samp"}
SPREADS = {"variance", "variance_pop", "stddev", "stddev_pop", *OF_PAIRS}
"""The aggregates that are functions of sums of numbers and of their products."""
MOMENTS = {"skewness": 3, "kurtosis": 4}
"""Those that are functions of sums of powers of numbers, and up to which."""


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a group-by: `function` of the column `argument` (None: of whole rows).

    `distinct`: of the different values only; `parameter`: the share of a percentile; `definition`:
    the object that says what a user's own aggregate is; `only`: a column that is true for the rows
    that a first or last goes by (None: all).
    """

    name: str
    function: str
    argument: str | None
    type: pa.DataType
    distinct: bool = False
    parameter: float | None = None
    definition: object | None = None
    only: str | None = None

    def is_fast(self, schema: pa.Schema) -> bool:
        """Whether this module computes it; others go by the rows of every snapshot."""
        if self.argument is None:
            return self.function == "count"
        if self.distinct and self.function not in EXTREMES:
            return False
        kind = schema.field(self.argument).type
        if self.function == "count":
            return True
        if self.function in ADDITIVE:
            return _is_whole(kind) or bool(pa.types.is_floating(kind))
        return self.function in EXTREMES and _fits_a_word(kind)


@dataclass
class AggregateState:
    """The columns of state for some aggregates.

    `counts`: the column of the count of values of each argument; `sums`: of its sum; `floats`: the
    arguments (and whether squared) whose sums are in floats, three columns each; `extremes`: the
    arguments whose LEAST or GREATEST value is wanted (then the last column is a checksum).
    """

    schema: pa.Schema
    ints: int = 1  # column 0 counts the rows
    counts: dict[str, int] = field(default_factory=dict)
    odd: set[str] = field(
        default_factory=set
    )  # their NaN, ∞ and -∞ are counted in the three columns behind the count
    sums: dict[str, int] = field(default_factory=dict)
    floats: dict[tuple[str, bool], int] = field(default_factory=dict)
    extremes: list[tuple[str, int]] = field(default_factory=list)

    def values(self, aggregates: list[Aggregate]) -> ValueRules:
        """Make room for the aggregates, and note how their values are made."""
        self.odd = {
            item.argument for item in aggregates if item.argument and self._sums_floats(item)
        }
        rows = [self._value(aggregate) for aggregate in aggregates]
        self.ints += bool(self.extremes)
        is_float = np.array([in_floats(item) for item in aggregates], np.bool_)
        names = self.float_arguments
        return ValueRules(
            np.column_stack([np.array(rows, np.int64).reshape(-1, 5), is_float]),
            np.array([names.index(name) for name, _ in self.floats], np.int64),
            np.array([squared for _, squared in self.floats], np.bool_),
        )

    @property
    def float_arguments(self) -> list[str]:
        return list(dict.fromkeys(name for name, _ in self.floats))

    def _is_float(self, name: str) -> bool:
        return bool(pa.types.is_floating(self.schema.field(name).type))

    def _value(self, aggregate: Aggregate) -> list[int]:
        """kind, count, sum, squares, degrees lost: the first columns of `ValueRules.how`."""
        argument, function = aggregate.argument, aggregate.function
        if argument is None:
            return [layout.COUNT, 0, 0, 0, 0]
        if function in EXTREMES:
            extreme = (argument, EXTREMES[function])
            if extreme not in self.extremes:
                self.extremes.append(extreme)
            return [EXTREMES[function], 0, self.extremes.index(extreme), 0, 0]
        if function == "count":
            return [layout.COUNT, self._count(argument), 0, 0, 0]
        if self._sums_floats(aggregate):
            kind, lost = {
                "sum": (layout.SUM_FLOAT, 0),
                "avg": (layout.AVG_FLOAT, 0),
                "variance": (layout.VARIANCE, 1),
                "variance_pop": (layout.VARIANCE, 0),
                "stddev": (layout.STDDEV, 1),
                "stddev_pop": (layout.STDDEV, 0),
            }[function]
            total = self._float_sum(argument, squared=False)
            squares = 0
            if kind in (layout.VARIANCE, layout.STDDEV):
                squares = self._float_sum(argument, squared=True)
            return [kind, self._count(argument), total, squares, lost]
        kind = layout.SUM_INT if function == "sum" else layout.AVG_INT
        count = self._count(argument)
        if argument not in self.sums:
            self.sums[argument] = self.ints
            self.ints += 2
        return [kind, count, self.sums[argument], 0, 0]

    def _count(self, argument: str) -> int:
        """The column that counts an argument's values."""
        if argument not in self.counts:
            self.counts[argument] = self.ints
            self.ints += 4 if argument in self.odd else 1
        return self.counts[argument]

    def _sums_floats(self, aggregate: Aggregate) -> bool:
        """Whether an aggregate is computed from a sum of floats."""
        if aggregate.argument is None or aggregate.function not in ADDITIVE - {"count"}:
            return False
        return self._is_float(aggregate.argument) or aggregate.function not in ("sum", "avg")

    def _float_sum(self, argument: str, squared: bool) -> int:
        key = (argument, squared)
        if key not in self.floats:
            self.floats[key] = 3 * len(self.floats)
        return self.floats[key]

    def fill(self, rows: pa.RecordBatch, weight: Int64s) -> tuple[Int64s, Floats, bool]:
        """What each row of a batch adds to the state, and whether any float is great (see
        `cells.Contribution`)."""
        ints = np.empty((self.ints - bool(self.extremes), len(weight)), np.int64)
        ints[0] = weight
        arguments = self.float_arguments
        floats, any_great = np.empty((len(arguments), len(weight)), np.float64), False
        for name, column in self.counts.items():
            array = rows.column(name)
            ints[column] = weight if array.null_count == 0 else weight * valid(array)
        for name, column in self.sums.items():
            array = rows.column(name)
            whole = words(array).view(np.int64)
            if array.null_count:
                whole = np.where(valid(array), whole, 0)
            _split(whole, weight, ints[column], ints[column + 1])
        for place, name in enumerate(arguments):
            odd = self.counts[name] + 1
            numbers = _numbers(rows.column(name))
            any_great |= _sort_out(numbers, weight, floats[place], ints[odd : odd + 3])
        return ints, floats, any_great

    def extreme_keys(self, rows: pa.RecordBatch) -> tuple[Int64s, NDArray[np.bool_]]:
        """For each extreme and row a key that is greater the nearer it is to the extreme, and
        whether there is a value."""
        keys = np.empty((len(self.extremes), len(rows)), np.int64)
        there = np.empty((len(self.extremes), len(rows)), np.bool_)
        for place, (name, kind) in enumerate(self.extremes):
            array = rows.column(name)
            keys[place] = order_keys(array) if kind == layout.GREATEST else ~order_keys(array)
            there[place] = True if array.null_count == 0 else valid(array)
        return keys, there


def in_floats(aggregate: Aggregate) -> bool:
    """Whether the values of an aggregate are floats; extremes are order keys."""
    return bool(pa.types.is_floating(aggregate.type)) and aggregate.function not in EXTREMES


def column_of(
    aggregate: Aggregate, values: NDArray[np.generic], nulls: NDArray[np.bool_] | None
) -> pa.Array:
    """The values of one aggregate as an Arrow column of its type; `nulls`: where there is none."""
    if aggregate.function in EXTREMES:
        keys = values.astype(np.int64)
        values = values_of_keys(keys if aggregate.function == "max" else ~keys, aggregate.type)
    if pa.types.is_boolean(aggregate.type):
        return _array(values.astype(np.bool_), nulls)
    if pa.types.is_integer(aggregate.type) or pa.types.is_floating(aggregate.type):
        column = _array(values, nulls)
        return column if column.type == aggregate.type else column.cast(aggregate.type)
    narrow = values if aggregate.type.bit_width == 64 else values.astype(np.int32)  # noqa: PLR2004
    return _array(narrow, nulls).view(aggregate.type)


def _array(values: NDArray[np.generic], nulls: NDArray[np.bool_] | None) -> pa.Array:
    return to_arrow(values) if nulls is None else pa.array(values, mask=nulls)


def _is_whole(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind)) and kind != pa.uint64()


def _is_number(kind: pa.DataType) -> bool:
    return _is_whole(kind) or bool(pa.types.is_floating(kind))


def _fits_a_word(kind: pa.DataType) -> bool:
    return _is_number(kind) or bool(pa.types.is_boolean(kind) or pa.types.is_temporal(kind))


def _numbers(array: pa.Array) -> Floats:
    filled = pc.fill_null(array, 0) if array.null_count else array
    return filled.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


@in_place
def _split(whole: FrozenInt64s, weight: Int64s, low: Int64s, high: Int64s) -> None:
    """The lower and the upper halves of whole numbers, times their weights."""
    for row in range(len(whole)):
        low[row] = (whole[row] & 0xFFFFFFFF) * weight[row]
        high[row] = (whole[row] >> 32) * weight[row]


@in_place
def _sort_out(numbers: FrozenFloats, weight: Int64s, finite: Floats, odd: Int64Table) -> bool:
    """Tell finite numbers from NaN, ∞ and -∞, of which only the weights count; -0.0 is 0.0.
    Returns whether any is great."""
    any_great = False
    for row in range(len(numbers)):
        number = numbers[row]
        finite[row] = number + 0.0 if np.isfinite(number) else 0.0
        any_great |= abs(finite[row]) >= GREAT_SQUARED
        odd[0, row] = weight[row] if np.isnan(number) else 0
        odd[1, row] = weight[row] if number == np.inf else 0
        odd[2, row] = weight[row] if number == -np.inf else 0
    return any_great
