"""Segments: what was emitted of a slot, and how it is brought into line with what is true now.

Every emitted segment is kept as far as the new pieces of the answer agree with it; the rest is
retracted, and what is missing is emitted.
"""

from __future__ import annotations

import numpy as np

from driftline.engine.additive.layout import END, NULLS, START, VALUES, Emitted
from driftline.engine.state.runs import RunArrays, copy_entry
from driftline.kernels import compiled, in_place, inlined
from driftline.model.arrays import FloatTable, Int64s, Int64Table


@inlined
def _equal(a: float, b: float) -> bool:
    return a == b or (a != a and b != b)


@inlined
def same(
    ints: Int64Table,
    floats: FloatTable,
    one: int,
    other_ints: Int64Table,
    other_floats: FloatTable,
    other: int,
) -> bool:
    """Whether two segments have the same values. (Without an early way out: this is called for
    every piece, and with one Numba counts references to the arrays every time.)"""
    equal = True
    for column in range(NULLS, ints.shape[1]):
        equal &= ints[one, column] == other_ints[other, column]
    for column in range(floats.shape[1]):
        equal &= _equal(floats[one, column], other_floats[other, column])
    return equal


@in_place
def correct(
    segments: RunArrays,
    slot: int,
    earliest: int,
    piece_ints: Int64Table,
    piece_floats: FloatTable,
    pieces: int,
    old_ints: Int64Table,
    old_floats: FloatTable,
    out: Emitted,
    emitted: int,
) -> int:
    """Keep every emitted segment as far as the pieces agree with it, retract the rest, and emit
    what is missing. Segments that end at or before `earliest` stay as they are. There is room for
    the others in `old_ints` and `old_floats`."""
    base, size = segments.first[slot], segments.size[slot]
    ints, floats = segments.ints, segments.floats
    times = (out.slot, out.vs, out.ve, out.weight, out.nulls)
    out_ints, out_floats = out.ints, out.floats
    first = size
    while first > 0 and ints[base + first - 1, END] > earliest:
        first -= 1
    old = size - first
    for number in range(old):
        copy_entry(old_ints, old_floats, number, ints, floats, base + first + number)
    piece = 0
    written = base + first
    covered = earliest  # up to here the answer is that of the pieces
    for number in range(old):
        start, end = old_ints[number, START], old_ints[number, END]
        # Pieces before this segment that nothing emitted so far covers.
        while piece < pieces and piece_ints[piece, START] < start:
            stop = min(piece_ints[piece, END], start)
            if covered < stop:
                copy_entry(ints, floats, written, piece_ints, piece_floats, piece)
                ints[written, START] = max(covered, piece_ints[piece, START])
                ints[written, END] = stop
                _put(times, out_ints, out_floats, emitted, slot, 1, ints, floats, written)
                written += 1
                emitted += 1
            covered = max(covered, stop)
            if piece_ints[piece, END] > start:
                break
            piece += 1
        # How far the pieces agree with this segment.
        agreed = max(start, earliest)
        while piece < pieces and piece_ints[piece, END] <= agreed:
            piece += 1
        ahead = piece
        while (
            ahead < pieces
            and agreed < end
            and piece_ints[ahead, START] <= agreed
            and same(piece_ints, piece_floats, ahead, old_ints, old_floats, number)
        ):
            agreed = min(end, piece_ints[ahead, END])
            ahead += 1
        if agreed < end:
            _put(times, out_ints, out_floats, emitted, slot, -1, old_ints, old_floats, number)
            emitted += 1
        if start < agreed:
            copy_entry(ints, floats, written, old_ints, old_floats, number)
            ints[written, END] = agreed
            if agreed < end:
                _put(times, out_ints, out_floats, emitted, slot, 1, ints, floats, written)
                emitted += 1
            written += 1
        covered = max(covered, agreed)
    while piece < pieces:
        start = max(covered, piece_ints[piece, START])
        if start < piece_ints[piece, END]:
            copy_entry(ints, floats, written, piece_ints, piece_floats, piece)
            ints[written, START] = start
            _put(times, out_ints, out_floats, emitted, slot, 1, ints, floats, written)
            written += 1
            emitted += 1
            covered = piece_ints[piece, END]
        piece += 1
    segments.size[slot] = written - base
    return emitted


@in_place
def _put(
    times: tuple[Int64s, Int64s, Int64s, Int64s, Int64s],
    out_ints: Int64Table,
    out_floats: FloatTable,
    emitted: int,
    slot: int,
    weight: int,
    ints: Int64Table,
    floats: FloatTable,
    segment: int,
) -> None:
    """Emit a segment (weight 1), or retract it (weight -1)."""
    slots, vs, ve, weights, nulls = times
    slots[emitted], weights[emitted] = slot, weight
    vs[emitted], ve[emitted] = ints[segment, START], ints[segment, END]
    nulls[emitted] = ints[segment, NULLS]
    for column in range(out_ints.shape[1]):
        out_ints[emitted, column] = ints[segment, VALUES + column]
    for column in range(out_floats.shape[1]):
        out_floats[emitted, column] = floats[segment, column]


@compiled
def room(size: int, ints: int, floats: int) -> Emitted:
    return Emitted(
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty((size, ints), np.int64),
        np.empty((size, floats), np.float64),
        np.empty(size, np.int64),
    )


@compiled
def wider(out: Emitted, emitted: int, size: int) -> Emitted:
    wider = room(size, out.ints.shape[1], out.floats.shape[1])
    wider.slot[:emitted], wider.weight[:emitted] = out.slot[:emitted], out.weight[:emitted]
    wider.vs[:emitted], wider.ve[:emitted] = out.vs[:emitted], out.ve[:emitted]
    wider.ints[:emitted], wider.floats[:emitted] = out.ints[:emitted], out.floats[:emitted]
    wider.nulls[:emitted] = out.nulls[:emitted]
    return wider
