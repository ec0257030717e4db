"""Numbers read and written by a format: to_number, to_char (see `plan.number_formats`)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from driftline.engine.expressions.arrays import Array, Value, per_distinct
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.number_formats import (
    CLOSES,
    DOLLAR,
    MINUS,
    OPENS,
    POINT,
    SIGN,
    Digits,
    NumberFormat,
    number_format,
)
from driftline.plan.types import STRING

_BEFORE_A_SPACE = "+-<"


@kernel("to_number try_to_number")
def _to_number(call: Call, args: Sequence[Value]) -> Array:
    texts, formats = args
    format_ = _constant(formats)

    def read(text: str) -> Decimal | None:
        found = _Reading(text).number(format_)
        if found is None and call.function == "to_number":
            raise EvaluationError(
                "INVALID_FORMAT.MISMATCH_INPUT",
                f"{text!r} does not match the format {format_.text}",
            )
        return found

    return per_distinct(read, [texts], call.type)


@kernel("number_to_char")
def _to_char(call: Call, args: Sequence[Value]) -> Array:
    numbers, formats = args
    format_ = _constant(formats)
    return per_distinct(lambda number: _written(number, format_), [numbers], STRING)


def _constant(formats: Value) -> NumberFormat:
    """The format, which is the same in all rows."""
    text = formats[0].as_py() if isinstance(formats, pa.Array) and len(formats) else "9"
    return number_format(text)


class _Reading:
    """A text, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0
        self.before, self.after = "", ""
        self.past_point = self.is_negative = self.is_open = False

    @property
    def next(self) -> str:
        return self.text[self.place : self.place + 1]

    def number(self, format_: NumberFormat) -> Decimal | None:
        """The number, or None where the text does not have the format."""
        for part in format_.parts:
            matches = self._digits(part) if isinstance(part, Digits) else self._sign(part)
            if not matches:
                return None
        if self.place < len(self.text) or self.is_open or not self.before + self.after:
            return None
        units = int((self.before + self.after).ljust(len(self.before) + format_.digits_after, "0"))
        return Decimal(-units if self.is_negative else units).scaleb(-format_.digits_after)

    def _sign(self, part: str) -> bool:
        """Go past a sign, if it is there; whether the text can have the format."""
        found, self.place = self.next, self.place + 1
        if part == POINT and found == ".":
            self.past_point = True
        elif part == DOLLAR and found in ("$", ""):
            pass
        elif part in (SIGN, MINUS) and found == "-":
            self.is_negative = not self.is_negative
        elif part == SIGN and found == "+":
            pass
        elif part == OPENS and found == "<":
            self.is_open = True
        elif part == CLOSES and found == ">":
            if not self.is_open:
                return False
            self.is_open, self.is_negative = False, not self.is_negative
        else:
            self.place -= 1
            return part != DOLLAR
        self.place = min(self.place, len(self.text))
        return True

    def _digits(self, wanted: Digits) -> bool:
        sizes = [0]
        while self.next and (self.next.isspace() or self.next.isdecimal() or self.next == ","):
            if self.next == ",":
                sizes.append(0)
            elif self.next.isdecimal():
                sizes[-1] += 1
                if self.past_point:
                    self.after += self.next
                else:
                    self.before += self.next
            self.place += 1
        if len(sizes) > len(wanted.groups):
            return False
        sizes = [0] * (len(wanted.groups) - len(sizes)) + sizes
        return all(
            size == most if is_exact else size <= most
            for size, (most, is_exact) in zip(sizes, wanted.groups, strict=True)
        )


def _written(number: Decimal, format_: NumberFormat) -> str:
    """A number by a format; # where it has more digits than that."""
    whole, _, rest = f"{abs(number):f}".partition(".")
    whole, rest = whole.lstrip("0"), rest.rstrip("0")
    if len(whole) > format_.whole_digits or len(rest) > format_.digits_after:
        whole, rest = "#" * format_.whole_digits, "#" * format_.digits_after
    whole, rest = whole.rjust(format_.whole_digits), rest.ljust(format_.digits_after, "0")
    text: list[str] = []
    past_point = False
    for part in format_.parts:
        if isinstance(part, Digits) and past_point:
            text += rest
        elif isinstance(part, Digits):
            whole = _grouped(text, part, whole)
        elif part == POINT:
            if text and text[-1] == " ":
                text[-1] = "0"
            text.append(".")
            past_point = True
        else:
            _put_sign(text, part, number < 0)
    _drop_lone_point(text)
    found = "".join(text)
    return "0" if found in ("", "+", "-") else found


def _grouped(text: list[str], wanted: Digits, digits: str) -> str:
    """Write digits in groups, of which the first may be missing; what is left of them."""
    for number, (size, is_exact) in enumerate(wanted.groups):
        if number and text and text[-1].isdigit():
            text.append(",")
        elif number:
            _put_space(text)
        for digit in digits[:size]:
            if digit != " ":
                text.append(digit)
            elif is_exact:
                text.append("0")
            else:
                _put_space(text)
        digits = digits[size:]
    return digits


def _put_sign(text: list[str], part: str, is_negative: bool) -> None:
    if part == DOLLAR:
        text.append("$")
    elif part == OPENS:
        text += "<" * is_negative
    elif part == SIGN or (part in (MINUS, CLOSES) and is_negative):
        _drop_lone_point(text)
        sign = ">" if part == CLOSES else "-" if is_negative else "+"
        place = len(text)
        while place > 0 and text[place - 1] == " ":
            place -= 1
        text.insert(place, sign)
    else:
        if part == CLOSES:
            _drop_lone_point(text)
        text += " " if part == MINUS else "  "


def _put_space(text: list[str]) -> None:
    """A space, before signs that stand last."""
    place = len(text)
    while place > 0 and text[place - 1] in _BEFORE_A_SPACE:
        place -= 1
    text.insert(place, " ")


def _drop_lone_point(text: list[Any]) -> None:
    """A point that no digit follows becomes a space."""
    if "." in text:
        place = text.index(".")
        if place + 1 == len(text) or text[place + 1] == " ":
            text[place] = " "
