"""Rows of 64-bit words, which states and answers are made of. Floats are their bits."""

from __future__ import annotations

from driftline.kernels import inlined
from driftline.model.arrays import Int64Table


@inlined
def copy(to: Int64Table, at: int, of: Int64Table, row: int) -> None:
    """Copy a row, word by word, which is much quicker than as a whole."""
    for word in range(of.shape[1]):
        to[at, word] = of[row, word]


@inlined
def same(one: Int64Table, row: int, other: Int64Table, other_row: int, first: int) -> bool:
    """Whether two rows are the same from a word on. (Without an early way out: with one, Numba
    counts references to the arrays at every call.)"""
    equal = True
    for word in range(first, one.shape[1]):
        equal &= one[row, word] == other[other_row, word]
    return equal
