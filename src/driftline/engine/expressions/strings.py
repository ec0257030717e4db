"""Functions of texts. Positions count characters from 1."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions.arrays import (
    WORTH_A_LOOK,
    Array,
    Numbers,
    Value,
    as_array,
    both_valid,
    is_scalar,
    numbers,
    per_distinct,
)
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.expansion import check_texts
from driftline.engine.expressions.lists import concat_lists, reverse_lists
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.types import BINARY, BOOLEAN, INT, STRING, is_array

_ASCII_END = 0x80
_MAX_INT = (1 << 31) - 1
_BYTE = 0xFF
_WIDEST = 4
"""Bytes of a character, at most."""


def is_ascii(array: Array) -> bool:
    """Are all texts of the array ASCII?"""
    data = array.buffers()[2]
    if data is None or len(array) == 0:
        return True
    offsets = np.frombuffer(array.buffers()[1], dtype=np.int32)
    first, last = offsets[array.offset], offsets[array.offset + len(array)]
    octets = np.frombuffer(data, dtype=np.uint8)[first:last]
    return not len(octets) or int(octets.max()) < _ASCII_END


def lower(array: Array) -> Array:
    """Texts in lower case, by the full mapping of Unicode."""
    if is_ascii(array):
        return pc.ascii_lower(array)
    return per_distinct(str.lower, [array], STRING)


def upper(array: Array) -> Array:
    """Texts in upper case, by the full mapping of Unicode."""
    if is_ascii(array):
        return pc.ascii_upper(array)
    return per_distinct(str.upper, [array], STRING)


@kernel("lower upper", total=True)
def _case(call: Call, args: Sequence[Value]) -> Array:
    return lower(args[0]) if call.function == "lower" else upper(args[0])


@kernel("initcap", total=True)
def _initcap(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(
        lambda text: " ".join(map(_capitalised, text.split(" "))), [args[0]], STRING
    )


def _capitalised(word: str) -> str:
    """A word whose first character is in title case; İ becomes two characters in lower case."""
    first = word[:1]
    return first.title() + word.lower()[len(first.lower()) :]


@kernel("length", total=True)
def _length(call: Call, args: Sequence[Value]) -> Array:
    value = args[0]
    return pc.binary_length(value) if value.type == BINARY else pc.utf8_length(value)


@kernel("octet_length bit_length", total=True)
def _octets(call: Call, args: Sequence[Value]) -> Array:
    octets = pc.binary_length(args[0])
    return octets if call.function == "octet_length" else pc.multiply(octets, pa.scalar(8, INT))


def _check(call: Call, args: Sequence[Array], sizes: Numbers) -> None:
    """An error if texts of these sizes, where no argument is null, are too large together."""
    valid = both_valid(*args)
    sizes = np.maximum(sizes if valid is None else np.where(valid, sizes, 0), 0)
    check_texts(call.brief(), float(sizes.sum()))


def _rows(args: Sequence[Value]) -> list[Array]:
    length = next(len(arg) for arg in args if not is_scalar(arg))
    return [as_array(arg, length) for arg in args]


def _constants(args: Sequence[Value]) -> list[Any] | None:
    """The values of arguments that are all constants and not null, else None."""
    if all(is_scalar(arg) and arg.is_valid for arg in args):
        return [arg.as_py() for arg in args]
    return None


def _slice_of(start: int, length: int) -> tuple[int, int | None] | None:
    """Python's slice for SUBSTRING(start, length); None if it is empty."""
    if length <= 0:
        return None
    if start > 0:
        return start - 1, start - 1 + length
    if start == 0:
        return 0, length
    end = start + length
    return start, end if end < 0 else None


def _sliced(value: Any, start: int, length: int) -> Any:
    bounds = _slice_of(start, length)
    return value[:0] if bounds is None else value[bounds[0] : bounds[1]]


def _substring(value: Value, start: Value, length: Value) -> Array:
    known = _constants((start, length))
    if known is None or is_scalar(value) or value.type == BINARY:
        return per_distinct(_sliced, _rows((value, start, length)), value.type)
    bounds = _slice_of(*known)
    if bounds is None:
        return pc.utf8_slice_codeunits(value, 0, 0)
    first, last = bounds
    last = None if last is not None and last > _MAX_INT else last
    return pc.utf8_slice_codeunits(value, first, last)


@kernel("substring", scalars=True, total=True)
def _substring_kernel(call: Call, args: Sequence[Value]) -> Array:
    return _substring(*args)


@kernel("left", scalars=True, total=True)
def _left(call: Call, args: Sequence[Value]) -> Array:
    return _substring(args[0], pa.scalar(1, INT), args[1])


