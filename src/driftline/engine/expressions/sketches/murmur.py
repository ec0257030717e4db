"""MurmurHash3 of 128 bits, with the seed of DataSketches, over whole columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from driftline.engine.expressions.arrays import Array, Mask, numbers
from driftline.engine.expressions.comparison import lengths_of
from driftline.engine.expressions.lists import items_of, list_starts

Words = npt.NDArray[np.uint64]

SEED = 9001
_BLOCK = 16
_FIRST, _SECOND = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)


def hashes(values: Array) -> tuple[Words, Words, Mask]:
    """Both halves of the hash of each value, and whether it counts: empty ones do not."""
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        data, offsets = _bytes_of(values)
        return *_of_bytes(data, offsets[:-1], np.diff(offsets)), np.diff(offsets) > 0
    if pa.types.is_list(kind):
        items = numbers(items_of(values))
        data, size = items.view(np.uint8), items.dtype.itemsize
        lengths = lengths_of(values)
        return *_of_bytes(data, list_starts(values) * size, lengths * size), lengths > 0
    found = numbers(values)
    if pa.types.is_floating(kind):
        found = found.astype(np.float64) + 0.0  # -0.0 is 0.0
        found[np.isnan(found)] = np.nan
        found = found.view(np.int64)
    words = np.zeros((len(found), 1, 2), np.uint64)
    words[:, 0, 0] = found.astype(np.int64).view(np.uint64)
    lengths = np.full(len(found), 8)
    return *_of_words(words, lengths), np.ones(len(found), np.bool_)


def _bytes_of(values: Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    _, offsets, data = values.buffers()
    places = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
    content = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return content, places.astype(np.int64)


def _of_bytes(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> tuple[Words, Words]:
    first, second = np.zeros(len(starts), np.uint64), np.zeros(len(starts), np.uint64)
    blocks = lengths // _BLOCK
    padded = np.append(data, np.uint8(0))
    for count in np.unique(blocks).tolist():
        rows = np.flatnonzero(blocks == count)
        within = np.arange(_BLOCK * (count + 1))
        inside = within < lengths[rows, None]
        content = padded[np.where(inside, starts[rows, None] + within, len(data))]
        words = content.view("<u8").reshape(len(rows), count + 1, 2)
        first[rows], second[rows] = _of_words(words, lengths[rows])
    return first, second


def _of_words(words: Words, lengths: npt.NDArray[np.int64]) -> tuple[Words, Words]:
    """Of blocks of two words, the last of which is filled up with zeros."""
    one = np.full(len(words), SEED, np.uint64)
    two = one.copy()
    last = words.shape[1] - 1
    with np.errstate(over="ignore"):
        for block in range(last):
            one ^= _rotated(words[:, block, 0] * _FIRST, 31) * _SECOND
            one = (_rotated(one, 27) + two) * np.uint64(5) + np.uint64(0x52DCE729)
            two ^= _rotated(words[:, block, 1] * _SECOND, 33) * _FIRST
            two = (_rotated(two, 31) + one) * np.uint64(5) + np.uint64(0x38495AB5)
        two ^= _rotated(words[:, last, 1] * _SECOND, 33) * _FIRST
        one ^= _rotated(words[:, last, 0] * _FIRST, 31) * _SECOND
        one ^= lengths.astype(np.uint64)
        two ^= lengths.astype(np.uint64)
        one += two
        two += one
        one, two = _finished(one), _finished(two)
        one += two
        two += one
    return one, two


def _rotated(words: Words, bits: int) -> Words:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))


def _finished(words: Words) -> Words:
    words = (words ^ (words >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    words = (words ^ (words >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return words ^ (words >> np.uint64(33))
