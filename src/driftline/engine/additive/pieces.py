"""Pieces: the values of the answer in each snapshot gone through, made from the state there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftline.engine.additive.layout import (
    AVG_FLOAT,
    AVG_INT,
    COUNT,
    COUNTS,
    DEGREES_LOST,
    END,
    FEWER,
    IS_FLOAT,
    KIND,
    LEAST,
    NULLS,
    PLACE,
    SQUARES,
    START,
    STDDEV,
    SUM,
    SUM_FLOAT,
    SUM_INT,
    VALUES,
    VARIANCE,
)
from driftline.engine.additive.segments import same
from driftline.engine.state import exact_floats as exact
from driftline.engine.state.runs import copy_entry
from driftline.kernels import in_place
from driftline.model.arrays import FloatTable, Int64Table, MaskTable

Masks = NDArray[np.bool_]


@in_place
def evaluate(
    piece_ints: Int64Table,
    piece_floats: FloatTable,
    pieces: int,
    states: Int64Table,
    sums: FloatTable,
    best: Int64Table,
    there: MaskTable,
    how: Int64Table,
    great: int,
) -> int:
    """Make the values of pieces from their states; returns how many sums do not fit 64 bits. Sums
    of great numbers, if there are any, lie `great` columns behind the others."""
    overflows, any_great = 0, sums.shape[1] > great
    for piece in range(pieces):
        piece_ints[piece, NULLS] = 0
        for number in range(len(how)):
            kind, place = how[number, KIND], how[number, PLACE]
            whole, real, is_null = 0, 0.0, False
            if kind >= FEWER:
                count, other = states[piece, how[number, COUNTS]], states[piece, how[number, SUM]]
                whole = min(count, other) if kind == FEWER else max(0, count - other)
                if how[number, DEGREES_LOST]:  # of a set, not of a bag
                    whole = min(count, 1) if (other > 0) == (kind == FEWER) else 0
            elif kind >= LEAST:
                extreme = how[number, SUM]
                is_null = not there[piece, extreme]
                if not is_null:
                    whole = best[piece, extreme]
            else:
                count = states[piece, how[number, COUNTS]]
                if kind == COUNT:
                    whole = count
                elif kind == SUM_INT or kind == AVG_INT:
                    is_null = count == 0
                    low, high = states[piece, how[number, SUM]], states[piece, how[number, SUM] + 1]
                    high += low >> 32
                    low &= 0xFFFFFFFF
                    if kind == SUM_INT:
                        overflows += not -(1 << 31) <= high < (1 << 31)
                        whole = (high << 32) | low
                    elif not is_null:
                        real = (float(high) * 4294967296.0 + float(low)) / count
                else:
                    is_null = count == 0
                    degrees = count - how[number, DEGREES_LOST]
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
                            real = exact.total_with_great(
                                sums, piece, how[number, SUM], great + how[number, SUM]
                            )
                        else:
                            real = exact.total(sums, piece, how[number, SUM])
                        if kind == AVG_FLOAT:
                            real /= max(count, 1)
                    elif degrees > 0:
                        if any_great:
                            real = exact.variance_with_great(
                                sums, piece, how[number, SUM], how[number, SQUARES], great,
                                count, degrees,
                            )  # fmt: skip
                        else:
                            real = exact.variance(
                                sums, piece, how[number, SUM], how[number, SQUARES], count, degrees
                            )
                        if kind == STDDEV:
                            real = np.sqrt(real)
                    if kind == VARIANCE or kind == STDDEV:
                        is_null = degrees <= 0
            if is_null:
                piece_ints[piece, NULLS] |= 1 << number
                whole, real = 0, 0.0
            if how[number, IS_FLOAT]:
                piece_floats[piece, place] = real
            else:
                piece_ints[piece, VALUES + place] = whole
    return overflows


@in_place
def joined_pieces(
    piece_ints: Int64Table, piece_floats: FloatTable, pieces: int, copies: bool
) -> int:
    """Join neighbours with the same values, and leave out pieces of no copies; returns how many
    pieces are left."""
    kept = 0
    for piece in range(pieces):
        if (
            kept
            and piece_ints[kept - 1, END] == piece_ints[piece, START]
            and same(piece_ints, piece_floats, kept - 1, piece_ints, piece_floats, piece)
        ):
            piece_ints[kept - 1, END] = piece_ints[piece, END]
        elif not copies or piece_ints[piece, VALUES] > 0:
            copy_entry(piece_ints, piece_floats, kept, piece_ints, piece_floats, piece)
            kept += 1
    return kept
