"""The kernels of snapshot operators that go by the rows of every snapshot.

A slot (a partition) has two runs: its members, the rows that are alive or still matter, sorted by
(vs, fingerprint, ve), or by what an operator puts in front of that; and the segments emitted of
it, each an answer row during [start, end). A batch is taken in like this:

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
from driftline.engine.state.words import copy, same, sort
from driftline.kernels import compiled, inlined
from driftline.model.arrays import Int64s, Int64Table
from driftline.model.time import INFINITY

# Columns of a member and of a segment.
START, END, PLACE, LOW, HIGH = range(5)
COPIES = 5  # of a member only
MEMBER_COLUMNS, SEGMENT_COLUMNS = 6, 5
# The last columns of the keys by which changes are sorted; those before are the operator's own, and
# the last ones of a member.
LIFETIME_KEYS = 4
KEY_VS, KEY_LOW, KEY_HIGH, KEY_VE = range(-LIFETIME_KEYS, 0)


class Cut(NamedTuple):
    """Pieces: those of the n-th slot of the call are bounds[n] … bounds[n + 1] - 1."""

    bounds: Int64s
    start: Int64s
    end: Int64s
    alive: Int64s  # how many rows are in each


@compiled
def take_in(
    slots: Int64s,
    bounds: Int64s,
    order: Int64s,
    keys: Int64Table,
    weight: Int64s,
    members: RunArrays,
    places: Int64s,
) -> tuple[Int64s, Int64s, Int64s, int, Int64s]:
    """Merge changes into the members. Those of the n-th slot are bounds[n] … bounds[n + 1] - 1 of
    `order`, which gives their places in `keys` and `weight`; `places` are free places for rows.

    Returns the earliest affected time of each slot, the changes whose rows are to be put in the
    first of the places, the places that are free again, how many removals found nothing, and how
    many changes of each slot are left, which now come first in `order`, when those of one lifetime
    are added up.
    """
    earliest = np.full(len(slots), INFINITY, np.int64)
    left = np.zeros(len(slots), np.int64)
    new, freed = np.empty(len(weight), np.int64), np.empty(len(weight), np.int64)
    at, spare = np.empty(len(weight), np.int64), np.empty(len(weight), np.int64)
    taken, gone, strays = 0, 0, 0
    for number in range(len(slots)):
        mine = order[bounds[number] : bounds[number + 1]]
        if len(mine) == 0:
            continue
        sort(keys, mine, len(mine), keys.shape[1], spare)
        left[number], earliest[number] = _net(keys, mine, weight)
        base, size = members.first[slots[number]], members.size[slots[number]]
        place, before, first_gone = 0, taken, size
        for change in range(left[number]):
            item = mine[change]
            place, is_there = first_not_before(members, base, place, size, keys, item)
            if is_there:
                copies = members.ints[base + place, COPIES] + weight[item]
                members.ints[base + place, COPIES] = copies
                if copies <= 0:
                    freed[gone] = members.ints[base + place, PLACE]
                    gone += 1
                    first_gone = min(first_gone, place)
                strays += copies < 0
            elif weight[item] > 0:
                new[taken], at[taken] = item, place
                taken += 1
            else:
                strays += 1
        if first_gone < size:
            size = _closed_up(members, base, size, first_gone, at[before:taken])
        # From the last one on: what comes after it makes room for it and those before it.
        stop = size
        for number_new in range(taken - 1, before - 1, -1):
            shift = number_new - before + 1
            for row in range(stop - 1, at[number_new] - 1, -1):
                copy(members.ints, base + row + shift, members.ints, base + row)
            stop = at[number_new]
            _write(
                members.ints, base + stop + shift - 1, keys, new[number_new], places[number_new],
                weight[new[number_new]],
            )  # fmt: skip
        members.size[slots[number]] = size + taken - before
    return earliest, new[:taken], freed[:gone], strays, left


@inlined
def _write(ints: Int64Table, to: int, keys: Int64Table, item: int, place: int, copies: int) -> None:
    """Write a member: what it is sorted by before its lifetime comes last."""
    ints[to, START], ints[to, END] = keys[item, KEY_VS], keys[item, KEY_VE]
    ints[to, LOW], ints[to, HIGH] = keys[item, KEY_LOW], keys[item, KEY_HIGH]
    ints[to, PLACE], ints[to, COPIES] = place, copies
    for word in range(keys.shape[1] - LIFETIME_KEYS):
        ints[to, MEMBER_COLUMNS + word] = keys[item, word]


@compiled
def _closed_up(members: RunArrays, base: int, size: int, first: int, at: Int64s) -> int:
    """Drop the members of which no copy is left, from the first of them on; `at`: places in the
    run, in order, which move with it. Returns how many are left."""
    write, number = first, 0
    while number < len(at) and at[number] < first:
        number += 1
    for read in range(first, size):
        while number < len(at) and at[number] == read:
            at[number] = write
            number += 1
        if members.ints[base + read, COPIES] > 0:
            copy(members.ints, base + write, members.ints, base + read)
            write += 1
    at[number:] = write
    return write


@compiled
def _net(keys: Int64Table, order: Int64s, weight: Int64s) -> tuple[int, int]:
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
            while place < len(order) and same(keys, order[place], keys, item, 0):
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


@compiled
def first_not_before(
    members: RunArrays, base: int, low: int, size: int, keys: Int64Table, item: int
) -> tuple[int, bool]:
    """The first member of a run, from a place on, that does not come before a change, and whether
    it has its row and lifetime."""
    high = size
    while low < high:
        middle = (low + high) // 2
        if _compare_member(members.ints, base + middle, keys, item) < 0:
            low = middle + 1
        else:
            high = middle
    return low, low < size and _compare_member(members.ints, base + low, keys, item) == 0


@inlined
def _compare_member(ints: Int64Table, member: int, keys: Int64Table, item: int) -> int:
    """-1, 0 or 1, as a member comes before, with or after a change."""
    words = keys.shape[1] - LIFETIME_KEYS
    for column in range(keys.shape[1]):
        if column < words:
            a = ints[member, MEMBER_COLUMNS + column]
        elif column == words:
            a = ints[member, START]
        elif column == words + 1:
            a = ints[member, LOW]
        elif column == words + 2:
            a = ints[member, HIGH]
        else:
            a = ints[member, END]
        b = keys[item, column]
        if a != b:
            return -1 if a < b else 1
    return 0


@compiled
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


@compiled
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


@compiled
def alive_entries(
    slots: Int64s, earliest: Int64s, limit: int, is_perfect: bool, members: RunArrays
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """The members of some slots that are alive from the earliest time to the limit: the number of
    the slot, where the member is, begin and end. What ends after the limit does not end yet."""
    room = 0
    for slot in slots:
        room += members.size[slot]
    number_of, member = np.empty(room, np.int64), np.empty(room, np.int64)
    begin, end = np.empty(room, np.int64), np.empty(room, np.int64)
    last = limit - 1 if is_perfect and limit != INFINITY else limit
    found = 0
    for number in range(len(slots)):
        base = members.first[slots[number]]
        for each in range(base, base + members.size[slots[number]]):
            vs, ve = members.ints[each, START], members.ints[each, END]
            if ve <= earliest[number] or max(vs, earliest[number]) > last:
                continue
            number_of[found], member[found] = number, each
            begin[found] = max(vs, earliest[number])
            end[found] = ve if ve <= last else INFINITY
            found += 1
    return number_of[:found], member[:found], begin[:found], end[:found]


@compiled
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


@compiled
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


@compiled
def least_end(slots: Int64s, runs: RunArrays, least: Int64s) -> None:
    """Lower `least` to the first end of each slot's entries."""
    for number in range(len(slots)):
        base = runs.first[slots[number]]
        for place in range(base, base + runs.size[slots[number]]):
            least[number] = min(least[number], runs.ints[place, END])
