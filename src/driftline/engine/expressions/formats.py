"""Texts put together: format_string, and pieces of texts by separators, places and patterns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from math import isfinite, isnan
from typing import Any

import pyarrow as pa

from driftline.engine.expressions.arrays import Array, Value, per_distinct
from driftline.engine.expressions.casts import cast
from driftline.engine.expressions.decimals import rounded_to
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.expansion import check_texts
from driftline.engine.expressions.java_patterns import finds, java_regex, per_text
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.types import INT, STRING, is_decimal, is_integer

_SPECIFIER = re.compile(r"%(\d+\$)?([-#+ 0,(]*)(\d{1,10})?(?:\.(\d{1,10}))?([a-zA-Z%])")
_DIGITS = 6
_LEAST = 5e-324
_FLAGS = {"s": "-", "b": "-", "c": "-", "d": "-+ 0,(", "x": "-#0", "o": "-#0"}
_FLAGS |= {"f": "-+ 0,(", "e": "-+ 0("}


@kernel("substring_index", total=True)
def _substring_index(call: Call, args: Sequence[Value]) -> Array:
    def part(text: str, by: str, count: int) -> str:
        if not by or count == 0:
            return ""
        place = -1 if count > 0 else len(text) + 1
        for _ in range(abs(count)):
            place = text.find(by, place + 1) if count > 0 else _before(text, by, place)
            if place < 0:
                return text
        return text[:place] if count > 0 else text[place + len(by) :]

    return per_distinct(part, list(args), STRING)


def _before(text: str, by: str, place: int) -> int:
    """Where a separator starts that starts before a place."""
    return text.rfind(by, 0, place - 1 + len(by)) if place > 0 else -1


@kernel("find_in_set", total=True)
def _find_in_set(call: Call, args: Sequence[Value]) -> Array:
    def find(sought: str, listed: str) -> int:
        items = listed.split(",")
        return items.index(sought) + 1 if sought in items else 0

    return per_distinct(find, list(args), INT)


@kernel("elt", strict=False)
def _elt(call: Call, args: Sequence[Value]) -> Array:
    columns = [arg.to_pylist() for arg in args[1:]]
    found = []
    for row, place in enumerate(args[0].to_pylist()):
        if place is not None and not 1 <= place <= len(columns):
            raise EvaluationError(
                "INVALID_ARRAY_INDEX", f"elt: there are {len(columns)} values, and no {place}"
            )
        found.append(None if place is None else columns[place - 1][row])
    return pa.array(found, STRING)


@kernel("overlay", total=True)
def _overlay(call: Call, args: Sequence[Value]) -> Array:
    def overlay(text: Any, new: Any, start: int, length: int) -> Any:
        count = length if length >= 0 else len(new)
        return _sliced(text, 1, start - 1) + new + _sliced(text, start + count, 2**31 - 1)

    return per_distinct(overlay, list(args), call.kind)


def _sliced(text: Any, start: int, length: int) -> Any:
    """SUBSTRING, as it is in Spark."""
    first = start - 1 if start > 0 else (len(text) + start if start < 0 else 0)
    last = len(text) if length == 2**31 - 1 else first + length
    return text[max(first, 0) : max(last, 0)]


@kernel("mask", total=True, strict=False)
def _mask(call: Call, args: Sequence[Value]) -> Array:
    rows = zip(*(arg.to_pylist() for arg in args), strict=True)
    return pa.array([None if text is None else _masked(text, *by) for text, *by in rows], STRING)


def _masked(text: str, upper: Any, lower: Any, digit: Any, other: Any) -> str:
    def instead(character: str) -> str:
        by = other
        if character.isupper():
            by = upper
        elif character.islower():
            by = lower
        elif character.isdecimal():
            by = digit
        return character if by is None else str(by)

    return "".join(map(instead, text))


@kernel("regexp_count")
def _regexp_count(call: Call, args: Sequence[Value]) -> Array:
    def count(text: str, pattern: str) -> int:
        return sum(1 for _ in finds(java_regex(pattern, "regexp_count"), text))

    return per_text(call.function, count, list(args), INT)


@kernel("regexp_substr")
def _regexp_substr(call: Call, args: Sequence[Value]) -> Array:
    def find(text: str, pattern: str) -> str | None:
        match = java_regex(pattern, "regexp_substr").search(text)
        return (match[0] or None) if match else None

    return per_text(call.function, find, list(args), STRING)


@kernel("regexp_instr")
def _regexp_instr(call: Call, args: Sequence[Value]) -> Array:
    def find(text: str, pattern: str, _group: int) -> int:
        match = java_regex(pattern, "regexp_instr").search(text)
        return match.start() + 1 if match else 0

    return per_text(call.function, find, list(args), INT)


@kernel("regexp_extract_all")
def _regexp_extract_all(call: Call, args: Sequence[Value]) -> Array:
    def find(text: str, pattern: str, group: int) -> list[str]:
        regex = java_regex(pattern, "regexp_extract_all")
        matches = list(finds(regex, text))
        if matches and not 0 <= group <= regex.groups:
            raise EvaluationError(
                "INVALID_PARAMETER_VALUE.REGEX_GROUP_INDEX",
                f"regexp_extract_all: {pattern!r} has {regex.groups} groups, so no group {group}",
            )
        return [match[group] or "" for match in matches]

    return per_text(call.function, find, list(args), call.kind)


Given = tuple[Any, str | None, int]
"""A value for format_string, its text, and how many bits it has if it is an integer."""


@kernel("format_string", strict=False)
def _format_string(call: Call, args: Sequence[Value]) -> Array:
    columns = [zip(*_given(arg), strict=True) for arg in args[1:]]
    values = list(zip(*columns, strict=True)) if columns else [()] * len(args[0])
    texts, size = [], 0
    for pattern, given in zip(args[0].to_pylist(), values, strict=True):
        texts.append(None if pattern is None else written(pattern, given))
        size += len(texts[-1] or "")
        check_texts(call.brief(), size)
    return pa.array(texts, STRING)


def _given(array: Array) -> tuple[list[Any], list[str | None], list[int]]:
    """A column of values, their texts and their bits; the text of a DECIMAL is Java's: 1E-10."""
    kind, values = array.type, array.to_pylist()
    if is_decimal(kind):
        texts = [None if value is None else str(value) for value in values]
    else:
        texts = cast(array, kind, STRING, False).to_pylist()
    return values, texts, [kind.bit_width if is_integer(kind) else 0] * len(values)


