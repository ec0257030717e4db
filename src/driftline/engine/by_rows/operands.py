"""What the values of an argument add to totals: whole numbers, and floats that are added exactly.

count    how many are not null
sum      limbs of whole numbers; of floats how many are NaN, ∞ and -∞, and the exact sum
spread   how many are not finite; the exact sums of x, y (if it is not x) and xy
powers   the same of x, x², x³ and x⁴
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from driftline.engine.additive.aggregates import MOMENTS, SPREADS
from driftline.engine.by_rows import block_kernels, moment_kernels
from driftline.engine.by_rows.block_kernels import PARTIALS, ROWS_IN, TOO_GREAT
from driftline.engine.by_rows.exact_numbers import Factors, Numbers
from driftline.engine.by_rows.moment_kernels import POWERS
from driftline.engine.by_rows.piece_kernels import GREATEST_ADDED
from driftline.engine.state.order_keys import valid
from driftline.model.arrays import Floats, Int64s, Mask

_LIMBS_OF_INTEGERS, _LIMBS_OF_DECIMALS = 2, 4
_SPECIAL = 3  # NaN, infinite, minus infinite
_SUMS_OF_PRODUCTS = 3  # of x, y and xy
_WIDTHS_OF_POWERS = (PARTIALS, PARTIALS, 2 * PARTIALS, 2 * PARTIALS)


class Operand:
    """Where the totals of an argument are: from `first` on its count and so many numbers; then, if
    there are any but a sum, how many values are not finite (`odd`). `widths`: of each exact sum,
    how many floats it is kept as, from `first_float` on."""

    def __init__(self, argument: str, kind: pa.DataType, functions: set[str]) -> None:
        self.argument = argument
        self.is_added = bool(functions & {"sum", "avg"})
        self.of_floats = self.is_added and bool(pa.types.is_floating(kind))
        self.has_products = bool(functions & SPREADS)
        self.has_powers = bool(functions & MOMENTS.keys())
        self.first = self.first_float = 0
        self.numbers = 0
        if self.is_added:
            decimals = bool(pa.types.is_decimal(kind))
            self.numbers = _LIMBS_OF_DECIMALS if decimals else _LIMBS_OF_INTEGERS
        if self.of_floats:
            self.numbers = _SPECIAL
        self.ints = 1 + self.numbers + (self.has_products or self.has_powers)
        self.widths = [PARTIALS] * (self.of_floats + _SUMS_OF_PRODUCTS * self.has_products)
        self.widths += _WIDTHS_OF_POWERS * self.has_powers

    @property
    def first_product(self) -> int:
        return self.first_float + PARTIALS * self.of_floats

    @property
    def powers(self) -> Int64s:
        """Where the sums of powers are."""
        first = self.first_product + PARTIALS * _SUMS_OF_PRODUCTS * self.has_products
        return first + np.concatenate([[0], np.cumsum(_WIDTHS_OF_POWERS)])

    @property
    def odd(self) -> int:
        return self.first + 1 + self.numbers

    def fill(self, ints: Int64s, floats: Floats, column: pa.Array) -> None:
        """Write what each value adds to the totals."""
        there = valid(column)
        ints[:, self.first] = there
        if self.has_products:
            self._fill_products(ints, floats, column, there)
        if self.has_powers:
            self._fill_powers(ints, floats, column, there)
        if not self.is_added:
            return
        numbers, place = Numbers(column, there), self.first + 1
        if not self.of_floats:
            assert numbers.limbs is not None
            ints[:, place : place + self.numbers] = numbers.limbs
            return
        value = numbers.floats
        finite = np.isfinite(value)
        special = (np.isnan(value), value == np.inf, value == -np.inf)
        for kind, each in enumerate(special, place):
            ints[:, kind] = there & each
        floats[:, self.first_float] = np.where(there & finite, value, 0.0)
        ints[:, TOO_GREAT] |= there & finite & (np.abs(value) >= GREATEST_ADDED)

    def _fill_products(self, ints: Int64s, floats: Floats, column: pa.Array, there: Mask) -> None:
        factors = Factors(column, there)
        finite = there & factors.is_finite()
        ints[:, self.odd] = there & ~finite
        ints[:, TOO_GREAT] |= factors.beyond
        finite &= ~factors.beyond
        first, second = (np.where(finite, each, 0.0) for each in (factors.first, factors.second))
        place = self.first_product
        floats[:, place] = first
        if not factors.is_square:
            floats[:, place + PARTIALS] = second
        products, rests = block_kernels.products(first, second)
        floats[:, place + 2 * PARTIALS], floats[:, place + 2 * PARTIALS + 1] = products, rests

    def _fill_powers(self, ints: Int64s, floats: Floats, column: pa.Array, there: Mask) -> None:
        numbers = Numbers(column, there)
        beyond = numbers.beyond_powers & there
        finite = there & np.isfinite(numbers.floats)
        ints[:, self.odd] = there & ~finite
        ints[:, TOO_GREAT] |= beyond
        found = moment_kernels.powers(np.where(finite & ~beyond, numbers.floats, 0.0))
        for power, place in enumerate(self.powers[:POWERS]):
            width = 2**power
            floats[:, place : place + width] = found[:, power, :width]


class TotalsLayout:
    """The totals of some operands: columns of whole numbers, after those of a block, and of floats.
    `bounds`: where each exact sum begins, and the end of the last."""

    def __init__(self, operands: list[Operand]) -> None:
        self.operands = operands
        self.ints = ROWS_IN + 1
        widths: list[int] = []
        for operand in operands:
            operand.first, operand.first_float = self.ints, sum(widths)
            self.ints += operand.ints
            widths += operand.widths
        self.bounds = np.concatenate([[0], np.cumsum(widths, dtype=np.int64)])
        self.floats = sum(widths)

    def of_values(self, columns: list[pa.Array], length: int) -> tuple[Int64s, Floats]:
        """What each value adds to the totals."""
        ints = np.zeros((length, self.ints), np.int64)
        floats = np.zeros((length, self.floats), np.float64)
        for operand, column in zip(self.operands, columns, strict=True):
            operand.fill(ints, floats, column)
        return ints, floats


@dataclass(frozen=True)
class Sums:
    """The totals of an argument, in each of some slots. What kernels take is contiguous, wherever
    it lies among the totals: for other strides Numba would compile them once more."""

    operand: Operand
    ints: Int64s
    floats: Floats

    @property
    def count(self) -> Int64s:
        return self.ints[:, self.operand.first]

    @property
    def numbers(self) -> Int64s:
        """The limbs of a sum; of floats, how many are NaN, infinite, minus infinite."""
        first = self.operand.first + 1
        return np.ascontiguousarray(self.ints[:, first : first + self.operand.numbers])

    @property
    def partials(self) -> Floats:
        place = self.operand.first_float
        return np.ascontiguousarray(self.floats[:, place : place + PARTIALS])

    @property
    def products(self) -> Floats:
        """The partial sums of x, y and xy."""
        place = self.operand.first_product
        return np.ascontiguousarray(self.floats[:, place : place + PARTIALS * _SUMS_OF_PRODUCTS])

    @property
    def counts(self) -> Int64s:
        """How many values there are, and how many that are not finite."""
        return np.ascontiguousarray(self.ints[:, [self.operand.first, self.operand.odd]])
