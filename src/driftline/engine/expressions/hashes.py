"""hash and xxhash64: Murmur3 (32 bits) and xxHash (64 bits) of values, as Spark computes them.

Each value goes on from the hash of those before it, the first from a seed; a null leaves it as it
is. Numbers are hashed as words, texts and bytes word by word, lists and structs part by part, all
rows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from driftline.engine.expressions.arrays import (
    Array,
    Value,
    is_counted_in_longs,
    numbers,
    valid_mask,
)
from driftline.engine.expressions.comparison import lengths_of
from driftline.engine.expressions.lists import pick
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.types import TIME, is_array, is_decimal, is_float, is_struct

Words = npt.NDArray[Any]
"""The hashes of all rows, as numbers without a sign."""
SEED = 42
_OF_A_LONG = 18
"""A decimal of so many digits is a long."""
_EXACT = Context(prec=76)
_INT, _LONG = 4, 8
"""The bytes of words."""
_M1, _M2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(number)
    for number in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)


def _turned(word: Words, by: int) -> Words:
    """The bits moved to the left, around the end."""
    bits = word.dtype.itemsize * 8
    turned: Words = (word << word.dtype.type(by)) | (word >> word.dtype.type(bits - by))
    return turned


class Murmur3:
    """hash(…): 32 bits."""

    word: Any = np.uint32
    kind: Any = pa.int32()

    def _mixed(self, hashes: Words, word: Words) -> Words:
        mixed = hashes ^ (_turned(word * _M1, 15) * _M2)
        return _turned(mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)

    def _ended(self, hashes: Words, length: Words) -> Words:
        hashes = hashes ^ length.astype(np.uint32)
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
            hashes = (hashes ^ (hashes >> np.uint32(shift))) * np.uint32(factor)
        return hashes ^ (hashes >> np.uint32(16))

    def ints(self, values: Words, hashes: Words) -> Words:
        word = values.astype(np.int64).astype(np.uint32)
        return self._ended(self._mixed(hashes, word), np.full(len(word), 4))

    def longs(self, values: Words, hashes: Words) -> Words:
        word = values.astype(np.int64).view(np.uint64)
        low, high = word.astype(np.uint32), (word >> np.uint64(32)).astype(np.uint32)
        return self._ended(self._mixed(self._mixed(hashes, low), high), np.full(len(word), 8))

    def bytes(self, data: Words, starts: Words, lengths: Words, hashes: Words) -> Words:
        hashes = hashes.copy()
        for place in range(int(lengths.max(initial=0)) // 4):
            rows = np.flatnonzero(lengths >= 4 * (place + 1))
            hashes[rows] = self._mixed(hashes[rows], _at(data, starts[rows] + 4 * place, 4))
        whole = lengths // 4 * 4
        for place in range(3):
            rows = np.flatnonzero(lengths - whole > place)
            single = data[starts[rows] + whole[rows] + place].view(np.int8).astype(np.int64)
            hashes[rows] = self._mixed(hashes[rows], single.astype(np.uint32))
        return self._ended(hashes, lengths)


class XxHash64:
    """xxhash64(…): 64 bits."""

    word: Any = np.uint64
    kind: Any = pa.int64()

    def _ended(self, hashes: Words) -> Words:
        hashes = (hashes ^ (hashes >> np.uint64(33))) * _P2
        hashes = (hashes ^ (hashes >> np.uint64(29))) * _P3
        ended: Words = hashes ^ (hashes >> np.uint64(32))
        return ended

    def _four(self, hashes: Words, word: Words) -> Words:
        return _turned(hashes ^ (word * _P1), 23) * _P2 + _P3

    def _eight(self, hashes: Words, word: Words) -> Words:
        return _turned(hashes ^ (_turned(word * _P2, 31) * _P1), 27) * _P1 + _P4

    def ints(self, values: Words, hashes: Words) -> Words:
        word = values.astype(np.int64).astype(np.uint32).astype(np.uint64)
        return self._ended(self._four(hashes + _P5 + np.uint64(4), word))

    def longs(self, values: Words, hashes: Words) -> Words:
        word = values.astype(np.int64).view(np.uint64)
        return self._ended(self._eight(hashes + _P5 + np.uint64(8), word))

    def bytes(self, data: Words, starts: Words, lengths: Words, hashes: Words) -> Words:
        stripes = lengths // 32
        found = hashes + _P5
        if stripes.any():
            rows = np.flatnonzero(stripes)
            found[rows] = self._stripes(data, starts[rows], stripes[rows], hashes[rows])
        found = found + lengths.astype(np.uint64)
        begun = stripes * 32
        for _ in range(3):
            rows = np.flatnonzero(lengths - begun >= _LONG)
            found[rows] = self._eight(found[rows], _at(data, starts[rows] + begun[rows], 8))
            begun[rows] += 8
        rows = np.flatnonzero(lengths - begun >= _INT)
        found[rows] = self._four(found[rows], _at(data, starts[rows] + begun[rows], 4))
        begun[rows] += 4
        for _ in range(3):
            rows = np.flatnonzero(lengths > begun)
            single = data[starts[rows] + begun[rows]].astype(np.uint64)
            found[rows] = _turned(found[rows] ^ (single * _P5), 11) * _P1
            begun[rows] += 1
        return self._ended(found)

    def _stripes(self, data: Words, starts: Words, stripes: Words, seeds: Words) -> Words:
        lanes = [seeds + _P1 + _P2, seeds + _P2, seeds.copy(), seeds - _P1]
        for place in range(int(stripes.max())):
            rows = np.flatnonzero(stripes > place)
            for number, lane in enumerate(lanes):
                word = _at(data, starts[rows] + 32 * place + 8 * number, 8)
                lane[rows] = _turned(lane[rows] + word * _P2, 31) * _P1
        turns = (1, 7, 12, 18)
        found = sum(
            (_turned(lane, by) for lane, by in zip(lanes, turns, strict=True)),
            start=np.zeros(len(seeds), np.uint64),
        )
        for lane in lanes:
            found = (found ^ (_turned(lane * _P2, 31) * _P1)) * _P1 + _P4
        return found


Hash = Murmur3 | XxHash64


def _at(data: Words, places: Words, width: int) -> Words:
    """Words of some bytes, the least first."""
    kind: Any = np.uint32 if width == _INT else np.uint64
    word = np.zeros(len(places), kind)
    for byte in range(width):
        word |= data[places + byte].astype(kind) << kind(8 * byte)
    return word


def hashed(method: Hash, array: Array, hashes: Words) -> Words:
    """The hashes of rows with a further value."""
    there = valid_mask(array)
    rows = np.flatnonzero(there)
    if not len(rows):
        return hashes
    found = hashes.copy()
    found[rows] = _of_kind(method, array.take(pa.array(rows)), hashes[rows])
    return found


def _of_kind(method: Hash, array: Array, hashes: Words) -> Words:
    kind = array.type
    if is_array(kind):
        lengths = lengths_of(array)
        for place in range(int(lengths.max(initial=0))):
            rows = np.flatnonzero(lengths > place)
            some = array.take(pa.array(rows))
            items = pick(some, np.full(len(rows), place), np.ones(len(rows), np.bool_))
            hashes = hashes.copy()
            hashes[rows] = hashed(method, items, hashes[rows])
        return hashes
    if is_struct(kind):
        for field in array.flatten():
            hashes = hashed(method, field, hashes)
        return hashes
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _of_bytes(method, array.cast(pa.binary()), hashes)
    if is_decimal(kind):
        return _of_decimals(method, array, hashes)
    values = numbers(array)
    if is_float(kind):
        bits: Any = np.int32 if values.dtype == np.float32 else np.int64
        plain = np.where(np.isnan(values), values.dtype.type(np.nan), values + 0)
        values = plain.astype(values.dtype).view(bits)
    if kind == TIME:
        values = values * 1000  # Spark counts nanoseconds
    longs = pa.types.is_int64(kind) or is_counted_in_longs(kind)
    wide = longs or (values.dtype == np.int64 and is_float(kind))
    return method.longs(values, hashes) if wide else method.ints(values, hashes)


def _of_bytes(method: Hash, array: Array, hashes: Words) -> Words:
    offsets = np.frombuffer(array.buffers()[1], np.int32)[array.offset :][: len(array) + 1]
    held = array.buffers()[2]
    data = np.frombuffer(held, np.uint8) if held is not None else np.zeros(0, np.uint8)
    starts = offsets[:-1].astype(np.int64)
    return method.bytes(data, starts, np.diff(offsets).astype(np.int64), hashes)


def _of_decimals(method: Hash, array: Array, hashes: Words) -> Words:
    unscaled = [int(_EXACT.scaleb(value, array.type.scale)) for value in array.to_pylist()]
    if array.type.precision <= _OF_A_LONG:
        return method.longs(np.array(unscaled, np.int64), hashes)
    width = [value.bit_length() // 8 + 1 if value >= 0 else (value + 1).bit_length() // 8 + 1
             for value in unscaled]  # fmt: skip
    pairs = zip(unscaled, width, strict=True)
    texts = [value.to_bytes(size, "big", signed=True) for value, size in pairs]
    return _of_bytes(method, pa.array(texts, pa.binary()), hashes)


def _kernel(name: str, method: Hash) -> None:
    @kernel(name, total=True, strict=False)
    def compute(call: Call, args: Sequence[Value]) -> Array:
        hashes: Words = np.full(len(args[0]), SEED, method.word)
        with np.errstate(over="ignore"):
            for arg in args:
                hashes = hashed(method, arg, hashes)
        signed: Callable[[Any], Any] = hashes.view
        return pa.array(signed(np.int32 if method.word is np.uint32 else np.int64), method.kind)


_kernel("hash", Murmur3())
_kernel("xxhash64", XxHash64())