def written(pattern: str, values: Sequence[Given]) -> str:
    """A pattern of Java's Formatter with values.

    >>> written("%s has %,d and %05.1f%%", [("a", "a", 0), (1234, "1234", 32), (2.25, "2.25", 0)])
    'a has 1,234 and 002.3%'
    """
    used = 0
    parts: list[str] = []
    place = 0
    while place < len(pattern):
        following = pattern.find("%", place)
        following = len(pattern) if following < 0 else following
        parts.append(pattern[place:following])
        if following == len(pattern):
            break
        found = _SPECIFIER.match(pattern, following)
        if found is None:
            raise _wrong(f"{pattern!r} has a % that is not a specifier")
        at, flags, width, digits, letter = found.groups()
        place = found.end()
        if letter in "n%":
            text = "\n" if letter == "n" else "%"
            check_texts("format_string", int(width or 0))
            parts.append(_padded(text, flags, width))
            continue
        index = int(at[:-1]) - 1 if at else used
        used += not at
        if not 0 <= index < len(values):
            raise _wrong(f"{pattern!r} has more specifiers than there are values")
        parts.append(_specified(letter, flags, width, digits, values[index]))
    return "".join(parts)


def _wrong(what: str) -> EvaluationError:
    return EvaluationError("INVALID_PARAMETER_VALUE", f"format_string: {what}")


def _padded(text: str, flags: str, width: str | None) -> str:
    """Java counts a character beyond U+FFFF as two."""
    size = int(width or 0) - sum(character > "\uffff" for character in text)
    return text.ljust(size) if "-" in flags else text.rjust(size)


