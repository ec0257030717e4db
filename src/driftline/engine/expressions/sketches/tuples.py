"""Tuple sketches: Theta sketches with a number beside every hash, made of those of its key.

Numbers of one key are added up, or the least or the greatest is taken, or it is one always. `kinds`
of the numbers: doubles, or integers of 32 bits, which begin anew when they overflow.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from driftline.engine.expressions.arrays import Array, Value, numbers, per_distinct
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.lists import items_of
from driftline.engine.expressions.registry import kernel
from driftline.engine.expressions.sketches.theta import (
    ALL,
    SEED_HASH,
    Theta,
    hashed,
    per_list,
    size_of,
)
from driftline.engine.expressions.sketches.theta import from_bytes as theta_from_bytes
from driftline.plan.expressions import Call
from driftline.plan.types import BIGINT, BINARY, DOUBLE

Numbers = npt.NDArray[Any]

_FAMILY, _VERSION, _KIND_OF_SKETCH = 9, 3, 1
_READ_ONLY, _EMPTY, _COMPACT = 2, 4, 8
_MODES = ("sum", "min", "max", "alwaysone")
_REDUCE: dict[str, Any] = {"sum": np.add, "min": np.minimum, "max": np.maximum}
_DTYPES: dict[str, Any] = {"double": np.dtype("<f8"), "integer": np.dtype("<i4")}


@dataclass(frozen=True)
class Tuples(Theta):
    """A Theta sketch, for each hash its number, and how that was made of others."""

    summaries: Numbers = field(kw_only=True)
    modes: npt.NDArray[np.uint8] = field(kw_only=True)

    def at(self, places: Any, theta: int, is_empty: bool) -> Tuples:
        """Some of the hashes, with their numbers."""
        return Tuples(
            self.hashes[places],
            theta,
            is_empty,
            summaries=self.summaries[places],
            modes=self.modes[places],
        )

    def trimmed(self, size: int) -> Tuples:
        if len(self.hashes) <= size:
            return self
        return self.at(slice(size), int(self.hashes[size]), False)


def nothing(kind: str) -> Tuples:
    """The sketch of no keys."""
    none = np.zeros(0, np.int64)
    return Tuples(
        none, ALL, True, summaries=np.zeros(0, _DTYPES[kind]), modes=np.zeros(0, np.uint8)
    )


def of_keys(found: npt.NDArray[np.int64], values: Numbers, mode: str) -> Tuples:
    """The sketch of hashes of keys and their numbers, in their order."""
    order = np.argsort(found, kind="stable")
    keys, starts = np.unique(found[order], return_index=True)
    modes = np.full(len(keys), _MODES.index(mode), np.uint8)
    summaries = _reduced(values[order], starts, mode)
    return Tuples(keys, ALL, len(keys) == 0, summaries=summaries, modes=modes)


def _reduced(values: Numbers, starts: Any, mode: str) -> Numbers:
    if mode == "alwaysone":
        return np.ones(len(starts), values.dtype)
    if len(starts) == 0:
        return values[:0]
    with np.errstate(all="ignore"):
        found: Numbers = _REDUCE[mode].reduceat(values, starts).astype(values.dtype)
    return found


def union(sketches: Sequence[Tuples], size: int, mode: str, kind: str) -> Tuples:
    """The sketch of all keys; the numbers of one that is in several are made one."""
    if not sketches:
        return nothing(kind)
    theta = min(each.theta for each in sketches)
    return _merged(sketches, theta, mode, 1).trimmed(size)


def intersection(sketches: Sequence[Tuples], mode: str, kind: str) -> Tuples:
    """The sketch of the keys that are in all."""
    if not sketches or any(each.is_empty for each in sketches):
        return nothing(kind)
    return _merged(sketches, min(each.theta for each in sketches), mode, len(sketches))


def _merged(sketches: Sequence[Tuples], theta: int, mode: str, least: int) -> Tuples:
    """The keys that are in at least so many sketches."""
    together = np.concatenate([each.hashes for each in sketches])
    values = np.concatenate([each.summaries for each in sketches])
    modes = np.concatenate([each.modes for each in sketches])
    order = np.argsort(together, kind="stable")
    keys, starts, counts = np.unique(together[order], return_index=True, return_counts=True)
    made = _reduced(values[order], starts, mode)
    several = counts > 1
    first = order[starts]
    whole = Tuples(
        keys,
        theta,
        all(each.is_empty for each in sketches),
        summaries=np.where(several, made, values[first]).astype(values.dtype),
        modes=np.where(several, _MODES.index(mode), modes[first]).astype(np.uint8),
    )
    return whole.at((keys < theta) & (counts >= least), theta, whole.is_empty)


def difference(one: Tuples, other: Theta) -> Tuples:
    """The sketch of the keys of the first that are not in the second."""
    theta = min(one.theta, other.theta)
    keep = (one.hashes < theta) & ~np.isin(one.hashes, other.hashes)
    return one.at(keep, theta, one.is_empty or (not keep.any() and theta == ALL))


def with_numbers(sketch: Theta, mode: str, kind: str) -> Tuples:
    """A Theta sketch, with the number beside every hash that changes no other."""
    dtype = _DTYPES[kind]
    limits: Any = np.iinfo(dtype) if kind == "integer" else None
    least, most = (limits.min, limits.max) if limits else (-np.inf, np.inf)
    neutral = {"sum": 0, "min": most, "max": least, "alwaysone": 1}[mode]
    count = len(sketch.hashes)
    return Tuples(
        sketch.hashes,
        sketch.theta,
        sketch.is_empty,
        summaries=np.full(count, neutral, dtype),
        modes=np.full(count, _MODES.index(mode), np.uint8),
    )


def to_bytes(sketch: Tuples) -> bytes:
    """A sketch as Spark writes it; here its hashes are in order."""
    flags, count = _READ_ONLY | _COMPACT, len(sketch.hashes)
    start = (_VERSION, _FAMILY, _KIND_OF_SKETCH, 0)
    if sketch.is_empty:
        return struct.pack("<6BH", 1, *start, flags | _EMPTY, SEED_HASH)
    words = 3 if sketch.theta != ALL else 1 if count == 1 else 2
    head = struct.pack("<6BH", words, *start, flags, SEED_HASH)
    if words > 1:
        head += struct.pack("<II", count, 0)
    if words > 2:  # noqa: PLR2004 - with theta
        head += struct.pack("<Q", sketch.theta)
    entries = np.zeros(count, _entries(sketch.summaries.dtype))
    entries["hash"], entries["value"] = sketch.hashes, sketch.summaries
    entries["mode"] = sketch.modes
    return head + entries.tobytes()


def _entries(dtype: Any) -> Any:
    return np.dtype([("hash", "<i8"), ("value", dtype), ("mode", "u1")])


def from_bytes(data: bytes, kind: str, function: str) -> Tuples:
    """A sketch that was written by this or by Spark."""
    try:
        words, version, family, _, _, flags, seed = struct.unpack_from("<6BH", data)
        words &= 0x3F
        if family != _FAMILY or version != _VERSION or seed != SEED_HASH:
            raise ValueError("another family")
        if flags & _EMPTY:
            return nothing(kind)
        (count,) = struct.unpack_from("<I", data, 8) if words > 1 else (1,)
        (theta,) = struct.unpack_from("<Q", data, 16) if words > 2 else (ALL,)  # noqa: PLR2004
        entries = np.frombuffer(data, _entries(_DTYPES[kind]), count, 8 * words)
        entries = entries[np.argsort(entries["hash"])]
        if len(entries) and int(entries["mode"].max()) >= len(_MODES):
            raise ValueError("another kind of numbers")
    except (ValueError, struct.error):
        raise EvaluationError(
            "TUPLE_INVALID_INPUT_SKETCH_BUFFER",
            f"{function}: these bytes are no Tuple sketch, as tuple_sketch_agg_{kind} gives it",
        ) from None
    return Tuples(
        entries["hash"].copy(),
        theta,
        False,
        summaries=entries["value"].copy(),
        modes=entries["mode"].copy(),
    )


def _kind(call: Call) -> str:
    return call.function.rpartition("_")[2]


def _mode(call: Call) -> str:
    """How numbers of one key become one: the last argument."""
    given: Any = call.args[-1]
    return str(given.value)


_OF_KEYS = "tuple_sketch_agg_double tuple_sketch_agg_integer"
_UNIONS = "tuple_union_agg_double tuple_union_agg_integer"
_INTERSECTIONS = "tuple_intersection_agg_double tuple_intersection_agg_integer"


@kernel(_OF_KEYS, total=True)
def _of_values(call: Call, args: Sequence[Value]) -> Array:
    keys, values = items_of(args[0]).flatten()
    found, there = hashed(keys)
    summaries = numbers(values).astype(_DTYPES[_kind(call)])

    def sketch(start: int, end: int) -> bytes:
        own = there[start:end]
        made = of_keys(found[start:end][own], summaries[start:end][own], _mode(call))
        return to_bytes(made.trimmed(size_of(call, 1)))

    return per_list(args[0], sketch)


@kernel(f"{_UNIONS} {_INTERSECTIONS}")
def _of_sketches(call: Call, args: Sequence[Value]) -> Array:
    kind, mode = _kind(call), _mode(call)
    known = [from_bytes(each, kind, call.function) for each in items_of(args[0]).to_pylist()]

    def sketch(start: int, end: int) -> bytes:
        if "union" in call.function:
            return to_bytes(union(known[start:end], size_of(call, 1), mode, kind))
        return to_bytes(intersection(known[start:end], mode, kind))

    return per_list(args[0], sketch)


def _two(operation: str) -> str:
    return " ".join(
        f"tuple_{operation}{theta}_{kind}" for theta in ("", "_theta") for kind in _DTYPES
    )


@kernel(f"{_two('union')} {_two('intersection')} {_two('difference')}")
def _of_two(call: Call, args: Sequence[Value]) -> Array:
    kind, name = _kind(call), call.function

    def combined(one: bytes, other: bytes) -> bytes:
        first = from_bytes(one, kind, name)
        is_theta = "_theta_" in name
        if "difference" in name:
            second = theta_from_bytes(other, name) if is_theta else from_bytes(other, kind, name)
            return to_bytes(difference(first, second))
        both = (
            first,
            with_numbers(theta_from_bytes(other, name), _mode(call), kind)
            if is_theta
            else from_bytes(other, kind, name),
        )
        if "union" in name:
            return to_bytes(union(both, size_of(call, 2), _mode(call), kind))
        return to_bytes(intersection(both, _mode(call), kind))

    return per_distinct(combined, list(args[:2]), BINARY)


def _asked(names: str, kind: Any, ask: Callable[[Tuples, Call], Any]) -> None:
    @kernel(names)
    def compute(call: Call, args: Sequence[Value]) -> Array:
        return per_distinct(
            lambda data: ask(from_bytes(data, _kind(call), call.function), call),
            list(args[:1]),
            kind,
        )


def _summary(sketch: Tuples, call: Call) -> Any:
    """All numbers together."""
    mode, values = _mode(call), sketch.summaries
    if mode == "alwaysone":
        values = np.ones_like(values)
    if len(values) == 0:
        return 0 if _kind(call) == "integer" else 0.0
    wide = values.astype(np.int64 if _kind(call) == "integer" else np.float64)
    return _REDUCE.get(mode, np.add).reduce(wide).item()


for _name in _DTYPES:
    _asked(f"tuple_sketch_estimate_{_name}", DOUBLE, lambda sketch, _: sketch.estimate)
    _asked(f"tuple_sketch_theta_{_name}", DOUBLE, lambda sketch, _: sketch.share)
_asked("tuple_sketch_summary_double", DOUBLE, _summary)
_asked("tuple_sketch_summary_integer", BIGINT, _summary)
