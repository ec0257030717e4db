"""ISO 8601 times in a kernel: the results of `time.parse_timestamp`, straight from bytes."""

from __future__ import annotations

from driftline.kernels import compiled
from driftline.model.arrays import Bytes
from driftline.model.time import BEGINNING

NO_TIME = BEGINNING
"""What the kernel gives for text that is no time; no ISO text means this tick."""

_DATE, _MINUTES, _SECONDS = len("2024-05-01"), len("2024-05-01T09:30"), len("2024-05-01T09:30:00")
_TICKS = 1_000_000
_FINEST = 6
_MOST_FRACTION_DIGITS = 9
_ZERO, _NINE, _DASH, _COLON, _DOT = ord("0"), ord("9"), ord("-"), ord(":"), ord(".")
_MONTHS, _LAST_HOUR, _LAST_MINUTE, _LAST_SECOND = 12, 23, 59, 59
_FEBRUARY = 2
_PLUS, _T, _SPACE, _Z = ord("+"), ord("T"), ord(" "), ord("Z")


@compiled
def iso_ticks(text: Bytes, start: int, end: int) -> int:
    """The ticks of the ISO time in text[start:end], or NO_TIME."""
    if end - start < _DATE:
        return NO_TIME
    year = _digits(text, start, 4)
    month, day = _digits(text, start + 5, 2), _digits(text, start + 8, 2)
    if text[start + 4] != _DASH or text[start + 7] != _DASH:
        return NO_TIME
    if year < 0 or not 1 <= month <= _MONTHS or not 1 <= day <= _days_in(year, month):
        return NO_TIME
    ticks = _days_since_1970(year, month, day) * 86_400 * _TICKS
    if end - start == _DATE:
        return ticks
    mark = text[start + _DATE]
    if end - start < _MINUTES or (mark != _T and mark != _SPACE):
        return NO_TIME
    hour, minute = _digits(text, start + 11, 2), _digits(text, start + 14, 2)
    if text[start + 13] != _COLON or not 0 <= hour <= _LAST_HOUR or not 0 <= minute <= _LAST_MINUTE:
        return NO_TIME
    ticks += (hour * 3_600 + minute * 60) * _TICKS
    at = start + _MINUTES
    if at < end and text[at] == _COLON:
        if end - start < _SECONDS:
            return NO_TIME
        second = _digits(text, at + 1, 2)
        if not 0 <= second <= _LAST_SECOND:
            return NO_TIME
        ticks += second * _TICKS
        at = start + _SECONDS
    if at < end and text[at] == _DOT:
        at += 1
        unit, digits = _TICKS, 0
        while at < end and digits < _MOST_FRACTION_DIGITS and _ZERO <= text[at] <= _NINE:
            digits += 1
            if digits <= _FINEST:
                unit //= 10
                ticks += (text[at] - _ZERO) * unit
            elif text[at] != _ZERO:
                return NO_TIME
            at += 1
        if digits == 0:
            return NO_TIME
    if at == end or (text[at] == _Z and at + 1 == end):
        return ticks
    sign = 1 if text[at] == _PLUS else -1
    if text[at] != _PLUS and text[at] != _DASH:
        return NO_TIME
    colon = 1 if end - at == len("+00:00") and text[at + 3] == _COLON else 0
    if end - at != len("+0000") + colon:
        return NO_TIME
    hours, minutes = _digits(text, at + 1, 2), _digits(text, at + 3 + colon, 2)
    if not 0 <= hours <= _LAST_HOUR or not 0 <= minutes <= _LAST_MINUTE:
        return NO_TIME
    return ticks - sign * (hours * 3_600 + minutes * 60) * _TICKS


@compiled
def _digits(text: Bytes, start: int, count: int) -> int:
    """The number that `count` digits say, or -1 if they are not all digits."""
    number = 0
    for i in range(start, start + count):
        if not _ZERO <= text[i] <= _NINE:
            return -1
        number = number * 10 + (text[i] - _ZERO)
    return number


@compiled
def _days_in(year: int, month: int) -> int:
    if month == _FEBRUARY:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


@compiled
def _days_since_1970(year: int, month: int, day: int) -> int:
    """Days in the proleptic Gregorian calendar, counting years from March."""
    if month <= _FEBRUARY:
        year -= 1
        month += 12
    day_of_year = (153 * (month - 3) + 2) // 5 + day - 1
    return 365 * year + year // 4 - year // 100 + year // 400 + day_of_year - 719_468
