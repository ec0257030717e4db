"""Bytes as base64 text, the way Spark's JSON holds BINARY, and back; whole columns at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from driftline.kernels import compiled
from driftline.model.arrays import ByteArray, Bytes, Int64s

_LETTERS = np.frombuffer(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8
)
_PADDING = ord("=")
_NONE = 255
_VALUES = np.full(256, _NONE, np.uint8)
_VALUES[_LETTERS] = np.arange(64)


def encoded(array: pa.Array) -> pa.Array:
    r"""The text of each value; null stays null.

    >>> encoded(pa.array([b"\x00\xff", b"", None])).to_pylist()
    ['AP8=', '', None]
    """
    offsets, data = _parts(array, pa.large_binary())
    starts = np.concatenate([[0], np.cumsum((np.diff(offsets) + 2) // 3 * 4)]).astype(np.int64)
    text = np.empty(starts[-1], np.uint8)
    _encode(data, offsets, text, starts)
    return _array(pa.large_string(), array, starts, text)


def decoded(array: pa.Array) -> pa.Array:
    """The bytes of each text, of which all are in base64; ValueError with the first that is not.

    >>> decoded(pa.array(["AP8=", None])).to_pylist()
    [b'\\x00\\xff', None]
    """
    offsets, data = _parts(array, pa.large_string())
    starts = np.zeros(len(array) + 1, np.int64)
    values = np.empty(len(data), np.uint8)
    wrong = _decode(data, offsets, values, starts)
    if wrong >= 0:
        raise ValueError(array[wrong].as_py())
    return _array(pa.large_binary(), array, starts, values[: starts[-1]].copy()).cast(pa.binary())


def _parts(array: pa.Array, kind: pa.DataType) -> tuple[Int64s, Bytes]:
    array = array.cast(kind)
    if array.null_count:  # nothing is to be read where nothing is
        array = array.fill_null("" if kind == pa.large_string() else b"")
    _, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, np.int64)[array.offset :][: len(array) + 1]
    return bounds, np.frombuffer(data or b"", np.uint8)


def _array(kind: pa.DataType, like: pa.Array, starts: Int64s, data: Bytes) -> pa.Array:
    valid = None
    if like.null_count:
        valid = like.is_valid().buffers()[1]
    buffers = [valid, pa.py_buffer(starts), pa.py_buffer(data)]
    return pa.Array.from_buffers(kind, len(like), buffers)


@compiled
def _encode(data: Bytes, offsets: Int64s, text: ByteArray, starts: Int64s) -> None:
    for row in range(len(offsets) - 1):
        out = starts[row]
        for at in range(offsets[row], offsets[row + 1], 3):
            length = min(3, offsets[row + 1] - at)
            bits = np.uint32(data[at]) << 16
            if length > 1:
                bits |= np.uint32(data[at + 1]) << 8
            if length > 2:  # noqa: PLR2004 - three bytes are four letters
                bits |= np.uint32(data[at + 2])
            for place in range(4):
                letter = _LETTERS[(bits >> (18 - 6 * place)) & 63]
                text[out + place] = letter if place <= length else _PADDING
            out += 4


@compiled
def _decode(data: Bytes, offsets: Int64s, values: ByteArray, starts: Int64s) -> int:
    """Fills the values; the row of the first text that is not in base64, or -1."""
    out = 0
    for row in range(len(offsets) - 1):
        first, end = offsets[row], offsets[row + 1]
        while end > first and data[end - 1] == _PADDING and offsets[row + 1] - end < 2:  # noqa: PLR2004
            end -= 1
        bits, held = np.uint32(0), 0
        if (end - first) % 4 == 1:
            return row
        for at in range(first, end):
            value = _VALUES[data[at]]
            if value == _NONE:
                return row
            bits = (bits << 6) | np.uint32(value)
            held += 6
            if held >= 8:  # noqa: PLR2004 - a byte
                held -= 8
                values[out] = (bits >> held) & 255
                out += 1
        starts[row + 1] = out
    return -1
