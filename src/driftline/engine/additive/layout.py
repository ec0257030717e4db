"""The arrays that the kernels of additive snapshot operators work on, and their columns."""

from __future__ import annotations

from typing import NamedTuple

from driftline.model.arrays import FloatTable, Int64s, Int64Table, Mask

# Words of a timeline entry, before those of the state. The first word of a state counts the rows.
TIME, MARKS, STATE = 0, 1, 2
# Words of a value of the answer: which of its values are null, bit by bit, and these.
NULLS, FIRST = 0, 1
# How a value is made from the state: see `pieces.evaluate`.
COUNT, SUM_INT, SUM_FLOAT, AVG_INT, AVG_FLOAT, VARIANCE, STDDEV, LEAST, GREATEST = range(9)
FEWER, MORE = 9, 10  # of two counts: the smaller; by how much the first is greater
# Columns of `ValueRules.how`.
KIND, COUNTS, SUM, SQUARES, DEGREES_LOST, IS_FLOAT = range(6)
# Columns of a lifetime whose least and greatest values are kept: see `extremes`.
CELL_VS, CELL_VE, CELL_NUMBER = range(3)


class SumChanges(NamedTuple):
    """The changes of a batch by slot and lifetime: those of the n-th slot of the call are
    bounds[n] … bounds[n + 1] - 1 of `order`, which gives their places in the other arrays."""

    bounds: Int64s
    order: Int64s
    vs: Int64s
    ve: Int64s
    words: Int64Table  # [change, word]: the sum of the weights, and what the state changes by
    reals: FloatTable  # the same memory


class Cursors(NamedTuple):
    """Where each slot's cursor stands: the number of entries before it, and the state there, which
    is whole numbers, and then sums of floats in three words each."""

    place: Int64s
    states: Int64Table
    reals: FloatTable  # the same memory


class ValueRules(NamedTuple):
    """How the values of the answer are made.

    `how`: for each value its kind, the columns of the state with its count of values, its sum and
    its squares, the degrees of freedom lost, and whether it is a float.

    For FEWER and MORE, the columns COUNTS and SUM are the two counts, and DEGREES_LOST is 1 when
    only one copy is wanted; there is no piece where the value is 0.

    Behind the count of a float come three columns that count its NaN, ∞ and -∞. For LEAST and
    GREATEST, SUM is the number of the extreme; their values are order keys.
    """

    how: Int64Table  # [value, column]
    float_columns: Int64s  # which arguments go into which sum of floats of the state
    is_square: Mask  # … squared
