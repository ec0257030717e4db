"""The kernel that finds what a change can concern: rows that are near it in their order.

The members of a slot are sorted by words (see `order_words`). A member is *steady* if it is there
from the earliest affected time on. Rows that have as many steady ones between themselves and a
change as their frames reach do not see it, at any time:

    changes      ······x·················x······
    concerned    ····─────···········─────────··     `wanted`: their answers are computed again
    entries      ··─────────·······─────────────     what these are computed from

Where all that comes before counts as a whole (`Reach.in_blocks`), it is covered by blocks of steady
members (see `block_totals`); what these leave out are entries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.by_rows.block_kernels import NEW_KEYS
from driftline.engine.by_rows.block_kernels import is_steady as block_is_steady
from driftline.engine.by_rows.place_kernels import (
    FAR,
    at_value,
    back,
    bound,
    count_back,
    count_on,
    group_end,
    group_start,
    is_steady,
    on,
    reached,
)
from driftline.engine.state.held_rows import COPIES, END, START
from driftline.engine.state.runs import RunArrays
from driftline.engine.state.words import compare
from driftline.kernels import compiled
from driftline.model.arrays import Int64s, Int64Table, Mask
from driftline.model.time import INFINITY


class Reach(NamedTuple):
    """How far a change is seen: by so many rows before and after it (`back`, `forward`), by those
    whose order value lies so far from its own (`low` … `high`, if `by_value`), and always by those
    with the same first `words`; and the same of what these rows see in turn. `first`: only so many
    rows, or order keys, from the beginning of the partition on count."""

    words: int
    back: int = 0
    forward: int = 0
    sees_back: int = 0
    sees_forward: int = 0
    by_value: bool = False
    low: int = 0
    high: int = 0
    sees_low: int = 0
    sees_high: int = 0
    value_side: int = 1  # the first word of an order value that is not null
    of_floats: int = 0  # 1: words are keys of floats, -1: in descending order; 0: of whole numbers
    float_low: float = 0.0  # of floats, the distances
    float_high: float = 0.0
    float_sees_low: float = 0.0
    float_sees_high: float = 0.0
    first: int = FAR
    counts_keys: bool = False
    in_blocks: bool = False  # what comes before those that are seen counts as totals of blocks
    count_back: int = 0  # so many more rows that count see a change, and are seen (`counts`)
    count_forward: int = 0
    count_sees_back: int = 0
    count_sees_forward: int = 0
    head: int = 0  # what is among the first so many rows that count is seen by all after it


class NearEntries(NamedTuple):
    """Members of some slots: those of the n-th are bounds[n] … bounds[n + 1] - 1; alive during
    [begin, end); what ends after the limit does not end yet. `over`, `over_slot`: those that are
    concerned and not alive any more, and the numbers of their slots. `blocks`: those that count as
    a whole, of the n-th slot block_bounds[n] … block_bounds[n + 1] - 1; `shared_keys`: how many
    order keys of these are among the entries, too."""

    bounds: Int64s
    member: Int64s
    begin: Int64s
    end: Int64s
    wanted: Mask
    over: Int64s
    over_slot: Int64s
    block_bounds: Int64s
    blocks: Int64s
    shared_keys: Int64s


class Blocks(NamedTuple):
    """The blocks of every slot: those of level l are the run slot · levels + l. `known`: by slot,
    of how many members they are."""

    runs: RunArrays
    known: Int64s
    fan_out: int
    levels: int


@compiled
def entries(
    slots: Int64s,
    earliest: Int64s,
    limit: int,
    is_perfect: bool,
    before: int,
    begin: Int64s,
    count: Int64s,
    order: Int64s,
    keys: Int64Table,
    members: RunArrays,
    reach: Reach,
    passed: Mask,
    counts: Mask,
    blocks: Blocks,
) -> NearEntries:
    """What is near the changes of some slots: of the n-th those at `order[begin[n]]` …, count[n] of
    them, rows of `keys`, and the members that start or end after `before` and up to the limit, if
    that is later, and where `passed` says that there may be others. At `perfect` everything is.
    `counts`: by the place of its columns, whether a row counts for those that look for some rows
    that do; if it is empty, all do."""
    room = 0
    for slot in slots:
        room += members.size[slot]
    member, wanted = np.empty(room, np.int64), np.empty(room, np.bool_)
    begins, ends = np.empty(room, np.int64), np.empty(room, np.int64)
    over, over_slot, ended = np.empty(room, np.int64), np.empty(room, np.int64), 0
    bounds = np.zeros(len(slots) + 1, np.int64)
    block_bounds = np.zeros(len(slots) + 1, np.int64)
    block, covered = np.empty(room if reach.in_blocks else 0, np.int64), 0
    shared_keys = np.zeros(len(slots), np.int64)
    last = limit - 1 if is_perfect and limit != INFINITY else limit
    found = 0
    for number in range(len(slots)):
        first, slot = earliest[number], slots[number]
        size = members.size[slot] if first <= limit and first < INFINITY else 0
        if size > 0:
            run = members.ints[members.first[slot] : members.first[slot] + size]
            if is_perfect:
                spans = np.array([[0, size, 0, size]])
            else:
                items = order[begin[number] : begin[number] + count[number]]
                after = before if passed[number] else limit
                changed = _changed(run, after, limit, items, keys, reach.words)
                spans = _spans(run, changed, first, last, reach, counts)
            done, concerned = 0, 0  # both begins and ends of spans are in order
            for span in range(len(spans)):
                if reach.in_blocks and done < spans[span, 2] and not is_perfect:
                    more, gaps, shared_keys[number] = _covered(
                        run, done, spans[span, 2], first, last, blocks, slot, reach,
                        block[covered:],
                    )  # fmt: skip
                    covered += more
                    for each in gaps:
                        vs, ve = run[each, START], run[each, END]
                        if ve > first and max(vs, first) <= last:
                            member[found] = members.first[slot] + each
                            begins[found] = max(vs, first)
                            ends[found] = ve if ve <= last else INFINITY
                            wanted[found] = False
                            found += 1
                for each in range(max(done, spans[span, 2]), spans[span, 3]):
                    vs, ve = run[each, START], run[each, END]
                    while concerned < len(spans) and spans[concerned, 1] <= each:
                        concerned += 1
                    is_concerned = concerned < len(spans) and spans[concerned, 0] <= each
                    if ve <= first or max(vs, first) > last:
                        if is_concerned:
                            over[ended], over_slot[ended] = members.first[slot] + each, number
                            ended += 1
                        continue
                    member[found] = members.first[slot] + each
                    begins[found] = max(vs, first)
                    ends[found] = ve if ve <= last else INFINITY
                    wanted[found] = is_concerned
                    found += 1
                done = max(done, spans[span, 3])
        bounds[number + 1], block_bounds[number + 1] = found, covered
    return NearEntries(
        bounds, member[:found], begins[:found], ends[:found], wanted[:found], over[:ended],
        over_slot[:ended], block_bounds, block[:covered].copy(), shared_keys,
    )  # fmt: skip


@compiled
def _covered(
    run: Int64Table,
    place: int,
    stop: int,
    first: int,
    last: int,
    blocks: Blocks,
    slot: int,
    reach: Reach,
    found: Int64s,
) -> tuple[int, Int64s, int]:
    """Cover the members from a place to another with blocks of steady ones: how many there are, put
    into `found`; the members that are left, in order; and how many order keys have both.

    Of a key that a block has begun and entries go on with, or the other way round, where keys are
    counted, a member of the block becomes an entry, too: then the entries count it at any time."""
    gaps, left = np.empty(stop - place, np.int64), 0
    made, shared = 0, 0
    in_block, in_entries = False, False  # whether what is before is in a block; its key in entries
    while place < stop:
        goes_on = (
            reach.counts_keys
            and place > 0
            and compare(run, place - 1, run, place, reach.words) == 0
        )
        block, size = 0, 0
        for level in range(blocks.levels - 1, -1, -1):
            width = blocks.fan_out ** (level + 1)
            if place % width == 0 and place + width <= min(stop, blocks.known[slot]):
                block = blocks.runs.first[slot * blocks.levels + level] + place // width
                if block_is_steady(blocks.runs, block, first, last):
                    size = width
                    break
        if size:
            if goes_on and not in_block:
                gaps[left] = place
                left += 1
                in_entries = True
            if blocks.runs.ints[block, NEW_KEYS] > 0:
                in_entries = False
            found[made] = block
            made += 1
            place += size
        else:
            if goes_on and in_block and not in_entries:
                gaps[left] = place - 1
                left += 1
                shared += 1
            in_entries = True
            gaps[left] = place
            left += 1
            place += 1
        in_block = size > 0
    return made, gaps[:left], shared


@compiled
def _changed(
    run: Int64Table, before: int, limit: int, items: Int64s, keys: Int64Table, words: int
) -> Int64Table:
    """The places [begin, end) of members with the same words as something that changes, in order;
    and the first two words of that, or zeros."""
    found, made = np.zeros((len(items) + 16, 4), np.int64), 0
    for item in items:
        key = keys[item]
        low = bound(run, key, words, False)
        same = made > 0 and found[made - 1, 0] == low < found[made - 1, 1]
        if same and _same_words(run, key, words, low):
            continue  # the same rows
        found[made, 0], found[made, 1] = low, bound(run, key, words, True)
        for word in range(min(words, 2)):
            found[made, 2 + word] = key[word]
        made += 1
    if before < limit:
        done = 0
        for place in range(len(run)):
            vs, ve = run[place, START], run[place, END]
            passed = before < vs <= limit or (before < ve <= limit and ve < INFINITY)
            if place < done or not passed:
                continue
            if made == len(found):
                found = np.concatenate((found, np.zeros_like(found)))
            found[made, 0] = group_start(run, place, words)
            done = found[made, 1] = group_end(run, place + 1, words)
            for word in range(min(words, 2)):
                found[made, 2 + word] = run[place, word]
            made += 1
        return found[:made][np.argsort(found[:made, 0], kind="mergesort")]
    return found[:made]


@compiled
def _same_words(run: Int64Table, key: Int64s, words: int, place: int) -> bool:
    if place == len(run):
        return False
    same = True
    for word in range(words):
        same = same and run[place, word] == key[word]
    return same


@compiled
def _spans(
    run: Int64Table, changed: Int64Table, first: int, last: int, reach: Reach, counts: Mask
) -> Int64Table:
    """For each change [begin, end) of the concerned members, and of those these see; before these
    the first rows, if all see them."""
    more = 1 if reach.head > 0 and len(changed) > 0 else 0
    spans = np.zeros((more + len(changed), 4), np.int64)
    words, size = reach.words, len(run)
    head = count_on(run, 0, reach.head, first, last, counts)
    if more:
        spans[0, 3] = group_end(run, head, words)
    cap = size
    if reach.first < FAR:
        cap = _first_ones(run, changed, first, last, reach)
    for each in range(len(changed)):
        low, high = changed[each, 0], changed[each, 1]
        if reach.by_value and changed[each, 2] == reach.value_side:
            value = changed[each, 3]
            low = min(
                low,
                at_value(
                    run,
                    changed[each, 2],
                    reached(value, reach.low, reach.float_low, reach.of_floats),
                    False,
                ),
            )
            high = max(
                high,
                at_value(
                    run,
                    changed[each, 2],
                    reached(value, reach.high, reach.float_high, reach.of_floats),
                    True,
                ),
            )
        if low < spans[0, 3] and more:
            high = size
        low = count_back(run, low, reach.count_back, first, last, counts)
        low = group_start(run, back(run, low, reach.back, first, last), words)
        high = count_on(run, high, reach.count_forward, first, last, counts)
        high = group_end(run, on(run, high, reach.forward, first, last), words)
        high = min(high, cap)
        spans[more + each, 0], spans[more + each, 1] = low, high
        if low < high:
            a, b = low, high
            if reach.by_value:
                for end in (low, high - 1):
                    side = run[end, 0]
                    if side == reach.value_side:
                        value = run[end, 1]
                        a = min(
                            a,
                            at_value(
                                run,
                                side,
                                reached(
                                    value, reach.sees_low, reach.float_sees_low, reach.of_floats
                                ),
                                False,
                            ),
                        )
                        b = max(
                            b,
                            at_value(
                                run,
                                side,
                                reached(
                                    value, reach.sees_high, reach.float_sees_high, reach.of_floats
                                ),
                                True,
                            ),
                        )
            low = back(run, a, reach.sees_back, first, last)
            low = count_back(run, low, reach.count_sees_back, first, last, counts)
            low = group_start(run, low, words)
            high = on(run, b, reach.sees_forward, first, last)
            high = count_on(run, high, reach.count_sees_forward, first, last, counts)
            high = group_end(run, high, words)
        spans[more + each, 2], spans[more + each, 3] = low, max(low, high)
    return spans


@compiled
def _first_ones(run: Int64Table, changed: Int64Table, first: int, last: int, reach: Reach) -> int:
    """The place after the first so many steady members, or groups with one, which were so before
    the changes, too."""
    place, count, each = 0, reach.first, 0
    while place < len(run) and count > 0:
        stop, there = group_end(run, place + 1, reach.words), 0
        while each < len(changed) and changed[each, 1] <= place:
            each += 1
        if each == len(changed) or changed[each, 0] >= stop:
            for member in range(place, stop):
                if is_steady(run, member, first, last):
                    there += run[member, COPIES]
        count -= min(there, 1) if reach.counts_keys else there
        place = stop
    return place
