"""The fast reader of a log's lines: a kernel that reads the envelope of every event.

It takes only what it fully understands: an object whose keys and strings need no unescaping, whose
times are integers, ISO strings or null, and which has all that its kind needs. Any other line,
wrong or just unusual, is left to `driftline.event_log.explain`, which decides.

Rows are not read here. The kernel finds where each begins and ends, and two things that Arrow's
JSON reader would not tell: which columns it names (as a hash of the set of names; a column that is
missing is not one that is null), and whether it holds an integer that no double holds exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftline.event_log.iso import NO_TIME, iso_ticks
from driftline.event_log.json_kernel import (
    BACKSLASH,
    BIG,
    MINUS,
    NINE,
    ODD,
    QUOTE,
    ZERO,
    integer,
    is_space,
    is_word,
    literal_end,
    number,
    plain_string_end,
    same_bytes,
    skip_space,
    string_end,
)
from driftline.kernels import compiled
from driftline.model.arrays import Bytes, Int8s, Int64s, Int64Table, Mask
from driftline.model.columns import CTI, EXTERNAL_CTI, INSERT, NO_CLOCK, RETRACT
from driftline.model.time import INFINITY

DEEPEST = 64
"""A row nested deeper than this is refused."""


_VS, _VE, _VN, _T, _FROM, _TO, _COUNT, _AT, _STREAM, _KIND, _ROW = range(11)
_FIELDS = 11
_UNKNOWN = -1
_TIMES = _TO  # the fields up to here are times
_NUMBERS = _AT  # the fields up to here are numbers

_NEEDED = np.array(
    [
        1 << _STREAM | 1 << _VS | 1 << _VE | 1 << _ROW,
        1 << _STREAM | 1 << _VS | 1 << _VE | 1 << _VN | 1 << _ROW,
        1 << _STREAM | 1 << _T,
        1 << _STREAM | 1 << _FROM | 1 << _TO | 1 << _COUNT,
    ],
    np.int64,
)
_MAY_BE_NULL = 1 << _VE | 1 << _T | 1 << _TO | 1 << _AT

_COMMA, _COLON = ord(","), ord(":")
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = ord("{"), ord("}"), ord("["), ord("]")

_FNV_START, _FNV_FACTOR = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_MIX, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


@dataclass(frozen=True, slots=True)
class Scanned:
    """What the kernel read of each line; meaningful only where `fine`."""

    fine: NDArray[np.bool_]
    kind: NDArray[np.int8]
    vs: Int64s
    ve: Int64s
    vn: Int64s
    at: Int64s
    iso: NDArray[np.bool_]
    """Whether one of its times was an ISO string."""
    name: Int64s
    """Which of `names` its stream is."""
    row_start: Int64s
    row_end: Int64s
    row_names: Int64s
    """A hash of the set of the row's column names."""
    row_big: NDArray[np.bool_]
    """Whether the row holds an integer beyond LARGEST_EXACT."""
    names: Int64s
    """Where the name of each stream first stands: pairs of start and end."""


def scan_lines(block: Bytes, starts: Int64s, ends: Int64s) -> Scanned:
    """Reads the lines block[starts[i]:ends[i]].

    >>> line = b'{"stream":"s","kind":"insert","vs":1,"ve":null,"row":{"a":1}}'
    >>> found = scan_lines(np.frombuffer(line, np.uint8), np.array([0]), np.array([len(line)]))
    >>> bool(found.fine[0]), int(found.vs[0]), line[found.row_start[0]:found.row_end[0]]
    (True, 1, b'{"a":1}')
    """
    count = len(starts)
    scanned = Scanned(
        fine=np.zeros(count, np.bool_),
        kind=np.zeros(count, np.int8),
        vs=np.zeros(count, np.int64),
        ve=np.zeros(count, np.int64),
        vn=np.zeros(count, np.int64),
        at=np.full(count, NO_CLOCK, np.int64),
        iso=np.zeros(count, np.bool_),
        name=np.full(count, -1, np.int64),
        row_start=np.zeros(count, np.int64),
        row_end=np.zeros(count, np.int64),
        row_names=np.zeros(count, np.int64),
        row_big=np.zeros(count, np.bool_),
        names=np.zeros((count, 2), np.int64),
    )
    _scan(
        block,
        starts,
        ends,
        scanned.fine,
        scanned.kind,
        scanned.vs,
        scanned.ve,
        scanned.vn,
        scanned.at,
        scanned.iso,
        scanned.name,
        scanned.row_start,
        scanned.row_end,
        scanned.row_names,
        scanned.row_big,
        scanned.names,
    )
    return scanned