def _cut(text: str, size: int) -> str:
    """The first characters as Java counts them; half a character becomes a question mark."""
    kept = text.encode("utf-16-le")[: 2 * size].decode("utf-16-le", "surrogatepass")
    return kept.encode("utf-8", "replace").decode()


def _specified(letter: str, flags: str, width: str | None, digits: str | None, given: Given) -> str:
    value, text, bits = given
    plain = letter.lower()
    if plain not in _FLAGS or (letter.isupper() and plain in "dfob"):
        raise _wrong(f"%{letter} is not supported: there are s, d, f, e, E, x, X, o, b and c")
    _check(plain, flags, width, digits)
    check_texts("format_string", max(int(width or 0), int(digits or 0)))
    if plain == "b":
        shown = "false" if value is None or value is False else "true"
    elif plain == "s" or value is None:
        shown = "null" if text is None else text
    elif plain == "c":
        shown = _character(value, bits)
    else:
        shown = _signed(plain, flags, width, digits, given)
        digits = None
    shown = shown if digits is None else _cut(shown, int(digits))
    return _padded(shown.upper() if letter.isupper() else shown, flags, width)


def _check(plain: str, flags: str, width: str | None, digits: str | None) -> None:
    """Refuses the flags and the precision that Java refuses."""
    wrong = set(flags) - set(_FLAGS[plain])
    if (
        wrong
        or len(set(flags)) < len(flags)
        or {"+", " "} <= set(flags)
        or {"-", "0"} <= set(flags)
    ):
        raise _wrong(f"%{plain} does not take the flags {flags!r}")
    if width is None and set(flags) & {"-", "0"}:
        raise _wrong(f"the flags {flags!r} need a width")
    if digits is not None and plain in "dxoc":
        raise _wrong(f"%{plain} does not take a precision")


def _character(value: Any, bits: int) -> str:
    if 0 < bits <= 32 and 0 <= value < 0x110000:  # noqa: PLR2004 - not a BIGINT
        return chr(value)
    raise _wrong(f"%c does not take {value!r}")


def _signed(plain: str, flags: str, width: str | None, digits: str | None, given: Given) -> str:
    """A number: its digits, then commas, the sign and zeros in front."""
    value, _, bits = given
    if not (bits if plain in "dxo" else isinstance(value, (float, Decimal))):
        raise _wrong(f"%{plain} does not take {value!r}")
    negative = str(value).startswith("-")
    sign = "-" if negative else "+" if "+" in flags else " " if " " in flags else ""
    if plain in "xo":
        body = format(value % (1 << bits), plain)
        negative = False
        sign = {"x": "0x", "o": "0"}[plain] if "#" in flags else ""
    elif plain == "d":
        body = format(abs(value), ",d" if "," in flags else "d")
    elif not isfinite(value):
        body = "NaN" if isnan(value) else "Infinity"
        sign = "" if isnan(value) else sign
        flags = flags.replace("0", "")
    else:
        body = _decimal(abs(value), plain, int(digits or _DIGITS), "," in flags)
    sign, end = ("(", ")") if negative and "(" in flags else (sign, "")
    if "0" in flags:
        body = body.rjust(int(width or 0) - len(sign + end), "0")
    return sign + body + end


def _decimal(value: Any, plain: str, digits: int, commas: bool) -> str:
    exact = Decimal(repr(value)) if isinstance(value, float) else value
    if plain == "f":
        rounded = rounded_to(exact, digits, ROUND_HALF_UP)
        return f"{rounded:,f}" if commas else f"{rounded:f}"
    if not exact:
        return f"{0:.{digits}e}"
    if value == _LEAST:
        exact = Decimal("4.9E-324")  # Java names it by two digits
    short = Context(prec=digits + 1, rounding=ROUND_HALF_UP).create_decimal(exact)
    mantissa, _, exponent = f"{short:.{digits}e}".partition("e")
    return f"{mantissa}e{exponent[0]}{exponent[1:].rjust(2, '0')}"
