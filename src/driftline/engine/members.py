"""Members: the rows of a slot that are kept for its least and greatest values.

They are sorted by vs, ve and a hash of their values. While time is gone through, those that have
begun lie on a heap for each value that is wanted; what has ended is taken off when it comes to the
top. A cti lets go the members that have ended by then.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftline.engine.layout import (
    GREATEST,
    LEAST,
    MEMBER_COPIES,
    MEMBER_HASH,
    MEMBER_NULLS,
    MEMBER_VALUES,
    MEMBER_VE,
    MEMBER_VS,
    Changes,
    Values,
)
from driftline.engine.runs import RunArrays, copy_entry
from driftline.model.compiled import njit

Int64s = NDArray[np.int64]


@njit(cache=True, nogil=True)
def merge_members(members: RunArrays, slot: int, changes: Changes, begin: int, stop: int) -> None:
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
    if not is_sorted(changes.vs, order):
        order = order[np.argsort(changes.vs[order], kind="mergesort")]
    first = 0
    while first < len(order):
        last = first + 1
        while last < len(order) and changes.vs[order[last]] == changes.vs[order[first]]:
            last += 1
        if last - first > 1:
            same = order[first:last]
            same = same[np.argsort(changes.member_hash[same], kind="mergesort")]
            if not is_sorted(changes.ve, same):
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
def forget(members: RunArrays, slot: int, cti: int) -> None:
    base, kept = members.first[slot], members.first[slot]
    for member in range(base, base + members.size[slot]):
        if members.ints[member, MEMBER_VE] > cti and members.ints[member, MEMBER_COPIES] != 0:
            if kept != member:
                copy_entry(members.ints, members.floats, kept, members.ints, members.floats, member)
            kept += 1
    members.size[slot] = kept - base


@njit(cache=True, nogil=True)
def enter(
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
def is_sorted(times: Int64s, order: Int64s) -> bool:
    for place in range(1, len(order)):
        if times[order[place - 1]] > times[order[place]]:
            return False
    return True
