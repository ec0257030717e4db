"""The kernels of snapshot operators that go by the rows of every snapshot.

A slot (a partition) has two runs: its members, the rows that are alive or still matter, sorted by
(vs, fingerprint, ve); and the segments emitted of it, each an answer row during [start,
end). A batch is taken in like this:

    take_in   merge the changes into the members, and find the earliest time they affect
    cut       the pieces between neighbouring endpoints, from there to the limit of the level
    fill      the members that are alive in each piece
    …         the operator turns the pieces into answer rows, all at once
    correct   keep every segment as far as the new rows agree with it, retract the rest, and emit
              what is missing (in `emit_kernel`)
    settle    drop what a cti has made final
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.state.runs import RunArrays
from driftline.model.arrays import Int64s
from driftline.model.compiled import njit
from driftline.model.time import INFINITY

# Columns of a member and of a segment.
START, END, PLACE, LOW, HIGH = range(5)
COPIES = 5  # of a member only
MEMBER_COLUMNS, SEGMENT_COLUMNS = 6, 5
# Columns of the keys by which changes are sorted.
KEY_VS, KEY_LOW, KEY_HIGH, KEY_VE = range(4)

_BLOCK = 8
"""Blocks of this size are sorted by insertion, and then merged."""


class Cut(NamedTuple):
    """Pieces: those of the n-th slot of the call are bounds[n] … bounds[n + 1] - 1."""

    bounds: Int64s
    start: Int64s
    end: Int64s
    alive: Int64s  # how many rows are in each


@njit(cache=True, nogil=True)
def compare(keys: Int64s, one: int, other_keys: Int64s, other: int) -> int:
    """-1, 0 or 1, as one row of keys comes before, with or after another."""
    for column in range(keys.shape[1]):
        a, b = keys[one, column], other_keys[other, column]
        if a != b:
            return -1 if a < b else 1
    return 0


@njit(cache=True, nogil=True)
def sort_by(keys: Int64s, order: Int64s) -> None:
    """Sort `order`, numbers of rows of `keys`, by these; equal ones stay as they are."""
    size = len(order)
    for begin in range(0, size, _BLOCK):
        for place in range(begin + 1, min(begin + _BLOCK, size)):
            item, hole = order[place], place
            while hole > begin and compare(keys, order[hole - 1], keys, item) > 0:
                order[hole] = order[hole - 1]
                hole -= 1
            order[hole] = item
    width = _BLOCK
    while width < size:
        for begin in range(0, size - width, 2 * width):
            middle, stop = begin + width, min(begin + 2 * width, size)
            if compare(keys, order[middle - 1], keys, order[middle]) <= 0:
                continue
            front = order[begin:middle].copy()
            left, right, write = 0, middle, begin
            while left < len(front):
                if right < stop and compare(keys, front[left], keys, order[right]) > 0:
                    order[write] = order[right]
                    right += 1
                else:
                    order[write] = front[left]
                    left += 1
                write += 1
        width *= 2


@njit(cache=True, nogil=True)
def take_in(
    slots: Int64s,
    bounds: Int64s,
    order: Int64s,
    keys: Int64s,
    weight: Int64s,
    members: RunArrays,
    places: Int64s,
) -> tuple[Int64s, Int64s, Int64s, int]:
    """Merge changes into the members. Those of the n-th slot are bounds[n] … bounds[n + 1] - 1 of
    `order`, which gives their places in `keys` and `weight`; `places` are free places for rows.

    Returns the earliest affected time of each slot, the changes whose rows are to be put in the
    first of the places, the places that are free again, and how many removals found nothing.
    """
    earliest = np.full(len(slots), INFINITY, np.int64)
    new, freed = np.empty(len(weight), np.int64), np.empty(len(weight), np.int64)
    taken, gone, strays = 0, 0, 0
    for number in range(len(slots)):
        mine = order[bounds[number] : bounds[number + 1]]
        if len(mine) == 0:
            continue
        sort_by(keys, mine)
        count, earliest[number] = _net(keys, mine, weight)
        if count == 0:
            continue
        slot = slots[number]
        base, size = members.first[slot], members.size[slot]
        first = _first_not_before(members, base, size, keys, mine[0])
        tail = members.ints[base + first : base + size].copy()
        tail_keys = np.empty((len(tail), 4), np.int64)
        tail_keys[:, KEY_VS], tail_keys[:, KEY_VE] = tail[:, START], tail[:, END]
        tail_keys[:, KEY_LOW], tail_keys[:, KEY_HIGH] = tail[:, LOW], tail[:, HIGH]
        read, change, write = 0, 0, base + first
        while read < len(tail) or change < count:
            if change == count:
                side = -1
            elif read == len(tail):
                side = 1
            else:
                side = compare(tail_keys, read, keys, mine[change])
            if side < 0:
                members.ints[write] = tail[read]
                read += 1
                write += 1
                continue
            item = mine[change]
            change += 1
            copies = weight[item]
            if side == 0:
                copies += tail[read, COPIES]
                members.ints[write] = tail[read]
                members.ints[write, COPIES] = copies
                if copies <= 0:
                    freed[gone] = tail[read, PLACE]
                    gone += 1
                read += 1
            elif copies > 0:
                members.ints[write, START] = keys[item, KEY_VS]
                members.ints[write, END] = keys[item, KEY_VE]
                members.ints[write, LOW] = keys[item, KEY_LOW]
                members.ints[write, HIGH] = keys[item, KEY_HIGH]
                members.ints[write, PLACE] = places[taken]
                members.ints[write, COPIES] = copies
                new[taken] = item
                taken += 1
            strays += copies < 0
            if copies > 0:
                write += 1
        members.size[slot] = write - base
    return earliest, new[:taken], freed[:gone], strays


@njit(cache=True, nogil=True)
def _net(keys: Int64s, order: Int64s, weight: Int64s) -> tuple[int, int]:
    """Add up changes of the same lifetime, to the front of `order`; returns how many are left, and
    the earliest affected time. A chain, the lifetimes of one row with one vs, of which as many go
    as come, is affected only from the first end that changes."""
    count, earliest, place = 0, INFINITY, 0
    while place < len(order):
        head = order[place]
        balance, first_end = 0, INFINITY
        while place < len(order) and (
            keys[order[place], KEY_VS] == keys[head, KEY_VS]
            and keys[order[place], KEY_LOW] == keys[head, KEY_LOW]
            and keys[order[place], KEY_HIGH] == keys[head, KEY_HIGH]
        ):
            item = order[place]
            total = weight[item]
            place += 1
            while place < len(order) and compare(keys, order[place], keys, item) == 0:
                total += weight[order[place]]
                place += 1
            if total != 0:
                weight[item] = total
                order[count] = item
                count += 1
                balance += total
                first_end = min(first_end, keys[item, KEY_VE])
        earliest = min(earliest, first_end if balance == 0 else keys[head, KEY_VS])
    return count, earliest


@njit(cache=True, nogil=True)
def _first_not_before(members: RunArrays, base: int, size: int, keys: Int64s, item: int) -> int:
    """The first member of a run that does not come before a change."""
    low, high = 0, size
    key = np.empty((1, 4), np.int64)
    while low < high:
        middle = (low + high) // 2
        entry = members.ints[base + middle]
        key[0, KEY_VS], key[0, KEY_LOW] = entry[START], entry[LOW]
        key[0, KEY_HIGH], key[0, KEY_VE] = entry[HIGH], entry[END]
        if compare(key, 0, keys, item) < 0:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def cut(slots: Int64s, earliest: Int64s, limit: int, is_perfect: bool, members: RunArrays) -> Cut:
    """The pieces of each slot from its earliest affected time to the limit in which something is
    alive. The last one has an open end, but at `perfect` it ends at the limit."""
    room = 0
    for number in range(len(slots)):
        room += 2 * members.size[slots[number]] + 1
    bounds = np.zeros(len(slots) + 1, np.int64)
    starts, ends = np.empty(room, np.int64), np.empty(room, np.int64)
    counts = np.empty(room, np.int64)
    made = 0
    for number in range(len(slots)):
        slot, first = slots[number], earliest[number]
        if first <= limit and members.size[slot] > 0:
            base = members.first[slot]
            run = members.ints[base : base + members.size[slot]]
            times = np.empty(2 * len(run) + 1, np.int64)
            times[0] = first
            found = 1
            for member in range(len(run)):
                for column in (START, END):
                    time = run[member, column]
                    if first < time <= limit and time != INFINITY and time != times[found - 1]:
                        times[found] = time
                        found += 1
            times = np.unique(times[:found])
            alive = np.zeros(len(times) + 1, np.int64)
            for member in range(len(run)):
                if run[member, START] > limit or run[member, END] <= first:
                    continue
                begin = np.searchsorted(times, max(first, run[member, START]))
                stop = np.searchsorted(times, run[member, END])
                alive[begin] += run[member, COPIES]
                alive[stop] -= run[member, COPIES]
            count = 0
            for piece in range(len(times)):
                count += alive[piece]
                last = piece + 1 == len(times)
                open_end = limit if is_perfect else INFINITY
                end = open_end if last else times[piece + 1]
                if count > 0 and times[piece] < end:
                    starts[made], ends[made], counts[made] = times[piece], end, count
                    made += 1
        bounds[number + 1] = made
    return Cut(bounds, starts[:made].copy(), ends[:made].copy(), counts[:made].copy())


@njit(cache=True, nogil=True)
def fill(
    slot_of: Int64s, start: Int64s, count: Int64s, members: RunArrays
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """The members of some pieces, sorted by slot and start.

    Returns where each piece's begin, the number of each (one for every copy), and the place and
    the vs of each number.
    """
    offsets = np.zeros(len(start) + 1, np.int64)
    offsets[1:] = np.cumsum(count)
    numbers = np.empty(offsets[-1], np.int64)
    places, vs = np.empty(offsets[-1], np.int64), np.empty(offsets[-1], np.int64)
    known, write = 0, 0
    alive, alive_numbers = np.empty(64, np.int64), np.empty(64, np.int64)
    size, next_member = 0, 0
    for piece in range(len(start)):
        slot = slot_of[piece]
        base = members.first[slot]
        if piece == 0 or slot_of[piece - 1] != slot:
            size, next_member = 0, 0
        kept = 0
        for place in range(size):
            if members.ints[base + alive[place], END] > start[piece]:
                alive[kept], alive_numbers[kept] = alive[place], alive_numbers[place]
                kept += 1
        size = kept
        while (
            next_member < members.size[slot]
            and members.ints[base + next_member, START] <= start[piece]
        ):
            if members.ints[base + next_member, END] > start[piece]:
                if size == len(alive):
                    alive = np.concatenate((alive, np.empty_like(alive)))
                    alive_numbers = np.concatenate((alive_numbers, np.empty_like(alive)))
                alive[size], alive_numbers[size] = next_member, known
                size += 1
                places[known] = members.ints[base + next_member, PLACE]
                vs[known] = members.ints[base + next_member, START]
                known += 1
            next_member += 1
        for place in range(size):
            for _ in range(members.ints[base + alive[place], COPIES]):
                numbers[write] = alive_numbers[place]
                write += 1
    return offsets, numbers, places[:known].copy(), vs[:known].copy()


@njit(cache=True, nogil=True)
def settle(slots: Int64s, runs: RunArrays, final: int, freed: Int64s) -> int:
    """Drop the entries that end at or before what is final; their places go to `freed`."""
    gone = 0
    for slot in slots:
        base, kept = runs.first[slot], 0
        for place in range(runs.size[slot]):
            if runs.ints[base + place, END] <= final:
                freed[gone] = runs.ints[base + place, PLACE]
                gone += 1
                continue
            if kept < place:
                runs.ints[base + kept] = runs.ints[base + place]
            kept += 1
        runs.size[slot] = kept
    return gone


@njit(cache=True, nogil=True)
def endpoints_around(
    slots: Int64s, members: RunArrays, after: int, up_to: int
) -> tuple[Int64s, int]:
    """The least endpoint of each slot after a time (INFINITY: none), and the greatest of all after
    it and up to another (`after`: none)."""
    least = np.full(len(slots), INFINITY, np.int64)
    greatest = after
    for number in range(len(slots)):
        base = members.first[slots[number]]
        for place in range(base, base + members.size[slots[number]]):
            for column in (START, END):
                time = members.ints[place, column]
                if time > after:
                    least[number] = min(least[number], time)
                    if time <= up_to:
                        greatest = max(greatest, time)
    return least, greatest


@njit(cache=True, nogil=True)
def least_end(slots: Int64s, runs: RunArrays, least: Int64s) -> None:
    """Lower `least` to the first end of each slot's entries."""
    for number in range(len(slots)):
        base = runs.first[slots[number]]
        for place in range(base, base + runs.size[slots[number]]):
            least[number] = min(least[number], runs.ints[place, END])
