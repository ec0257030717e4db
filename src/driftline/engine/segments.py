"""Segments: what was said of a slot, and how it is brought into line with what is true now.

Every said segment is kept as far as the new pieces of the answer agree with it; the rest is taken
back, and what is missing is said.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftline.engine.layout import END, NULLS, START, VALUES, Said
from driftline.engine.runs import RunArrays, copy_entry
from driftline.model.compiled import njit

Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(inline="always")
def _equal(a: float, b: float) -> bool:
    return a == b or (a != a and b != b)


@njit(cache=True, nogil=True)
def same(
    ints: Int64s, floats: Floats, one: int, other_ints: Int64s, other_floats: Floats, other: int
) -> bool:
    """Whether two segments have the same values."""
    for column in range(NULLS, ints.shape[1]):
        if ints[one, column] != other_ints[other, column]:
            return False
    for column in range(floats.shape[1]):
        if not _equal(floats[one, column], other_floats[other, column]):
            return False
    return True


@njit(cache=True, nogil=True)
def correct(
    segments: RunArrays,
    slot: int,
    earliest: int,
    piece_ints: Int64s,
    piece_floats: Floats,
    pieces: int,
    out: Said,
    said: int,
) -> int:
    """Keep every said segment as far as the pieces agree with it, take back the rest, and say what
    is missing. Segments that end at or before `earliest` stay as they are."""
    base, size = segments.first[slot], segments.size[slot]
    first = size
    while first > 0 and segments.ints[base + first - 1, END] > earliest:
        first -= 1
    old = size - first
    old_ints = segments.ints[base + first : base + size].copy()
    old_floats = segments.floats[base + first : base + size].copy()
    piece = 0
    written = base + first
    covered = earliest  # up to here the answer is what the pieces say
    for number in range(old):
        start, end = old_ints[number, START], old_ints[number, END]
        # Pieces before this segment that nothing said so far covers.
        while piece < pieces and piece_ints[piece, START] < start:
            stop = min(piece_ints[piece, END], start)
            if covered < stop:
                start_here = max(covered, piece_ints[piece, START])
                _insert(
                    segments, slot, written, start_here, stop, piece_ints, piece_floats, piece,
                    out, said,
                )  # fmt: skip
                written += 1
                said += 1
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
            _put(out, said, slot, start, end, -1, old_ints, old_floats, number)
            said += 1
            if start < agreed:
                _put(out, said, slot, start, agreed, 1, old_ints, old_floats, number)
                said += 1
        if start < agreed:
            copy_entry(segments.ints, segments.floats, written, old_ints, old_floats, number)
            segments.ints[written, END] = agreed
            written += 1
        covered = max(covered, agreed)
    while piece < pieces:
        start, stop = max(covered, piece_ints[piece, START]), piece_ints[piece, END]
        if start < stop:
            _insert(
                segments, slot, written, start, stop, piece_ints, piece_floats, piece, out, said
            )
            written += 1
            said += 1
            covered = stop
        piece += 1
    segments.size[slot] = written - base
    return said


@njit(inline="always")
def _insert(
    segments: RunArrays,
    slot: int,
    written: int,
    start: int,
    end: int,
    piece_ints: Int64s,
    piece_floats: Floats,
    piece: int,
    out: Said,
    said: int,
) -> None:
    copy_entry(segments.ints, segments.floats, written, piece_ints, piece_floats, piece)
    segments.ints[written, START] = start
    segments.ints[written, END] = end
    _put(out, said, slot, start, end, 1, piece_ints, piece_floats, piece)


@njit(inline="always")
def _put(
    out: Said,
    said: int,
    slot: int,
    start: int,
    end: int,
    weight: int,
    ints: Int64s,
    floats: Floats,
    source: int,
) -> None:
    out.slot[said], out.weight[said] = slot, weight
    out.vs[said], out.ve[said] = start, end
    for column in range(ints.shape[1] - VALUES):
        out.ints[said, column] = ints[source, VALUES + column]
    for column in range(floats.shape[1]):
        out.floats[said, column] = floats[source, column]
    out.nulls[said] = ints[source, NULLS]


@njit(cache=True, nogil=True)
def room(size: int, ints: int, floats: int) -> Said:
    return Said(
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty((size, ints), np.int64),
        np.empty((size, floats), np.float64),
        np.empty(size, np.int64),
    )


@njit(cache=True, nogil=True)
def wider(out: Said, said: int, size: int) -> Said:
    wider = room(size, out.ints.shape[1], out.floats.shape[1])
    wider.slot[:said], wider.weight[:said] = out.slot[:said], out.weight[:said]
    wider.vs[:said], wider.ve[:said] = out.vs[:said], out.ve[:said]
    wider.ints[:said], wider.floats[:said] = out.ints[:said], out.floats[:said]
    wider.nulls[:said] = out.nulls[:said]
    return wider
