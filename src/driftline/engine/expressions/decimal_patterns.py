"""Numbers by a pattern of Java's DecimalFormat, such as `#,##0.00`; half goes to the even side."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from typing import Any

from driftline.engine.expressions.decimals import rounded_to
from driftline.engine.expressions.errors import EvaluationError

_WIDE = Context(prec=1500)
_MOST_PLACES = 1100
"""No number has digits farther after the point."""
_AFFIX = re.compile(r"(?:'(?:[^']|'')*'|[^#0,.;'])*")
_DIGITS = re.compile(r"[#0,.]*")
_FACTORS = {"%": 100, "‰": 1000}


@dataclass(frozen=True)
class _Pattern:
    """What is around a number, and around a negative one; how many digits it has at least before
    the point, at least and at most after it; how many are in a group (0: there are none); and what
    it is multiplied by."""

    around: tuple[str, str]
    negative: tuple[str, str]
    whole: int
    least: int
    most: int
    group: int
    factor: int


def _wrong(pattern: str, why: str) -> EvaluationError:
    return EvaluationError("INVALID_PARAMETER_VALUE", f"{pattern!r} is not a pattern: {why}")


@lru_cache(maxsize=256)
def pattern_of(text: str) -> _Pattern:
    """The meaning of a pattern."""
    if not text:
        return _Pattern(("", ""), ("-", ""), 1, 0, 0, 3, 1)
    prefix, digits, suffix, rest = _cut(text, text)
    negative = (f"-{prefix}", suffix)
    if rest.startswith(";"):
        first, _, last, more = _cut(text, rest[1:])
        negative = (first, last)
        rest = more
    if rest:
        raise _wrong(text, f"{rest!r} is too much")
    whole, least, most, group = _counted(text, digits)
    factor = next((size for sign, size in _FACTORS.items() if sign in prefix + suffix), 1)
    return _Pattern((prefix, suffix), negative, whole, least, most, group, factor)


def _cut(whole: str, text: str) -> tuple[str, str, str, str]:
    """What is before the digits of a pattern, these, what is after them, and the rest."""
    before = _AFFIX.match(text)
    assert before is not None
    digits = _DIGITS.match(text, before.end())
    assert digits is not None
    after = _AFFIX.match(text, digits.end())
    assert after is not None
    if after[0].startswith("E"):
        raise _wrong(whole, "exponents are not written here")
    return _plain(before[0]), digits[0], _plain(after[0]), text[after.end() :]


def _plain(affix: str) -> str:
    """What is around a number, without quotes."""
    return re.sub(r"'((?:[^']|'')*)'", lambda found: found[1].replace("''", "'") or "'", affix)


def _counted(text: str, digits: str) -> tuple[int, int, int, int]:
    """See `_Pattern`; as Java counts."""
    if digits.count(".") > 1:
        raise _wrong(text, "it has two points")
    whole, point, fraction = digits.partition(".")
    group = len(whole) - whole.rfind(",") - 1 if "," in whole else 0
    whole = whole.replace(",", "")
    if not re.fullmatch("#*0*", whole) or not re.fullmatch("0*#*", fraction):
        raise _wrong(text, "a # stands before the zeros, and after the point after them")
    if digits.endswith(",") or (point and "," in fraction) or ("," in digits and not group):
        raise _wrong(text, "a comma stands between digits before the point")
    zeros = whole.count("0")
    if point and not zeros and "0" not in fraction and whole:
        zeros = 1  # #.## has a zero before the point
    return zeros, fraction.count("0"), len(fraction), group


def by_pattern(value: Any, text: str) -> str:
    """A number by a pattern.

    >>> by_pattern(1234567.891, "#,##0.00"), by_pattern(-7, "0;(0)"), by_pattern(0.5, "0%")
    ('1,234,567.89', '(7)', '50%')
    """
    pattern = pattern_of(text)
    if isinstance(value, float) and value != value:
        return "NaN"
    below = str(value).startswith("-")
    before, after = pattern.negative if below else pattern.around
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return f"{before}∞{after}"
    shortest = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    exact = Decimal(value)
    places = min(pattern.most, _MOST_PLACES)
    scaled = (_WIDE.multiply(each, Decimal(pattern.factor)) for each in (shortest, exact))
    short, long = (abs(each) for each in scaled)
    rounded = rounded_to(short, places, ROUND_HALF_EVEN)
    if rounded != short:  # as in Java: a number is rounded as it exactly is
        rounded = rounded_to(long, places, ROUND_HALF_EVEN)
    whole, _, fraction = f"{rounded:f}".partition(".")
    least = fraction[: pattern.least].ljust(pattern.least, "0")
    fraction = least + fraction[pattern.least :].rstrip("0")
    whole = whole.lstrip("0").rjust(pattern.whole, "0")
    if not whole and not fraction:
        whole = "0"
    if pattern.group:
        whole = _grouped(whole, pattern.group)
    return f"{before}{whole}{'.' if fraction else ''}{fraction}{after}"


def _grouped(digits: str, size: int) -> str:
    first = len(digits) % size
    groups = [digits[:first]] if first else []
    groups += [digits[place : place + size] for place in range(first, len(digits), size)]
    return ",".join(groups)
