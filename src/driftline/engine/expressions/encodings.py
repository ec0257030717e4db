"""Texts as bytes, codes and JSON."""

from __future__ import annotations

import base64
import codecs
import re
import zlib
from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import quote_plus, unquote_to_bytes

import pyarrow as pa

from driftline.engine.expressions.arrays import Array, Value, counted, per_distinct, plain_values
from driftline.engine.expressions.csv_values import Options, moment_text, options_of
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.json_texts import parsed_keys, parsed_length, quoted
from driftline.engine.expressions.registry import kernel
from driftline.engine.expressions.text_casts import java_float, to_text
from driftline.plan.expressions import Call
from driftline.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    FLOAT,
    INT,
    STRING,
    TIME,
    VARIANT,
    is_array,
    is_map,
    is_struct,
    is_timestamp,
)

_CHARSETS = {
    "US-ASCII": "ascii",
    "ISO-8859-1": "latin-1",
    "UTF-8": "utf-8",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
    "UTF-16": "utf-16",
    "UTF-32": "utf-32-be",
}
_LINE = 76
_NO_BASE64 = re.compile(r"[^A-Za-z0-9+/]")
_ESCAPE = re.compile("%(?![0-9a-fA-F]{2})")
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WORD = 1 << 64
_SOUNDS = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "01230127022455012623017202", strict=True))
_SEPARATES, _LIKE_NOTHING = "0", "7"
_SOUNDEX = 4


def _charset(name: str, function: str) -> str:
    found = _CHARSETS.get(name.upper())
    if found is None:
        raise EvaluationError(
            "INVALID_PARAMETER_VALUE.CHARSET",
            f"{function}: {name!r} is not one of {', '.join(_CHARSETS)}",
        )
    return found


def _malformed(function: str, name: str) -> EvaluationError:
    return EvaluationError("MALFORMED_CHARACTER_CODING", f"{function}: a value is not in {name}")


@kernel("encode")
def _encode(call: Call, args: Sequence[Value]) -> Array:
    def encode(text: str, name: str) -> bytes:
        charset = _charset(name, "encode")
        try:
            if charset == "utf-16":
                return codecs.BOM_UTF16_BE + text.encode("utf-16-be") if text else b""
            return text.encode(charset)
        except UnicodeEncodeError:
            raise _malformed("encode", name) from None

    return per_distinct(encode, list(args), BINARY)


@kernel("decode")
def _decode(call: Call, args: Sequence[Value]) -> Array:
    def decode(data: bytes, name: str) -> str:
        charset = _charset(name, "decode")
        if charset == "utf-16" and not data.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE)):
            charset = "utf-16-be"
        try:
            return data.decode(charset)
        except UnicodeDecodeError:
            raise _malformed("decode", name) from None

    return per_distinct(decode, list(args), STRING)


@kernel("base64", total=True)
def _base64(call: Call, args: Sequence[Value]) -> Array:
    def written(data: bytes) -> str:
        text = base64.b64encode(data).decode()
        return "\r\n".join(text[at : at + _LINE] for at in range(0, len(text), _LINE))

    return per_distinct(written, [args[0]], STRING)


@kernel("unbase64")
def _unbase64(call: Call, args: Sequence[Value]) -> Array:
    def read(text: str) -> bytes:
        before, equals, after = text.partition("=")
        plain = _NO_BASE64.sub("", before)
        over = len(plain) % 4
        # What comes after two letters is two =, one right after the other.
        torn = equals and (not over or (over == 2 and not after.startswith("=")))  # noqa: PLR2004
        if over == 1 or torn or _NO_BASE64.sub("", after):
            raise EvaluationError("CONVERSION_INVALID_INPUT", f"unbase64: {text!r} is not base64")
        return base64.b64decode(plain + "=" * (-len(plain) % 4))

    return per_distinct(read, [args[0]], BINARY)


