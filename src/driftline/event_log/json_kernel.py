"""Kernels that read the tokens of JSON: where a string, a number or a word ends."""

from __future__ import annotations

import numpy as np

from driftline.kernels import compiled, inlined
from driftline.model.arrays import Bytes
from driftline.model.time import INFINITY

LARGEST_EXACT = 2**53
"""Up to here a double holds every integer exactly."""

QUOTE, BACKSLASH = ord('"'), ord("\\")
ZERO, NINE, MINUS, _PLUS, _DOT = ord("0"), ord("9"), ord("-"), ord("+"), ord(".")
_FIRST_PRINTABLE = ord(" ")
_MOST_DIGITS = 19
_LARGE_EXPONENT_DIGITS = 3
SMALL, BIG, ODD = range(3)
"""What a number is: one that a double holds, a larger integer, or none that is proper."""


@compiled
def is_space(byte: int) -> bool:
    return byte == ord(" ") or byte == ord("\t") or byte == ord("\r")


@compiled
def skip_space(block: Bytes, i: int, end: int) -> int:
    while i < end and is_space(block[i]):
        i += 1
    return i


@compiled
def plain_string_end(block: Bytes, i: int, end: int) -> int:
    """The closing quote of a string without escapes, or -1."""
    while i < end:
        byte = block[i]
        if byte == QUOTE:
            return i
        if byte == BACKSLASH or byte < _FIRST_PRINTABLE:
            return -1
        i += 1
    return -1


@compiled
def string_end(block: Bytes, i: int, end: int) -> int:
    """The closing quote of a string, or -1. Arrow sees to it that its escapes are proper."""
    while i < end:
        byte = block[i]
        if byte == QUOTE:
            return i
        if byte < _FIRST_PRINTABLE:
            return -1
        i += 2 if byte == BACKSLASH else 1
    return -1


@compiled
def literal_end(block: Bytes, i: int, end: int) -> int:
    """The end of true, false or null, or -1."""
    for word in (b"true", b"false", b"null"):
        if is_word(block, i, min(end, i + len(word)), word):
            return i + len(word)
    return -1


@compiled
def integer(block: Bytes, i: int, end: int) -> tuple[int, int]:
    """The end of an integer that stands alone, and the integer; the end is -1 if there is none."""
    negative = block[i] == MINUS
    if negative:
        i += 1
    start = i
    number = np.uint64(0)
    while i < end and ZERO <= block[i] <= NINE:
        number = number * np.uint64(10) + np.uint64(block[i] - ZERO)
        i += 1
    digits = i - start
    if digits == 0 or digits > _MOST_DIGITS or number > np.uint64(INFINITY):
        return -1, 0
    if digits > 1 and block[start] == ZERO:
        return -1, 0
    signed = np.int64(number)
    return i, -signed if negative else signed  # type: ignore[return-value]  # compiled


@compiled
def number(block: Bytes, i: int, end: int) -> tuple[int, int]:
    """The end of a number, and whether it is an integer that no double may hold (BIG), or not
    proper, or perhaps beyond a double's range (ODD)."""
    whole_end, whole = integer(block, i, end)
    fraction = False
    if whole_end < 0:  # a float may have more digits than an integer can
        whole_end = i + 1 if block[i] == MINUS else i
        start = whole_end
        while whole_end < end and ZERO <= block[whole_end] <= NINE:
            whole_end += 1
        if whole_end == start or (block[start] == ZERO and whole_end - start > 1):
            return i, ODD
        whole = INFINITY
        fraction = True
    i = whole_end
    if i < end and block[i] == _DOT:
        start = i + 1
        i = start
        while i < end and ZERO <= block[i] <= NINE:
            i += 1
        return (i, ODD) if i == start else _exponent(block, i, end)
    if i < end and (block[i] == ord("e") or block[i] == ord("E")):
        return _exponent(block, i, end)
    if fraction:  # an integer beyond 64 bits
        return i, BIG
    return i, BIG if whole > LARGEST_EXACT or whole < -LARGEST_EXACT else SMALL


@compiled
def _exponent(block: Bytes, i: int, end: int) -> tuple[int, int]:
    if i >= end or (block[i] != ord("e") and block[i] != ord("E")):
        return i, SMALL
    i += 1
    if i < end and (block[i] == _PLUS or block[i] == MINUS):
        i += 1
    start = i
    while i < end and ZERO <= block[i] <= NINE:
        i += 1
    digits = i - start
    return i, ODD if digits == 0 or digits >= _LARGE_EXPONENT_DIGITS else SMALL


@inlined
def is_word(block: Bytes, start: int, end: int, word: bytes) -> bool:
    if end - start != len(word):
        return False
    for i in range(len(word)):  # noqa: SIM110 - compiled
        if block[start + i] != word[i]:
            return False
    return True


@compiled
def same_bytes(block: Bytes, start: int, end: int, other: int, other_end: int) -> bool:
    if end - start != other_end - other:
        return False
    for i in range(end - start):  # noqa: SIM110 - compiled
        if block[start + i] != block[other + i]:
            return False
    return True
