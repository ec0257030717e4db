"""Formats of numbers, as to_number and to_char have them: '99,999.00S'.

    [MI | S] [$] [0 | 9 | , | G]… [. | D] [0 | 9]… [PR | MI | S]

A group of digits that begins with 0 has all its digits, one that begins with 9 may have fewer; G
and D are the comma and the point. S is a sign, MI a minus or nothing, PR angle brackets around a
negative number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from driftline.plan.errors import ExpressionError
from driftline.plan.types import MAX_PRECISION

_FORMAT = re.compile(
    r"(?P<first>MI|S)?(?P<dollar>\$)?(?P<whole>[09G,]*)(?P<point>[.D])?(?P<rest>[09]*)"
    r"(?P<last>PR|MI|S)?"
)
_WHOLE = re.compile(r"[09]+(?:,[09]+)*")
POINT, DOLLAR, SIGN, MINUS, OPENS, CLOSES = ".", "$", "S", "MI", "<", ">"


@dataclass(frozen=True)
class Digits:
    """Digits in groups with commas between them: how many each has, and whether it has all."""

    groups: tuple[tuple[int, bool], ...]

    @property
    def count(self) -> int:
        return sum(size for size, _ in self.groups)


@dataclass(frozen=True)
class NumberFormat:
    """A format, and what it consists of, from left to right."""

    text: str
    parts: tuple[str | Digits, ...]

    @cached_property
    def whole_digits(self) -> int:
        """How many digits there are before the point."""
        return self._count(before=True)

    @cached_property
    def digits_after(self) -> int:
        return self._count(before=False)

    def _count(self, *, before: bool) -> int:
        place = self.parts.index(POINT) if POINT in self.parts else len(self.parts)
        some = self.parts[:place] if before else self.parts[place:]
        return sum(part.count for part in some if isinstance(part, Digits))


def number_format(text: str) -> NumberFormat:
    """What a format says.

    >>> found = number_format("99,990.00S")
    >>> found.whole_digits, found.digits_after
    (5, 2)
    """
    upper = text.upper()
    match = _FORMAT.fullmatch(upper)
    digits = 0 if match is None else sum(map(match["whole"].count, "09")) + len(match["rest"])
    if match is None or not digits:
        raise ExpressionError(
            f"{text!r} is not a number format: write digits as 9 or 0: '99,990.00S'"
        )
    whole = match["whole"].replace("G", ",")
    if whole and not _WHOLE.fullmatch(whole):
        raise ExpressionError(f"{text!r}: a comma stands between digits")
    if match["first"] is not None and match["first"] == match["last"]:
        raise ExpressionError(f"{text!r} has {match['first']} twice")
    if digits > MAX_PRECISION:
        raise ExpressionError(f"{text!r} has more than {MAX_PRECISION} digits")
    parts: list[str | Digits] = [OPENS] if match["last"] == "PR" else []
    parts += [part for part in (match["first"], match["dollar"]) if part]
    if whole:
        parts.append(Digits(tuple((len(each), each[0] == "0") for each in whole.split(","))))
    if match["point"]:
        parts.append(POINT)
    if match["rest"]:
        parts.append(Digits(((len(match["rest"]), False),)))
    if match["last"]:
        parts.append(CLOSES if match["last"] == "PR" else match["last"])
    return NumberFormat(text, tuple(parts))
