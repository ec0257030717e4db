"""The kernels of `extremes`: finding the cells of a batch, and heaps that keys come to and go from.

All heaps have their greatest key on top.
"""

from __future__ import annotations

import numpy as np

from driftline.engine.additive.layout import CELL_NUMBER, CELL_VE, CELL_VS
from driftline.engine.state.runs import RunArrays
from driftline.engine.state.words import compare, copy, sort
from driftline.kernels import compiled, in_place
from driftline.model.arrays import Int64s, Int64Table, MaskTable
from driftline.model.time import BEGINNING

_LIFETIME = 2
"""The words of a cell that it is in the order of."""
_MANY = 16
"""From so many keys on it is worth to get rid of those that went."""


@compiled
def found(
    cells: RunArrays,
    slots: Int64s,
    bounds: Int64s,
    order: Int64s,
    vs: Int64s,
    ve: Int64s,
    upto: Int64s,
    free: Int64s,
    used: int,
) -> tuple[Int64s, int, int, bool]:
    """The number of every cell of a batch: that of a cell of its slot with this lifetime, or a new
    one, which becomes a cell of the slot. Also how many free numbers were taken, how many numbers
    are now in use, and whether cells of the batch share numbers. What has begun by `upto` of a
    slot is told apart by its end alone."""
    numbers, taken, shared = np.empty(len(vs), np.int64), 0, False
    order, spare = order.copy(), np.empty(len(order), np.int64)
    lifetimes = np.empty((len(vs), _LIFETIME), np.int64)
    lifetimes[:, CELL_VS], lifetimes[:, CELL_VE] = vs, ve
    most = 1
    for slot in slots:
        most = max(most, cells.size[slot])
    old = np.empty((most, 3), np.int64)
    for place in range(len(slots)):
        slot = slots[place]
        mine = order[bounds[place] : bounds[place + 1]]
        for row in mine:
            if lifetimes[row, CELL_VS] <= upto[slot]:
                lifetimes[row, CELL_VS] = BEGINNING
        sort(lifetimes, mine, len(mine), _LIFETIME, spare)
        base, size = cells.first[slot], cells.size[slot]
        begin = base + size
        while begin > base and cells.ints[begin - 1, CELL_VS] >= lifetimes[mine[0], CELL_VS]:
            begin -= 1
        tail = base + size - begin
        for entry in range(tail):
            copy(old, entry, cells.ints, begin + entry)
        read, step, written = 0, 0, begin
        while read < tail or step < len(mine):
            turn = 1  # 1: a cell of the batch comes first, -1: an old one does, 0: they are one
            if step == len(mine):
                turn = -1
            elif read < tail:
                turn = compare(old, read, lifetimes, mine[step], _LIFETIME)
            if turn > 0:
                if taken < len(free):
                    taken += 1
                    number = free[len(free) - taken]
                else:
                    number = used
                    used += 1
                cells.ints[written, CELL_VS] = lifetimes[mine[step], CELL_VS]
                cells.ints[written, CELL_VE] = lifetimes[mine[step], CELL_VE]
                cells.ints[written, CELL_NUMBER] = number
            else:
                copy(cells.ints, written, old, read)
                read += 1
            alike = 0
            while (
                turn >= 0
                and step < len(mine)
                and compare(lifetimes, mine[step], cells.ints, written, _LIFETIME) == 0
            ):
                numbers[mine[step]] = cells.ints[written, CELL_NUMBER]
                step += 1
                alike += 1
            shared |= alike > 1
            written += 1
        cells.size[slot] = written - base
    return numbers, taken, used, shared


@compiled
def pushed(
    held: RunArrays,
    gone: RunArrays,
    number: Int64s,
    weight: Int64s,
    keys: Int64Table,
    there: MaskTable,
) -> None:
    """Put the keys of changes on the heaps of their cells."""
    count = len(keys)
    held_keys, held_first, held_size = held.ints, held.first, held.size
    gone_keys, gone_first, gone_size = gone.ints, gone.first, gone.size
    for extreme in range(count):
        for change in range(len(number)):
            if there[extreme, change]:
                heap, key = number[change] * count + extreme, keys[extreme, change]
                for _ in range(weight[change]):
                    _push(held_keys, held_first[heap], held_size[heap], key)
                    held_size[heap] += 1
                for _ in range(-weight[change]):
                    _push(gone_keys, gone_first[heap], gone_size[heap], key)
                    gone_size[heap] += 1


