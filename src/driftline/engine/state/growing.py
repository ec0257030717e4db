"""Arrays that grow as their places are needed."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from driftline.model.arrays import Int64s

_T = TypeVar("_T", bound=np.generic)

SMALLEST = 256


def grown(array: NDArray[_T], needed: int, fill: object = 0) -> NDArray[_T]:
    """The array, with room for so many entries; it at least doubles, so that growing costs little.

    >>> grown(np.array([7]), 1).tolist()
    [7]
    >>> len(grown(np.array([7]), 2)), grown(np.array([7]), 2, fill=-1)[:3].tolist()
    (256, [7, -1, -1])
    """
    if needed <= len(array):
        return array
    size = max(needed, 2 * len(array), SMALLEST)
    shape = (size, *array.shape[1:])
    # Of zeros, pages that are not used yet cost nothing.
    bigger = np.zeros(shape, array.dtype) if fill == 0 else np.empty(shape, array.dtype)
    bigger[: len(array)] = array
    if fill != 0:
        bigger[len(array) :] = fill
    return bigger


class KeyColumn(Generic[_T]):
    """A value for every key, or some `words` of it: `values[key]`, which is `fill` until it is set.

    >>> copies = KeyColumn(np.int64)
    >>> copies.make_slots(3)
    >>> copies.values[1] = 7
    >>> copies.snapshot(np.array([0, 1]), "copies")
    {'copies': array([0, 7])}
    """

    def __init__(self, kind: type[_T], *, fill: int = 0, words: int | None = None) -> None:
        self.values: NDArray[_T] = np.zeros((0,) if words is None else (0, words), kind)
        self.fill = fill

    def make_slots(self, count: int) -> None:
        self.values = grown(self.values, count, self.fill)

    def clear(self, slots: Int64s) -> None:
        self.values[slots] = self.fill

    def times_of(self, slots: Int64s) -> NDArray[_T]:
        return self.values[slots]

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes)

    def snapshot(self, slots: Int64s, name: str) -> dict[str, NDArray[np.generic]]:
        return {name: self.values[slots]}

    def restore(self, slots: Int64s, arrays: dict[str, NDArray[np.generic]], name: str) -> None:
        stored = arrays[name]
        if stored.shape[1:] != self.values.shape[1:]:  # its words have become more
            shape = (len(self.values), *stored.shape[1:])
            self.values = np.full(shape, self.fill, self.values.dtype)
        self.values[slots] = stored
