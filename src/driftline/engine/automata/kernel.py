"""The kernels of `automaton_runs`: how the runs of cells are found.

A slot is a cell. One run of entries holds its rows: vs, ve, the symbols they have, and how many
there are. Another holds the automaton's runs that end there: vs, ve, the number they begin at,
their state, how many there are, and their registers; in order of all but how many.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.automata.machine import Machine
from driftline.engine.state.runs import RunArrays
from driftline.engine.state.words import copy
from driftline.kernels import compiled, inlined
from driftline.model.arrays import Int64s, Int64Table, Mask
from driftline.model.time import INFINITY

VS, VE = 0, 1
SYMBOLS, COPIES = 2, 3
ROW = 4
"""How many numbers a row has."""
BEGINS, STATE, WEIGHT, REGISTERS = 2, 3, 4, 5
"""Where a run has its numbers; its registers come last."""
START = 0
"""The number of the start state."""
NONE = -1


class SequenceCells(NamedTuple):
    """Of every slot the slots of the cells before and after it, its number in the sequence, when
    the first of what it holds ends, and whether it has to be looked at."""

    before: Int64s
    after: Int64s
    number: Int64s
    ends: Int64s
    dirty: Mask


class FollowProgress(NamedTuple):
    """How far `follow` has come: the place in its queue and the cell it is at; `top`: how far the
    pool of runs is filled; `made`, `looked`: how many changes there are, and cells it has looked
    at; `wanted`: how many entries the pool must have room for before it can go on, 0 at the end."""

    place: int = 0
    cell: int = NONE
    top: int = 0
    made: int = 0
    looked: int = 0
    wanted: int = 0


@compiled
def take_in(
    slots: Int64s, vs: Int64s, ve: Int64s, symbols: Int64s, weight: Int64s, rows: RunArrays
) -> None:
    """Add changes to the rows of cells, which have the room."""
    ints, size = rows.ints, rows.size
    for item in range(len(slots)):
        slot = slots[item]
        first, place = rows.first[slot], rows.first[slot]
        while place < first + size[slot] and (
            ints[place, VS] != vs[item]
            or ints[place, VE] != ve[item]
            or ints[place, SYMBOLS] != symbols[item]
        ):
            place += 1
        if place == first + size[slot]:
            ints[place, VS], ints[place, VE] = vs[item], ve[item]
            ints[place, SYMBOLS], ints[place, COPIES] = symbols[item], 0
            size[slot] += 1
        ints[place, COPIES] += weight[item]
        if ints[place, COPIES] == 0:
            size[slot] -= 1
            last = first + size[slot]
            copy(ints, place, ints, last)


@compiled
def follow(
    queue: Int64s,
    cells: SequenceCells,
    rows: RunArrays,
    runs: RunArrays,
    machine: Machine,
    progress: FollowProgress,
    changes: Int64Table,
    seen: Int64s,
) -> tuple[FollowProgress, Int64Table, Int64s]:
    """Find the runs of all cells that are dirty, and of those behind them for as long as something
    changes. `queue`: dirty cells, in order of their numbers, so that each is looked at once.
    Returns the changes, column by column (the cell, then as the runs of a cell), and the cells
    looked at, so far."""
    place, cell, top, made, looked, _ = progress
    width = runs.ints.shape[1]
    moves = _most_moves(machine)
    found = np.empty((64, width), np.int64)
    empty = np.empty((1, width), np.int64)  # the run over no row
    while True:
        if cell == NONE:
            while place < len(queue) and not cells.dirty[queue[place]]:
                place += 1
            if place == len(queue):
                return FollowProgress(place, cell, top, made, looked, 0), changes, seen
            cell = queue[place]
        before = cells.before[cell]
        sources = rows.size[cell] + (0 if before == NONE else runs.size[before])
        room = sources * moves * rows.size[cell] + 1
        if room > len(found):
            found = np.empty((2 * room, width), np.int64)
        count = _found(cell, cells, rows, runs, machine, empty, found)
        if top + count > len(runs.ints):
            return FollowProgress(place, cell, top, made, looked, top + count), changes, seen
        cells.dirty[cell] = False
        cells.ends[cell] = min(
            _least_end(rows.ints, rows.first[cell], rows.size[cell]), _least_end(found, 0, count)
        )
        if looked == len(seen):
            bigger = np.empty(2 * looked + 1, np.int64)
            bigger[:looked] = seen
            seen = bigger
        seen[looked] = cell
        looked += 1
        if made + count + runs.size[cell] > changes.shape[1]:
            wider = np.empty((1 + width, 2 * (made + count + runs.size[cell])), np.int64)
            wider[:, :made] = changes[:, :made]
            changes = wider
        before_this = made
        made = _compared(cell, runs, found, count, machine.wanted, changes, made)
        if made == before_this and not _differ(runs, cell, found, count):
            cell = NONE
            continue
        if count > runs.room[cell]:
            runs.first[cell] = runs.origin[cell] = top
            runs.room[cell] = count
            top += count
        first = runs.first[cell]
        for entry in range(count):
            copy(runs.ints, first + entry, found, entry)
        runs.size[cell] = count
        cell = cells.after[cell]
        if cell != NONE:
            cells.dirty[cell] = True


@compiled
def _most_moves(machine: Machine) -> int:
    """The greatest number of transitions of a state."""
    most = 0
    for state in range(len(machine.first) - 1):
        most = max(most, machine.first[state + 1] - machine.first[state])
    return most


@compiled
def _found(
    cell: int,
    cells: SequenceCells,
    rows: RunArrays,
    runs: RunArrays,
    machine: Machine,
    empty: Int64Table,
    found: Int64Table,
) -> int:
    """The runs that end at a cell, in order; returns how many. `empty`: room for the run over no
    row that begins here."""
    count, before = 0, cells.before[cell]
    if before != NONE:
        first = runs.first[before]
        for place in range(first, first + runs.size[before]):
            count = _moved(cell, rows, machine, runs.ints, place, found, count)
    empty[0, BEGINS], empty[0, STATE] = cells.number[cell], START
    for register in range(len(machine.initial)):
        empty[0, REGISTERS + register] = machine.initial[register]
    for place in range(rows.first[cell], rows.first[cell] + rows.size[cell]):
        empty[0, VS], empty[0, VE] = rows.ints[place, VS], rows.ints[place, VE]
        empty[0, WEIGHT] = rows.ints[place, COPIES]
        count = _moved(cell, rows, machine, empty, 0, found, count)
    for place in range(1, count):
        if found[place - 1, BEGINS] < found[place, BEGINS]:  # as nearly all are
            continue
        if _side(found, place - 1, found, place) >= 0:
            return _in_order(found, count)
    return count


@inlined
def _moved(
    cell: int,
    rows: RunArrays,
    machine: Machine,
    of: Int64Table,
    place: int,
    found: Int64Table,
    count: int,
) -> int:
    """Add what a run becomes with the rows of a cell; returns how many there are then."""
    state = of[place, STATE]
    for move in range(machine.first[state], machine.first[state + 1]):
        for row in range(rows.first[cell], rows.first[cell] + rows.size[cell]):
            if not rows.ints[row, SYMBOLS] & machine.symbol[move]:
                continue
            vs = max(of[place, VS], rows.ints[row, VS])
            ve = min(of[place, VE], rows.ints[row, VE])
            if vs >= ve or not _may(machine, move, of, place):
                continue
            found[count, VS], found[count, VE] = vs, ve
            found[count, BEGINS] = of[place, BEGINS]
            found[count, STATE] = machine.target[move]
            found[count, WEIGHT] = of[place, WEIGHT] * rows.ints[row, COPIES]
            for register in range(len(machine.initial)):
                found[count, REGISTERS + register] = (
                    of[place, REGISTERS + register] + machine.add[move, register]
                )
            count += 1
    return count


@inlined
def _may(machine: Machine, move: int, runs: Int64Table, place: int) -> bool:
    """Whether the registers of a run are within the bounds of a transition."""
    may = True
    for register in range(len(machine.initial)):
        value = runs[place, REGISTERS + register]
        may &= machine.least[move, register] <= value <= machine.most[move, register]
    return may


@compiled
def _in_order(found: Int64Table, count: int) -> int:
    """Sort entries, which are nearly in order because those before were, and put equal ones
    together; returns how many are left. The place after the entries is used."""
    kept = 0
    for place in range(1, count):
        if _side(found, place - 1, found, place) <= 0:
            continue
        copy(found, count, found, place)
        to = place
        while to > 0 and _side(found, to - 1, found, count) > 0:
            copy(found, to, found, to - 1)
            to -= 1
        copy(found, to, found, count)
    for place in range(1, count):
        if _side(found, kept, found, place) == 0:
            found[kept, WEIGHT] += found[place, WEIGHT]
        else:
            kept += 1
            copy(found, kept, found, place)
    return min(kept + 1, count)


@compiled
def _side(one: Int64Table, place: int, other: Int64Table, place_2: int) -> int:
    """Which of two runs is first: -1, 1, or 0 if they are the same but for how many there are."""
    for column in (BEGINS, STATE, VS, VE):
        if one[place, column] != other[place_2, column]:
            return -1 if one[place, column] < other[place_2, column] else 1
    for column in range(REGISTERS, one.shape[1]):
        if one[place, column] != other[place_2, column]:
            return -1 if one[place, column] < other[place_2, column] else 1
    return 0


@compiled
def _differ(runs: RunArrays, cell: int, found: Int64Table, count: int) -> bool:
    """Whether the runs of a cell are others than before."""
    if count != runs.size[cell]:
        return True
    first = runs.first[cell]
    for entry in range(count):
        for column in range(found.shape[1]):
            if runs.ints[first + entry, column] != found[entry, column]:
                return True
    return False


@compiled
def _compared(
    cell: int,
    runs: RunArrays,
    found: Int64Table,
    count: int,
    wanted: Mask,
    changes: Int64Table,
    made: int,
) -> int:
    """Write what has come and gone of the runs of a cell, in states that are wanted."""
    first, size, old, new = runs.first[cell], runs.size[cell], 0, 0
    while old < size or new < count:
        side = -1
        if old == size:
            side = 1
        elif new < count:
            side = _side(runs.ints, first + old, found, new)
        if side >= 0:
            weight = found[new, WEIGHT]
            if side == 0:
                weight -= runs.ints[first + old, WEIGHT]
            if weight != 0 and wanted[found[new, STATE]]:
                _note(changes, made, cell, found, new, weight)
                made += 1
        elif wanted[runs.ints[first + old, STATE]]:
            _note(changes, made, cell, runs.ints, first + old, -runs.ints[first + old, WEIGHT])
            made += 1
        old += side <= 0
        new += side >= 0
    return made


@inlined
def _note(
    changes: Int64Table, made: int, cell: int, of: Int64Table, place: int, weight: int
) -> None:
    changes[0, made] = cell
    for column in range(of.shape[1]):
        changes[1 + column, made] = of[place, column]
    changes[1 + WEIGHT, made] = weight


@compiled
def evict(slots: Int64s, cti: int, cells: SequenceCells, rows: RunArrays, runs: RunArrays) -> None:
    """Drop what ends at or before the cti."""
    for slot in slots:
        _drop_ended(rows, slot, cti)
        _drop_ended(runs, slot, cti)
    note_ends(slots, cells, rows, runs)


@compiled
def _drop_ended(arrays: RunArrays, slot: int, cti: int) -> None:
    first, left = arrays.first[slot], 0
    for place in range(first, first + arrays.size[slot]):
        if arrays.ints[place, VE] > cti:
            copy(arrays.ints, first + left, arrays.ints, place)
            left += 1
    arrays.size[slot] = left


@compiled
def note_ends(slots: Int64s, cells: SequenceCells, rows: RunArrays, runs: RunArrays) -> None:
    """Write when the first of what slots hold ends."""
    for slot in slots:
        cells.ends[slot] = min(
            _least_end(rows.ints, rows.first[slot], rows.size[slot]),
            _least_end(runs.ints, runs.first[slot], runs.size[slot]),
        )


@compiled
def _least_end(entries: Int64Table, first: int, count: int) -> int:
    end = INFINITY
    for place in range(first, first + count):
        end = min(end, entries[place, VE])
    return end
