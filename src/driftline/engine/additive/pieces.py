"""Pieces: the values of the answer in each snapshot gone through, made from the state there."""

from __future__ import annotations

import numpy as np

from driftline.engine.additive.layout import (
    AVG_FLOAT,
    AVG_INT,
    COUNT,
    COUNTS,
    DEGREES_LOST,
    FEWER,
    FIRST,
    IS_FLOAT,
    KIND,
    LEAST,
    NULLS,
    SQUARES,
    STDDEV,
    SUM,
    SUM_FLOAT,
    SUM_INT,
    VARIANCE,
)
from driftline.engine.state import exact_floats as exact
from driftline.engine.state.trace import END, START, VALUE
from driftline.engine.state.words import copy, same
from driftline.kernels import in_place
from driftline.model.arrays import FloatTable, Int64Table, MaskTable


@in_place
def evaluate(
    pieces: Int64Table,
    reals: FloatTable,
    count: int,
    states: Int64Table,
    sums: FloatTable,
    best: Int64Table,
    there: MaskTable,
    how: Int64Table,
    whole_numbers: int,
    great: int,
) -> int:
    """Make the values of so many pieces from their states; returns how many sums do not fit 64
    bits. `reals`, `sums`: the words of pieces and states as floats. Of a state, sums of floats
    lie behind so many whole numbers, and sums of great numbers, if there are any, `great` words
    behind the others."""
    overflows, any_great = 0, sums.shape[1] > whole_numbers + great
    for piece in range(count):
        pieces[piece, VALUE + NULLS] = 0
        for number in range(len(how)):
            kind, place = how[number, KIND], VALUE + FIRST + number
            whole, real, is_null = 0, 0.0, False
            if kind >= FEWER:
                one, other = states[piece, how[number, COUNTS]], states[piece, how[number, SUM]]
                whole = min(one, other) if kind == FEWER else max(0, one - other)
                if how[number, DEGREES_LOST]:  # of a set, not of a bag
                    whole = min(one, 1) if (other > 0) == (kind == FEWER) else 0
            elif kind >= LEAST:
                extreme = how[number, SUM]
                is_null = not there[piece, extreme]
                if not is_null:
                    whole = best[piece, extreme]
            else:
                values = states[piece, how[number, COUNTS]]
                if kind == COUNT:
                    whole = values
                elif kind == SUM_INT or kind == AVG_INT:
                    is_null = values == 0
                    low, high = states[piece, how[number, SUM]], states[piece, how[number, SUM] + 1]
                    high += low >> 32
                    low &= 0xFFFFFFFF
                    if kind == SUM_INT:
                        overflows += not -(1 << 31) <= high < (1 << 31)
                        whole = (high << 32) | low
                    elif not is_null:
                        real = (float(high) * 4294967296.0 + float(low)) / values
                else:
                    is_null = values == 0
                    degrees = values - how[number, DEGREES_LOST]
                    total = whole_numbers + how[number, SUM]
                    squares = whole_numbers + how[number, SQUARES]
                    bad = states[piece, how[number, COUNTS] + 1]
                    up, down = (
                        states[piece, how[number, COUNTS] + 2],
                        states[piece, how[number, COUNTS] + 3],
                    )
                    if bad or (up and down):
                        real = np.nan
                    elif up or down:
                        real = np.inf if up else -np.inf
                        if kind == VARIANCE or kind == STDDEV:
                            real = np.nan
                    elif kind == SUM_FLOAT or kind == AVG_FLOAT:
                        if any_great:
                            real = exact.total_with_great(sums, piece, total, great + total)
                        else:
                            real = exact.total(sums, piece, total)
                        if kind == AVG_FLOAT:
                            real /= max(values, 1)
                    elif degrees > 0:
                        if any_great:
                            real = exact.variance_with_great(
                                sums, piece, total, squares, great, values, degrees
                            )
                        else:
                            real = exact.variance(sums, piece, total, squares, values, degrees)
                        if kind == STDDEV:
                            real = np.sqrt(real)
                    if kind == VARIANCE or kind == STDDEV:
                        is_null = degrees <= 0
            if is_null:
                pieces[piece, VALUE + NULLS] |= 1 << number
                whole, real = 0, 0.0
            if not how[number, IS_FLOAT]:
                pieces[piece, place] = whole
            elif np.isnan(real):
                reals[piece, place] = np.nan  # whatever its bits were
            else:
                reals[piece, place] = real + 0.0  # not -0.0
    return overflows


@in_place
def joined_pieces(pieces: Int64Table, count: int, copies: bool) -> int:
    """Join neighbours with the same values, and leave out pieces of no copies; returns how many
    pieces are left."""
    kept = 0
    for piece in range(count):
        if (
            kept
            and pieces[kept - 1, END] == pieces[piece, START]
            and same(pieces, kept - 1, pieces, piece, VALUE)
        ):
            pieces[kept - 1, END] = pieces[piece, END]
        elif not copies or pieces[piece, VALUE + FIRST] > 0:
            copy(pieces, kept, pieces, piece)
            kept += 1
    return kept
