"""Bitmaps of 32,768 bits, put together from places of bits or from other bitmaps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from driftline.engine.expressions.arrays import Array, Value, numbers
from driftline.engine.expressions.comparison import lengths_of
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.lists import items_of, list_starts
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.types import BINARY

BYTES = 4096
BITS = 8 * BYTES


@kernel("bitmap_construct_agg")
def _constructed(call: Call, args: Sequence[Value]) -> Array:
    places = numbers(items_of(args[0]))
    outside = places[(places < 0) | (places >= BITS)]
    if len(outside):
        raise EvaluationError(
            "INVALID_BITMAP_POSITION",
            f"a bitmap has the bits 0 to {BITS - 1:,}, and no bit {outside[0]}",
        )

    def bitmap(start: int, end: int) -> bytes:
        bits = np.zeros(BITS, np.bool_)
        bits[places[start:end]] = True
        return np.packbits(bits, bitorder="little").tobytes()

    return _per_list(args[0], bitmap)


@kernel("bitmap_or_agg", total=True)
def _or(call: Call, args: Sequence[Value]) -> Array:
    return _combined(args[0], np.bitwise_or, 0x00)


@kernel("bitmap_and_agg", total=True)
def _and(call: Call, args: Sequence[Value]) -> Array:
    return _combined(args[0], np.bitwise_and, 0xFF)


def _combined(lists: Array, combine: Any, initial: int) -> Array:
    """All bitmaps of each list together; a short one is filled up with zeros."""
    bitmaps = items_of(lists).to_pylist()

    def bitmap(start: int, end: int) -> bytes:
        found = np.full(BYTES, initial, np.uint8)
        for each in bitmaps[start:end]:
            own = np.frombuffer(each[:BYTES].ljust(BYTES, b"\0"), np.uint8)
            combine(found, own, out=found)
        return found.tobytes()

    return _per_list(lists, bitmap)


def _per_list(lists: Array, bitmap: Callable[[int, int], bytes]) -> Array:
    starts = list_starts(lists)
    ends = starts + lengths_of(lists)
    made = [bitmap(*bounds) for bounds in zip(starts.tolist(), ends.tolist(), strict=True)]
    return pa.array(made, BINARY)
