"""The most frequent values: approx_top_k, whose counts are exact here, and its sketches.

A sketch has no more items than it tracks: with more, the count of the most frequent one that it
leaves out is taken from all. Of items with equal counts the least comes first, and null last.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions.arrays import Array, Value, counted, plain_values
from driftline.engine.expressions.comparison import lengths_of
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.lists import items_of, list_starts
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.types import BOOLEAN, type_name

Counts = dict[Any, int]
"""How often each item is there."""

_FAMILY, _VERSION, _LEAST_SIZE = 10, 1, 3
_IS_EMPTY = 5
_FULL = 0.75
"""How full a table of items may be, whose number of places is a power of two."""
_CODES = {pa.int8(): "<Bb", pa.int16(): "<Bh", pa.int32(): "<Bi", pa.float32(): "<Bf"}
_TYPES = {pa.int8(): 2, pa.int16(): 3, pa.int32(): 9, pa.float32(): 6}


def to_bytes(counts: Counts, tracked: int, kind: Any, nulls: int) -> bytes:
    """A sketch as Spark writes it, and how many nulls there are."""
    size = max(_LEAST_SIZE, (-(-4 * tracked // 3) - 1).bit_length())
    weight, room = sum(counts.values()), int(_FULL * (1 << size))
    offset = sorted(counts.values(), reverse=True)[room] if len(counts) > room else 0
    kept = {item: count - offset for item, count in counts.items() if count > offset}
    places = max(_LEAST_SIZE, math.ceil(len(kept) / _FULL - 1).bit_length())
    start = (_VERSION, _FAMILY, size, places)
    if not kept:
        head = struct.pack("<6BH", 1, *start, _IS_EMPTY, 0)
        return head + nulls.to_bytes(8, "big")
    items = list(kept)
    head = struct.pack("<6BHQQQ", 4, *start, 0, 0, len(items), weight, offset)
    head += struct.pack(f"<{len(items)}Q", *(kept[item] for item in items))
    return head + _written(items, kind) + nulls.to_bytes(8, "big")


def _written(items: list[Any], kind: Any) -> bytes:
    if kind == BOOLEAN:
        bits = sum(1 << place for place, item in enumerate(items) if item)
        return bits.to_bytes(-(-len(items) // 8), "little")
    if kind == pa.string():
        texts = [item.encode() for item in items]
        return b"".join(struct.pack("<I", len(text)) + text for text in texts)
    if kind in _CODES:
        return b"".join(struct.pack(_CODES[kind], _TYPES[kind], item) for item in items)
    return struct.pack(f"<{len(items)}{'d' if kind == pa.float64() else 'q'}", *items)


def from_bytes(data: bytes, kind: Any, function: str) -> tuple[Counts, int]:
    """The counts of a sketch, and how many nulls there are."""
    try:
        _, version, family, *_, flags, _ = struct.unpack_from("<6BH", data)
        if family != _FAMILY or version != _VERSION:
            raise ValueError("another family")
        nulls = int.from_bytes(data[-8:], "big")
        if flags & _IS_EMPTY:
            return {}, nulls
        count, _, offset = struct.unpack_from("<QQQ", data, 8)
        counts = struct.unpack_from(f"<{count}Q", data, 32)
        items = _read(data[32 + 8 * count : -8], count, kind)
    except (ValueError, struct.error):
        raise EvaluationError(
            "APPROX_TOP_K_INVALID_SKETCH",
            f"{function}: this is not a sketch of {type_name(kind)} by approx_top_k_accumulate",
        ) from None
    return {item: own + offset for item, own in zip(items, counts, strict=True)}, nulls


def _read(data: bytes, count: int, kind: Any) -> list[Any]:
    if kind == BOOLEAN:
        bits = int.from_bytes(data, "little")
        return [bool(bits >> place & 1) for place in range(count)]
    if kind == pa.string():
        items, place = [], 0
        for _ in range(count):
            (length,) = struct.unpack_from("<I", data, place)
            items.append(data[place + 4 : place + 4 + length].decode())
            place += 4 + length
        return items
    own = counted(kind)
    if own in _CODES:
        return [item for _, item in struct.iter_unpack(_CODES[own], data)]
    return list(struct.unpack(f"<{count}{'d' if own == pa.float64() else 'q'}", data))


def _counted(items: Array) -> tuple[Counts, int]:
    """How often each item is there, and how many nulls."""
    found = pc.value_counts(items.drop_null())
    values, numbers = plain_values(found.field("values")), found.field("counts").to_pylist()
    return dict(zip(values, numbers, strict=True)), items.null_count


def _most_frequent(counts: Counts, nulls: int, most: int, kind: Any) -> list[dict[str, Any]]:
    items = pa.array(list(counts), counted(kind))
    table = pa.table({"item": items, "count": pa.array(list(counts.values()), pa.int64())})
    found = table.sort_by([("count", "descending"), ("item", "ascending")]).slice(0, most)
    rows: list[dict[str, Any]] = found.to_pylist()
    if nulls:
        place = sum(each["count"] >= nulls for each in rows)
        rows.insert(place, {"item": None, "count": nulls})
    return rows[:most]


def _per_list(lists: Array, make: Callable[[Array], Any]) -> list[Any]:
    items, starts, lengths = items_of(lists), list_starts(lists), lengths_of(lists)
    return [
        make(items.slice(start, length))
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)
    ]


@kernel("approx_top_k", total=True)
def _top(call: Call, args: Sequence[Value]) -> Array:
    most: Any = call.args[1]
    item = call.kind.value_type.field(0).type

    def top(pairs: Array) -> list[dict[str, Any]]:
        return _most_frequent(*_counted(pairs.field(0)), most.value, item)

    return pa.array(_per_list(args[0], top), counted(call.kind)).cast(call.kind)


@kernel("approx_top_k_accumulate", total=True)
def _accumulated(call: Call, args: Sequence[Value]) -> Array:
    tracked: Any = call.args[1]
    item = call.kind.field(2).type

    def sketch(pairs: Array) -> dict[str, Any]:
        counts, nulls = _counted(pairs.field(0))
        return _state(to_bytes(counts, tracked.value, counted(item), nulls), tracked.value, item)

    return pa.array(_per_list(args[0], sketch), call.kind)


def _state(sketch: bytes, tracked: int, item: Any) -> dict[str, Any]:
    ddl = "item string not null" if item == pa.string() else f"item {type_name(item)} NOT NULL"
    return {
        "sketch": sketch,
        "maxItemsTracked": tracked,
        "itemDataType": None,
        "itemDataTypeDDL": ddl,
    }


@kernel("approx_top_k_combine")
def _combined(call: Call, args: Sequence[Value]) -> Array:
    given: int | None = getattr(call.args[1], "value", None)
    item = call.kind.field(2).type

    def sketch(states: Array) -> dict[str, Any]:
        counts: Counts = {}
        nulls = 0
        sizes = states.field(1).to_pylist()
        for data in states.field(0).to_pylist():
            own, more = from_bytes(data, item, call.function)
            nulls += more
            for each, count in own.items():
                counts[each] = counts.get(each, 0) + count
        if given is None and len(set(sizes)) > 1:
            raise EvaluationError(
                "APPROX_TOP_K_SKETCH_SIZE_NOT_MATCH",
                f"{call.function}: sketches of the sizes {sizes[0]} and "
                f"{next(each for each in sizes if each != sizes[0])}; give one for all",
            )
        tracked = given or (sizes[0] if sizes else 0)
        return _state(to_bytes(counts, tracked, counted(item), nulls), tracked, item)

    return pa.array(_per_list(args[0], sketch), call.kind)


@kernel("approx_top_k_estimate")
def _estimated(call: Call, args: Sequence[Value]) -> Array:
    most: Any = call.args[1]
    item = call.kind.value_type.field(0).type

    def top(state: dict[str, Any] | None) -> list[dict[str, Any]] | None:
        if state is None or state["sketch"] is None:
            return None
        if state["maxItemsTracked"] < most.value:
            raise EvaluationError(
                "APPROX_TOP_K_MAX_ITEMS_TRACKED_LESS_THAN_K",
                f"{call.function}: a sketch of {state['maxItemsTracked']} items tells no "
                f"{most.value}",
            )
        return _most_frequent(*from_bytes(state["sketch"], item, call.function), most.value, item)

    return pa.array([top(each) for each in args[0].to_pylist()], counted(call.kind)).cast(call.kind)
