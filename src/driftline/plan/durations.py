"""Durations as people write and read them: "5 minutes", "250ms", "1h 30m", a number of ticks."""

from __future__ import annotations

import re
from datetime import timedelta

from driftline.model.time import INFINITY, TICKS_PER_SECOND
from driftline.plan.errors import PlanError

Duration = int | str | timedelta
"""Ticks, a text, or Python's own."""

_MILLISECOND = TICKS_PER_SECOND // 1000
_UNITS = {
    "us": 1,
    "microsecond": 1,
    "ms": _MILLISECOND,
    "millisecond": _MILLISECOND,
    "s": TICKS_PER_SECOND,
    "sec": TICKS_PER_SECOND,
    "second": TICKS_PER_SECOND,
    "m": 60 * TICKS_PER_SECOND,
    "min": 60 * TICKS_PER_SECOND,
    "minute": 60 * TICKS_PER_SECOND,
    "h": 3600 * TICKS_PER_SECOND,
    "hour": 3600 * TICKS_PER_SECOND,
    "d": 86400 * TICKS_PER_SECOND,
    "day": 86400 * TICKS_PER_SECOND,
    "w": 7 * 86400 * TICKS_PER_SECOND,
    "week": 7 * 86400 * TICKS_PER_SECOND,
}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*")


def ticks(duration: Duration, timestamps: bool) -> int:
    """A duration in ticks of a stream.

    >>> ticks("5 minutes", timestamps=True), ticks("1h 30m", timestamps=True), ticks(7, False)
    (300000000, 5400000000, 7)
    >>> ticks("inf", timestamps=True) == INFINITY
    True
    """
    if isinstance(duration, timedelta):
        duration = f"{duration // timedelta(microseconds=1)} us"
    if isinstance(duration, int) and not isinstance(duration, bool):
        return _checked(duration, duration)
    if not isinstance(duration, str):
        raise PlanError(f"{duration!r} is not a duration such as 5, '5 minutes', '250ms' or 'inf'")
    text = duration.strip().lower()
    if text.startswith("interval"):  # INTERVAL '5' SECOND, as SQL has it
        text = text.removeprefix("interval").replace("'", "").strip()
    if text in ("inf", "infinite", "unbounded", "∞"):
        return INFINITY
    if re.match(r"-\s*\.?\d", text):
        raise PlanError(f"a duration cannot be negative, as {duration!r} is")
    if text.lstrip("+").isdigit():
        if timestamps and int(text):  # it would be microseconds, which is hardly meant
            raise PlanError(f"{duration!r} has no unit: write '5s', '2 min' or '1h'")
        return _checked(int(text), duration)
    if not timestamps:
        if re.fullmatch(r"[+-]?[\d.]+", text):
            raise PlanError(f"{duration!r} is not a whole number of ticks")
        raise PlanError(
            f"{duration!r} is a time span, but the stream's time is a plain number: write a "
            "number, or name a column of TIMESTAMPs as its time (time='…')"
        )
    total, place = 0.0, 0
    while place < len(text):
        match = _PART.match(text, place)
        unit = match and (_UNITS.get(match[2]) or _UNITS.get(match[2].removesuffix("s")))
        if not match or not unit:
            raise PlanError(f"{duration!r} is not a duration such as '5 minutes', '250ms' or '1h'")
        total += float(match[1]) * unit
        place = match.end()
    if not text or total != int(total):
        raise PlanError(f"{duration!r} is not a whole number of microseconds")
    return _checked(int(total), duration)


def is_unit(word: str) -> bool:
    """Whether a word is a unit of time, such as `minutes` or `s`."""
    word = word.lower()
    return word in _UNITS or word.removesuffix("s") in _UNITS


def span(ticks: int, timestamps: bool) -> str:
    """A duration as it would be written.

    >>> span(300_000_000, True), span(250_000, True), span(7, False), span(INFINITY, True)
    ('5 min', '250 ms', '7', '∞')
    """
    if ticks == INFINITY:
        return "∞"
    if not timestamps:
        return str(ticks)
    for unit in ("d", "h", "min", "s", "ms"):
        if ticks and ticks % _UNITS[unit] == 0:
            return f"{ticks // _UNITS[unit]} {unit}"
    return f"{ticks} µs"


def _checked(number: int, duration: int | str) -> int:
    if number < 0:
        raise PlanError(f"a duration cannot be negative, as {duration!r} is")
    return min(number, INFINITY)
