"""KLL sketches: numbers by which quantiles and ranks are known to about 1.3 % (k = 200).

    levels of numbers: one of level h stands for 2^h values
    a level that is too full is sorted, and every second of its numbers goes to the next level

Here the values of a group are put in at once and sorted, so that the sketch does not depend on
their order. Whether the first or the second of two goes on is chance in Spark; here it alternates
from level to level.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from driftline.engine.expressions.arrays import Array, Value, numbers, per_distinct
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.lists import items_of
from driftline.engine.expressions.registry import kernel
from driftline.engine.expressions.sketches.theta import per_list
from driftline.engine.expressions.text_casts import java_float
from driftline.plan.expressions import Call
from driftline.plan.types import BIGINT, BINARY, STRING

Numbers = npt.NDArray[Any]

DEFAULT_K = 200
_FAMILY, _M = 15, 8
_EMPTY_OR_FULL, _SINGLE = 1, 2
_IS_EMPTY, _IS_SINGLE = 1, 4
_SHORT, _LONG = 2, 5
"""How many words of 32 bits come before the numbers of a sketch of up to one, or of more."""
_DTYPES: dict[str, Any] = {
    "bigint": np.dtype("<i8"),
    "float": np.dtype("<f4"),
    "double": np.dtype("<f8"),
}
_JAVA_NAMES = {"bigint": "Longs", "float": "Floats", "double": "Doubles"}


@dataclass(frozen=True)
class Kll:
    """Numbers by their levels, each sorted; `least_k` is the least k of what was merged."""

    k: int
    least_k: int
    count: int
    ends: Numbers
    """The least and the greatest value, if there is one."""
    levels: tuple[Numbers, ...]

    @property
    def kept(self) -> int:
        return sum(map(len, self.levels))

    @property
    def capacity(self) -> int:
        return sum(_capacity(self.k, len(self.levels), each) for each in range(len(self.levels)))

    def compressed(self) -> Kll:
        """With no more numbers than it may have."""
        levels, total, place = list(self.levels), self.kept, 0
        while place < len(levels):
            room = sum(_capacity(self.k, len(levels), each) for each in range(len(levels)))
            own = np.sort(levels[place])
            if total > room and len(own) >= _capacity(self.k, len(levels), place):
                odd = len(own) % 2
                pairs = own[odd:]
                if place + 1 == len(levels):
                    levels.append(own[:0])
                levels[place] = own[:odd]
                levels[place + 1] = np.sort(
                    np.concatenate([levels[place + 1], pairs[(place + 1) % 2 :: 2]])
                )
                total -= len(pairs) // 2
            place += 1
        return Kll(self.k, self.least_k, self.count, self.ends, tuple(levels))

    def in_order(self) -> tuple[Numbers, Numbers]:
        """All numbers in order, and how many values are not greater than each; the least and the
        greatest value are among them, as in DataSketches."""
        values = np.concatenate(self.levels)
        weights = np.repeat(1 << np.arange(len(self.levels)), [len(each) for each in self.levels])
        order = np.argsort(values, kind="stable")
        values, below = values[order], np.cumsum(weights[order])
        if values[-1] != self.ends[1]:
            below[-1] -= 1
            values, below = np.append(values, self.ends[1]), np.append(below, self.count)
        if values[0] != self.ends[0]:
            values, below = np.append(self.ends[0], values), np.append(1, below)
        return values, below

    def quantile(self, share: float) -> Any:
        """The least value that a share of all does not exceed."""
        values, below = self.in_order()
        place = int(np.searchsorted(below, math.ceil(share * self.count)))
        return values[min(place, len(values) - 1)].item()

    def rank(self, value: Any) -> float:
        """The share of values that are not greater."""
        values, below = self.in_order()
        place = int(np.searchsorted(values, value, side="right"))
        return float(below[place - 1]) / self.count if place else 0.0


def _capacity(k: int, levels: int, level: int) -> int:
    """How many numbers a level holds: of the topmost k, and of each below it two thirds."""
    depth = levels - level - 1
    exact: int = (((2 * k) << depth) // 3**depth + 1) >> 1
    return max(_M, exact)


def of_values(values: Numbers, k: int) -> Kll:
    """The sketch of some values; those that are no numbers are left out."""
    if values.dtype.kind == "f":
        values = values[~np.isnan(values)]
    ordered = np.sort(values)
    ends = ordered[[0, -1]] if len(ordered) else ordered
    return Kll(k, k, len(ordered), ends, (ordered,)).compressed()


def merged(sketches: Sequence[Kll]) -> Kll:
    """The sketch of the values of all, with the size of the first."""
    height = max(len(each.levels) for each in sketches)
    levels = tuple(
        np.sort(np.concatenate([each.levels[h] for each in sketches if h < len(each.levels)]))
        for h in range(height)
    )
    ends = np.concatenate([each.ends for each in sketches])
    if len(ends):
        ends = np.array([ends.min(), ends.max()], ends.dtype)
    least = min(each.least_k for each in sketches if each is sketches[0] or len(each.levels) > 1)
    count = sum(each.count for each in sketches)
    return Kll(sketches[0].k, least, count, ends, levels).compressed()


def to_bytes(sketch: Kll) -> bytes:
    """A sketch as Spark writes it."""
    if sketch.count == 0:
        return struct.pack("<4BHBB", _SHORT, _EMPTY_OR_FULL, _FAMILY, _IS_EMPTY, sketch.k, _M, 0)
    if sketch.count == 1:
        head = struct.pack("<4BHBB", _SHORT, _SINGLE, _FAMILY, _IS_SINGLE, sketch.k, _M, 0)
        return head + sketch.ends[:1].tobytes()
    head = struct.pack(
        "<4BHBBQHBB",
        *(_LONG, _EMPTY_OR_FULL, _FAMILY, 0, sketch.k, _M, 0),
        *(sketch.count, sketch.least_k, len(sketch.levels), 0),
    )
    sizes = [len(each) for each in sketch.levels]
    starts = sketch.capacity - sketch.kept + np.cumsum([0, *sizes[:-1]])
    parts = [starts.astype("<i4"), sketch.ends, *sketch.levels]
    return head + b"".join(part.tobytes() for part in parts)


def from_bytes(data: bytes, kind: str, function: str) -> Kll:
    """A sketch that was written by this or by Spark."""
    try:
        return _read(data, _DTYPES[kind])
    except (ValueError, struct.error):
        raise EvaluationError(
            "KLL_INVALID_INPUT_SKETCH_BUFFER",
            f"{function}: these bytes are no KLL sketch, as kll_sketch_agg_{kind} gives it",
        ) from None


def _read(data: bytes, dtype: Any) -> Kll:
    words, version, family, flags, k, m, _ = struct.unpack_from("<4BHBB", data)
    if family != _FAMILY or m != _M or version not in (_EMPTY_OR_FULL, _SINGLE):
        raise ValueError("another family")
    none = np.zeros(0, dtype)
    if flags & _IS_EMPTY:
        return Kll(k, k, 0, none, (none,))
    if version == _SINGLE:
        value = np.frombuffer(data[8:], dtype)
        if len(value) != 1:
            raise ValueError("another size")
        return Kll(k, k, 1, np.repeat(value, 2), (value,))
    count, least_k, height, _ = struct.unpack_from("<QHBB", data, 8)
    starts = np.frombuffer(data, "<i4", height, 4 * words).astype(np.int64)
    values = np.frombuffer(data[4 * (words + height) :], dtype)
    levels = tuple(np.sort(each) for each in np.split(values[2:], starts[1:] - starts[0]))
    if sum(len(each) << h for h, each in enumerate(levels)) != count:
        raise ValueError("another size")
    return Kll(k, least_k, count, values[:2], levels)


def described(sketch: Kll, kind: str) -> str:
    """The sketch in words, as DataSketches writes them."""
    size = _DTYPES[kind].itemsize
    height, room = len(sketch.levels), sketch.capacity
    whole = 4 * _LONG + 4 * (height + 1) + (2 + room) * size
    least, most = (_text(each, kind) for each in sketch.ends) if sketch.count else ("NaN", "NaN")
    lines = {
        "K": sketch.k,
        "Dynamic min K": sketch.least_k,
        "M": _M,
        "N": sketch.count,
        "Epsilon": f"{100 * 2.296 / sketch.least_k**0.9723:.3f}%",
        "Epsilon PMF": f"{100 * 2.446 / sketch.least_k**0.9433:.3f}%",
        "Empty": str(sketch.count == 0).lower(),
        "Estimation Mode": str(height > 1).lower(),
        "Levels": height,
        "Level 0 Sorted": "false",
        "Capacity Items": room,
        "Retained Items": sketch.kept,
        "Free Space": room - sketch.kept,
        "ReadOnly": "false",
        "Updatable Storage Bytes": whole,
        "Compact Storage Bytes": len(to_bytes(sketch)),
        "Min Item": least,
        "Max Item": most,
    }
    head = f"\n### KllKll{_JAVA_NAMES[kind]}Sketch Summary:\n"
    body = "".join(f"   {name:<23}: {value}\n" for name, value in lines.items())
    return head + body + "### End sketch summary\n"


def _text(value: Any, kind: str) -> str:
    return str(value) if kind == "bigint" else java_float(float(value), single=kind == "float")


def _kind(call: Call) -> str:
    return call.function.rpartition("_")[2]


def _named(what: str) -> str:
    return " ".join(f"kll_{what}_{kind}" for kind in _DTYPES)


@kernel(_named("sketch_agg"), total=True)
def _of_values(call: Call, args: Sequence[Value]) -> Array:
    values = numbers(items_of(args[0])).astype(_DTYPES[_kind(call)])
    size: Any = call.args[1]
    return per_list(args[0], lambda start, end: to_bytes(of_values(values[start:end], size.value)))


@kernel(_named("merge_agg"))
def _of_sketches(call: Call, args: Sequence[Value]) -> Array:
    kind, size = _kind(call), call.args[1]
    known = [from_bytes(each, kind, call.function) for each in items_of(args[0]).to_pylist()]
    given: int | None = getattr(size, "value", None)

    def sketch(start: int, end: int) -> bytes:
        own = known[start:end]
        if given is not None or not own:
            own = [of_values(np.zeros(0, _DTYPES[kind]), given or DEFAULT_K), *own]
        return to_bytes(merged(own))

    return per_list(args[0], sketch)


@kernel(_named("sketch_merge"))
def _of_two(call: Call, args: Sequence[Value]) -> Array:
    kind = _kind(call)

    def together(one: bytes, other: bytes) -> bytes:
        both = [from_bytes(each, kind, call.function) for each in (one, other)]
        return to_bytes(merged(both))

    return per_distinct(together, list(args), BINARY)


@kernel(_named("sketch_get_n"))
def _count(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(
        lambda data: from_bytes(data, _kind(call), call.function).count, list(args), BIGINT
    )


@kernel(_named("sketch_to_string"))
def _to_string(call: Call, args: Sequence[Value]) -> Array:
    kind = _kind(call)
    return per_distinct(
        lambda data: described(from_bytes(data, kind, call.function), kind), list(args), STRING
    )


@kernel(f"{_named('sketch_get_quantile')} {_named('sketch_get_rank')}")
def _asked(call: Call, args: Sequence[Value]) -> Array:
    def answer(data: bytes, asked: Any) -> Any:
        sketch = from_bytes(data, _kind(call), call.function)
        if sketch.count == 0:
            raise EvaluationError(
                "KLL_INVALID_INPUT_SKETCH_BUFFER", f"{call.function}: the sketch has no values"
            )
        ask = sketch.rank if "_get_rank_" in call.function else _quantile(sketch, call.function)
        return [ask(each or 0) for each in asked] if isinstance(asked, list) else ask(asked)

    if not pa.types.is_list(args[1].type):
        return per_distinct(answer, list(args), call.kind)
    constant = args[1][0].as_py() if len(args[1]) else []
    return per_distinct(lambda data: answer(data, constant), [args[0]], call.kind)


def _quantile(sketch: Kll, function: str) -> Any:
    def ask(share: float) -> Any:
        if not 0 <= share <= 1:
            raise EvaluationError(
                "KLL_SKETCH_INVALID_QUANTILE_RANGE", f"{function}: a share is 0 to 1, not {share}"
            )
        return sketch.quantile(share)

    return ask
