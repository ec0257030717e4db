"""Values of some columns in the JSON texts of rows, found and put right before Arrow reads them.

Arrow's JSON reader knows neither NaN nor infinities, makes a double of every number with a point,
and a struct of every object. So before it reads,

- a word for a number that JSON does not have ("NaN", "Infinity", "-Infinity") in a column of
  numbers becomes null, and the number is put in afterwards;
- a value that has to be kept as it was written, as its column is a DECIMAL or a MAP, becomes a
  string that holds its text;
- a number or a boolean in a column of texts becomes a string that holds it as it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.event_log.json_kernel import is_word
from driftline.kernels import compiled
from driftline.model.arrays import ByteArray, Bytes, Int8Table, Int64s, to_arrow, to_numpy

WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
"""Numbers that JSON does not have, as strings, the way Spark writes and reads them."""

_NUMBERS = np.array([0.0, *WORDS.values()])  # by the number of the word, 0 for none
_ENDS = (b'NaN"', b'Infinity"')

_QUOTE, _BACKSLASH, _COLON, _COMMA = ord('"'), ord("\\"), ord(":"), ord(",")
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = ord("{"), ord("}"), ord("["), ord("]")
_SPACE = ord(" ")
_SHORTEST, _LONGEST = len('"NaN"'), len('"-Infinity"')
_CAPITAL_A, _CAPITAL_Z, _TO_SMALL = ord("A"), ord("Z"), 32


class _Words:
    """The words for numbers that some rows had, as numbers to be put in where they stood."""

    def __init__(self, names: Sequence[str], found: Int8Table) -> None:
        self._found = {name: codes for name, codes in zip(names, found, strict=True) if codes.any()}

    def put_in(self, table: pa.Table) -> pa.Table:
        """The rows with their numbers."""
        for name, codes in self._found.items():
            place = table.schema.get_field_index(name)
            if place >= 0:
                table = table.set_column(place, name, _with(table.column(name), codes))
        return table


def _with(column: pa.ChunkedArray, codes: NDArray[np.int8]) -> pa.Array:
    array = column.combine_chunks().cast(pa.float64())
    there = to_numpy(array.is_valid()) | (codes > 0)
    numbers = to_numpy(array.fill_null(0.0)).copy()
    numbers[codes > 0] = _NUMBERS[codes[codes > 0]]
    data = [to_arrow(there).buffers()[1], pa.py_buffer(numbers)]
    return pa.Array.from_buffers(pa.float64(), len(numbers), data)


def may_hold_words(text: Bytes) -> bool:
    """Whether a text may hold such a word; a look at it that costs next to nothing."""
    data = text.tobytes()
    return any(end in data for end in _ENDS)


def take_words_out(text: ByteArray, offsets: Int64s, names: Sequence[str]) -> _Words:
    """Makes the words null in the texts of rows, of which the i-th begins at offsets[i].

    >>> text = np.frombuffer(b'{"a":"NaN"}', np.uint8).copy()
    >>> words = take_words_out(text, np.array([0, len(text)]), ["a"])
    >>> text.tobytes()
    b'{"a":null }'
    >>> words.put_in(pa.table({"a": pa.nulls(1)})).column("a").to_pylist()
    [nan]
    """
    found = np.zeros((len(names), len(offsets) - 1), np.int8)
    _take_words_out(text, offsets, *_joined(names), found)
    return _Words(names, found)


def kept_as_text(
    text: Bytes, offsets: Int64s, names: Iterable[str], *, only_bare: bool = False
) -> tuple[Bytes, Int64s]:
    """The rows with the values of some columns as strings of their texts, null but for null, and
    where each begins. The names are in lower case; those of the rows are compared with no regard
    to the case of A to Z. `only_bare`: of numbers and booleans alone.

    >>> text = np.frombuffer(b'{"A": 1.50,"b":null}{"a":{"x":"y"},"b":2}', np.uint8)
    >>> text, offsets = kept_as_text(text, np.array([0, 20, len(text)]), ["a", "b"])
    >>> print(text.tobytes().decode(), offsets)
    {"A": "1.50","b":null}{"a":"{\\"x\\":\\"y\\"}","b":"2"} [ 0 22 51]
    >>> text = np.frombuffer(b'{"a":true,"b":"x"}', np.uint8)
    >>> kept_as_text(text, np.array([0, 18]), ["a", "b"], only_bare=True)[0].tobytes()
    b'{"a":"true","b":"x"}'
    """
    values, starts = _joined(list(names))
    # A value grows by its quotes, and by a backslash for each of its characters at most.
    larger = np.empty(2 * len(text) + 2 * (len(offsets) - 1) * (len(starts) - 1), np.uint8)
    moved = np.zeros_like(offsets)
    end = _keep_as_text(text, offsets, values, starts, only_bare, larger, moved)
    return larger[:end].copy(), moved


def _joined(names: Sequence[str]) -> tuple[Bytes, Int64s]:
    coded = [name.encode() for name in names]
    starts = np.concatenate([[0], np.cumsum([len(each) for each in coded])]).astype(np.int64)
    return np.frombuffer(b"".join(coded), np.uint8), starts


@compiled
def _take_words_out(
    text: ByteArray, offsets: Int64s, names: Bytes, starts: Int64s, found: Int8Table
) -> None:
    for row in range(len(offsets) - 1):
        at, end = offsets[row], offsets[row + 1]
        while True:
            name, name_end, at, after = _field(text, at, end)
            if after < 0:
                break
            word = _word(text, at, after)
            if word:
                place = _which(text, name, name_end, names, starts, False)
                if place >= 0:
                    found[place, row] = word
                    text[at], text[at + 1] = ord("n"), ord("u")
                    text[at + 2], text[at + 3] = ord("l"), ord("l")
                    text[at + 4 : after] = _SPACE
            at = after


@compiled
def _keep_as_text(
    text: Bytes,
    offsets: Int64s,
    names: Bytes,
    starts: Int64s,
    only_bare: bool,
    larger: ByteArray,
    moved: Int64s,
) -> int:
    out = 0
    for row in range(len(offsets) - 1):
        copied, at, end = offsets[row], offsets[row], offsets[row + 1]
        while True:
            name, name_end, at, after = _field(text, at, end)
            if after < 0:
                break
            first = text[at]
            kept = first != ord("n")
            if only_bare and (first == _QUOTE or first == _OPEN or first == _OPEN_LIST):
                kept = False
            if kept and _which(text, name, name_end, names, starts, True) >= 0:
                larger[out : out + at - copied] = text[copied:at]
                out += at - copied
                larger[out] = _QUOTE
                out += 1
                for i in range(at, after):
                    if text[i] == _QUOTE or text[i] == _BACKSLASH:
                        larger[out] = _BACKSLASH
                        out += 1
                    larger[out] = text[i] if text[i] > _SPACE else _SPACE
                    out += 1
                larger[out] = _QUOTE
                out += 1
                copied = after
            at = after
        larger[out : out + end - copied] = text[copied:end]
        out += end - copied
        moved[row + 1] = out
    return out


@compiled
def _field(text: Bytes, i: int, end: int) -> tuple[int, int, int, int]:
    """The next field of a row, of which all before i was read: where its name begins and ends, and
    where its value does; the last is -1 if there is none. Arrow finds what is no proper JSON."""
    while i < end and text[i] != _QUOTE:
        i += 1
    if i >= end:
        return 0, 0, 0, -1
    name = i + 1
    name_end = _string_end(text, name, end)
    i = name_end + 1
    while i < end and (text[i] == _COLON or text[i] <= _SPACE):
        i += 1
    if i >= end:
        return 0, 0, 0, -1
    start, depth = i, 0
    while i < end:
        byte = text[i]
        if byte == _QUOTE:
            i = _string_end(text, i + 1, end)
        elif byte == _OPEN or byte == _OPEN_LIST:
            depth += 1
        elif depth == 0 and (byte == _COMMA or byte == _CLOSE or byte <= _SPACE):
            break
        elif byte == _CLOSE or byte == _CLOSE_LIST:
            depth -= 1
        i += 1
    return name, name_end, start, min(i, end)


@compiled
def _string_end(text: Bytes, i: int, end: int) -> int:
    while i < end and text[i] != _QUOTE:
        i += 2 if text[i] == _BACKSLASH else 1
    return i


@compiled
def _which(text: Bytes, start: int, end: int, names: Bytes, starts: Int64s, any_case: bool) -> int:
    """Which of the names it is, or -1."""
    for place in range(len(starts) - 1):
        if starts[place + 1] - starts[place] != end - start:
            continue
        same = True
        for i in range(end - start):
            byte = text[start + i]
            if any_case and _CAPITAL_A <= byte <= _CAPITAL_Z:
                byte += _TO_SMALL
            if byte != names[starts[place] + i]:
                same = False
                break
        if same:
            return place
    return -1


@compiled
def _word(text: Bytes, start: int, end: int) -> int:
    """The number of a word in quotes: 1 for NaN, 2 and 3 for the infinities, 0 for none."""
    length = end - start
    if text[start] != _QUOTE or length < _SHORTEST or length > _LONGEST:
        return 0
    if is_word(text, start, end, b'"NaN"'):
        return 1
    if is_word(text, start, end, b'"Infinity"'):
        return 2
    return 3 if is_word(text, start, end, b'"-Infinity"') else 0
