"""Kernels over pieces that are given as changes: the rows that each gains and loses.

Where many pieces share most of their rows, as in a long sliding window, this costs the changes
times the logarithm of the rows, not the rows of every piece. A tree of counts (Fenwick's) over
values in order finds the value at any place of a piece.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.by_rows.piece_kernels import rounded
from driftline.engine.state.exact_floats import two_product, two_sum
from driftline.engine.state.held_rows import COPIES, END, PLACE, START
from driftline.engine.state.runs import RunArrays
from driftline.kernels import compiled, in_place, inlined
from driftline.model.arrays import Floats, FloatTable, Int64s, Int64Table, Mask

MOST_PARTIALS = 64
"""Sums of floats that do not overlap are never more than about forty."""


NOTHING_BEFORE = np.zeros(0, np.int64), np.zeros((0, 0)), np.zeros((0, 2), np.int64)
"""That nothing is added to the pieces of slots: see `spreads`."""


class Steps(NamedTuple):
    """In piece p come[come_bounds[p]] … come, and go[go_bounds[p]] … go: numbers of members, each
    with its copies. Where a piece is `fresh`, those of another slot go and its own come."""

    fresh: Mask
    come_bounds: Int64s
    come: Int64s
    go_bounds: Int64s
    go: Int64s
    copies: Int64s


@compiled
def steps(slot_of: Int64s, start: Int64s, members: RunArrays) -> tuple[Steps, Int64s, Int64s]:
    """The changes of some pieces, sorted by slot and start, and the place and vs of each member."""
    room = 0
    for piece in range(len(start)):
        if piece == 0 or slot_of[piece - 1] != slot_of[piece]:
            room += members.size[slot_of[piece]]
    come, go = np.empty(room, np.int64), np.empty(room, np.int64)
    copies, places = np.empty(room, np.int64), np.empty(room, np.int64)
    vs, inside = np.empty(room, np.int64), np.zeros(room, np.bool_)
    come_bounds = np.zeros(len(start) + 1, np.int64)
    go_bounds = np.zeros(len(start) + 1, np.int64)
    fresh = np.zeros(len(start), np.bool_)
    known, came, gone, first_known = 0, 0, 0, 0
    base, size, next_start, next_end = 0, 0, 0, 0
    by_end, number_of = np.empty(0, np.int64), np.empty(0, np.int64)
    for piece in range(len(start)):
        slot = slot_of[piece]
        if piece == 0 or slot_of[piece - 1] != slot:
            fresh[piece] = True
            for number in range(first_known, known):
                if inside[number]:
                    go[gone] = number
                    gone += 1
            base, size, next_start, next_end, first_known = (
                members.first[slot], members.size[slot], 0, 0, known,
            )  # fmt: skip
            by_end = np.argsort(members.ints[base : base + size, END])
            number_of = np.full(size, -1, np.int64)
        time = start[piece]
        while next_start < size and members.ints[base + next_start, START] <= time:
            if members.ints[base + next_start, END] > time:
                number_of[next_start] = known
                places[known] = members.ints[base + next_start, PLACE]
                vs[known] = members.ints[base + next_start, START]
                copies[known] = members.ints[base + next_start, COPIES]
                inside[known] = True
                come[came] = known
                known += 1
                came += 1
            next_start += 1
        while next_end < size and members.ints[base + by_end[next_end], END] <= time:
            number = number_of[by_end[next_end]]
            if number >= 0:
                go[gone] = number
                inside[number] = False
                gone += 1
            next_end += 1
        come_bounds[piece + 1], go_bounds[piece + 1] = came, gone
    made = Steps(fresh, come_bounds, come[:came], go_bounds, go[:gone], copies[:known])
    return made, places[:known], vs[:known]


def of_members(offsets: Int64s, members: Int64s, length: int) -> Steps:
    """Pieces of which all members are given, of so many, as changes: each is fresh, and all of its
    members come. That is enough for sums, which forget all when a piece is fresh."""
    none = np.zeros(len(offsets), np.int64)
    fresh = np.ones(len(offsets) - 1, np.bool_)
    return Steps(fresh, offsets, members, none, none[:0], np.ones(length, np.int64))


@compiled
def counts(changes: Steps, wanted: Mask) -> Int64s:
    """How many of the wanted members are in each piece."""
    found = np.empty(len(changes.fresh), np.int64)
    count = 0
    for piece in range(len(found)):
        for place in range(changes.go_bounds[piece], changes.go_bounds[piece + 1]):
            number = changes.go[place]
            count -= changes.copies[number] * wanted[number]
        for place in range(changes.come_bounds[piece], changes.come_bounds[piece + 1]):
            number = changes.come[place]
            count += changes.copies[number] * wanted[number]
        found[piece] = count
    return found


@compiled
def different(changes: Steps, wanted: Mask, group: Int64s, groups: int) -> Steps:
    """The changes of the groups that have a wanted member: of each the first one that comes stands
    for it, once."""
    come, go = np.empty(len(changes.come), np.int64), np.empty(len(changes.go), np.int64)
    come_bounds, go_bounds = np.zeros_like(changes.come_bounds), np.zeros_like(changes.go_bounds)
    there, stands_for = np.zeros(groups, np.int64), np.full(groups, -1, np.int64)
    came, gone = 0, 0
    for piece in range(len(changes.fresh)):
        for place in range(changes.go_bounds[piece], changes.go_bounds[piece + 1]):
            number = changes.go[place]
            if wanted[number]:
                there[group[number]] -= 1
                if there[group[number]] == 0:
                    go[gone] = stands_for[group[number]]
                    gone += 1
        for place in range(changes.come_bounds[piece], changes.come_bounds[piece + 1]):
            number = changes.come[place]
            if wanted[number]:
                if there[group[number]] == 0:
                    come[came] = stands_for[group[number]] = number
                    came += 1
                there[group[number]] += 1
        come_bounds[piece + 1], go_bounds[piece + 1] = came, gone
    once = np.ones(len(changes.copies), np.int64)
    return Steps(changes.fresh, come_bounds, come[:came], go_bounds, go[:gone], once)


@inlined
def _add(tree: Int64s, group: int, change: int) -> None:
    place = group + 1
    while place < len(tree):
        tree[place] += change
        place += place & -place


@inlined
def _at(tree: Int64s, rank: int) -> int:
    """The group with the value of a rank, from 0."""
    step, place = 1, 0
    while 2 * step < len(tree):
        step *= 2
    while step > 0:
        if place + step < len(tree) and tree[place + step] <= rank:
            place += step
            rank -= tree[place]
        step //= 2
    return place


@inlined
def _step(
    changes: Steps,
    piece: int,
    wanted: Mask,
    group: Int64s,
    tree: Int64s,
) -> None:
    """Bring the tree from one piece to the next."""
    for place in range(changes.go_bounds[piece], changes.go_bounds[piece + 1]):
        number = changes.go[place]
        if wanted[number]:
            _add(tree, group[number], -changes.copies[number])
    for place in range(changes.come_bounds[piece], changes.come_bounds[piece + 1]):
        number = changes.come[place]
        if wanted[number]:
            _add(tree, group[number], changes.copies[number])


@compiled
def at_ranks(
    changes: Steps, wanted: Mask, group: Int64s, groups: int, ranks: Int64Table
) -> Int64Table:
    """The groups, numbered in order, at some ranks [rank, piece] of the wanted members of each
    piece; -1 where the rank is negative."""
    found = np.full(ranks.shape, -1, np.int64)
    tree = np.zeros(groups + 1, np.int64)
    for piece in range(len(changes.fresh)):
        _step(changes, piece, wanted, group, tree)
        for row in range(len(ranks)):
            if ranks[row, piece] >= 0:
                found[row, piece] = _at(tree, ranks[row, piece])
    return found


@inlined
def _up_to(tree: Int64s, group: int) -> int:
    """How many values of the groups before one there are."""
    count = 0
    while group > 0:
        count += tree[group]
        group -= group & -group
    return count


@compiled
def keys_at_ranks(
    changes: Steps,
    wanted: Mask,
    keys: Int64s,
    group: Int64s,
    ranks: Int64Table,
    slot_of: Int64s,
    slots: Int64s,
    others: RunArrays,
    left_bounds: Int64s,
    left_group: Int64s,
    left_times: Int64s,
) -> Int64Table:
    """The keys at some ranks [rank, piece] of the wanted members of each piece and of other keys,
    which each slot has in order, but for some that are left out; 0 where the rank is negative.
    `keys`: of groups, in order."""
    found = np.zeros(ranks.shape, np.int64)
    tree = np.zeros(len(keys) + 1, np.int64)
    run, since, until = others.ints[:0, 0], 0, 0  # those of a slot, and which are left out
    for piece in range(len(changes.fresh)):
        _step(changes, piece, wanted, group, tree)
        if changes.fresh[piece]:
            number = slot_of[piece]
            slot = slots[number]
            run = others.ints[others.first[slot] : others.first[slot] + others.size[slot], 0]
            for place in range(since, until):
                _add(tree, left_group[place], left_times[place])
            since, until = left_bounds[number], left_bounds[number + 1]
            for place in range(since, until):
                _add(tree, left_group[place], -left_times[place])
        for row in range(len(ranks)):
            rank = ranks[row, piece]
            if rank < 0:
                continue
            low, high = 0, len(keys)  # of groups before which there are not more values
            while low < high:
                middle = (low + high) // 2
                if _up_to(tree, middle) + np.searchsorted(run, keys[middle]) <= rank:
                    low = middle + 1
                else:
                    high = middle
            up_to = _up_to(tree, low)
            if low > 0 and rank < up_to + np.searchsorted(run, keys[low - 1], "right"):
                found[row, piece] = keys[low - 1]
            else:
                found[row, piece] = run[rank - up_to]
    return found


@compiled
def first_ones(changes: Steps, position: Int64s, limit: int) -> tuple[Int64s, Int64s]:
    """Of each piece the members with the least positions: the piece and the position of each."""
    sizes = counts(changes, np.ones(len(position), np.bool_))
    total = 0
    for piece in range(len(sizes)):
        total += min(limit, sizes[piece])
    pieces, found = np.empty(total, np.int64), np.empty(total, np.int64)
    wanted, tree = np.ones(len(position), np.bool_), np.zeros(len(position) + 1, np.int64)
    made = 0
    for piece in range(len(sizes)):
        _step(changes, piece, wanted, position, tree)
        for rank in range(min(limit, sizes[piece])):
            pieces[made], found[made] = piece, _at(tree, rank)
            made += 1
    return pieces, found


@compiled
def limb_sums(changes: Steps, wanted: Mask, limbs: Int64Table) -> Int64Table:
    """The sums of each column of `limbs` over the wanted members of each piece."""
    sums = np.zeros((len(changes.fresh), limbs.shape[1]), np.int64)
    running = np.zeros(limbs.shape[1], np.int64)
    for piece in range(len(sums)):
        if changes.fresh[piece]:
            running[:] = 0
        else:
            for place in range(changes.go_bounds[piece], changes.go_bounds[piece + 1]):
                number = changes.go[place]
                if wanted[number]:
                    for limb in range(limbs.shape[1]):
                        running[limb] -= limbs[number, limb] * changes.copies[number]
        for place in range(changes.come_bounds[piece], changes.come_bounds[piece + 1]):
            number = changes.come[place]
            if wanted[number]:
                for limb in range(limbs.shape[1]):
                    running[limb] += limbs[number, limb] * changes.copies[number]
        sums[piece] = running
    return sums


@in_place
def add_exactly(partials: Floats, size: int, number: float) -> int:
    """Add a number to partial sums that do not overlap, exactly; returns how many there are."""
    kept = 0
    for partial in range(size):
        number, rest = two_sum(number, partials[partial])
        if rest != 0.0:
            partials[kept] = rest
            kept += 1
    if number != 0.0:
        partials[kept] = number
        kept += 1
    return kept


@in_place
def take_up(partials: Floats, others: Floats) -> int:
    """Take up partial sums of which some may be zero; returns how many are not."""
    size = 0
    for partial in others:
        if partial != 0.0:
            partials[size] = partial
            size += 1
    return size


@compiled
def float_sums(
    changes: Steps,
    wanted: Mask,
    numbers: Floats,
    slot_of: Int64s,
    partials_before: FloatTable,
    special_before: Int64Table,
) -> tuple[Floats, Floats, Floats]:
    """The sum of the wanted members of each piece, rounded once; and as two floats. A sum with a
    NaN or an infinity in it is NaN or infinite. To the pieces of each slot something else is added
    (`slot_of` is empty: to none): partial sums that do not overlap, and how many NaNs, infinities
    and negative infinities there are."""
    pieces = len(changes.fresh)
    total, high, low = np.zeros(pieces), np.zeros(pieces), np.zeros(pieces)
    partials, size = np.empty(MOST_PARTIALS), 0
    nans, above, below = 0, 0, 0
    for piece in range(pieces):
        if changes.fresh[piece]:
            size, nans, above, below = 0, 0, 0, 0
            if len(slot_of):
                slot = slot_of[piece]
                size = take_up(partials, partials_before[slot])
                nans, above = special_before[slot, 0], special_before[slot, 1]
                below = special_before[slot, 2]
        for sign in (-1, 1):
            if sign < 0 and changes.fresh[piece]:
                continue  # those of another slot
            bounds = changes.go_bounds if sign < 0 else changes.come_bounds
            which = changes.go if sign < 0 else changes.come
            for place in range(bounds[piece], bounds[piece + 1]):
                number = which[place]
                if not wanted[number]:
                    continue
                value, copies = numbers[number], sign * changes.copies[number]
                if np.isnan(value):
                    nans += copies
                elif value == np.inf:
                    above += copies
                elif value == -np.inf:
                    below += copies
                else:
                    for _ in range(abs(copies)):
                        size = add_exactly(partials, size, sign * value)
        if nans > 0 or (above > 0 and below > 0):
            total[piece] = high[piece] = np.nan
        elif above > 0 or below > 0:
            total[piece] = high[piece] = np.inf if above > 0 else -np.inf
        elif size > 0:
            total[piece], high[piece], low[piece] = rounded(partials, size)
    return total, high, low


@compiled
def spreads(
    changes: Steps,
    wanted: Mask,
    first: Floats,
    second: Floats,
    is_square: bool,
    slot_of: Int64s,
    before: FloatTable,
    counts_before: Int64Table,
) -> tuple[Floats, Floats]:
    """n · Σ xy - Σ x · Σ y of the n wanted members of each piece, as two floats; NaN where one of
    their numbers is not finite. `is_square`: x is y. To the pieces of each slot something else is
    added (`slot_of` is empty: to none): partial sums of x, y and xy that do not overlap, how many
    members these are of, and how many more with a number that is not finite."""
    pieces, width = len(changes.fresh), before.shape[1] // 3
    high, low = np.zeros(pieces), np.zeros(pieces)
    x, y, xy = np.empty(MOST_PARTIALS), np.empty(MOST_PARTIALS), np.empty(MOST_PARTIALS)
    total = np.empty(MOST_PARTIALS)
    x_size, y_size, xy_size, count, odd = 0, 0, 0, 0, 0
    for piece in range(pieces):
        if changes.fresh[piece]:
            x_size, y_size, xy_size, count, odd = 0, 0, 0, 0, 0
            if len(slot_of):
                slot = slot_of[piece]
                x_size = take_up(x, before[slot, :width])
                y_size = take_up(y, before[slot, width : 2 * width])
                xy_size = take_up(xy, before[slot, 2 * width :])
                count, odd = counts_before[slot, 0], counts_before[slot, 1]
        for sign in (-1, 1):
            if sign < 0 and changes.fresh[piece]:
                continue  # those of another slot
            bounds = changes.go_bounds if sign < 0 else changes.come_bounds
            which = changes.go if sign < 0 else changes.come
            for place in range(bounds[piece], bounds[piece + 1]):
                number = which[place]
                if not wanted[number]:
                    continue
                one, other = first[number], second[number]
                copies = changes.copies[number]
                count += sign * copies
                if not (np.isfinite(one) and np.isfinite(other)):
                    odd += sign * copies
                    continue
                product, rest = two_product(sign * one, other)
                for _ in range(copies):
                    x_size = add_exactly(x, x_size, sign * one)
                    if not is_square:
                        y_size = add_exactly(y, y_size, sign * other)
                    xy_size = add_exactly(xy, xy_size, product)
                    xy_size = add_exactly(xy, xy_size, rest)
        if odd > 0:
            high[piece] = np.nan
            continue
        size, others = 0, x if is_square else y
        for one in xy[:xy_size]:
            product, rest = two_product(one, float(count))
            size = add_exactly(total, size, product)
            size = add_exactly(total, size, rest)
        for one in x[:x_size]:
            for other in others[: x_size if is_square else y_size]:
                product, rest = two_product(-one, other)
                size = add_exactly(total, size, product)
                size = add_exactly(total, size, rest)
        if size > 0:
            _, high[piece], low[piece] = rounded(total, size)
    return high, low


@compiled
def members_of(changes: Steps, wanted: Mask, piece: int) -> Int64s:
    """The wanted members of one piece, one for every copy."""
    inside = np.zeros(len(wanted), np.int64)
    for earlier in range(piece + 1):
        for place in range(changes.go_bounds[earlier], changes.go_bounds[earlier + 1]):
            inside[changes.go[place]] = 0
        for place in range(changes.come_bounds[earlier], changes.come_bounds[earlier + 1]):
            inside[changes.come[place]] = changes.copies[changes.come[place]]
    return np.repeat(np.arange(len(wanted)), inside * wanted)