@compiled
def _scan(
    block: Bytes, starts: Int64s, ends: Int64s, fine: Mask, kind: Int8s, vs: Int64s,
    ve: Int64s, vn: Int64s, at: Int64s, iso: Mask, name: Int64s, row_start: Int64s, row_end: Int64s,
    row_names: Int64s, row_big: Mask, names: Int64Table,
) -> None:  # fmt: skip
    value = np.zeros(_FIELDS, np.int64)
    found = np.zeros(8, np.int64)
    known = 0  # how many of `names` are in use
    last = 0
    for i in range(len(starts)):
        if not _line(block, starts[i], ends[i], value, found):
            continue
        has, null, isos = found[_HAS], found[_NULL], found[_ISO]
        what = value[_KIND]
        needed = _NEEDED[what]
        if has & needed != needed or null & needed & ~_MAY_BE_NULL:
            continue
        if what == INSERT or what == RETRACT:
            start, end, new = value[_VS], value[_VE], value[_VN]
            if what == INSERT:
                new = 0
            if start >= end or (what == RETRACT and not start <= new < end):
                continue
        elif what == CTI:
            start, end, new = value[_T], 0, 0
        else:
            start, end, new = value[_FROM], value[_TO], value[_COUNT]
            if start >= end or new < 0:
                continue
        if what >= CTI and has & (1 << _ROW):
            continue  # that row would never be checked for proper JSON
        kind[i], vs[i], ve[i], vn[i] = what, start, end, new
        iso[i] = isos & needed != 0
        if has & (1 << _AT) and not null & (1 << _AT):
            at[i] = value[_AT]
        if what <= RETRACT:
            row_start[i], row_end[i] = found[_ROW_START], found[_ROW_END]
            row_names[i], row_big[i] = found[_ROW_NAMES], found[_ROW_BIG] != 0
        first, after = found[_NAME_START], value[_STREAM]
        if known == 0 or not same_bytes(block, first, after, names[last, 0], names[last, 1]):
            last = 0
            while last < known:
                if same_bytes(block, first, after, names[last, 0], names[last, 1]):
                    break
                last += 1
            if last == known:
                names[known, 0], names[known, 1] = first, after
                known += 1
        name[i] = last
        fine[i] = True


_HAS, _NULL, _ISO, _NAME_START, _ROW_START, _ROW_END, _ROW_NAMES, _ROW_BIG = range(8)
"""What `_line` leaves in `found`; the end of the stream's name is its value."""


@compiled
def _line(block: Bytes, i: int, end: int, value: Int64s, found: Int64s) -> bool:
    """Reads one line into `value` (by field) and `found`; whether it was understood."""
    seen = has = null = isos = 0
    value[_VN] = value[_AT] = 0
    i = skip_space(block, i, end)
    if i >= end or block[i] != _OPEN:
        return False
    while True:
        i = skip_space(block, i + 1, end)
        if i >= end or block[i] != QUOTE:
            return False
        close = plain_string_end(block, i + 1, end)
        if close < 0:
            return False
        field = _field(block, i + 1, close)
        i = skip_space(block, close + 1, end)
        if i >= end or block[i] != _COLON:
            return False
        i = skip_space(block, i + 1, end)
        if i >= end:
            return False
        bit = 0
        if field != _UNKNOWN:
            bit = 1 << field
            if seen & bit:
                return False
            seen |= bit
            has |= bit
        byte = block[i]
        if byte == QUOTE:
            close = plain_string_end(block, i + 1, end)
            if close < 0:
                return False
            if field == _KIND:
                value[_KIND] = _kind(block, i + 1, close)
                if value[_KIND] < 0:
                    return False
            elif field == _STREAM:
                if close == i + 1:
                    return False
                found[_NAME_START], value[_STREAM] = i + 1, close
            elif 0 <= field <= _TIMES:
                value[field] = iso_ticks(block, i + 1, close)
                if value[field] == NO_TIME:
                    return False
                isos |= bit
            elif field != _UNKNOWN:
                return False
            i = close + 1
        elif byte == MINUS or ZERO <= byte <= NINE:
            if field == _UNKNOWN:
                i, size = number(block, i, end)
                if size == ODD:
                    return False
            elif field <= _NUMBERS:
                i, value[field] = integer(block, i, end)
                if i < 0:
                    return False
            else:
                return False
        elif byte == _OPEN and field == _ROW:
            found[_ROW_START] = i
            i = _row(block, i, end, found, False)
            if i < 0:
                return False
            found[_ROW_END] = i
        else:
            after = literal_end(block, i, end)
            if after < 0 or (field != _UNKNOWN and byte != ord("n")):
                return False
            i = after
            if field == _KIND or field == _STREAM:
                return False
            if field == _ROW:
                has &= ~bit
            elif field != _UNKNOWN:
                null |= bit
                value[field] = INFINITY
        i = skip_space(block, i, end)
        if i >= end:
            return False
        if block[i] == _CLOSE:
            break
        if block[i] != _COMMA:
            return False
    found[_HAS], found[_NULL], found[_ISO] = has, null, isos
    return has & (1 << _KIND) != 0 and skip_space(block, i + 1, end) == end


