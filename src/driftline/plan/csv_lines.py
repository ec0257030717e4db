"""Lines of CSV as Spark reads them: how they are cut into values, and the types these have."""

from __future__ import annotations

import re
from collections.abc import Mapping

from driftline.plan.literals import fits
from driftline.plan.temporal import parse_date, parse_time, parse_timestamp
from driftline.plan.types import BIGINT, INT, MAX_PRECISION

WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(
    r"\s*([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fFdD]?|[+-]?Infinity|-?Inf|NaN)\s*", re.ASCII
)
_ESCAPED = {"\\t": "\t", "\\\\": "\\", "\\n": "\n", "\\r": "\r"}


class Line:
    """How a line is cut into values, by options whose names are in lower case."""

    def __init__(self, options: Mapping[str, str]) -> None:
        sep = options.get("sep", options.get("delimiter", ","))
        self.sep = _ESCAPED.get(sep, sep)
        self.quote, self.escape = options.get("quote", '"'), options.get("escape", "\\")
        self.leading = options.get("ignoreleadingwhitespace", "").lower() == "true"
        self.trailing = options.get("ignoretrailingwhitespace", "").lower() == "true"
        self.empty = options.get("emptyvalue", "")

    def cut(self, text: str) -> list[str]:
        """The values of a line."""
        values, place = [], 0
        while True:
            value, place = self._value(text, place)
            values.append(value)
            if place >= len(text):
                return values
            place += len(self.sep)
            if place == len(text):
                return [*values, ""]

    def _value(self, text: str, start: int) -> tuple[str, int]:
        """The value that begins at a place, and where the separator after it is."""
        if self.leading:
            while start < len(text) and text[start] <= " " and not text.startswith(self.sep, start):
                start += 1
        if text.startswith(self.quote, start):
            quoted = self._quoted(text, start + 1)
            if quoted is not None:
                return quoted
        end = text.find(self.sep, start)
        end = len(text) if end < 0 else end
        value = text[start:end]
        return (value.rstrip(" \t") if self.trailing else value), end

    def _quoted(self, text: str, place: int) -> tuple[str, int] | None:
        """A value in quotes; None if there is a quote in it that ends nothing."""
        found: list[str] = []
        while place < len(text):
            each = text[place]
            if each == self.escape and text[place + 1 : place + 2] in (self.quote, self.escape):
                found.append(text[place + 1])
                place += 2
                continue
            if each != self.quote:
                found.append(each)
                place += 1
                continue
            place += 1
            after = place
            while after < len(text) and text[after] <= " " and not text.startswith(self.sep, after):
                after += 1
            if after == len(text) or text.startswith(self.sep, after):
                return "".join(found) or self.empty, after
            if text[place] != self.quote:
                return None
            found.append(self.quote)
        return "".join(found), place


def type_of_text(text: str) -> str:
    """The type of a value, as Spark infers it.

    >>> [type_of_text(text) for text in ("1", "1.5", "2024-01-01", "x", "")]
    ['INT', 'DOUBLE', 'DATE', 'STRING', 'STRING']
    """
    if WHOLE.fullmatch(text):
        number, digits = int(text), len(text.lstrip("+-0"))
        if digits > MAX_PRECISION:
            return "DOUBLE"
        return (
            "INT"
            if fits(number, INT)
            else "BIGINT"
            if fits(number, BIGINT)
            else f"DECIMAL({digits},0)"
        )
    if _NUMBER.fullmatch(text):
        return "DOUBLE"
    if parse_date(text) is not None and ":" not in text:
        return "DATE"
    if parse_timestamp(text) is not None:
        return "TIMESTAMP"
    if parse_time(text) is not None:
        return "TIME(6)"
    return "BOOLEAN" if text.lower() in ("true", "false") else "STRING"
