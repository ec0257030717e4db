"""What a cti evicts of rows that go by time and are only added."""

from __future__ import annotations

from driftline.engine.match.sequence import back_to, first_from
from driftline.engine.match.sweep_state import OPEN
from driftline.engine.state.held_rows import PLACE, START
from driftline.engine.state.runs import RunArrays
from driftline.kernels import compiled
from driftline.model.arrays import Int64s, Int64Table


@compiled
def settle_rows(
    slots: Int64s, final: int, back: int, keeps_last: bool, over_after: int, members: RunArrays,
    known: Int64Table, has_copies: bool, freed: Int64s,
) -> int:  # fmt: skip
    """Drop the members before the first attempt that was open when the last row that is final was
    the last, but so many (`back`) that are looked at before it; their places go to `freed`.
    `keeps_last`: the last row that is final stays. `over_after`: see `from_open`; `has_copies`: see
    `back_to`."""
    gone = 0
    for slot in slots:
        base, size = members.first[slot], members.size[slot]
        count = first_from(members, base, size, final)
        needed = _first_needed(
            members, base, count, final, back, keeps_last, over_after, known, has_copies
        )
        for place in range(base, base + needed):
            freed[gone] = members.ints[place, PLACE]
            gone += 1
        members.first[slot] += needed
        members.room[slot] -= needed
        members.size[slot] -= needed
    return gone


@compiled
def next_rows(
    slots: Int64s, final: int, back: int, keeps_last: bool, over_after: int, members: RunArrays,
    known: Int64Table, has_copies: bool, stale: Int64s,
) -> None:  # fmt: skip
    """Lower `stale` to when the next rows can be dropped: by bisection, as what is needed never
    begins earlier than before."""
    for number in range(len(slots)):
        base, size = members.first[slots[number]], members.size[slots[number]]
        count = first_from(members, base, size, final)
        low, high = count + 1, size + 1
        while low < high:
            middle = (low + high) // 2
            needed = _first_needed(
                members, base, middle, final, back, keeps_last, over_after, known, has_copies
            )
            if needed == 0:
                low = middle + 1
            else:
                high = middle
        if low <= size:
            stale[number] = min(stale[number], members.ints[base + low - 1, START] + 1)
        if over_after:
            last = max(count - 1, 0)
            if last < size and members.ints[base + last, START] + over_after <= final:
                last += 1
            if last < size:
                stale[number] = min(stale[number], members.ints[base + last, START] + over_after)


@compiled
def _first_needed(
    members: RunArrays,
    base: int,
    count: int,
    final: int,
    back: int,
    keeps_last: bool,
    over_after: int,
    known: Int64Table,
    has_copies: bool,
) -> int:
    """The first member that is still needed when so many of a run are final."""
    if count == 0:
        return 0
    opened = known[members.ints[base + count - 1, PLACE], OPEN]
    if over_after and members.ints[base + count - 1, START] + over_after <= final:
        opened = 0
    needed = max(opened + back, int(keeps_last))
    return back_to(members, base, base + count, needed, has_copies)[0] - base