@compiled
def scan_row(block: Bytes, start: int, end: int) -> tuple[bool, int, bool]:
    """Of a row that is known to be proper JSON: understood, its names' hash, and whether big."""
    found = np.zeros(8, np.int64)
    after = _row(block, start, end, found, True)
    return after == end, found[_ROW_NAMES], found[_ROW_BIG] != 0


@compiled
def _row(block: Bytes, i: int, end: int, found: Int64s, escapes: bool) -> int:
    """The end of the object that starts at i, or -1 if there is anything odd about it."""
    names = np.uint64(0)
    found[_ROW_BIG] = 0
    depth = 0
    while i < end:
        byte = block[i]
        if byte == QUOTE:
            close = string_end(block, i + 1, end)
            if close < 0:
                return -1
            if depth == 1:
                after = skip_space(block, close + 1, end)
                if after < end and block[after] == _COLON:
                    hashed = _FNV_START
                    for at in range(i + 1, close):
                        if block[at] == BACKSLASH and not escapes:
                            return -1
                        hashed = (hashed ^ np.uint64(block[at])) * _FNV_FACTOR
                    hashed = (hashed ^ (hashed >> _SHIFT)) * _MIX
                    names += hashed ^ (hashed >> _SHIFT)
            i = close + 1
        elif byte == _OPEN or byte == _OPEN_LIST:
            depth += 1
            if depth > DEEPEST:
                return -1
            i += 1
        elif byte == _CLOSE or byte == _CLOSE_LIST:
            depth -= 1
            i += 1
            if depth == 0:
                found[_ROW_NAMES] = np.int64(names)
                return i
        elif byte == MINUS or ZERO <= byte <= NINE:
            i, size = number(block, i, end)
            if size == ODD:
                return -1
            if size == BIG:
                found[_ROW_BIG] = 1
        elif byte == _COMMA or byte == _COLON or is_space(byte):
            i += 1
        else:
            i = literal_end(block, i, end)
            if i < 0:
                return -1
    return -1


@compiled
def _field(block: Bytes, start: int, end: int) -> int:
    if is_word(block, start, end, b"vs"):
        return _VS
    if is_word(block, start, end, b"ve"):
        return _VE
    if is_word(block, start, end, b"vn"):
        return _VN
    if is_word(block, start, end, b"t"):
        return _T
    if is_word(block, start, end, b"from"):
        return _FROM
    if is_word(block, start, end, b"to"):
        return _TO
    if is_word(block, start, end, b"count"):
        return _COUNT
    if is_word(block, start, end, b"at"):
        return _AT
    if is_word(block, start, end, b"stream"):
        return _STREAM
    if is_word(block, start, end, b"kind"):
        return _KIND
    if is_word(block, start, end, b"row"):
        return _ROW
    return _UNKNOWN


@compiled
def _kind(block: Bytes, start: int, end: int) -> int:
    if is_word(block, start, end, b"insert"):
        return INSERT
    if is_word(block, start, end, b"retract"):
        return RETRACT
    if is_word(block, start, end, b"cti"):
        return CTI
    if is_word(block, start, end, b"external_cti"):
        return EXTERNAL_CTI
    return _UNKNOWN
