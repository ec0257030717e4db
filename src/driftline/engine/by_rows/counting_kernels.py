"""Kernels that count: bits, and how often each value is there, over pieces given as changes."""

from __future__ import annotations

import numpy as np

from driftline.engine.by_rows.change_kernels import Steps
from driftline.kernels import compiled, inlined
from driftline.model.arrays import Int64s, Mask

ALL_BITS, SOME_BITS, ODD_BITS = range(3)
_BITS = 64


@compiled
def bits(changes: Steps, wanted: Mask, values: Int64s, how: int) -> Int64s:
    """The bits that all, some, or an odd number of the wanted members of each piece have; all bits
    of an empty one, if all members are to have them."""
    found = np.zeros(len(changes.fresh), np.int64)
    counts, total = np.zeros(_BITS, np.int64), 0
    for piece in range(len(found)):
        if changes.fresh[piece]:
            counts[:] = 0
            total = 0
        for sign in (-1, 1):
            if sign < 0 and changes.fresh[piece]:
                continue  # those of another slot
            edges = changes.go_bounds if sign < 0 else changes.come_bounds
            which = changes.go if sign < 0 else changes.come
            for place in range(edges[piece], edges[piece + 1]):
                number = which[place]
                if wanted[number]:
                    copies = sign * changes.copies[number]
                    total += copies
                    for bit in range(_BITS):
                        counts[bit] += copies * ((values[number] >> bit) & 1)
        for bit in range(_BITS):
            if how == ALL_BITS:
                is_set = counts[bit] == total
            elif how == SOME_BITS:
                is_set = counts[bit] > 0
            else:
                is_set = counts[bit] % 2 == 1
            found[piece] |= np.int64(is_set) << bit
    return found


@inlined
def _played(winner: Int64s, count: Int64s, group: int) -> None:
    """Find who has won again, from a group up."""
    node = (len(count) + group) // 2
    while node >= 1:
        left, right = winner[2 * node], winner[2 * node + 1]
        winner[node] = right if count[right] > count[left] else left
        node //= 2


@compiled
def modes(
    changes: Steps,
    wanted: Mask,
    group: Int64s,
    keys: Int64s,
    others: Int64s,
    slot_of: Int64s,
    best_keys: Int64s,
    best_counts: Int64s,
) -> tuple[Int64s, Mask]:
    """Of each piece the group that most wanted members are in, of several the first; -1 if there
    are none; and whether it is the best one of others instead. `keys`: of the groups, in order. To
    the pieces of each slot something else is added (`slot_of` is empty: to none): the value of a
    member is `others` times there, and of all others best_keys[slot] is there most often."""
    pieces, size = len(changes.fresh), 1
    while size < len(keys):
        size *= 2
    # A tournament: winner[1] is the group with the greatest count, of several the first.
    count, there = np.zeros(size, np.int64), np.zeros(size, np.int64)
    winner = np.arange(-size, size)
    for node in range(size - 1, 0, -1):
        winner[node] = winner[2 * node]
    found, of_others = np.full(pieces, -1, np.int64), np.zeros(pieces, np.bool_)
    for piece in range(pieces):
        for sign in (-1, 1):
            edges = changes.go_bounds if sign < 0 else changes.come_bounds
            which = changes.go if sign < 0 else changes.come
            for place in range(edges[piece], edges[piece + 1]):
                number = which[place]
                if not wanted[number]:
                    continue
                mine, copies = group[number], sign * changes.copies[number]
                if there[mine] == 0:
                    count[mine] = others[number]
                there[mine] += copies
                count[mine] += copies
                if there[mine] == 0:
                    count[mine] = 0
                _played(winner, count, mine)
        best = winner[1]
        if count[best] > 0:
            found[piece] = best
        if len(slot_of):
            slot = slot_of[piece]
            most = best_counts[slot]
            of_others[piece] = most > count[best] or (
                most == count[best] and most > 0 and best_keys[slot] < keys[best]
            )
    return found, of_others


@compiled
def running_modes(
    slot_of: Int64s,
    words: Int64s,
    times: Int64s,
    keys: Int64s,
    totals: Int64s,
    best: Int64s,
    most: Int64s,
) -> tuple[Int64s, Int64s]:
    """Add members one after the other to those of their slots: after each, the place in `keys` of
    the value that is there most often, of several the least, and how often. `totals`: by word how
    often each value is there; `best`, `most`: both answers of each slot so far."""
    places, counts = np.empty(len(words), np.int64), np.empty(len(words), np.int64)
    for number in range(len(words)):
        slot, count = slot_of[number], 0
        if times[number] > 0:
            totals[words[number]] += times[number]
            count = totals[words[number]]
        if count > most[slot] or (0 < count == most[slot] and keys[number] < keys[best[slot]]):
            best[slot], most[slot] = number, count
        places[number], counts[number] = best[slot], most[slot]
    return places, counts
