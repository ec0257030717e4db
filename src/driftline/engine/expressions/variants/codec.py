"""The bytes of a VARIANT: the value, and the names of all fields in it.

A value begins with a byte of its kind: a primitive, a short text, an object or an array. Objects
have the ids of their fields' names, in the order of the names, and where the values of these begin.
In Python null is None, a number with a point a Decimal if it was written without an exponent, and
what has no type of its own there is `Typed`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

from driftline.engine.expressions.errors import EvaluationError
from driftline.plan.types import MAX_PRECISION

PRIMITIVE, SHORT_TEXT, OBJECT, ARRAY = range(4)
_NULL, _TRUE, _FALSE, _INT1, _INT2, _INT4, _INT8, _DOUBLE = range(8)
_DECIMAL4, _DECIMAL8, _DECIMAL16, _DATE, _TIMESTAMP, _TIMESTAMP_NTZ, _FLOAT, _BINARY, _TEXT = range(
    8, 17
)
_INTEGERS = {_INT1: 1, _INT2: 2, _INT4: 4, _INT8: 8}
_DECIMALS = {_DECIMAL4: (9, 4), _DECIMAL8: (18, 8), _DECIMAL16: (38, 16)}
_TYPED = {"DATE": (_DATE, 4), "TIMESTAMP": (_TIMESTAMP, 8), "TIMESTAMP_NTZ": (_TIMESTAMP_NTZ, 8)}
_NAMES_OF_TYPED = {code: (name, size) for name, (code, size) in _TYPED.items()}
_LONGEST_SHORT, _SMALL, _VERSION, _LONG = 63, 255, 1, 8
_EXACT = Context(prec=80)

Pair = tuple[bytes, bytes]
"""A value and the names of its fields."""


@dataclass(frozen=True)
class Typed:
    """A DATE, a TIMESTAMP or a TIMESTAMP_NTZ as a number, or a FLOAT."""

    kind: str
    value: Any


def malformed() -> EvaluationError:
    """The error for bytes that are no VARIANT."""
    return EvaluationError("MALFORMED_VARIANT", "these bytes are no VARIANT")


class _Names:
    """The names of fields, by the order in which they have come."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}

    def of(self, name: str) -> int:
        return self.ids.setdefault(name, len(self.ids))

    def to_bytes(self) -> bytes:
        texts = [name.encode() for name in self.ids]
        size = _width(max(sum(map(len, texts)), len(texts)))
        parts = [bytes([_VERSION | (size - 1) << 6]), len(texts).to_bytes(size, "little")]
        place = 0
        for text in (b"", *texts):
            place += len(text)
            parts.append(place.to_bytes(size, "little"))
        return b"".join([*parts, *texts])


