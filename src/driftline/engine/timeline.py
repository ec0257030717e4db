"""The kernel of additive snapshot operators: what a slot's answer changes by.

Every slot (a group, or a distinct row) has a timeline: a run of entries, one for each time at which
lifetimes start or end, with how many do (`marks`) and by how much the state changes there. The
state during a snapshot is the sum of all entries up to its start. The cursor of a slot stands
behind the last entry at or before the output watermark, together with the state there, so that
work begins where time has come to; for a late change it is moved back by taking entries away.

What was said of a slot is a run of segments, [start, end) with the values said. A batch is taken
in like this: merge its changes into the timeline; go through it from the earliest time that is
affected to the limit of the latency level, which gives the new pieces of the answer; keep every
segment as far as the new pieces agree with it, take back the rest, and say what is missing.

A cti lets go all entries before it and all segments that end at or before it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftline.engine import exact
from driftline.engine.layout import (
    AVG_FLOAT,
    AVG_INT,
    COUNT,
    EAGER,
    END,
    FEWER,
    LEAST,
    MARKS,
    MEMBER_VALUES,
    NULLS,
    ORDERED,
    PERFECT,
    START,
    STATE,
    STDDEV,
    SUM_FLOAT,
    SUM_INT,
    TIME,
    VALUES,
    VARIANCE,
    Changes,
    Cursors,
    Said,
    Values,
)
from driftline.engine.members import enter, forget, is_sorted, merge_members
from driftline.engine.runs import RunArrays, copy_entry
from driftline.engine.segments import correct, room, same, wider
from driftline.model.compiled import njit
from driftline.model.time import BEGINNING, INFINITY

Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def advance(
    slots: Int64s,
    changes: Changes,
    timelines: RunArrays,
    cursors: Cursors,
    segments: RunArrays,
    members: RunArrays,
    values: Values,
    level: int,
    old_watermark: int,
    watermark: int,
    cti: int,
    next_due: Int64s,
    last_end: Int64s,
) -> tuple[Said, int]:
    """Take changes in and bring the slots up to the watermark.

    Returns what is said, and how many sums did not fit. `next_due` and `last_end` get, for each
    slot of the call, its next entry after the cursor and the time when it will be empty.
    """
    int_values, float_values = segments.ints.shape[1] - VALUES, segments.floats.shape[1]
    state_floats = cursors.floats.shape[1]
    out = room(64, int_values, float_values)
    said, overflows = 0, 0
    use_members = members.ints.shape[1] > 0
    copies = len(values.kind) > 0 and values.kind[0] >= FEWER  # the value is a number of copies
    heaps = np.empty((len(values.kind), 8), np.int64)
    heap_sizes = np.zeros(len(values.kind), np.int64)

    for number in range(len(slots)):
        slot = slots[number]
        begin, stop = changes.bounds[number], changes.bounds[number + 1]
        ints, floats = cursors.ints[slot], cursors.floats[slot]

        # 1. What changes on the timeline; the earliest affected time, and the cursor there.
        steps_ints, steps_floats, steps = _steps(changes, begin, stop, values, state_floats)
        earliest = steps_ints[0, TIME] if steps else INFINITY
        base = timelines.first[slot]
        cursor = cursors.place[slot]
        if level == ORDERED and cursor < timelines.size[slot]:
            earliest = min(earliest, timelines.ints[base + cursor, TIME])
        if level == PERFECT:
            earliest = min(earliest, old_watermark)
        while cursor > 0 and timelines.ints[base + cursor - 1, TIME] >= earliest:
            cursor -= 1
            _apply(timelines, base + cursor, ints, floats, -1)

        # 2. The changes become part of the timeline.
        if steps:
            _merge(timelines, slot, cursor, steps_ints, steps_floats, steps)
        if use_members and stop > begin:
            merge_members(members, slot, changes, begin, stop)
        size = timelines.size[slot]

        # 3. The new pieces, from the earliest affected time on.
        limit = INFINITY if level == EAGER else watermark
        pieces = size - cursor + 2
        piece_ints = np.empty((pieces, VALUES + int_values), np.int64)
        piece_floats = np.empty((pieces, float_values), np.float64)
        made = 0
        if earliest <= limit:
            member = 0
            for heap in range(len(values.kind)):
                heap_sizes[heap] = 0
            start = earliest
            while True:
                while cursor < size and timelines.ints[base + cursor, TIME] <= start:
                    _apply(timelines, base + cursor, ints, floats, 1)
                    cursor += 1
                end = timelines.ints[base + cursor, TIME] if cursor < size else INFINITY
                last = end > limit or end == INFINITY
                if end > limit:
                    end = INFINITY if level == ORDERED else limit
                if start < end:
                    if use_members:
                        member, heaps = enter(
                            members, slot, start, member, values, heaps, heap_sizes
                        )
                    if ints[0] > 0:
                        overflows += _say(
                            piece_ints, piece_floats, made, start, end, ints, floats, values,
                            members, heaps, heap_sizes,
                        )  # fmt: skip
                        if (
                            made
                            and piece_ints[made - 1, END] == start
                            and same(
                                piece_ints, piece_floats, made - 1, piece_ints, piece_floats, made
                            )
                        ):
                            piece_ints[made - 1, END] = end
                        elif not copies or piece_ints[made, VALUES] > 0:
                            made += 1
                if last:
                    break
                start = end
            # The cursor stands at the watermark, also where only the last piece has gone past it.
            while cursor > 0 and timelines.ints[base + cursor - 1, TIME] > limit:
                cursor -= 1
                _apply(timelines, base + cursor, ints, floats, -1)
        cursors.place[slot] = cursor
        if ints[0] == 0:
            for column in range(state_floats):
                floats[column] = 0.0

        # 4. What was said, against the pieces.
        if earliest <= limit:
            needed = said + 3 * segments.size[slot] + made + 1
            if needed > len(out.slot):
                out = wider(out, said, 2 * needed)
            said = correct(segments, slot, earliest, piece_ints, piece_floats, made, out, said)

        # 5. What the cti lets go.
        gone = 0
        while gone < cursor and timelines.ints[base + gone, TIME] < cti:
            gone += 1
        timelines.first[slot] += gone
        timelines.room[slot] -= gone
        timelines.size[slot] -= gone
        cursors.place[slot] -= gone
        gone = 0
        base = segments.first[slot]
        while gone < segments.size[slot] and segments.ints[base + gone, END] <= cti:
            gone += 1
        segments.first[slot] += gone
        segments.room[slot] -= gone
        segments.size[slot] -= gone
        if use_members:
            forget(members, slot, cti)

        base, size, cursor = timelines.first[slot], timelines.size[slot], cursors.place[slot]
        next_due[number] = timelines.ints[base + cursor, TIME] if cursor < size else INFINITY
        rows = ints[0]
        for place in range(cursor, size):
            rows += timelines.ints[base + place, STATE]
        if rows > 0:
            last_end[number] = INFINITY
        elif size:
            last_end[number] = timelines.ints[base + size - 1, TIME]
        else:
            last_end[number] = (
                BEGINNING
                if segments.size[slot] == 0
                else segments.ints[segments.first[slot] + segments.size[slot] - 1, END]
            )
    result = Said(
        out.slot[:said],
        out.vs[:said],
        out.ve[:said],
        out.weight[:said],
        out.ints[:said],
        out.floats[:said],
        out.nulls[:said],
    )
    return result, overflows


@njit(cache=True, nogil=True)
def _apply(timelines: RunArrays, entry: int, ints: Int64s, floats: Floats, sign: int) -> None:
    """Add an entry of the timeline to the state, or take it away."""
    for column in range(len(ints)):
        ints[column] += sign * timelines.ints[entry, STATE + column]
    for column in range(0, len(floats), 3):
        exact.add_sum(floats, column, timelines.floats[entry], column, float(sign))


@njit(cache=True, nogil=True)
def _steps(
    changes: Changes, begin: int, stop: int, values: Values, state_floats: int
) -> tuple[Int64s, Floats, int]:
    """The changes as entries of a timeline, sorted by time; where they cancel there is none."""
    starts = changes.order[begin:stop]
    if not is_sorted(changes.vs, starts):
        starts = starts[np.argsort(changes.vs[starts], kind="mergesort")]
    ends = changes.order[begin:stop]
    if not is_sorted(changes.ve, ends):
        ends = ends[np.argsort(changes.ve[ends], kind="mergesort")]
    count = stop - begin
    while count > 0 and changes.ve[ends[count - 1]] == INFINITY:
        count -= 1
    ints = np.zeros((len(starts) + count, STATE + changes.ints.shape[1]), np.int64)
    floats = np.zeros((len(starts) + count, state_floats), np.float64)
    start, end, written = 0, 0, 0
    while start < len(starts) or end < count:
        time = changes.vs[starts[start]] if start < len(starts) else INFINITY
        if end < count:
            time = min(time, changes.ve[ends[end]])
        ints[written, TIME] = time
        while start < len(starts) and changes.vs[starts[start]] == time:
            _add_change(ints, floats, written, starts[start], 1, changes, values)
            start += 1
        while end < count and changes.ve[ends[end]] == time:
            _add_change(ints, floats, written, ends[end], -1, changes, values)
            end += 1
        if _matters(ints, floats, written):
            written += 1
        else:
            for column in range(floats.shape[1]):
                floats[written, column] = 0.0
    return ints, floats, written


@njit(cache=True, nogil=True)
def _matters(ints: Int64s, floats: Floats, entry: int) -> bool:
    for column in range(MARKS, ints.shape[1]):
        if ints[entry, column] != 0:
            return True
    for column in range(0, floats.shape[1], 3):
        if exact.total(floats[entry], column) != 0.0:
            return True
    return False


@njit(cache=True, nogil=True)
def _merge(
    timelines: RunArrays,
    slot: int,
    cursor: int,
    steps_ints: Int64s,
    steps_floats: Floats,
    steps: int,
) -> None:
    """Merge entries into the timeline from the cursor on."""
    base, size = timelines.first[slot], timelines.size[slot]
    tail = size - cursor
    old_ints = timelines.ints[base + cursor : base + size].copy()
    old_floats = timelines.floats[base + cursor : base + size].copy()
    read, step, written = 0, 0, base + cursor
    while read < tail or step < steps:
        if step >= steps or (read < tail and old_ints[read, TIME] < steps_ints[step, TIME]):
            copy_entry(timelines.ints, timelines.floats, written, old_ints, old_floats, read)
            read += 1
            written += 1
            continue
        copy_entry(timelines.ints, timelines.floats, written, steps_ints, steps_floats, step)
        if read < tail and old_ints[read, TIME] == steps_ints[step, TIME]:
            for column in range(MARKS, timelines.ints.shape[1]):
                timelines.ints[written, column] += old_ints[read, column]
            for column in range(0, timelines.floats.shape[1], 3):
                exact.add_sum(timelines.floats[written], column, old_floats[read], column, 1.0)
            read += 1
        step += 1
        if timelines.ints[written, MARKS] != 0:
            written += 1
    timelines.size[slot] = written - base


@njit(cache=True, nogil=True)
def _add_change(
    ints: Int64s,
    floats: Floats,
    entry: int,
    change: int,
    sign: int,
    changes: Changes,
    values: Values,
) -> None:
    """Add the start (sign 1) or the end (sign -1) of a change to an entry."""
    weight = changes.weight[change]
    ints[entry, MARKS] += weight
    for column in range(changes.ints.shape[1]):
        ints[entry, STATE + column] += sign * changes.ints[change, column]
    step = 1.0 if sign * weight > 0 else -1.0
    for number in range(len(values.float_columns)):
        value = changes.floats[change, values.float_columns[number]]
        if value == 0.0:
            continue
        for _ in range(abs(weight)):
            if values.is_square[number]:
                high, low = exact.two_product(value, value)
                exact.add(floats[entry], 3 * number, step * high)
                exact.add(floats[entry], 3 * number, step * low)
            else:
                exact.add(floats[entry], 3 * number, step * value)


@njit(cache=True, nogil=True)
def _say(
    piece_ints: Int64s,
    piece_floats: Floats,
    piece: int,
    start: int,
    end: int,
    ints: Int64s,
    floats: Floats,
    values: Values,
    members: RunArrays,
    heaps: Int64s,
    heap_sizes: Int64s,
) -> int:
    """Make the values of a piece from the state; returns how many sums do not fit 64 bits."""
    overflows, nulls = 0, 0
    piece_ints[piece, START], piece_ints[piece, END] = start, end
    for number in range(len(values.kind)):
        kind, place = values.kind[number], values.place[number]
        whole, real, is_null = 0, 0.0, False
        if kind >= FEWER:
            count, other = ints[values.counts[number]], ints[values.sum[number]]
            whole = min(count, other) if kind == FEWER else max(0, count - other)
            if values.degrees_lost[number]:  # of a set, not of a bag
                whole = min(count, 1) if (other > 0) == (kind == FEWER) else 0
        elif kind >= LEAST:
            is_null = heap_sizes[number] == 0
            if not is_null:
                top = heaps[number, 0]
                column = values.sum[number]
                if values.is_float[number]:
                    real = members.floats[top, column]
                else:
                    whole = members.ints[top, MEMBER_VALUES + column]
        else:
            count = ints[values.counts[number]]
            if kind == COUNT:
                whole = count
            elif kind == SUM_INT or kind == AVG_INT:
                is_null = count == 0
                low, high = ints[values.sum[number]], ints[values.sum[number] + 1]
                high += low >> 32
                low &= 0xFFFFFFFF
                if kind == SUM_INT:
                    overflows += not -(1 << 31) <= high < (1 << 31)
                    whole = (high << 32) | low
                elif not is_null:
                    real = (float(high) * 4294967296.0 + float(low)) / count
            else:
                is_null = count == 0
                degrees = count - values.degrees_lost[number]
                bad = ints[values.counts[number] + 1]
                up, down = ints[values.counts[number] + 2], ints[values.counts[number] + 3]
                if bad or (up and down):
                    real = np.nan
                elif up or down:
                    real = np.inf if up else -np.inf
                    if kind == VARIANCE or kind == STDDEV:
                        real = np.nan
                elif kind == SUM_FLOAT:
                    real = exact.total(floats, values.sum[number])
                elif kind == AVG_FLOAT:
                    real = exact.total(floats, values.sum[number]) / max(count, 1)
                elif degrees > 0:
                    real = exact.variance(
                        floats, values.sum[number], values.squares[number], count, degrees
                    )
                    if kind == STDDEV:
                        real = np.sqrt(real)
                if kind == VARIANCE or kind == STDDEV:
                    is_null = degrees <= 0
        if is_null:
            nulls |= 1 << number
            whole, real = 0, 0.0
        if values.is_float[number]:
            piece_floats[piece, place] = real
        else:
            piece_ints[piece, VALUES + place] = whole
    piece_ints[piece, NULLS] = nulls
    return overflows