@compiled
def raised(
    top: Int64Table, there: MaskTable, number: Int64s, keys: Int64Table, has_key: MaskTable
) -> None:
    """Let the keys of changes raise the extremes of their cells, of which nothing ever goes."""
    for extreme in range(len(keys)):
        for change in range(len(number)):
            cell, key = number[change], keys[extreme, change]
            if has_key[extreme, change] and (not there[cell, extreme] or top[cell, extreme] < key):
                top[cell, extreme], there[cell, extreme] = key, True


@compiled
def brought_together(top: Int64Table, there: MaskTable, pours: Int64Table) -> None:
    """Give cells, one after the other, the greater of their own extreme and another's."""
    for pour in range(len(pours)):
        source, into = pours[pour]
        for extreme in range(top.shape[1]):
            if there[source, extreme] and (
                not there[into, extreme] or top[into, extreme] < top[source, extreme]
            ):
                top[into, extreme], there[into, extreme] = top[source, extreme], True


@compiled
def settled(
    held: RunArrays, gone: RunArrays, cells: Int64s, top: Int64Table, there: MaskTable
) -> None:
    """Find the extremes of some cells: take keys off that came and went."""
    count = top.shape[1]
    held_keys, gone_keys = held.ints, gone.ints
    for cell in cells:
        for extreme in range(count):
            heap = cell * count + extreme
            if gone.size[heap] == held.size[heap]:
                gone.size[heap], held.size[heap] = 0, 0
            while (
                gone.size[heap]
                and held.size[heap]
                and gone_keys[gone.first[heap], 0] == held_keys[held.first[heap], 0]
            ):
                held.size[heap] -= 1
                gone.size[heap] -= 1
                _pop(held_keys, held.first[heap], held.size[heap])
                _pop(gone_keys, gone.first[heap], gone.size[heap])
            if held.size[heap] >= _MANY and 2 * gone.size[heap] > held.size[heap]:
                _subtract(held, gone, heap)
            there[cell, extreme] = held.size[heap] > 0
            if held.size[heap]:
                top[cell, extreme] = held_keys[held.first[heap], 0]


@in_place
def _push(keys: Int64Table, base: int, size: int, key: int) -> None:
    place = size
    while place > 0:
        parent = (place - 1) >> 1
        if keys[base + parent, 0] >= key:
            break
        keys[base + place, 0] = keys[base + parent, 0]
        place = parent
    keys[base + place, 0] = key


@in_place
def _pop(keys: Int64Table, base: int, size: int) -> None:
    """Take the top off; `size` is the size without it."""
    key, place = keys[base + size, 0], 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and keys[base + child + 1, 0] > keys[base + child, 0]:
            child += 1
        if keys[base + child, 0] <= key:
            break
        keys[base + place, 0] = keys[base + child, 0]
        place = child
    keys[base + place, 0] = key


@compiled
def _subtract(held: RunArrays, gone: RunArrays, heap: int) -> None:
    """Take the keys that went from those that came; what is left is in order, so it is a heap."""
    first, size = held.first[heap], held.size[heap]
    came = np.sort(held.ints[first : first + size, 0])
    went = np.sort(gone.ints[gone.first[heap] : gone.first[heap] + gone.size[heap], 0])
    left, written = len(went), 0
    for place in range(size - 1, -1, -1):
        if left and went[left - 1] == came[place]:
            left -= 1
        else:
            held.ints[first + written, 0] = came[place]
            written += 1
    held.size[heap], gone.size[heap] = written, 0


@compiled
def without_ended(cells: RunArrays, slots: Int64s, cti: int, there: MaskTable, room: int) -> Int64s:
    """Drop the cells of slots that end at or before a cti, or are empty; returns their numbers."""
    numbers, gone = np.empty(room, np.int64), 0
    for slot in slots:
        base, kept = cells.first[slot], cells.first[slot]
        for place in range(base, base + cells.size[slot]):
            number = cells.ints[place, CELL_NUMBER]
            if cells.ints[place, CELL_VE] <= cti or not there[number].any():
                numbers[gone] = number
                gone += 1
                continue
            if kept != place:
                copy(cells.ints, kept, cells.ints, place)
            kept += 1
        cells.size[slot] = kept - base
    return numbers[:gone].copy()


