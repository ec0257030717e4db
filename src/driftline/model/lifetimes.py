"""Which lifetime each event gives and which it takes, as numbers.

An insert gives (vs, ve, row). A retract takes (vs, ve, row) and, if vs < vn, gives (vs, vn, row).
A stream's history is the sum of what its events give less what they take, and a retract is right
only if what it takes is there; so once lifetimes are numbered, both are plain counting.

Equal lifetimes get one number as far as retracts can tell them apart: a row that no retract ever
names gets a new number for each of its lifetimes, which spares most streams most of the look-ups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftline.kernels import compiled
from driftline.model.arrays import Int8s, Int64s, Mask
from driftline.model.codes import row_codes
from driftline.model.columns import INSERT, RETRACT, StreamColumns

NOTHING = -1

_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)


@dataclass(frozen=True, slots=True)
class _Lifetimes:
    """What each event of a stream gives and takes; and for each lifetime, what it is."""

    gives: Int64s
    takes: Int64s
    vs: Int64s
    ve: Int64s
    event: Int64s
    """The index of the first event that names it, whose payload is its row."""


def number_lifetimes(stream: StreamColumns) -> _Lifetimes:
    """Numbers the lifetimes of a stream's well-formed changes.

    >>> from driftline.model.event import Insert, Retract
    >>> from driftline.model.row import Row
    >>> a = Row(a=1)
    >>> events = [Insert(1, 9, a), Retract(1, 9, 5, a), Insert(1, 5, a), Retract(1, 5, 1, a)]
    >>> numbered = number_lifetimes(StreamColumns.from_events("s", events))
    >>> numbered.gives.tolist(), numbered.takes.tolist()
    ([0, 1, 1, -1], [-1, 0, -1, 1])
    """
    retracts = stream.kind == RETRACT
    size = int((stream.kind == INSERT).sum() + 2 * retracts.sum())
    if retracts.any():
        rows = row_codes(stream.payload, len(stream))
        retracted = np.zeros(int(rows.max()) + 1, np.bool_)
        retracted[rows[retracts]] = True
    else:
        rows, retracted = np.zeros(len(stream), np.int64), np.zeros(1, np.bool_)
    return _Lifetimes(*_number(stream.kind, stream.vs, stream.ve, stream.vn, rows, retracted, size))


@compiled
def _number(
    kind: Int8s,
    vs: Int64s,
    ve: Int64s,
    vn: Int64s,
    rows: Int64s,
    retracted: Mask,
    size: int,
) -> tuple[Int64s, Int64s, Int64s, Int64s, Int64s]:
    gives = np.full(len(kind), NOTHING, np.int64)
    takes = np.full(len(kind), NOTHING, np.int64)
    start, end = np.empty(size, np.int64), np.empty(size, np.int64)
    event = np.empty(size, np.int64)
    row = np.empty(size, np.int64)
    slots = 16
    while slots < 2 * size:
        slots *= 2
    table = np.full(slots, NOTHING, np.int64)  # open addressing: hash to lifetime number
    count = 0
    for i in range(len(kind)):
        if kind[i] == INSERT and not retracted[rows[i]]:
            start[count], end[count], event[count] = vs[i], ve[i], i
            gives[i] = count
            count += 1
        elif kind[i] == INSERT or kind[i] == RETRACT:
            pieces = 1 if kind[i] == INSERT or vn[i] <= vs[i] else 2
            for piece in range(pieces):
                until = ve[i] if piece == 0 else vn[i]
                slot = _hash(rows[i], vs[i], until) & np.uint64(slots - 1)
                while True:
                    found = table[slot]
                    if found == NOTHING:
                        found = count
                        table[slot] = count
                        start[count], end[count], event[count] = vs[i], until, i
                        row[count] = rows[i]
                        count += 1
                        break
                    if row[found] == rows[i] and start[found] == vs[i] and end[found] == until:
                        break
                    slot = (slot + np.uint64(1)) & np.uint64(slots - 1)
                if kind[i] == RETRACT and piece == 0:
                    takes[i] = found
                else:
                    gives[i] = found
    return gives, takes, start[:count], end[:count], event[:count]


@compiled
def _hash(row: int, start: int, end: int) -> np.uint64:
    mixed = np.uint64(row) * _MIX
    mixed = (mixed ^ (mixed >> _SHIFT) ^ np.uint64(start)) * _MIX
    mixed = (mixed ^ (mixed >> _SHIFT) ^ np.uint64(end)) * _MIX
    return mixed ^ (mixed >> _SHIFT)
