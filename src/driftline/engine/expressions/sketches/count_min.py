"""Count-min sketches, as Spark's own library has them: how often each value is there, or more.

A table of `depth` rows of `width` counts; each value adds to one count of every row.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from driftline.engine.expressions.arrays import Array, Value, numbers
from driftline.engine.expressions.hashes import Murmur3
from driftline.engine.expressions.lists import items_of
from driftline.engine.expressions.registry import kernel
from driftline.engine.expressions.sketches.theta import per_list
from driftline.plan.expressions import Call

_VERSION = 1
_PRIME = (1 << 31) - 1


@kernel("count_min_sketch", total=True)
def _of_values(call: Call, args: Sequence[Value]) -> Array:
    given: list[Any] = list(call.args[1:])
    error, confidence, seed = (each.value for each in given)
    depth = math.ceil(-math.log(1 - confidence) / math.log(2))
    width = math.ceil(2 / error)
    factors = _factors(seed, depth)
    places = _places(items_of(args[0]), factors, width)

    def sketch(start: int, end: int) -> bytes:
        counts = np.zeros((depth, width), np.int64)
        for row in range(depth):
            counts[row] = np.bincount(places[row, start:end], minlength=width)
        head = struct.pack(">iqii", _VERSION, end - start, depth, width)
        return head + factors.astype(">i8").tobytes() + counts.astype(">i8").tobytes()

    return per_list(args[0], sketch)


def _factors(seed: int, depth: int) -> npt.NDArray[np.int64]:
    """What Java's random numbers are, from a seed on, below 2^31 - 1."""
    state = (seed ^ 0x5DEECE66D) & ((1 << 48) - 1)
    found: list[int] = []
    while len(found) < depth:
        state = (state * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        bits = state >> 17
        if bits != _PRIME:  # it draws again
            found.append(bits % _PRIME)
    return np.array(found, np.int64)


def _places(values: Array, factors: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.int64]:
    """The place of each value in every row."""
    with np.errstate(over="ignore"):
        if pa.types.is_integer(values.type):
            product = factors[:, None] * numbers(values).astype(np.int64)
            found: npt.NDArray[np.int64] = ((product + (product >> 32)) & _PRIME) % width
            return found
        _, offsets, data = values.cast(pa.binary()).buffers()
        bounds = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
        content = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
        starts, lengths = bounds[:-1].astype(np.int64), np.diff(bounds).astype(np.int64)
        murmur, none = Murmur3(), np.zeros(len(starts), np.uint32)
        first = murmur.bytes(content, starts, lengths, none)
        second = murmur.bytes(content, starts, lengths, first)
        steps = np.arange(len(factors), dtype=np.int32)[:, None]
        wrapped: Any = first.view(np.int32) + steps * second.view(np.int32)
        places: npt.NDArray[np.int64] = np.abs(np.fmod(wrapped.astype(np.int64), width))
        return places
