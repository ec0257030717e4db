"""Attempts that are made again from one of them on, and the rows that are in no match."""

from __future__ import annotations

from driftline.engine.match.search_kernel import (
    BY_ATTEMPT,
    BY_SNAPSHOT,
    FULL_STACK,
    NO_MATCH,
    NO_TARGET,
    attempt,
    next_start,
)
from driftline.engine.match.sweep_state import (
    FINE,
    FULL,
    SKIPS_BACK,
    SKIPS_NOWHERE,
    STEPS,
    Rules,
    Search,
    SweepRoom,
    copy_attempt,
    set_time,
)
from driftline.engine.match.version_kernel import (
    UNTIL,
    WrittenVersions,
    last_entry,
    put_match,
    put_unmatched,
)
from driftline.kernels import in_place
from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING, INFINITY


@in_place
def redo(
    slot: int, time: int, until: int, redone: int, count: int, at: int, low: int, high: int,
    size: int, matches: int, covered: int, begin: Int64s, rules: Rules, search: Search,
    stack: Int64s, room: SweepRoom, output: WrittenVersions,
) -> tuple[int, int, int]:  # fmt: skip
    """Make the attempts from one (`redone`) on again, which begins at a position; `low`, `high`:
    the entries that changed. Returns which problem there is, how many attempts there are then, and
    how many matches (-1: as many as before)."""
    alive, now, old, failed = room.alive, room.now, room.old, search.failed
    found = now.number[redone] if redone < count else matches
    reached = now.reach[redone - 1] if redone > 0 else BEGINNING
    olds = count - redone
    for each in range(olds):
        copy_attempt(old, each, now, redone + each)
        if old.version[each] >= 0:
            room.held[old.entry[each]] = old.version[each]
    count, same = redone, 0
    failed.now[0] = at
    failed.now[1] += 1
    while at < size:
        entry = alive[at]
        if not rules.in_order and at >= rules.back and alive[at - rules.back] > high:
            while same < olds and old.entry[same] < entry:
                same += 1
            if (
                same < olds
                and old.entry[same] == entry
                and (not rules.numbered or old.number[same] == found)
            ):
                break
        if search.knows == BY_ATTEMPT:
            failed.now[1] += 1
        outcome, reach = attempt(
            search.program, search.conditions, search.lookups, search.machine, alive, size, at,
            found + 1, room.labels, stack, failed, search.knows, rules.within, search.limit,
        )  # fmt: skip
        if outcome < NO_MATCH:
            return (FULL if outcome == FULL_STACK else STEPS), count, found
        going_on, version = at + 1, -1
        if outcome != NO_MATCH:
            if search.knows == BY_SNAPSHOT:
                failed.now[1] += 1  # what led to a match has not failed
            going_on = next_start(at, outcome, room.labels, rules.skip, rules.skips_to)
            if going_on < 0:
                return (SKIPS_NOWHERE if going_on == NO_TARGET else SKIPS_BACK), count, found
            reach = max(reach, outcome - 1 + rules.after)
            version = put_match(
                output, room.held[entry], slot, time, until, found + 1, alive, size, at, outcome,
                room.labels,
            )  # fmt: skip
            if version < 0:
                return FULL, count, found
            if version == room.held[entry]:
                room.held[entry] = -1
            covered = max(covered, alive[max(outcome, at + 1) - 1])
        looked_at = alive[reach] if reach < size else len(begin)
        if rules.in_order:
            looked_at = begin[looked_at] if reach < size else INFINITY
            if rules.bound > 0:
                looked_at = min(looked_at, begin[entry] + rules.bound - 1)
        reached = max(reached, looked_at)
        now.entry[count], now.after[count] = entry, alive[going_on - 1]
        now.reach[count], now.last[count] = reached, covered
        now.version[count], now.number[count] = version, found
        found += rules.numbered and version >= 0
        count += 1
        at = going_on
    if at < size:  # the rest is as it was
        found = -1
        for each in range(same, olds):
            copy_attempt(now, count, old, each)
            version = old.version[each]
            if version >= 0:
                room.held[old.entry[each]] = -1
                covered = max(covered, last_entry(output, version))
            reached = max(reached, old.reach[each])
            now.reach[count], now.last[count] = reached, covered
            count += 1
    for each in range(olds):
        set_time(output, room.held[old.entry[each]], UNTIL, time)
        room.held[old.entry[each]] = -1
    return FINE, count, found


@in_place
def show_unmatched(
    slot: int, time: int, until: int, redone: int, count: int, begun_at: int, covered: int,
    size: int, room: SweepRoom, output: WrittenVersions,
) -> int:  # fmt: skip
    """Write the rows from a position on that are in no match, and end those that now are."""
    each = redone
    for position in range(begun_at, size):
        entry = room.alive[position]
        while each < count and room.now.entry[each] <= entry:
            covered = room.now.last[each]
            each += 1
        version = room.unmatched[entry]
        if covered >= entry:
            set_time(output, version, UNTIL, time)
            room.unmatched[entry] = -1
        elif version < 0:
            version = put_unmatched(output, slot, entry, time, until)
            if version < 0:
                return FULL
            room.unmatched[entry] = version
    return FINE
