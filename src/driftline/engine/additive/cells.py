"""Cells: the changes of a batch added up by slot and lifetime.

    cell (s, vs, ve)  =  the sum of what all changes of slot s with the lifetime [vs, ve) bring

With hopping windows many rows share a lifetime, and all that follows costs the number of cells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.additive.layout import ValueRules
from driftline.engine.state import exact_floats as exact
from driftline.kernels import compiled, inlined
from driftline.model.arrays import Floats, FloatTable, Int64s, Int64Table, MaskTable


class Contribution(NamedTuple):
    """What each change of a batch brings.

    `ints`: [column of the state, change], times the weight; `floats`: [argument, change], not
    times the weight; `keys`, `there`: [extreme, change], order keys and whether there is a value.
    `any_great`: whether some of the floats have to be added up apart (see `exact_floats`).
    """

    ints: Int64Table
    floats: FloatTable
    keys: Int64Table
    there: MaskTable
    any_great: bool


class Cells(NamedTuple):
    """`number`: the cell of every change; the others: of every cell, as in `layout.SumChanges`."""

    number: Int64s
    slot: Int64s
    vs: Int64s
    ve: Int64s
    words: Int64Table
    reals: FloatTable


@compiled
def gathered(
    slots: Int64s, vs: Int64s, ve: Int64s, weight: Int64s, brought: Contribution,
    values: ValueRules, only_grows: bool, width: int,
) -> Cells:  # fmt: skip
    """The cells of a batch, in order of appearance. Where there are extremes, a last whole number
    of the state holds a checksum of their keys, which tells whether changes cancel; if nothing is
    ever taken back, it stays 0. `width`: of the sums of floats, with those of great numbers if
    any."""
    number, first = _numbered(slots, vs, ve)
    columns, extremes = len(brought.ints), len(brought.keys)
    floats = 1 + columns + (extremes > 0)
    words = np.zeros((len(first), floats + width), np.int64)
    reals = words.view(np.float64)
    for change in range(len(slots)):
        words[number[change], 0] += weight[change]
    for column in range(columns):
        column_ints = brought.ints[column]
        for change in range(len(slots)):
            words[number[change], 1 + column] += column_ints[change]
    for extreme in range(0 if only_grows else extremes):
        for change in range(len(slots)):
            if brought.there[extreme, change]:
                key = _mixed(brought.keys[extreme, change] + extreme)
                words[number[change], 1 + columns] += weight[change] * key
    for column in range(len(values.float_columns)):
        _add_floats(
            reals, floats + 3 * column, floats + 3 * (column + len(values.float_columns)), number,
            weight, brought.floats[values.float_columns[column]], values.is_square[column],
        )  # fmt: skip
    return Cells(number, slots[first], vs[first], ve[first], words, reals)


@compiled
def _numbered(slots: Int64s, vs: Int64s, ve: Int64s) -> tuple[Int64s, Int64s]:
    """The number of every change's cell, and the first change of every cell."""
    bits = 4
    while (1 << bits) < 2 * len(slots):
        bits += 1
    table = np.full(1 << bits, -1, np.int32)
    mask, shift = (1 << bits) - 1, np.uint64(64 - bits)
    number, first = np.empty(len(slots), np.int64), np.empty(len(slots), np.int64)
    made, most = 0, -1
    for slot in slots:
        most = max(most, slot)
    latest = np.full(most + 1, -1, np.int32)  # the cell of each slot's latest change
    for change in range(len(slots)):
        cell = latest[slots[change]]
        if cell >= 0 and vs[first[cell]] == vs[change] and ve[first[cell]] == ve[change]:
            number[change] = cell
            continue
        word = np.uint64(slots[change]) * np.uint64(0x9E3779B97F4A7C15)
        word = (word ^ np.uint64(vs[change])) * np.uint64(0xD6E8FEB86659FD93)
        word = (word ^ np.uint64(ve[change])) * np.uint64(0xFF51AFD7ED558CCD)
        place = np.int64((word ^ (word >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15) >> shift)
        while True:
            cell = table[place]
            if cell < 0:
                table[place] = made
                first[made] = change
                cell = made
                made += 1
                break
            there = first[cell]
            if (
                slots[there] == slots[change]
                and vs[there] == vs[change]
                and ve[there] == ve[change]
            ):
                break
            place = (place + 1) & mask
        number[change] = latest[slots[change]] = cell
    return number, first[:made].copy()


@inlined
def _mixed(key: int) -> np.int64:
    word = np.uint64(key)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64(word ^ (word >> np.uint64(31))) | 1  # not 0, which is what no value brings


@compiled
def _add_floats(
    reals: FloatTable, place: int, great: int, number: Int64s, weight: Int64s, argument: Floats,
    is_square: bool,
) -> None:  # fmt: skip
    least_great = exact.GREAT_SQUARED if is_square else exact.GREAT
    for change in range(len(number)):
        value = argument[change]
        if value == 0.0:
            continue
        cell = number[change]
        sign = 1.0 if weight[change] > 0 else -1.0
        for _ in range(abs(weight[change])):
            if abs(value) >= least_great:
                exact.add_great(reals, cell, great, value, sign, is_square)
            elif is_square:
                high, low = exact.two_product(value, value)
                exact.add(reals, cell, place, sign * high)
                exact.add(reals, cell, place, sign * low)
            else:
                exact.add(reals, cell, place, sign * value)