@compiled
def aged(
    cells: RunArrays, slots: Int64s, cti: int, sizes: Int64s, count: int, room: int
) -> Int64Table:
    """From now on tell the cells of slots that have begun by a cti apart by their ends alone: sort
    them by these. Returns which cells are to be poured into which, one after the other, the less
    full into the fuller."""
    pours, made = np.empty((room, 2), np.int64), 0
    ints = cells.ints
    for slot in slots:
        base, size = cells.first[slot], cells.size[slot]
        last = base
        while last < base + size and ints[last, CELL_VS] <= cti:
            last += 1
        if last == base or ints[last - 1, CELL_VS] == BEGINNING:
            continue
        old = ints[base:last].copy()
        order = np.arange(len(old))
        old[:, CELL_VS] = BEGINNING
        sort(old, order, len(old), _LIFETIME, np.empty(len(old), np.int64))
        written = base
        for entry in order:
            number = old[entry, CELL_NUMBER]
            if written > base and ints[written - 1, CELL_VE] == old[entry, CELL_VE]:
                into = ints[written - 1, CELL_NUMBER]
                if sizes[number * count] > sizes[into * count]:
                    number, into = into, number
                pours[made, 0], pours[made, 1] = number, into
                made += 1
                ints[written - 1, CELL_NUMBER] = into
            else:
                ints[written, CELL_VS], ints[written, CELL_VE] = BEGINNING, old[entry, CELL_VE]
                ints[written, CELL_NUMBER] = number
                written += 1
        for later in range(last, base + size):
            copy(ints, written, ints, later)
            written += 1
        cells.size[slot] = written - base
    return pours[:made].copy()


@compiled
def poured(heaps: RunArrays, pours: Int64Table, count: int) -> None:
    """Move the keys of cells to others, one after the other."""
    keys = heaps.ints
    for pour in range(len(pours)):
        for extreme in range(count):
            source, into = pours[pour, 0] * count + extreme, pours[pour, 1] * count + extreme
            for place in range(heaps.size[source]):
                key = keys[heaps.first[source] + place, 0]
                _push(keys, heaps.first[into], heaps.size[into], key)
                heaps.size[into] += 1
            heaps.size[source] = 0


@compiled
def sizes_after(sizes: Int64s, pours: Int64Table, count: int) -> Int64s:
    """How full heaps will be at most, if cells are poured into each other."""
    sizes = sizes.copy()
    for pour in range(len(pours)):
        for extreme in range(count):
            source, into = pours[pour, 0] * count + extreme, pours[pour, 1] * count + extreme
            sizes[into] += sizes[source]
    return sizes


@in_place
def enter(
    cells: Int64Table,
    entered: int,
    last: int,
    start: int,
    top: Int64Table,
    there: MaskTable,
    heaps: Int64Table,
    heap_sizes: Int64s,
    best: Int64Table,
    is_there: MaskTable,
    piece: int,
) -> int:
    """Put the cells that have begun by `start` on the heaps of their extremes, and take those that
    have ended off their tops; `best` and `is_there` get the extremes for a piece. The cells from
    `entered` up to `last` are still to come; returns where these begin now."""
    while entered < last and cells[entered, CELL_VS] <= start:
        if cells[entered, CELL_VE] > start:
            for extreme in range(len(heap_sizes)):
                if there[cells[entered, CELL_NUMBER], extreme]:
                    _push_cell(heaps, heap_sizes[extreme], entered, cells, top, extreme)
                    heap_sizes[extreme] += 1
        entered += 1
    for extreme in range(len(heap_sizes)):
        while heap_sizes[extreme] and cells[heaps[extreme, 0], CELL_VE] <= start:
            heap_sizes[extreme] -= 1
            _pop_cell(heaps, heap_sizes[extreme], cells, top, extreme)
        is_there[piece, extreme] = heap_sizes[extreme] > 0
        if heap_sizes[extreme]:
            best[piece, extreme] = top[cells[heaps[extreme, 0], CELL_NUMBER], extreme]
    return entered


@in_place
def _push_cell(
    heaps: Int64Table, size: int, cell: int, cells: Int64Table, top: Int64Table, extreme: int
) -> None:
    place, key = size, top[cells[cell, CELL_NUMBER], extreme]
    while place > 0:
        parent = (place - 1) >> 1
        if top[cells[heaps[extreme, parent], CELL_NUMBER], extreme] >= key:
            break
        heaps[extreme, place] = heaps[extreme, parent]
        place = parent
    heaps[extreme, place] = cell


@in_place
def _pop_cell(
    heaps: Int64Table, size: int, cells: Int64Table, top: Int64Table, extreme: int
) -> None:
    """Take the top off; `size` is the size without it."""
    last, place = heaps[extreme, size], 0
    key = top[cells[last, CELL_NUMBER], extreme]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        greater = top[cells[heaps[extreme, child], CELL_NUMBER], extreme]
        if child + 1 < size:
            other = top[cells[heaps[extreme, child + 1], CELL_NUMBER], extreme]
            if other > greater:
                child, greater = child + 1, other
        if greater <= key:
            break
        heaps[extreme, place] = heaps[extreme, child]
        place = child
    heaps[extreme, place] = last
