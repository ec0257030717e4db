"""The arrays that the kernels of additive snapshot operators work on, and their columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]

PERFECT, ORDERED, EAGER = range(3)

# Columns of a timeline entry, before those of the state. Column 0 of the state counts the rows.
TIME, MARKS, STATE = 0, 1, 2
# Columns of a said segment, before its values.
START, END, NULLS, VALUES = 0, 1, 2, 3
# How a value is made from the state: see `timeline.say`.
COUNT, SUM_INT, SUM_FLOAT, AVG_INT, AVG_FLOAT, VARIANCE, STDDEV, LEAST, GREATEST = range(9)
FEWER, MORE = 9, 10  # of two counts: the smaller; by how much the first is greater
# Columns of a member: a row that is kept for its least or greatest value.
MEMBER_VS, MEMBER_VE, MEMBER_COPIES, MEMBER_NULLS, MEMBER_HASH, MEMBER_VALUES = range(6)


class Changes(NamedTuple):
    """The changes of a batch, sorted by slot: those of the n-th slot of the call are
    bounds[n] … bounds[n + 1] - 1 of `order`, which gives their places in the other arrays."""

    bounds: Int64s
    order: Int64s
    vs: Int64s
    ve: Int64s
    weight: Int64s
    ints: Int64s  # [change, column of the state], times the weight
    floats: Floats  # [change, sum of floats], not times the weight
    member_nulls: Int64s
    member_hash: Int64s  # of the values, which stands for them where rows are compared
    member_ints: Int64s
    member_floats: Floats


class Cursors(NamedTuple):
    """Where each slot's cursor stands: the number of entries before it, and the state there."""

    place: Int64s
    ints: Int64s
    floats: Floats


class Values(NamedTuple):
    """How the values of the answer are made: for each its kind, the columns of the state with its
    count of values, its sum and its squares, and its place among the values.

    For FEWER and MORE, `counts` and `sum` are the two counts, and `degrees_lost` is 1 when only one
    copy is wanted; there is no piece where the value is 0.

    Behind the count of a float come three columns that count its NaN, ∞ and -∞. For LEAST and
    GREATEST, `counts` is the argument's bit among the nulls of a member, `sum` its column there.
    """

    kind: Int64s
    counts: Int64s
    sum: Int64s
    squares: Int64s
    degrees_lost: Int64s
    is_float: NDArray[np.bool_]
    place: Int64s
    float_columns: Int64s  # which columns of `Changes.floats` go into which sum of the state
    is_square: NDArray[np.bool_]  # … squared


class Said(NamedTuple):
    """What the call says: signed lifetimes of slots, with their values."""

    slot: Int64s
    vs: Int64s
    ve: Int64s
    weight: Int64s
    ints: Int64s
    floats: Floats
    nulls: Int64s
