"""Kernels with arguments and results of every kind, for `test_caller.py`."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftline.kernels import compiled, in_place
from driftline.kernels.signatures import FROZEN
from driftline.model.arrays import (
    Bytes,
    Floats,
    FloatTable,
    FrozenInt64s,
    Int8s,
    Int64s,
    Int64Table,
    Mask,
    MaskTable,
    UInt64s,
)

Singles = NDArray[np.float32]
FrozenTable = Annotated[NDArray[np.int16], 2, FROZEN]


class Pair(NamedTuple):
    values: Int64s
    frozen: FrozenInt64s


class Nest(NamedTuple):
    pair: Pair
    items: tuple[int, tuple[bool, float]]
    table: FloatTable


@compiled
def numbers(whole: int, number: float, truth: bool) -> tuple[int, float, bool]:
    return whole, number, truth


@compiled
def one() -> float:
    return 1.0


@compiled
def copies(
    a: Int64s, b: Floats, c: Mask, d: Int8s, e: UInt64s, f: Singles, g: Bytes
) -> tuple[Int64s, Floats, Mask, Int8s, UInt64s, Singles, Bytes]:
    return a + a, b * 2, ~c, d.copy(), e.copy(), f.copy(), g.copy()


@compiled
def views(
    table: Int64Table, frozen: FrozenTable, mask: MaskTable
) -> tuple[Int64Table, Int64s, FrozenTable, MaskTable]:
    return table[1:, ::2], table[::-1, 0], frozen[::-1], mask.T


@compiled
def narrow(a: Int8s, b: Bytes, c: UInt64s, d: Mask) -> tuple[np.int8, np.uint8, np.uint64, bool]:
    """The last of each, if there is one."""
    return (
        a[-1] if len(a) else np.int8(0),
        b[-1] if len(b) else np.uint8(0),
        c[-1] if len(c) else np.uint64(0),
        d[-1] if len(d) else False,
    )


@compiled
def nested(nest: Nest, more: tuple[Pair, tuple[int, int]]) -> tuple[Nest, tuple[Pair, int]]:
    pair, (whole, (truth, number)), table = nest
    changed = Pair(pair.frozen + 1, pair.values)
    return Nest(changed, (whole + 1, (not truth, -number)), table), (more[0], more[1][0])


@in_place
def numbered(values: Int64s, pair: Pair) -> None:
    """Number the values from 0."""
    for place in range(len(values)):
        values[place] = place
    for place in range(len(pair.values)):
        pair.values[place] = place


@compiled
def zeros(size: int) -> Int64s:
    return np.zeros(size, np.int64)


@compiled
def tails(values: Int64s, frozen: FrozenInt64s) -> tuple[Int64s, FrozenInt64s]:
    return values[1:], frozen[1:]


@compiled
def failing(how: int, items: tuple[int, int]) -> int:
    if how == 0:
        raise ValueError("below zero", 7)
    if how == 1:
        raise KeyError
    assert how != 2, "two"
    return 12 // (how - 3) + items[how - 4]


@compiled
def replaced(values: Int64s, others: Int64s) -> None:
    values[:] = others


@in_place
def counting(count: Int64s, stop: Int64s, most: int) -> int:
    """Count until it is to stop, or that is most."""
    while count[0] < most and stop[0] == 0:
        count[0] += 1
    return count[0]  # type: ignore[no-any-return]
