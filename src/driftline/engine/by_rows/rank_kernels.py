"""The kernels of ranks: places among the rows of each snapshot. See `over_kernels` for entries and
evaluations."""

from __future__ import annotations

import numpy as np

from driftline.engine.by_rows.change_kernels import Steps
from driftline.engine.by_rows.over_kernels import Evaluations, come_in, first_from, go_out, in_time
from driftline.engine.state.held_rows import COPIES, PLACE, START
from driftline.engine.state.runs import RunArrays
from driftline.kernels import compiled
from driftline.model.arrays import Int64s, Mask
from driftline.model.time import INFINITY

ROW_NUMBER, RANK, DENSE_RANK = range(3)


@compiled
def places(
    bounds: Int64s,
    begin: Int64s,
    end: Int64s,
    evaluated: Evaluations,
    group: Int64s,
    method: int,
    counted: Mask,
) -> Int64s:
    """The place of every evaluated entry among those that are alive; `group`: the number of its
    order key; `counted`: whether that is counted elsewhere."""
    found = np.empty(len(evaluated.entry), np.int64)
    for number in range(len(bounds) - 1):
        first, size = bounds[number], bounds[number + 1] - bounds[number]
        by_begin = first + in_time(begin[first : first + size], True)
        by_end = first + in_time(end[first : first + size], False)
        alive, count, coming, going = np.empty(size, np.int64), 0, 0, 0
        here, place = 0, 0  # where an evaluation at the same time was, and its place
        for piece in range(evaluated.bounds[number], evaluated.bounds[number + 1]):
            time = evaluated.start[piece]
            if piece == evaluated.bounds[number] or evaluated.start[piece - 1] < time:
                here, place = -1, 0
            while going < size and end[by_end[going]] <= time and end[by_end[going]] < INFINITY:
                while coming < size and begin[by_begin[coming]] < end[by_end[going]]:
                    come_in(alive, count, by_begin[coming])
                    count += 1
                    coming += 1
                go_out(alive, count, by_end[going])
                count -= 1
                going += 1
            while coming < size and begin[by_begin[coming]] <= time:
                come_in(alive, count, by_begin[coming])
                count += 1
                coming += 1
            stop = (
                here + 1 + first_from(alive[here + 1 :], count - here - 1, evaluated.entry[piece])
            )
            for each in range(here + 1, stop + 1):
                tied = each > 0 and group[alive[each]] == group[alive[each - 1]]
                if method == ROW_NUMBER or (method == RANK and not tied):
                    place = each + 1
                elif method == DENSE_RANK and not tied and not counted[alive[each]]:
                    place += 1
            found[piece], here = place, stop
    return found


@compiled
def steps(
    bounds: Int64s, begin: Int64s, end: Int64s, open_end: int
) -> tuple[Steps, Int64s, Int64s]:
    """The times between neighbouring endpoints of each slot, as changes; and when each begins and
    ends."""
    room = 2 * len(begin)
    starts, stops, fresh = (
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.zeros(room, np.bool_),
    )
    come, go = np.empty(len(begin), np.int64), np.empty(len(begin), np.int64)
    come_bounds, go_bounds = np.zeros(room + 1, np.int64), np.zeros(room + 1, np.int64)
    made, came, gone = 0, 0, 0
    left = np.empty(0, np.int64)  # of the slot before
    for number in range(len(bounds) - 1):
        first, size = bounds[number], bounds[number + 1] - bounds[number]
        by_begin = first + in_time(begin[first : first + size], True)
        by_end = first + in_time(end[first : first + size], False)
        coming, going, since = 0, 0, made
        while coming < size or (going < size and end[by_end[going]] < INFINITY):
            time = end[by_end[going]] if going < size else INFINITY
            if coming < size:
                time = min(time, begin[by_begin[coming]])
            if made > since:
                stops[made - 1] = time
            else:
                fresh[made] = True
                for entry in left:
                    go[gone] = entry
                    gone += 1
                left = np.empty(0, np.int64)
            while going < size and end[by_end[going]] == time and time < INFINITY:
                go[gone] = by_end[going]
                gone += 1
                going += 1
            while coming < size and begin[by_begin[coming]] == time:
                come[came] = by_begin[coming]
                came += 1
                coming += 1
            starts[made], stops[made] = time, open_end
            come_bounds[made + 1], go_bounds[made + 1] = came, gone
            made += 1
        if size > 0:
            left = by_end[going:].copy()
    changes = Steps(
        fresh[:made], come_bounds[: made + 1], come[:came], go_bounds[: made + 1], go[:gone],
        np.ones(len(begin), np.int64),
    )  # fmt: skip
    return changes, starts[:made], stops[:made]


@compiled
def drop_outranked(
    slots: Int64s,
    members: RunArrays,
    words: int,
    limit: int,
    of_keys: bool,
    final: int,
    freed: Int64s,
    due: Int64s,
) -> int:
    """Of members that never end, drop those that come after `limit` others for good: that have
    started at or before a final time, as so many others (`of_keys`: as others with so many
    different keys) that are less by their first words. The places of these go to `freed`, and how
    many they are is returned; `due`: when there may be more."""
    gone = 0
    for number in range(len(slots)):
        base, kept = members.first[slots[number]], 0
        started, there = 0, 0  # so many have started, and so many there are
        started_before, before = 0, 0  # of these, those that are less than the next
        counts = False  # one with the key of the next has started
        latest, first_after = final, INFINITY
        for place in range(base, base + members.size[slots[number]]):
            is_new_key = place == base
            for word in range(words):
                if place > base and members.ints[place, word] != members.ints[place - 1, word]:
                    is_new_key = True
            if is_new_key:
                started_before, before, counts = started, there, False
            start = members.ints[place, START]
            if start <= final and started_before >= limit:
                freed[gone] = members.ints[place, PLACE]
                gone += 1
                continue
            if before >= limit:
                first_after = min(first_after, start)
            else:
                latest = max(latest, start)
            copies = members.ints[place, COPIES]
            if of_keys:
                there += 1 if is_new_key else 0
                started += 1 if start <= final and not counts else 0
                counts |= start <= final
            else:
                there += copies
                started += copies if start <= final else 0
            if base + kept < place:
                members.ints[base + kept] = members.ints[place]
            kept += 1
        members.size[slots[number]] = kept
        due[number] = max(latest, first_after)
    return gone
