"""The kernels of snapshot operators that go by the rows of every snapshot.

A slot (a partition) has members, the rows that are alive or still matter (`state.held_rows`), and
segments, what was emitted of it (`state.emitted_rows`). A batch is taken in like this:

    merge     make the changes part of the members, and find the earliest time they affect
    cut       the pieces between neighbouring endpoints, from there to the limit of the level
    fill      the members that are alive in each piece
    …         the operator turns the pieces into answer rows, all at once
    correct   keep every segment as far as the new rows agree with it, retract the rest, and emit
              what is missing
    drop      drop what a cti has made final
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.state.held_rows import COPIES, END, PLACE, START
from driftline.engine.state.runs import RunArrays
from driftline.kernels import compiled
from driftline.model.arrays import Int64s
from driftline.model.time import INFINITY


class Cut(NamedTuple):
    """Pieces: those of the n-th slot of the call are bounds[n] … bounds[n + 1] - 1."""

    bounds: Int64s
    start: Int64s
    end: Int64s
    alive: Int64s  # how many rows are in each


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
