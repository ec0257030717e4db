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

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from driftline.engine import exact
from driftline.engine.runs import RunArrays, copy_entry
from driftline.model.time import BEGINNING, INFINITY

Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]

PERFECT, ORDERED, EAGER = range(3)

# Columns of a timeline entry, before those of the state. Column 0 of the state counts the rows.
TIME, MARKS, STATE = 0, 1, 2
# Columns of a said segment, before its values.
START, END, NULLS, VALUES = 0, 1, 2, 3
# How a value is made from the state: see `_value`.
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
    out = _room(64, int_values, float_values)
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
            _merge_members(members, slot, changes, begin, stop)
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
                        member, heaps = _enter(
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
                            and _same(
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
                out = _wider(out, said, 2 * needed)
            said = _correct(segments, slot, earliest, piece_ints, piece_floats, made, out, said)

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
            _forget(members, slot, cti)

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
    if not _is_sorted(changes.vs, starts):
        starts = starts[np.argsort(changes.vs[starts], kind="mergesort")]
    ends = changes.order[begin:stop]
    if not _is_sorted(changes.ve, ends):
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
def _is_sorted(times: Int64s, order: Int64s) -> bool:
    for place in range(1, len(order)):
        if times[order[place - 1]] > times[order[place]]:
            return False
    return True


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
def _merge_members(members: RunArrays, slot: int, changes: Changes, begin: int, stop: int) -> None:
    """Merge rows into the members, which are sorted by vs, ve and the hash of their values."""
    order = _by_identity(changes, begin, stop)
    base, size = members.first[slot], members.size[slot]
    first = base + size
    while first > base and members.ints[first - 1, MEMBER_VS] >= changes.vs[order[0]]:
        first -= 1
    old_ints = members.ints[first : base + size].copy()
    old_floats = members.floats[first : base + size].copy()
    read, step, written = 0, 0, first
    while read < len(old_ints) or step < len(order):
        turn = 1  # 1: a change comes first, -1: a member does, 0: they are the same
        if step == len(order):
            turn = -1
        elif read < len(old_ints):
            turn = _compared(old_ints, read, changes, order[step])
        if turn <= 0:
            copy_entry(members.ints, members.floats, written, old_ints, old_floats, read)
            read += 1
        if turn > 0:
            _put_member(members, written, changes, order[step])
        while (
            step < len(order) and turn >= 0 and _is_member(members, written, changes, order[step])
        ):
            members.ints[written, MEMBER_COPIES] += changes.weight[order[step]]
            step += 1
        if members.ints[written, MEMBER_COPIES] != 0:
            written += 1
    members.size[slot] = written - base


@njit(cache=True, nogil=True)
def _by_identity(changes: Changes, begin: int, stop: int) -> Int64s:
    """The changes sorted by vs, ve and the hash of their values."""
    order = changes.order[begin:stop].copy()
    if not _is_sorted(changes.vs, order):
        order = order[np.argsort(changes.vs[order], kind="mergesort")]
    first = 0
    while first < len(order):
        last = first + 1
        while last < len(order) and changes.vs[order[last]] == changes.vs[order[first]]:
            last += 1
        if last - first > 1:
            same = order[first:last]
            same = same[np.argsort(changes.member_hash[same], kind="mergesort")]
            if not _is_sorted(changes.ve, same):
                same = same[np.argsort(changes.ve[same], kind="mergesort")]
            order[first:last] = same
        first = last
    return order


@njit(cache=True, nogil=True)
def _compared(ints: Int64s, member: int, changes: Changes, change: int) -> int:
    """-1 if a member comes before a change, 1 if after it, 0 if they have the same identity."""
    for one, other in (
        (ints[member, MEMBER_VS], changes.vs[change]),
        (ints[member, MEMBER_VE], changes.ve[change]),
        (ints[member, MEMBER_HASH], changes.member_hash[change]),
    ):
        if one != other:
            return -1 if one < other else 1
    return 0


@njit(inline="always")
def _is_member(members: RunArrays, member: int, changes: Changes, change: int) -> bool:
    return _compared(members.ints, member, changes, change) == 0


@njit(inline="always")
def _put_member(members: RunArrays, member: int, changes: Changes, change: int) -> None:
    members.ints[member, MEMBER_VS] = changes.vs[change]
    members.ints[member, MEMBER_VE] = changes.ve[change]
    members.ints[member, MEMBER_COPIES] = 0
    members.ints[member, MEMBER_NULLS] = changes.member_nulls[change]
    members.ints[member, MEMBER_HASH] = changes.member_hash[change]
    for column in range(changes.member_ints.shape[1]):
        members.ints[member, MEMBER_VALUES + column] = changes.member_ints[change, column]
    for column in range(changes.member_floats.shape[1]):
        members.floats[member, column] = changes.member_floats[change, column]


@njit(cache=True, nogil=True)
def _forget(members: RunArrays, slot: int, cti: int) -> None:
    base, kept = members.first[slot], members.first[slot]
    for member in range(base, base + members.size[slot]):
        if members.ints[member, MEMBER_VE] > cti and members.ints[member, MEMBER_COPIES] != 0:
            if kept != member:
                copy_entry(members.ints, members.floats, kept, members.ints, members.floats, member)
            kept += 1
    members.size[slot] = kept - base


@njit(cache=True, nogil=True)
def _enter(
    members: RunArrays,
    slot: int,
    start: int,
    member: int,
    values: Values,
    heaps: Int64s,
    heap_sizes: Int64s,
) -> tuple[int, Int64s]:
    """Put the members that have begun by `start` on the heaps of their least or greatest values,
    and take those that have ended off their tops."""
    base = members.first[slot]
    while member < members.size[slot] and members.ints[base + member, MEMBER_VS] <= start:
        here = base + member
        alive = members.ints[here, MEMBER_VE] > start and members.ints[here, MEMBER_COPIES] > 0
        for heap in range(len(values.kind)):
            is_null = (members.ints[here, MEMBER_NULLS] >> values.counts[heap]) & 1
            is_extreme = values.kind[heap] == LEAST or values.kind[heap] == GREATEST
            if alive and is_extreme and not is_null:
                if heap_sizes[heap] == heaps.shape[1]:
                    wider = np.empty((heaps.shape[0], 2 * heaps.shape[1]), np.int64)
                    wider[:, : heaps.shape[1]] = heaps
                    heaps = wider
                _push(heaps[heap], heap_sizes[heap], here, members, values, heap)
                heap_sizes[heap] += 1
        member += 1
    for heap in range(len(values.kind)):
        while heap_sizes[heap] and members.ints[heaps[heap, 0], MEMBER_VE] <= start:
            heap_sizes[heap] -= 1
            _pop(heaps[heap], heap_sizes[heap], members, values, heap)
    return member, heaps


@njit(cache=True, nogil=True)
def _before(one: int, other: int, members: RunArrays, values: Values, heap: int) -> bool:
    """Whether one member is nearer to the top than another."""
    column = values.sum[heap]
    is_least = values.kind[heap] == LEAST
    if values.is_float[heap]:
        a, b = members.floats[one, column], members.floats[other, column]
        if is_least:
            return bool(a < b or (np.isnan(b) and not np.isnan(a)))
        return bool(a > b or (np.isnan(a) and not np.isnan(b)))
    x, y = members.ints[one, MEMBER_VALUES + column], members.ints[other, MEMBER_VALUES + column]
    return bool(x < y if is_least else x > y)


@njit(cache=True, nogil=True)
def _push(
    heap: Int64s, size: int, member: int, members: RunArrays, values: Values, number: int
) -> None:
    place = size
    heap[place] = member
    while place > 0:
        parent = (place - 1) // 2
        if not _before(heap[place], heap[parent], members, values, number):
            break
        heap[place], heap[parent] = heap[parent], heap[place]
        place = parent


@njit(cache=True, nogil=True)
def _pop(heap: Int64s, size: int, members: RunArrays, values: Values, number: int) -> None:
    """Take the top off; `size` is the size without it."""
    heap[0] = heap[size]
    place = 0
    while True:
        best = place
        for child in (2 * place + 1, 2 * place + 2):
            if child < size and _before(heap[child], heap[best], members, values, number):
                best = child
        if best == place:
            return
        heap[place], heap[best] = heap[best], heap[place]
        place = best


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


@njit(inline="always")
def _equal(a: float, b: float) -> bool:
    return a == b or (a != a and b != b)


@njit(cache=True, nogil=True)
def _same(
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
def _correct(
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
            and _same(piece_ints, piece_floats, ahead, old_ints, old_floats, number)
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
def _room(size: int, ints: int, floats: int) -> Said:
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
def _wider(out: Said, said: int, size: int) -> Said:
    wider = _room(size, out.ints.shape[1], out.floats.shape[1])
    wider.slot[:said], wider.weight[:said] = out.slot[:said], out.weight[:said]
    wider.vs[:said], wider.ve[:said] = out.vs[:said], out.ve[:said]
    wider.ints[:said], wider.floats[:said] = out.ints[:said], out.floats[:said]
    wider.nulls[:said] = out.nulls[:said]
    return wider