@kernel("crc32", total=True)
def _crc32(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(zlib.crc32, [args[0]], BIGINT)


@kernel("url_encode", total=True)
def _url_encode(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(
        lambda text: quote_plus(text, safe="*").replace("~", "%7E"), [args[0]], STRING
    )


@kernel("url_decode try_url_decode", total=lambda call: call.function.startswith("try_"))
def _url_decode(call: Call, args: Sequence[Value]) -> Array:
    def decode(text: str) -> str | None:
        if _ESCAPE.search(text):
            if call.function == "try_url_decode":
                return None
            raise EvaluationError("CANNOT_DECODE_URL", f"url_decode: {text!r} is not encoded")
        return unquote_to_bytes(text.replace("+", " ")).decode("utf-8", "replace")

    return per_distinct(decode, [args[0]], STRING)


@kernel("conv")
def _conv(call: Call, args: Sequence[Value]) -> Array:
    def convert(text: str, source: int, target: int) -> str | None:
        largest = len(_DIGITS)
        if not 2 <= source <= largest or not 2 <= abs(target) <= largest:  # noqa: PLR2004
            return None
        word = text.strip(" ")
        if not word:
            return None
        negative = word.startswith("-")
        value = 0
        for character in word[negative:]:
            digit = _DIGITS.find(_upper(character))
            if not 0 <= digit < source:
                break
            value = value * source + digit
        if value >= _WORD:
            raise EvaluationError("ARITHMETIC_OVERFLOW", f"conv: {text!r} is too large")
        signed = value - _WORD if value >= _WORD >> 1 else value
        if target > 0:
            shown = (-1 if signed < 0 else -signed) if negative else signed
            return _in_base(shown % _WORD, target)
        return ("-" if negative or signed < 0 else "") + _in_base(abs(signed), -target)

    return per_distinct(convert, list(args), STRING)


def _upper(character: str) -> str:
    """A letter in upper case if it is one of ASCII: `ſ` is no `S`."""
    return character.upper() if character.isascii() else character


def _in_base(value: int, base: int) -> str:
    digits = ""
    while value:
        value, digit = divmod(value, base)
        digits = _DIGITS[digit] + digits
    return digits or "0"


@kernel("soundex", total=True)
def _soundex(call: Call, args: Sequence[Value]) -> Array:
    def code(text: str) -> str:
        first = _upper(text[:1])
        if first not in _SOUNDS or not first:
            return text
        found, last = first, _SOUNDS[first]
        for character in map(_upper, text[1:]):
            sound = _SOUNDS.get(character, _SEPARATES)
            if character not in _SOUNDS:
                last = _SEPARATES
            elif sound == _LIKE_NOTHING:
                continue
            else:
                if sound not in (_SEPARATES, last):
                    found += sound
                last = sound
            if len(found) == _SOUNDEX:
                break
        return found.ljust(_SOUNDEX, "0")

    return per_distinct(code, [args[0]], STRING)


@kernel("luhn_check", total=True)
def _luhn_check(call: Call, args: Sequence[Value]) -> Array:
    def check(text: str) -> bool:
        if not text or not (text.isascii() and text.isdigit()):
            return False
        digits = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(text))]
        return sum(digit - 9 if digit > 9 else digit for digit in digits) % 10 == 0  # noqa: PLR2004

    return per_distinct(check, [args[0]], BOOLEAN)


@kernel("json_array_length", total=True)
def _json_array_length(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(parsed_length, [args[0]], INT)


@kernel("json_object_keys", total=True)
def _json_object_keys(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(parsed_keys, [args[0]], call.kind)


@kernel("to_json", total=True)
def _to_json(call: Call, args: Sequence[Value]) -> Array:
    kind, values, options = args[0].type, plain_values(args[0]), options_of(args[1:])
    texts = [None if value is None else _json(value, kind, options) for value in values]
    return pa.array(texts, STRING)


def _json(value: Any, kind: Any, options: Options) -> str:
    if value is None:
        return "null"
    if kind == VARIANT:
        from driftline.engine.expressions.variants.access import json_of
        from driftline.engine.expressions.variants.codec import VariantNode

        return json_of(VariantNode(value["value"], value["metadata"]).value())
    if is_struct(kind):
        keeps = options.get("ignorenullfields", "").lower() == "false"
        parts = [
            (each.name, _json(value[each.name], each.type, options))
            for each in kind
            if keeps or value[each.name] is not None
        ]
        return _object_text(parts, options)
    if is_map(kind):
        pairs = [
            (_key(key, kind.key_type), _json(item, kind.item_type, options)) for key, item in value
        ]
        return _object_text(pairs, options)
    if is_array(kind):
        return "[" + ",".join(_json(item, kind.value_type, options) for item in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = java_float(value, kind == FLOAT)
        return text if value - value == 0 else quoted(text)
    if kind == DATE or is_timestamp(kind):
        return quoted(moment_text(value, kind, options))
    if kind == TIME:
        return quoted(_text(value, kind))
    if isinstance(value, (Decimal, int)):
        return str(value)  # a decimal as Java writes it: 1E-10
    if isinstance(value, bytes):
        return quoted(base64.b64encode(value).decode())
    return quoted(value)


def _object_text(parts: list[tuple[str, str]], options: Options) -> str:
    if options.get("sortkeys", "").lower() == "true":
        parts = sorted(parts)
    return "{" + ",".join(f"{quoted(name)}:{text}" for name, text in parts) + "}"


def _key(value: Any, kind: Any) -> str:
    """The name of a field for a key of a map: Spark writes the numbers of dates and times."""
    is_number = isinstance(value, (int, Decimal)) and not isinstance(value, bool)
    if kind == TIME:
        value *= 1000  # in nanoseconds
    if is_struct(kind):  # as Spark shows rows
        parts = (_key(value[each.name], each.type) for each in kind)
        return f"[{','.join(parts)}]"
    if value is None:
        return "null"
    return str(value) if is_number else _text(value, kind)


def _text(value: Any, kind: Any) -> str:
    array = pa.array([value], counted(kind)).cast(kind)
    return str(to_text(array, lambda part: part)[0].as_py())
