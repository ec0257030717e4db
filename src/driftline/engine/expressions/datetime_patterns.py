"""Patterns for dates and times, such as `yyyy-MM-dd HH:mm:ss`: writing and reading by them.

These letters are known: y M L d D E a H k K h m s S Q q F G, and X x Z O V z, which in UTC always
say the same. Beside G, years are those of an era: 0001 BC is the year 0. `''` is a quote, and text
between quotes stands for itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions.arrays import (
    Array,
    Value,
    both_valid,
    from_numbers,
    numbers,
    per_distinct,
    valid_mask,
)
from driftline.engine.expressions.characters import Characters, digits, from_characters, joined
from driftline.engine.expressions.datetimes import (
    Years,
    days_and_clock,
    first_day,
    in_arrows_range,
    months_of,
    naive,
    year_of,
)
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.temporal import DAY, SECOND, days_of
from driftline.plan.types import DATE, STRING, TIMESTAMP

_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_THURSDAY = 3  # the weekday of 1970-01-01
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_UTC = {"X": "Z", "x": "+00", "Z": "+0000", "O": "GMT", "V": "UTC", "z": "UTC"}
_LONG_UTC = {"xx": "+0000", "xxx": "+00:00", "ZZZZ": "GMT", "ZZZZZ": "Z", "OOOO": "GMT"}
_LONG_UTC |= {"zzzz": "Coordinated Universal Time"}
_KNOWN = frozenset("yMLdDEaHkKhmsSQqFG") | frozenset(_UTC)
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([a-zA-Z])\2*|([^a-zA-Z'])")
_BRACKETS = "[]"
_MOST_YEAR_DIGITS = 6
_NOON = 12
_FRACTION_DIGITS = 6
_CENTURY = 2000


@dataclass(frozen=True)
class _Token:
    """A run of one pattern letter, a bracket around what may be left out, or (letter is empty) a
    text that stands for itself."""

    letter: str
    text: str

    @property
    def count(self) -> int:
        """How often the letter is repeated."""
        return len(self.text)


@lru_cache(maxsize=256)
def tokens_of(pattern: str) -> tuple[_Token, ...]:
    """The parts of a pattern."""
    tokens: list[_Token] = []
    position = 0
    while position < len(pattern):
        match = _TOKEN.match(pattern, position)
        if match is None:
            raise _illegal(pattern, "a quote is not closed")
        quoted, letter, other = match.groups()
        if letter:
            if letter not in _KNOWN:
                raise _illegal(pattern, f"the letter {letter} is not supported")
            tokens.append(_Token(letter, match[0]))
        elif other and other in _BRACKETS:
            tokens.append(_Token(other, other))
        else:
            text = other if quoted is None else quoted.replace("''", "'") or "'"
            tokens.append(_Token("", text))
        position = match.end()
    return tuple(tokens)


def _illegal(pattern: str, why: str) -> EvaluationError:
    return EvaluationError("INVALID_DATETIME_PATTERN", f"{pattern!r} is not a pattern: {why}")


# Writing


@kernel("date_format")
def _date_format(call: Call, args: Sequence[Value]) -> Array:
    return date_format(*args)


def date_format(moments: Array, patterns: Array) -> Array:
    """Moments as texts, each by its pattern."""
    encoded = patterns.dictionary_encode()
    codes = np.where(valid_mask(patterns), numbers(encoded.indices), -1)
    written = encoded.dictionary.to_pylist()
    if len(written) == 1 and patterns.null_count == 0:
        return written_by(moments, written[0])
    result = pa.nulls(len(moments), STRING)
    for code, pattern in enumerate(written):
        rows = pa.array(codes == code)
        result = pc.if_else(rows, written_by(moments, pattern), result)
    return result


@kernel("dayname monthname", total=True)
def _name(call: Call, args: Sequence[Value]) -> Array:
    days = numbers(args[0]).astype(np.int64)
    names, place = (_DAYS, (days + _THURSDAY) % len(_DAYS))
    if call.function == "monthname":
        names, place = _MONTHS, months_of(days) % len(_MONTHS)
    short = pa.array([name[:3] for name in names])
    return short.take(from_numbers(place, both_valid(args[0]), pa.int64()))


@kernel("from_unixtime")
def _from_unixtime(call: Call, args: Sequence[Value]) -> Array:
    with np.errstate(over="ignore"):  # what does not fit keeps its low 64 bits, as in Spark
        micros = numbers(args[0]) * np.int64(SECOND)
    return date_format(from_numbers(micros, both_valid(args[0]), TIMESTAMP), args[1])


def written_by(moments: Array, pattern: str) -> Array:
    """Moments as texts by one pattern."""
    if moments.null_count == len(moments):
        return pa.nulls(len(moments), STRING)
    times = naive(moments)
    tokens = tuple(each for each in tokens_of(pattern) if each.letter not in ("[", "]"))
    quick = _written_quickly(times, tokens)
    if quick is not None:
        return quick
    times, years = in_arrows_range(times)
    parts = [
        pa.scalar(token.text) if not token.letter else _field_text(token, times, years, pattern)
        for token in tokens
    ]
    if not parts:
        return pc.if_else(moments.is_valid(), "", pa.scalar(None, STRING))
    texts = pc.binary_join_element_wise(*parts, "")
    if isinstance(texts, pa.Scalar):
        texts = pa.repeat(texts, len(moments))
    return pc.if_else(moments.is_valid(), texts, pa.scalar(None, STRING))


_QUICK = {"yyyy": 4, "MM": 2, "dd": 2, "HH": 2, "mm": 2, "ss": 2}


def _written_quickly(times: Array, tokens: tuple[_Token, ...]) -> Array | None:
    """By tables of digits, if every part of the pattern is a number of fixed width."""
    if not all(_is_quick(token) for token in tokens) or not tokens:
        return None
    days, clock = days_and_clock(numbers(times))
    months = months_of(days)
    years = months // 12 + 1970
    if len(years) and (years.min() < 0 or years.max() > 9999):  # noqa: PLR2004 - four digits
        return None
    seconds = clock // SECOND
    fields = {
        "yyyy": years,
        "MM": months % 12 + 1,
        "dd": days - first_day(months) + 1,
        "HH": seconds // 3600,
        "mm": seconds // 60 % 60,
        "ss": seconds % 60,
    }
    parts: list[Characters | str] = []
    for token in tokens:
        if not token.letter:
            parts.append(token.text)
        elif token.letter == "S":
            parts.append(digits(clock % SECOND, _FRACTION_DIGITS)[:, : token.count])
        else:
            parts.append(digits(fields[token.text], _QUICK[token.text]))
    return from_characters(joined(parts, len(times)), None, both_valid(times))


def _is_quick(token: _Token) -> bool:
    if not token.letter:
        return token.text.isascii()
    return token.text in _QUICK or (token.letter == "S" and token.count <= _FRACTION_DIGITS)


_NUMERIC: dict[str, Callable[[Array], Array]] = {
    "M": pc.month,
    "L": pc.month,
    "d": pc.day,
    "D": pc.day_of_year,
    "H": pc.hour,
    "k": lambda times: pc.if_else(pc.equal(pc.hour(times), 0), 24, pc.hour(times)),
    "K": lambda times: _modulo(pc.hour(times), _NOON),
    "h": lambda times: _twelve_hours(pc.hour(times)),
    "m": pc.minute,
    "s": pc.second,
    "Q": pc.quarter,
    "q": pc.quarter,
    "F": lambda times: pc.add(_modulo(pc.subtract(pc.day(times), 1), 7), 1),
}
_MOST_DIGITS = {"D": 3, "Q": 2, "q": 2, "F": 1}
_NAMED = 3
_FULL_NAME = 4


def _modulo(array: Array, divisor: int) -> Array:
    return from_numbers(numbers(array) % divisor, both_valid(array), pa.int64())


def _twelve_hours(hours: Array) -> Array:
    return pc.add(_modulo(pc.add(hours, _NOON - 1), _NOON), 1)


def _field_text(token: _Token, times: Array, years: Years, pattern: str) -> Value:
    letter, count = token.letter, token.count
    if letter in _UTC:
        return pa.scalar(_LONG_UTC.get(token.text, _UTC[letter]))
    if letter == "y":
        shown = year_of(times, years)
        if any(other.letter == "G" for other in tokens_of(pattern)):
            shown = pc.if_else(pc.greater(shown, 0), shown, pc.subtract(1, shown))
        return _year_text(shown, count, pattern)
    if letter == "G" and count <= _FULL_NAME:
        full = count == _FULL_NAME
        after, before = ("Anno Domini", "Before Christ") if full else ("AD", "BC")
        return pc.if_else(pc.greater(year_of(times, years), 0), after, before)
    if letter == "a" and count == 1:
        return pc.if_else(pc.less(pc.hour(times), _NOON), "AM", "PM")
    if letter == "E" and count <= _FULL_NAME:
        day = pc.day_of_week(times, count_from_zero=True, week_start=1)
        return _named(day, _DAYS, count)
    if letter in "ML" and _NAMED <= count <= _FULL_NAME:
        return _named(pc.subtract(pc.month(times), 1), _MONTHS, count)
    if letter in "Qq" and count == _NAMED:
        return pc.binary_join_element_wise("Q", pc.cast(pc.quarter(times), STRING), "")
    if letter in "Qq" and count == _FULL_NAME:
        names = pa.array(["1st quarter", "2nd quarter", "3rd quarter", "4th quarter"])
        return names.take(pc.subtract(pc.quarter(times), 1))
    if letter == "S" and count <= 9:  # noqa: PLR2004 - nanoseconds
        micros = from_numbers(numbers(times) % SECOND, both_valid(times), pa.int64())
        digits = pc.utf8_rpad(_padded(micros, _FRACTION_DIGITS), 9, "0")
        return pc.utf8_slice_codeunits(digits, 0, count)
    if letter in _NUMERIC and count <= _MOST_DIGITS.get(letter, 2):
        return _padded(_NUMERIC[letter](times), count)
    raise _illegal(pattern, f"{token.text} has too many letters")


def _named(index: Array, names: list[str], count: int) -> Array:
    shown = names if count == _FULL_NAME else [name[:3] for name in names]
    return pa.array(shown).take(index)


def _padded(values: Array, width: int) -> Array:
    return pc.utf8_lpad(pc.cast(values, STRING), width, "0")


def _year_text(years: Array, count: int, pattern: str) -> Array:
    if count > _MOST_YEAR_DIGITS:
        raise _illegal(pattern, "there are too many y")
    if count == 2:  # noqa: PLR2004 - yy
        return _padded(_modulo(pc.abs(years), 100), 2)
    # from yyyy on, a sign marks years of more digits than there are letters
    long = pc.greater_equal(years, 10**count if count >= 4 else 2**31)  # noqa: PLR2004
    sign = pc.if_else(long, "+", pc.if_else(pc.less(years, 0), "-", ""))
    return pc.binary_join_element_wise(sign, _padded(pc.abs(years), count), "")


# Reading


@dataclass(frozen=True)
class _Reader:
    regex: re.Pattern[str]
    letters: tuple[str, ...]


@lru_cache(maxsize=256)
def _reader(pattern: str) -> _Reader:
    tokens = tokens_of(pattern)
    pieces, letters, opened = [], [], 0
    for place, token in enumerate(tokens):
        if token.letter in ("[", "]"):
            opened += 1 if token.letter == "[" else -1
            if opened < 0:
                raise _illegal(pattern, "a ] has no [ before it")
            pieces.append("(?:" if token.letter == "[" else ")?")
            continue
        if not token.letter:
            pieces.append(re.escape(token.text))
            continue
        adjacent = place + 1 < len(tokens) and tokens[place + 1].letter in "yMLdDHkKhmsS"
        adjacent = adjacent and bool(tokens[place + 1].letter)
        if token.letter == "S":  # the first digits of a fraction, if these can be told apart
            adjacent = place > 0 and tokens[place - 1].letter in tuple("yMLdDHkKhms")
        pieces.append(f"({_piece(token, pattern, adjacent)})")
        letters.append("yy" if token.text == "yy" else _letter(token))
    return _Reader(re.compile("".join(pieces) + ")?" * opened, re.ASCII), tuple(letters))


def _letter(token: _Token) -> str:
    named = token.letter in "ML" and token.count >= _NAMED
    return "month name" if named else token.letter


def _piece(token: _Token, pattern: str, adjacent: bool) -> str:
    letter, count = token.letter, token.count
    if letter == "y":
        if count == 2:  # noqa: PLR2004 - yy
            return r"\d{2}"
        if adjacent:
            return rf"-?\d{{{count}}}"
        if count < 4:  # noqa: PLR2004 - as when it is written
            return rf"-?\d{{{count},{_MOST_YEAR_DIGITS}}}"
        # More digits than letters have a sign, and only those may have a plus.
        more = rf"-\d{{{count},{_MOST_YEAR_DIGITS}}}|\+\d{{{count + 1},{_MOST_YEAR_DIGITS}}}"
        return rf"\d{{{count}}}|{more}"
    if letter == "S":
        return rf"\d{{{count}}}" if adjacent else rf"\d{{1,{count}}}"
    if letter == "a":
        return "AM|PM|am|pm"
    if letter == "E":
        return "|".join(name if count == _FULL_NAME else name[:3] for name in _DAYS)
    if letter in "ML" and count >= _NAMED:
        return "|".join(name if count == _FULL_NAME else name[:3] for name in _MONTHS)
    if letter == "D":
        return rf"\d{{{count},3}}"
    if letter in "MLdHkKhms":
        return r"\d{2}" if count == 2 else (r"\d" if adjacent else r"\d{1,2}")  # noqa: PLR2004
    if letter in "XxZ":
        return r"Z|[+-]\d{2}(?::?\d{2})?"
    if letter in "VzO":
        return r"UTC|GMT|Z"
    raise _illegal(pattern, f"strings cannot be read by {token.text}")


def parse_by_pattern(text: str, pattern: str) -> int | None:
    """The microseconds that a text means by a pattern, or None if it does not fit it.

    >>> parse_by_pattern("02/01/1970", "dd/MM/yyyy") == 86_400_000_000
    True
    """
    reader = _reader(pattern)
    match = reader.regex.fullmatch(text)
    if match is None:
        return None
    groups = zip(reader.letters, match.groups(), strict=True)
    fields = {letter: value for letter, value in groups if value is not None}
    days = _date_of(fields)
    clock = _clock_of(fields)
    if days is None or clock is None:
        return None
    micros = days * DAY + clock
    for letter in "XxZ":
        micros -= _offset_of(fields.get(letter, "Z"))
    return micros


def _date_of(fields: dict[str, str]) -> int | None:
    year = int(fields.get("y", 1970))
    if "yy" in fields:
        year = _CENTURY + int(fields["yy"])
    if "D" in fields:
        start, day = days_of(year, 1, 1), int(fields["D"])
        following = days_of(year + 1, 1, 1)
        if start is None or following is None or not 1 <= day <= following - start:
            return None
        return start + day - 1
    month = int(fields.get("M", fields.get("L", 1)))
    if "month name" in fields:
        month = [name[:3] for name in _MONTHS].index(fields["month name"][:3]) + 1
    return days_of(year, month, int(fields.get("d", 1)))


def _clock_of(fields: dict[str, str]) -> int | None:
    hour = int(fields.get("H", 0))
    if "k" in fields:
        hour = int(fields["k"]) % 24
    if "h" in fields or "K" in fields:
        hour = int(fields.get("h", fields.get("K", 0)))
        if not ((1 if "h" in fields else 0) <= hour <= (_NOON if "h" in fields else _NOON - 1)):
            return None
        hour = hour % _NOON + (_NOON if fields.get("a", "AM").upper() == "PM" else 0)
    minute, second = int(fields.get("m", 0)), int(fields.get("s", 0))
    if hour > 23 or minute > 59 or second > 59:  # noqa: PLR2004 - a clock's limits
        return None
    fraction = int(fields.get("S", "0")[:_FRACTION_DIGITS].ljust(_FRACTION_DIGITS, "0"))
    return ((hour * 60 + minute) * 60 + second) * SECOND + fraction


def _offset_of(zone: str) -> int:
    if zone == "Z":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    micros = (int(digits[:2]) * 60 + int(digits[2:])) * 60 * SECOND
    return -micros if zone[0] == "-" else micros


@kernel("to_timestamp to_date try_to_timestamp try_to_date")
def _parse(call: Call, args: Sequence[Value]) -> Array:
    def convert(text: str, pattern: str) -> int | None:
        found = parse_by_pattern(text, pattern)
        if found is None and not call.function.startswith("try_"):
            raise EvaluationError(
                "CANNOT_PARSE_TIMESTAMP",
                f"the text {text!r} does not fit the pattern {pattern!r}; "
                f"use try_{call.function} to get NULL instead",
            )
        return found

    return _as_kind(per_distinct(convert, list(args), pa.int64()), call.kind)


def by_pattern(texts: Array, pattern: str, kind: pa.DataType) -> Array:
    """The times or dates that texts mean by a pattern; null where one does not fit it."""
    micros = per_distinct(lambda text: parse_by_pattern(text, pattern), [texts], pa.int64())
    return _as_kind(micros, kind)


def _as_kind(micros: Array, kind: pa.DataType) -> Array:
    if kind == DATE:
        days, _ = days_and_clock(numbers(micros))
        return from_numbers(days, both_valid(micros), DATE)
    return micros.view(kind)
