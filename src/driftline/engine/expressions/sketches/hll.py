"""HyperLogLog sketches: how many distinct values there are, by the library `datasketches`
(`pip install "driftline[sketches]"`).

Values are put in in the order of their group, which does not depend on how they have come.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from driftline.engine.expressions.arrays import Array, Value, per_distinct
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.lists import items_of
from driftline.engine.expressions.registry import kernel
from driftline.engine.expressions.sketches.murmur import hashes
from driftline.engine.expressions.sketches.theta import per_list, rounded
from driftline.plan.expressions import Call
from driftline.plan.types import BIGINT, BINARY

DEFAULT_SIZE = 12
_FAMILY, _LIST_HEAD, _SLOTS = 7, 8, 8
_SLOT_BITS, _MOST_ZEROS = 26, 62


@kernel("hll_sketch_agg", total=True)
def _of_values(call: Call, args: Sequence[Value]) -> Array:
    import datasketches

    items = items_of(args[0])
    size: Any = call.args[1]
    coupons = _coupons(items) if pa.types.is_binary(items.type) else None
    values = items.to_pylist() if coupons is None else None

    def sketch(start: int, end: int) -> bytes:
        if coupons is not None:
            return _of_coupons(coupons[start:end], size.value)
        made = datasketches.hll_sketch(size.value, datasketches.tgt_hll_type.HLL_8)
        for value in values[start:end] if values is not None else ():
            made.update(value)
        return bytes(made.serialize_updatable())

    return per_list(args[0], sketch)


def _coupons(values: Array) -> np.ndarray[Any, Any]:
    """What a sketch keeps of each value: a slot, and how many bits of the hash are zeros; 0 for an
    empty value. The library takes no bytes, and so their hashes are computed here."""
    first, second, there = hashes(values)
    slots = first & np.uint64((1 << _SLOT_BITS) - 1)
    lengths = np.zeros(len(second), np.int64)
    for shift in (32, 16, 8, 4, 2, 1):
        large = second >= np.uint64(1) << np.uint64(shift)
        lengths[large] += shift
        second = np.where(large, second >> np.uint64(shift), second)
    zeros = np.where(second == 0, 64, 63 - lengths)
    found = ((np.minimum(zeros, _MOST_ZEROS) + 1) << _SLOT_BITS) | slots.astype(np.int64)
    return np.where(there, found, 0)


def _of_coupons(coupons: np.ndarray[Any, Any], size: int) -> bytes:
    """The sketch of what was kept of values, through sketches of up to eight."""
    import datasketches

    union = datasketches.hll_union(size)
    known = np.unique(coupons[coupons > 0])
    for start in range(0, len(known), _SLOTS - 1):
        own = known[start : start + _SLOTS - 1]
        head = struct.pack("<8B", 2, 1, _FAMILY, size, 3, 0, len(own), _LIST_HEAD)
        slots = np.zeros(_SLOTS, "<u4")
        slots[: len(own)] = own
        union.update(datasketches.hll_sketch.deserialize(head + slots.tobytes()))
    made = union.get_result(datasketches.tgt_hll_type.HLL_8)
    return bytes(made.serialize_updatable())


def _read(data: bytes, function: str) -> Any:
    import datasketches

    try:
        return datasketches.hll_sketch.deserialize(data)
    except (ValueError, RuntimeError, IndexError):
        raise EvaluationError(
            "HLL_INVALID_INPUT_SKETCH_BUFFER",
            f"{function}: these bytes are no HLL sketch, as hll_sketch_agg gives it",
        ) from None


def _united(sketches: Sequence[Any], allows: bool, function: str) -> bytes:
    """One sketch of several, which have one size unless they may differ: then it has the least."""
    import datasketches

    sizes = sorted({each.lg_config_k for each in sketches}) or [DEFAULT_SIZE]
    if len(sizes) > 1 and not allows:
        raise EvaluationError(
            "HLL_UNION_DIFFERENT_LG_K",
            f"{function}: sketches of the sizes {sizes[0]} and {sizes[1]}; with true as the last "
            "argument they may differ",
        )
    union = datasketches.hll_union(sizes[0])
    for each in sketches:
        union.update(each)
    return bytes(union.get_result(datasketches.tgt_hll_type.HLL_8).serialize_updatable())


@kernel("hll_union_agg")
def _of_sketches(call: Call, args: Sequence[Value]) -> Array:
    allows: Any = call.args[1]
    known = [_read(each, call.function) for each in items_of(args[0]).to_pylist()]
    return per_list(
        args[0], lambda start, end: _united(known[start:end], allows.value, call.function)
    )


@kernel("hll_union")
def _of_two(call: Call, args: Sequence[Value]) -> Array:
    def together(one: bytes, other: bytes, allows: bool) -> bytes:
        both = [_read(each, call.function) for each in (one, other)]
        return _united(both, allows, call.function)

    return per_distinct(together, list(args), BINARY)


@kernel("hll_sketch_estimate")
def _estimate(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(
        lambda data: rounded(_read(data, call.function).get_estimate()), list(args), BIGINT
    )