@kernel("right", scalars=True, total=True)
def _right(call: Call, args: Sequence[Value]) -> Array:
    count = _constants(args[1:])
    if count is None:
        return per_distinct(
            lambda value, n: value[-n:] if n > 0 else value[:0], _rows(args), call.kind
        )
    length = pa.scalar(count[0], INT)
    return _substring(args[0], pa.scalar(-max(count[0], 1), INT), length)


@kernel("concat", scalars=True, total=True, strict=lambda call: is_array(call.kind))
def _concat(call: Call, args: Sequence[Value]) -> Array:
    if is_array(call.kind):
        return concat_lists(_rows(args), call.kind)
    length = max((len(arg) for arg in args if not is_scalar(arg)), default=1)
    sizes = sum(
        len(arg.as_buffer() or b"") * length if is_scalar(arg) else arg.nbytes for arg in args
    )
    check_texts(call.brief(), sizes)
    separator = pa.scalar(b"" if call.kind == BINARY else "", call.kind)
    return pc.binary_join_element_wise(*args, separator)


@kernel("concat_ws", total=True, strict=False)
def _concat_ws(call: Call, args: Sequence[Value]) -> Array:
    separator, *values = args
    parts = [_joined(value, separator) if is_array(value.type) else value for value in values]
    joined = pa.nulls(len(separator), STRING)
    for part in parts:
        joined = pc.coalesce(pc.binary_join_element_wise(joined, part, separator), joined, part)
    return pc.if_else(separator.is_valid(), pc.fill_null(joined, ""), pa.scalar(None, STRING))


def _joined(lists: Array, separator: Array) -> Array:
    """Each list as one text, null where it holds nothing but nulls."""

    def join(items: Any, between: str) -> str | None:
        present = [item for item in items if item is not None]
        return between.join(present) if present else None

    rows = zip(lists.to_pylist(), separator.to_pylist(), strict=True)
    return pa.array(
        [None if items is None or by is None else join(items, by) for items, by in rows], STRING
    )


@kernel("trim ltrim rtrim", scalars=True, total=True)
def _trim(call: Call, args: Sequence[Value]) -> Array:
    known = _constants(args[1:])
    if known is not None and not is_scalar(args[0]):
        arrow = {"trim": pc.utf8_trim, "ltrim": pc.utf8_ltrim, "rtrim": pc.utf8_rtrim}
        return arrow[call.function](args[0], known[0]) if known[0] else args[0]
    python: dict[str, Callable[[str, str], str]] = {
        "trim": lambda text, removed: text.strip(removed) if removed else text,
        "ltrim": lambda text, removed: text.lstrip(removed) if removed else text,
        "rtrim": lambda text, removed: text.rstrip(removed) if removed else text,
    }
    return per_distinct(python[call.function], _rows(args), STRING)


