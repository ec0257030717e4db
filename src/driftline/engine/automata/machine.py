"""An automaton as arrays: states, symbols and registers are numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.model.arrays import Int64s, Int64Table, Mask
from driftline.model.automaton import Automaton


class Machine(NamedTuple):
    """The transitions of state s are first[s] … first[s + 1] - 1. `symbol`: the bit of the symbol
    of each; `add`, `least`, `most`: of each a row with a number for every register; `initial`: the
    registers at the start; `wanted`: the states whose runs are put out."""

    first: Int64s
    target: Int64s
    symbol: Int64s
    add: Int64Table
    least: Int64Table
    most: Int64Table
    initial: Int64s
    wanted: Mask


_LIMITS = np.iinfo(np.int64)


def machine_of(automaton: Automaton, *, partial: bool) -> Machine:
    """`partial`: whether runs in states that are not final are wanted."""
    number = {state: place for place, state in enumerate(automaton.states)}
    bit = {symbol: 1 << place for place, symbol in enumerate(automaton.alphabet)}
    moves = sorted(automaton.transitions, key=lambda each: number[each.source])
    sources = [number[each.source] for each in moves]
    registers = list(automaton.registers)

    def bounds(name: str, default: int) -> Int64s:
        found = [[getattr(each, name).get(one, default) for one in registers] for each in moves]
        return np.array(found, np.int64).reshape(len(moves), len(registers))

    return Machine(
        np.searchsorted(sources, np.arange(len(number) + 1)).astype(np.int64),
        np.array([number[each.target] for each in moves], np.int64),
        np.array([bit[each.on] for each in moves], np.int64),
        bounds("add", 0),
        bounds("at_least", int(_LIMITS.min)),
        bounds("at_most", int(_LIMITS.max)),
        np.array(list(automaton.registers.values()), np.int64),
        np.array([partial or state in automaton.finals for state in automaton.states]),
    )
