"""Arrays that grow as their places are needed."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

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