@kernel("lpad rpad")
def _pad(call: Call, args: Sequence[Value]) -> Array:
    left = call.function == "lpad"
    narrow = call.kind == BINARY or (is_ascii(args[0]) and is_ascii(args[2]))
    width = 1 if narrow else _WIDEST
    _check(call, args, numbers(args[1]) * float(width))

    def pad(text: Any, length: int, filling: Any) -> Any:
        if length <= len(text) or not filling:
            return text[: max(length, 0)]
        missing = length - len(text)
        added = (filling * (missing // len(filling) + 1))[:missing]
        return added + text if left else text + added

    return per_distinct(pad, list(args), call.kind)


@kernel("replace", scalars=True, total=True)
def _replace(call: Call, args: Sequence[Value]) -> Array:
    known = _constants(args[1:])
    if known is not None and not is_scalar(args[0]):
        search, replacement = known
        if search and args[0].nbytes * (len(replacement) + 1) > WORTH_A_LOOK:
            found = float(pc.sum(pc.count_substring(args[0], search)).as_py() or 0)
            check_texts(call.brief(), args[0].nbytes + found * len(replacement.encode()))
        return pc.replace_substring(args[0], search, replacement) if search else args[0]

    def replaced(text: str, search: str, by: str) -> str:
        if not search:
            return text
        check_texts(call.brief(), len(text) + text.count(search) * len(by))
        return text.replace(search, by)

    return per_distinct(replaced, _rows(args), STRING)


@kernel("instr", scalars=True, total=lambda call: len(call.args) < 4)  # noqa: PLR2004
def _instr(call: Call, args: Sequence[Value]) -> Array:
    if len(args) > 2:  # noqa: PLR2004 - from where on, and which one
        return per_distinct(_found_at, _rows(args), INT)
    known = _constants(args[1:])
    if known is not None and not is_scalar(args[0]) and is_ascii(args[0]):
        return pc.add(pc.find_substring(args[0], known[0]), pa.scalar(1, INT))
    return per_distinct(lambda text, part: text.find(part) + 1, _rows(args), INT)


def _found_at(text: str, part: str, start: int, which: int = 1) -> int:
    """Where a part is found: from a place on, or (negative) backwards from one, and the first,
    second … time; 0 if it is not."""
    if which < 1:
        raise EvaluationError(
            "INVALID_PARAMETER_VALUE", f"the occurrence of instr is 1 or more, and not {which}"
        )
    if not part:
        return 1
    if start == 0:
        return 0
    if start > 0:
        place = start - 2
        for _ in range(which):
            place = text.find(part, place + 1)
            if place < 0:
                return 0
        return place + 1
    place = len(text) + start + 1
    for _ in range(which):
        if place <= 0:
            return 0
        place = text.rfind(part, 0, place - 1 + len(part))
        if place < 0:
            return 0
    return place + 1


@kernel("locate", total=True, strict=False)
def _locate(call: Call, args: Sequence[Value]) -> Array:
    part, text, start = args

    def locate(sought: str, inside: str, position: int) -> int:
        if position < 1:
            return 0
        return 1 if not sought else inside.find(sought, position - 1) + 1

    found = per_distinct(locate, [part, text, start], INT)
    return pc.if_else(start.is_valid(), found, pa.scalar(0, INT))  # as in Hive


@kernel("startswith endswith contains", scalars=True, total=True)
def _affix(call: Call, args: Sequence[Value]) -> Array:
    known = _constants(args[1:])
    if known is not None and not is_scalar(args[0]):
        arrow = {
            "startswith": pc.starts_with,
            "endswith": pc.ends_with,
            "contains": pc.match_substring,
        }
        return arrow[call.function](args[0], known[0])
    python: dict[str, Callable[[str, str], bool]] = {
        "startswith": str.startswith,
        "endswith": str.endswith,
        "contains": str.__contains__,
    }
    return per_distinct(python[call.function], _rows(args), BOOLEAN)


@kernel("split_part")
def _split_part(call: Call, args: Sequence[Value]) -> Array:
    def part(text: str, delimiter: str, number: int) -> str:
        if number == 0:
            raise EvaluationError("INVALID_INDEX_OF_ZERO", "split_part counts parts from 1, not 0")
        parts = text.split(delimiter) if delimiter else [text]
        index = number - 1 if number > 0 else len(parts) + number
        return parts[index] if 0 <= index < len(parts) else ""

    return per_distinct(part, list(args), STRING)


@kernel("reverse", total=True)
def _reverse(call: Call, args: Sequence[Value]) -> Array:
    if call.kind == BINARY:
        return pc.binary_reverse(args[0])
    return reverse_lists(args[0]) if is_array(call.kind) else pc.utf8_reverse(args[0])


@kernel("repeat")
def _repeat(call: Call, args: Sequence[Value]) -> Array:
    _check(call, args, numbers(args[1]) * numbers(pc.binary_length(args[0])).astype(np.float64))
    times = pc.max_element_wise(args[1], pa.scalar(0, INT), skip_nulls=False)
    return pc.binary_repeat(args[0], times)


@kernel("space")
def _space(call: Call, args: Sequence[Value]) -> Array:
    _check(call, args, numbers(args[0]).astype(np.float64))
    return per_distinct(lambda count: " " * count, [args[0]], STRING)


@kernel("ascii", total=True)
def _ascii(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(lambda text: ord(text[0]) if text else 0, [args[0]], INT)


@kernel("chr", total=True)
def _chr(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(lambda code: chr(code & _BYTE) if code >= 0 else "", [args[0]], STRING)


@kernel("translate", total=True)
def _translate(call: Call, args: Sequence[Value]) -> Array:
    def translate(text: str, sought: str, by: str) -> str:
        table: dict[int, str | None] = {}
        for place, character in enumerate(sought):
            table.setdefault(ord(character), by[place] if place < len(by) else None)
        return text.translate(table)

    return per_distinct(translate, list(args), STRING)


@kernel("levenshtein", total=True)
def _levenshtein(call: Call, args: Sequence[Value]) -> Array:
    def distance(one: str, other: str) -> int:
        previous = list(range(len(other) + 1))
        for row, character in enumerate(one, start=1):
            current = [row]
            for column, opposite in enumerate(other):
                change = previous[column] + (character != opposite)
                current.append(min(previous[column + 1] + 1, current[column] + 1, change))
            previous = current
        return previous[-1]

    return per_distinct(distance, list(args), INT)


@kernel("md5 sha1 sha", total=True)
def _digest(call: Call, args: Sequence[Value]) -> Array:
    name = "md5" if call.function == "md5" else "sha1"
    return per_distinct(
        lambda data: hashlib.new(name, data, usedforsecurity=False).hexdigest(), [args[0]], STRING
    )


@kernel("sha2", total=True)
def _sha2(call: Call, args: Sequence[Value]) -> Array:
    names = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}

    def digest(data: bytes, bits: int) -> str | None:
        return hashlib.new(names[bits], data).hexdigest() if bits in names else None

    return per_distinct(digest, list(args), STRING)
