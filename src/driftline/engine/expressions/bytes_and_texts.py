"""Bytes as texts and back: base 32, UTF-8, keyed hashes; and how alike two texts are."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Callable, Sequence

from driftline.engine.expressions.arrays import Array, Value, per_distinct
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.types import BIGINT, BINARY, BOOLEAN, DOUBLE, STRING

_HASHES = {"SHA-224": "sha224", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}
_HASHES |= {name.replace("-", ""): own for name, own in _HASHES.items()}
_HASHES |= {"SHA-1": "sha1", "SHA1": "sha1", "MD5": "md5"}
_COMMON_PREFIX, _PREFIX_WEIGHT = 4, 0.1


@kernel("quote", total=True)
def _quote(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(lambda text: "'" + text.replace("'", "\\'") + "'", list(args), STRING)


@kernel("to_base32", total=True)
def _to_base32(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(lambda value: base64.b32encode(value).decode(), list(args), STRING)


@kernel("from_base32")
def _from_base32(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(_decoded_base32, list(args), BINARY)


def _decoded_base32(text: str) -> bytes:
    try:
        return base64.b32decode(text)
    except binascii.Error:
        raise EvaluationError("CONVERSION_INVALID_INPUT", f"not in base 32: {text!r}") from None


@kernel("bitmap_count", total=True)
def _bitmap_count(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(lambda value: int.from_bytes(value, "big").bit_count(), list(args), BIGINT)


@kernel("hmac")
def _hmac(call: Call, args: Sequence[Value]) -> Array:
    def digest(key: bytes, message: bytes, name: str = "SHA-256") -> bytes:
        own = _HASHES.get(name.upper())
        if own is None:
            raise EvaluationError("INVALID_PARAMETER_VALUE", f"hmac: there is no hash {name}")
        return hmac.new(key, message, own).digest()

    return per_distinct(digest, list(args), BINARY)


def _utf8(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


@kernel("is_valid_utf8", total=True)
def _is_valid_utf8(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(lambda value: _utf8(value) is not None, list(args), BOOLEAN)


@kernel("make_valid_utf8", total=True)
def _make_valid_utf8(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(lambda value: value.decode("utf-8", "replace"), list(args), STRING)


@kernel("validate_utf8 try_validate_utf8", total=lambda call: call.function.startswith("try_"))
def _validate_utf8(call: Call, args: Sequence[Value]) -> Array:
    def valid(value: bytes) -> str | None:
        text = _utf8(value)
        if text is None and call.function == "validate_utf8":
            raise EvaluationError("INVALID_UTF8_STRING", f"x'{value.hex()}' is not in UTF-8")
        return text

    return per_distinct(valid, list(args), STRING)


_FORMATS: dict[str, Callable[[str], bytes]] = {
    "hex": lambda text: bytes.fromhex(text if len(text) % 2 == 0 else f"0{text}"),
    "utf-8": lambda text: text.encode(),
    "utf8": lambda text: text.encode(),
    "base64": lambda text: base64.b64decode("".join(text.split()), validate=True),
}


@kernel("to_binary try_to_binary", total=lambda call: call.function.startswith("try_"))
def _to_binary(call: Call, args: Sequence[Value]) -> Array:
    lenient = call.function.startswith("try_")

    def read(text: str, form: str = "hex") -> bytes | None:
        decode = _FORMATS.get(form.lower())
        try:
            if decode is not None and not (form.lower() == "hex" and text.strip() != text):
                return decode(text)
        except (ValueError, binascii.Error):
            pass
        if lenient:
            return None
        raise EvaluationError("CONVERSION_INVALID_INPUT", f"to_binary: {text!r} is not {form}")

    return per_distinct(read, list(args), BINARY)


@kernel("jaro_winkler_similarity", total=True)
def _jaro_winkler(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(jaro_winkler, list(args), DOUBLE)


def jaro_winkler(one: str, other: str) -> float:
    """How alike two texts are, from 0 to 1.

    >>> round(jaro_winkler("MARTHA", "MARHTA"), 4)
    0.9611
    """
    if one == other:
        return 1.0
    reach = max(max(len(one), len(other)) // 2 - 1, 0)
    taken = [False] * len(other)
    mine: list[str] = []
    for place, character in enumerate(one):
        for near in range(max(place - reach, 0), min(place + reach + 1, len(other))):
            if not taken[near] and other[near] == character:
                taken[near] = True
                mine.append(character)
                break
    if not mine:
        return 0.0
    theirs = [character for character, is_taken in zip(other, taken, strict=True) if is_taken]
    moved = sum(a != b for a, b in zip(mine, theirs, strict=True)) / 2
    count = len(mine)
    jaro = (count / len(one) + count / len(other) + (count - moved) / count) / 3
    prefix = 0
    for a, b in zip(one[:_COMMON_PREFIX], other[:_COMMON_PREFIX], strict=False):
        if a != b:
            break
        prefix += 1
    return jaro + prefix * _PREFIX_WEIGHT * (1 - jaro)
