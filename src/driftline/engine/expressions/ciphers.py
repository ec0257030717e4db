"""Bytes encrypted by AES, and decrypted (`pip install "driftline[ciphers]"`).

A key has 16, 24 or 32 bytes. The modes are GCM (with additional data, if wanted), CBC and ECB; what
is encrypted by one of the first two begins with the bytes it was initialised by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from driftline.engine.expressions.arrays import Array, Value, per_distinct
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.types import BINARY

_PADDINGS = {"GCM": ("NONE", "DEFAULT"), "CBC": ("PKCS", "DEFAULT"), "ECB": ("PKCS", "DEFAULT")}
_KEYS = (16, 24, 32)
_SIZE_OF_BLOCK = 16
_SIZES_OF_START = {"GCM": 12, "CBC": 16}
_SIZE_OF_TAG = 16


@kernel("aes_encrypt")
def _encrypt(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(encrypted, list(args), BINARY)


@kernel("aes_decrypt")
def _decrypt(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(decrypted, list(args), BINARY)


@kernel("try_aes_decrypt", total=True)
def _try_decrypt(call: Call, args: Sequence[Value]) -> Array:
    def attempted(*values: Any) -> bytes | None:
        try:
            return decrypted(*values)
        except EvaluationError:
            return None

    return per_distinct(attempted, list(args), BINARY)


def encrypted(
    value: bytes, key: bytes, mode: str, padding: str, start: bytes, more: bytes
) -> bytes:
    """The bytes by AES. `start` initialises GCM and CBC; `more` is what GCM also vouches for."""
    mode = _checked(key, mode, padding, more)
    if mode == "ECB":
        if start:
            raise EvaluationError("UNSUPPORTED_FEATURE.AES_MODE_IV", "AES-ECB takes no iv")
    elif not start:
        raise EvaluationError(
            "UNSUPPORTED_FEATURE.AES_MODE_IV",
            f"aes_encrypt by {mode} needs an iv: a random one would be another each time",
        )
    elif len(start) != _SIZES_OF_START[mode]:
        raise EvaluationError(
            "INVALID_PARAMETER_VALUE.AES_IV_LENGTH",
            f"the iv of {mode} has {_SIZES_OF_START[mode]} bytes, not {len(start)}",
        )
    if mode == "GCM":
        return start + bytes(_gcm(key).encrypt(start, value, more or None))
    from cryptography.hazmat.primitives.padding import PKCS7

    padder = PKCS7(8 * _SIZE_OF_BLOCK).padder()
    encryptor = _cipher(key, mode, start).encryptor()
    padded = padder.update(value) + padder.finalize()
    return start + bytes(encryptor.update(padded)) + bytes(encryptor.finalize())


def decrypted(value: bytes, key: bytes, mode: str, padding: str, more: bytes) -> bytes:
    """What was encrypted."""
    mode = _checked(key, mode, padding, more)
    size = _SIZES_OF_START.get(mode, 0)
    start, rest = value[:size], value[size:]
    if len(start) < size:
        raise _refused(f"{len(value)} bytes are fewer than the iv of {mode} has")
    if mode == "GCM":
        from cryptography.exceptions import InvalidTag

        if len(rest) < _SIZE_OF_TAG:
            raise _refused("the bytes are too few")
        try:
            return bytes(_gcm(key).decrypt(start, rest, more or None))
        except InvalidTag:
            raise _refused("the key is another, or the bytes were changed") from None
    if len(rest) % _SIZE_OF_BLOCK:
        raise _refused(f"the bytes are no multiple of {_SIZE_OF_BLOCK}")
    if not rest:
        return b""
    from cryptography.hazmat.primitives.padding import PKCS7

    decryptor, unpadder = (
        _cipher(key, mode, start).decryptor(),
        PKCS7(8 * _SIZE_OF_BLOCK).unpadder(),
    )
    padded = bytes(decryptor.update(rest)) + bytes(decryptor.finalize())
    try:
        return unpadder.update(padded) + unpadder.finalize()
    except ValueError:
        raise _refused("the padding is not right: the key may be another") from None


def _checked(key: bytes, mode: str, padding: str, more: bytes) -> str:
    name = mode.upper()
    if padding.upper() not in _PADDINGS.get(name, ()):
        raise EvaluationError(
            "UNSUPPORTED_FEATURE.AES_MODE", f"there is no AES-{mode} with the padding {padding}"
        )
    if len(key) not in _KEYS:
        raise EvaluationError(
            "INVALID_PARAMETER_VALUE.AES_KEY_LENGTH",
            f"a key of AES has 16, 24 or 32 bytes, not {len(key)}",
        )
    if more and name != "GCM":
        raise EvaluationError(
            "UNSUPPORTED_FEATURE.AES_MODE_AAD", f"AES-{name} takes no additional data"
        )
    return name


def _refused(why: str) -> EvaluationError:
    return EvaluationError("INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR", f"not decrypted: {why}")


def _gcm(key: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)


def _cipher(key: bytes, mode: str, start: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES(key), modes.CBC(start) if mode == "CBC" else modes.ECB())