def _width(number: int) -> int:
    return max(1, -(-number.bit_length() // 8))


def encoded(value: Any) -> Pair:
    """The bytes of a value."""
    names = _Names()
    return written(value, names), names.to_bytes()


def written(value: Any, names: _Names) -> bytes:
    """The bytes of a value, whose fields have these names."""
    if value is None or isinstance(value, bool):
        return _primitive(_NULL if value is None else _TRUE if value else _FALSE, b"")
    if isinstance(value, int):
        code, size = next(
            ((code, size) for code, size in _INTEGERS.items() if _fits(value, size)), (0, 0)
        )
        if size:
            return _primitive(code, value.to_bytes(size, "little", signed=True))
        return written(Decimal(value), names)
    if isinstance(value, float):
        return _primitive(_DOUBLE, struct.pack("<d", value))
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, str):
        text = value.encode()
        if len(text) <= _LONGEST_SHORT:
            return bytes([len(text) << 2 | SHORT_TEXT]) + text
        return _primitive(_TEXT, struct.pack("<I", len(text)) + text)
    if isinstance(value, bytes):
        return _primitive(_BINARY, struct.pack("<I", len(value)) + value)
    if isinstance(value, Typed):
        if value.kind == "FLOAT":
            return _primitive(_FLOAT, struct.pack("<f", value.value))
        code, size = _TYPED[value.kind]
        return _primitive(code, value.value.to_bytes(size, "little", signed=True))
    if isinstance(value, dict):
        return _object(value, names)
    return _array([written(item, names) for item in value])


def _fits(value: int, size: int) -> bool:
    return -(1 << (8 * size - 1)) <= value < 1 << (8 * size - 1)


def _primitive(code: int, content: bytes) -> bytes:
    return bytes([code << 2 | PRIMITIVE]) + content


def _decimal(value: Decimal) -> bytes:
    scale = max(0, -int(value.as_tuple().exponent))
    unscaled = int(value.scaleb(scale, _EXACT))
    for code, (precision, size) in _DECIMALS.items():
        if max(len(str(abs(unscaled))), scale) <= precision:
            content = unscaled.to_bytes(size, "little", signed=True)
            return _primitive(code, bytes([scale]) + content)
    return _primitive(_DOUBLE, struct.pack("<d", float(value)))


def _object(value: dict[str, Any], names: _Names) -> bytes:
    ids, parts, starts, place = {}, [], {}, 0
    for name, item in value.items():
        ids[name], starts[name] = names.of(name), place
        parts.append(written(item, names))
        place += len(parts[-1])
    wide = len(value) > _SMALL
    size_of_id, size = _width(max(ids.values(), default=0)), _width(place)
    ordered = sorted(value, key=str.encode)
    head = bytes([((wide << 4) | (size_of_id - 1) << 2 | (size - 1)) << 2 | OBJECT])
    head += len(value).to_bytes(4 if wide else 1, "little")
    head += b"".join(ids[name].to_bytes(size_of_id, "little") for name in ordered)
    head += b"".join(starts[name].to_bytes(size, "little") for name in ordered)
    return head + place.to_bytes(size, "little") + b"".join(parts)


def _array(parts: list[bytes]) -> bytes:
    total = sum(map(len, parts))
    wide, size = len(parts) > _SMALL, _width(total)
    head = bytes([(wide << 2 | (size - 1)) << 2 | ARRAY])
    head += len(parts).to_bytes(4 if wide else 1, "little")
    place = 0
    for part in (b"", *parts):
        place += len(part)
        head += place.to_bytes(size, "little")
    return head + b"".join(parts)


@dataclass(frozen=True)
class VariantNode:
    """A value inside of a VARIANT: the bytes, and where it begins."""

    data: bytes
    names: bytes
    start: int = 0

    @property
    def kind(self) -> int:
        """A primitive, a short text, an object or an array."""
        return self._header & 3

    @property
    def is_null(self) -> bool:
        return self._header == _NULL

    @property
    def _header(self) -> int:
        if self.start >= len(self.data):
            raise malformed()
        return self.data[self.start]

    def _number(self, place: int, size: int) -> int:
        if place + size > len(self.data):
            raise malformed()
        return int.from_bytes(self.data[place : place + size], "little")

    def _layout(self) -> tuple[int, int, int, int, int]:
        """Of an object or an array: how many items there are, the size of an id, where ids and then
        offsets begin, and the size of an offset."""
        info = self._header >> 2
        is_object = self.kind == OBJECT
        wide = info >> 4 & 1 if is_object else info >> 2 & 1
        count = self._number(self.start + 1, 4 if wide else 1)
        ids = self.start + (5 if wide else 2)
        size_of_id = (info >> 2 & 3) + 1 if is_object else 0
        return count, size_of_id, ids, ids + count * size_of_id, (info & 3) + 1

    def items(self) -> list[VariantNode]:
        """The values of an object or of an array, in their order."""
        count, _, _, offsets, size = self._layout()
        first = offsets + (count + 1) * size
        places = (self._number(offsets + place * size, size) for place in range(count))
        return [VariantNode(self.data, self.names, first + place) for place in places]

    def fields(self) -> dict[str, VariantNode]:
        """The values of an object, by their names."""
        count, size_of_id, ids, _, _ = self._layout()
        found = (self._number(ids + place * size_of_id, size_of_id) for place in range(count))
        return dict(zip(map(self._name, found), self.items(), strict=True))

    def _name(self, number: int) -> str:
        size = (self.names[0] >> 6) + 1
        table = VariantNode(self.names, b"")
        count = table._number(1, size)
        if number >= count:
            raise malformed()
        start, end = (table._number(1 + (number + each) * size, size) for each in (1, 2))
        first = 1 + (count + 2) * size
        return self.names[first + start : first + end].decode()

    def size(self) -> int:
        """How many bytes the value has."""
        info = self._header >> 2
        if self.kind == SHORT_TEXT:
            return 1 + info
        if self.kind != PRIMITIVE:
            count, _, _, offsets, size = self._layout()
            end = offsets + (count + 1) * size
            return end - self.start + self._number(end - size, size)
        if info in (_BINARY, _TEXT):
            return 5 + self._number(self.start + 1, 4)
        if info in _DECIMALS:
            return 2 + _DECIMALS[info][1]
        sizes = _INTEGERS | {_DOUBLE: 8, _FLOAT: 4, _NULL: 0, _TRUE: 0, _FALSE: 0}
        sizes |= dict(_TYPED.values())
        if info not in sizes:
            raise malformed()
        return 1 + sizes[info]

    def pair(self) -> Pair:
        """The value by itself, as a VARIANT."""
        return self.data[self.start : self.start + self.size()], self.names

    def value(self) -> Any:
        """The value in Python."""
        if self.kind == OBJECT:
            return {name: each.value() for name, each in self.fields().items()}
        if self.kind == ARRAY:
            return [each.value() for each in self.items()]
        info, content = self._header >> 2, self.data[self.start + 1 : self.start + self.size()]
        if len(content) != self.size() - 1:
            raise malformed()
        if self.kind == SHORT_TEXT:
            return content.decode()
        if info in (_NULL, _TRUE, _FALSE):
            return None if info == _NULL else info == _TRUE
        if info in _INTEGERS:
            return int.from_bytes(content, "little", signed=True)
        if info in (_DOUBLE, _FLOAT):
            (number,) = struct.unpack("<d" if info == _DOUBLE else "<f", content)
            return number if info == _DOUBLE else Typed("FLOAT", number)
        if info in _DECIMALS:
            unscaled = int.from_bytes(content[1:], "little", signed=True)
            return Decimal(unscaled).scaleb(-content[0], _EXACT)
        if info in _NAMES_OF_TYPED:
            name, _ = _NAMES_OF_TYPED[info]
            return Typed(name, int.from_bytes(content, "little", signed=True))
        return content[4:].decode() if info == _TEXT else content[4:]


def shortened(value: Decimal) -> tuple[Decimal, int, int]:
    """A decimal without zeros at its end, and its precision and scale."""
    plain = value.normalize(_EXACT)
    _, digits, exponent = plain.as_tuple()
    scale = max(0, -int(exponent))
    precision = max(len(digits) + max(0, int(exponent)), scale)
    return plain, min(precision, MAX_PRECISION), scale
