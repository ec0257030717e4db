"""Theta sketches: of the hashes of all values the least, of at most 2^lgNomEntries.

    sketch = (hashes, θ): all hashes of the values that are less than θ
    estimate = |hashes| / (θ / 2^63)

With more hashes than it may hold, θ is the least that it leaves out. So a sketch does not depend on
the order of the values; unions, intersections and differences of sets go by the least θ.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from driftline.engine.expressions.arrays import Array, Value, per_distinct
from driftline.engine.expressions.comparison import lengths_of
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.lists import items_of
from driftline.engine.expressions.registry import kernel
from driftline.engine.expressions.sketches.murmur import hashes
from driftline.plan.expressions import Call
from driftline.plan.types import BIGINT, BINARY

Hashes = npt.NDArray[np.int64]

ALL = (1 << 63) - 1
"""θ of a sketch that leaves out nothing."""
SEED_HASH = 0x93CC
_FAMILY = 3
_PLAIN, _COMPRESSED = 3, 4
_READ_ONLY, _EMPTY, _COMPACT, _ORDERED, _SINGLE = 2, 4, 8, 16, 32
_WORD = 64


@dataclass(frozen=True)
class Theta:
    """Hashes in order, all less than `theta`. An empty one has seen no value at all."""

    hashes: Hashes
    theta: int
    is_empty: bool

    @property
    def share(self) -> float:
        """θ as a number up to 1."""
        return 1.0 if self.theta == ALL else self.theta / 2.0**63

    @property
    def estimate(self) -> float:
        """How many distinct values there are."""
        return len(self.hashes) / self.share

    def trimmed(self, size: int) -> Theta:
        """With no more than so many hashes."""
        if len(self.hashes) <= size:
            return self
        return replace(self, hashes=self.hashes[:size], theta=int(self.hashes[size]))


NOTHING = Theta(np.zeros(0, np.int64), ALL, True)


def hashed(values: Array) -> tuple[Hashes, npt.NDArray[np.bool_]]:
    """The hashes of values as sketches hold them, and which of these count."""
    first, _, there = hashes(values)
    found = (first >> np.uint64(1)).astype(np.int64)
    return found, there & (found != 0)


def union(sketches: Sequence[Theta], size: int) -> Theta:
    """The sketch of all values."""
    theta = min((each.theta for each in sketches), default=ALL)
    together = [each.hashes[each.hashes < theta] for each in sketches]
    found = np.unique(np.concatenate(together)) if together else NOTHING.hashes
    return Theta(found, theta, all(each.is_empty for each in sketches)).trimmed(size)


def intersection(sketches: Sequence[Theta]) -> Theta:
    """The sketch of the values that are in every set; of no sets it is empty."""
    if not sketches or any(each.is_empty for each in sketches):
        return NOTHING
    theta = min(each.theta for each in sketches)
    found = sketches[0].hashes
    for each in sketches[1:]:
        found = np.intersect1d(found, each.hashes, assume_unique=True)
    found = found[found < theta]
    return Theta(found, theta, len(found) == 0 and theta == ALL)


def difference(one: Theta, other: Theta) -> Theta:
    """The sketch of the values of the first set that are not in the second."""
    theta = min(one.theta, other.theta)
    found = one.hashes[one.hashes < theta]
    found = found[~np.isin(found, other.hashes)]
    return Theta(found, theta, one.is_empty or (len(found) == 0 and theta == ALL))


def to_bytes(sketch: Theta) -> bytes:
    """A sketch as Spark writes it: several hashes are compressed."""
    flags, count = _READ_ONLY | _COMPACT | _ORDERED, len(sketch.hashes)
    if sketch.is_empty:
        return bytes([1, _PLAIN, _FAMILY, 0, 0, flags | _EMPTY, 0, 0])
    theta = struct.pack("<Q", sketch.theta)
    if count == 0:
        head = struct.pack("<6BHIf", 3, _PLAIN, _FAMILY, 0, 0, flags, SEED_HASH, 0, 1.0)
        return head + theta
    if count == 1 and sketch.theta == ALL:
        head = struct.pack("<6BH", 1, _PLAIN, _FAMILY, 0, 0, flags | _SINGLE, SEED_HASH)
        return head + sketch.hashes.astype("<u8").tobytes()
    gaps = np.diff(sketch.hashes, prepend=0).astype(np.uint64)
    bits = int(np.bitwise_or.reduce(gaps)).bit_length()
    in_bits = np.unpackbits(gaps.astype(">u8").view(np.uint8).reshape(count, 8), axis=1)
    size = (count.bit_length() + 7) // 8
    words = 1 if sketch.theta == ALL else 2
    head = struct.pack("<6BH", words, _COMPRESSED, _FAMILY, bits, size, flags, SEED_HASH)
    head += theta if words > 1 else b""
    return head + count.to_bytes(size, "little") + np.packbits(in_bits[:, _WORD - bits :]).tobytes()


def from_bytes(data: bytes, function: str) -> Theta:
    """A sketch that was written by this or by Spark."""
    try:
        return _read(data)
    except (ValueError, IndexError, struct.error):
        raise EvaluationError(
            "THETA_INVALID_INPUT_SKETCH_BUFFER",
            f"{function}: these bytes are no Theta sketch, as theta_sketch_agg gives it",
        ) from None


def _read(data: bytes) -> Theta:
    words, version, family, bits, size, flags, seed = struct.unpack_from("<6BH", data)
    words &= 0x3F
    if family != _FAMILY or version not in (_PLAIN, _COMPRESSED):
        raise ValueError("another family")
    if flags & _EMPTY:
        return NOTHING
    if seed != SEED_HASH:
        raise ValueError("another seed")
    if version == _COMPRESSED:
        (theta,) = struct.unpack_from("<Q", data, 8) if words > 1 else (ALL,)
        start = 8 * words
        count = int.from_bytes(data[start : start + size], "little")
        packed = np.frombuffer(data, np.uint8, -(-count * bits // 8), start + size)
        in_bits = np.zeros((count, _WORD), np.uint8)
        in_bits[:, _WORD - bits :] = np.unpackbits(packed)[: count * bits].reshape(count, bits)
        gaps = np.packbits(in_bits, axis=1).view(">u8").reshape(count)
        return Theta(np.cumsum(gaps.astype(np.int64)), theta, False)
    (count,) = struct.unpack_from("<I", data, 8) if words > 1 else (1,)
    (theta,) = struct.unpack_from("<Q", data, 16) if words > 2 else (ALL,)  # noqa: PLR2004
    found = np.frombuffer(data, "<u8", count, 8 * words).astype(np.int64)
    return Theta(np.sort(found), theta, False)


def rounded(number: float) -> int:
    """As Java rounds."""
    return math.floor(number + 0.5)


def per_list(lists: Array, sketch: Callable[[int, int], bytes]) -> Array:
    """The sketch of each list, by the places of its first item and after its last."""
    ends = np.cumsum(lengths_of(lists))
    starts = ends - lengths_of(lists)
    made = [sketch(*bounds) for bounds in zip(starts.tolist(), ends.tolist(), strict=True)]
    return pa.array(made, BINARY)


def size_of(call: Call, place: int) -> int:
    """How many hashes a sketch may hold, of which an argument is the logarithm."""
    given: Any = call.args[place]
    return 1 << int(given.value)


@kernel("theta_sketch_agg", total=True)
def _of_values(call: Call, args: Sequence[Value]) -> Array:
    found, there = hashed(items_of(args[0]))
    size = size_of(call, 1)

    def sketch(start: int, end: int) -> bytes:
        own = np.unique(found[start:end][there[start:end]])
        return to_bytes(Theta(own, ALL, len(own) == 0).trimmed(size))

    return per_list(args[0], sketch)


@kernel("theta_union_agg theta_intersection_agg")
def _of_sketches(call: Call, args: Sequence[Value]) -> Array:
    known = [from_bytes(each, call.function) for each in items_of(args[0]).to_pylist()]

    def sketch(start: int, end: int) -> bytes:
        if call.function == "theta_union_agg":
            return to_bytes(union(known[start:end], size_of(call, 1)))
        return to_bytes(intersection(known[start:end]))

    return per_list(args[0], sketch)


@kernel("theta_union theta_intersection theta_difference")
def _of_two(call: Call, args: Sequence[Value]) -> Array:
    def combined(one: bytes, other: bytes) -> bytes:
        both = from_bytes(one, call.function), from_bytes(other, call.function)
        if call.function == "theta_union":
            return to_bytes(union(both, size_of(call, 2)))
        return to_bytes(
            intersection(both) if call.function == "theta_intersection" else difference(*both)
        )

    return per_distinct(combined, list(args[:2]), BINARY)


@kernel("theta_sketch_estimate")
def _estimate(call: Call, args: Sequence[Value]) -> Array:
    def estimate(data: bytes) -> int:
        return rounded(from_bytes(data, call.function).estimate)

    return per_distinct(estimate, list(args), BIGINT)
