"""Dates and times as text, the way Spark's CAST reads and writes them.

Days count from 1970-01-01 in the proleptic Gregorian calendar, with years before 1 and after
9999; times are microseconds. The session's time zone is UTC.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

EPOCH = date(1970, 1, 1)
SECOND = 1_000_000
"""Microseconds."""
DAY = 86_400 * SECOND
"""Microseconds."""

_DATE = re.compile(
    r"([+-]?)(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.DOTALL | re.ASCII
)
_TIMESTAMP = re.compile(
    r"([+-]?)(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})"
    r"(?:[ T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?(.*))?)?)?)?)?",
    re.ASCII,
)
_TIME = re.compile(
    r"(?:T(?=\d{1,2}$)|T?(?=\d{1,2}:))(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?)?", re.ASCII
)
_NOON = 12
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2}))?(?::?(\d{2}))?", re.ASCII)
_MAX_OFFSET = timedelta(hours=18)
_DAYS_OF_ERA = 146_097
_YEARS_OF_ERA = 400
_MARCH = 3
_BEFORE_EPOCH = 719_468
SPACES = "".join(map(chr, [*range(0x21), 0x7F]))
"""What CAST removes around a text: blanks and control characters."""
_INT32, _INT64 = 1 << 31, 1 << 63


def days_of(year: int, month: int, day: int) -> int | None:
    """The days from 1970-01-01 to a date of the proleptic Gregorian calendar, or None.

    >>> days_of(1970, 1, 2), days_of(2023, 2, 29), days_of(0, 1, 1)
    (1, None, -719528)
    """
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    lengths = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not 1 <= month <= len(lengths) or not 1 <= day <= lengths[month - 1]:
        return None
    year -= month < _MARCH
    era, year_of_era = divmod(year, _YEARS_OF_ERA)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * _DAYS_OF_ERA + day_of_era - _BEFORE_EPOCH


def civil_of(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970-01-01.

    >>> civil_of(0), civil_of(-719528)
    ((1970, 1, 1), (0, 1, 1))
    """
    era, day_of_era = divmod(days + _BEFORE_EPOCH, _DAYS_OF_ERA)
    year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = (shifted + 2) % 12 + 1
    year = year_of_era + era * _YEARS_OF_ERA + (month < _MARCH)
    return year, month, day_of_year - (153 * shifted + 2) // 5 + 1


def parse_date(text: str) -> int | None:
    """The days that a text means as a DATE, or None if it means none.

    >>> parse_date("1970-1-2"), parse_date(" 1970-01-02T10 "), parse_date("1970/01/02")
    (1, 1, None)
    """
    match = _DATE.fullmatch(text.strip(SPACES))
    if match is None:
        return None
    sign, year, month, day = match.groups()
    days = days_of(int(sign + year), int(month or 1), int(day or 1))
    return days if days is not None and -_INT32 <= days < _INT32 else None


def parse_timestamp(text: str, zoned: bool = True) -> int | None:
    """The microseconds that a text means as a TIMESTAMP, or None if it means none.

    A time without a date, and words such as `now`, would mean another time each day, so they
    mean none here.

    >>> parse_timestamp("1970-01-01 00:00:01.5"), parse_timestamp("1970-01-01T01:00:00+01:00")
    (1500000, 0)
    """
    match = _TIMESTAMP.fullmatch(text.strip(SPACES))
    if match is None:
        return None
    sign, year, month, day, hour, minute, second, fraction, zone = match.groups()
    days = days_of(int(sign + year), int(month or 1), int(day or 1))
    hours, minutes, seconds = int(hour or 0), int(minute or 0), int(second or 0)
    if days is None or hours > 23 or minutes > 59 or seconds > 59:  # noqa: PLR2004 - a clock's limits
        return None
    micros = days * DAY + ((hours * 60 + minutes) * 60 + seconds) * SECOND
    micros += int((fraction or "")[:6].ljust(6, "0"))
    if zone:
        offset = _offset(zone.strip(SPACES), micros)
        if offset is None:
            return None
        micros -= offset if zoned else 0
    return micros if -_INT64 <= micros < _INT64 else None


def _offset(zone: str, local_micros: int) -> int | None:
    """The offset of a zone from UTC in microseconds at a local time, or None."""
    if zone in ("Z", "UTC", "GMT", "UT"):
        return 0
    match = _OFFSET.fullmatch(zone)
    if match is not None:
        sign, hours, minutes, seconds = match.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
        if offset > _MAX_OFFSET or int(minutes or 0) > 59:  # noqa: PLR2004
            return None
        return (-1 if sign == "-" else 1) * (offset // timedelta(microseconds=1))
    try:
        local = datetime(1970, 1, 1) + timedelta(microseconds=local_micros)
        offset_at = ZoneInfo(zone).utcoffset(local)
    except (ZoneInfoNotFoundError, ValueError, OverflowError, OSError):
        return None
    return None if offset_at is None else offset_at // timedelta(microseconds=1)


def format_date_sql(days: int) -> str:
    """A DATE as CAST writes it.

    >>> format_date_sql(0), format_date_sql(-719529)
    ('1970-01-01', '-0001-12-31')
    """
    year, month, day = civil_of(days)
    return f"{_year(year)}-{month:02d}-{day:02d}"


def format_timestamp_sql(micros: int) -> str:
    """A TIMESTAMP as CAST writes it, with as much of the fraction as is not zero.

    >>> format_timestamp_sql(1_500_000)
    '1970-01-01 00:00:01.5'
    """
    days, of_day = divmod(micros, DAY)
    seconds, fraction = divmod(of_day, SECOND)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    tail = f".{fraction:06d}".rstrip("0") if fraction else ""
    return f"{format_date_sql(days)} {clock}{tail}"


def _year(year: int) -> str:
    if year < 0:
        return f"-{-year:04d}"
    return f"{year:04d}" if year <= 9999 else f"+{year}"  # noqa: PLR2004 - ISO 8601's limit


def parse_time(text: str) -> int | None:
    """The microseconds of the day that a text means as a TIME, or None if it means none.

    >>> parse_time("1:02"), parse_time("12:00:00.5 am"), parse_time("24:00")
    (3720000000, 500000, None)
    """
    body = text.strip(SPACES)
    half = body[-2:].upper()
    if half in ("AM", "PM"):
        body = body[:-2].rstrip(SPACES)
    match = _TIME.fullmatch(body)
    if match is None:
        return None
    hour, minute, second = (int(match[place] or 0) for place in (1, 2, 3))
    if half in ("AM", "PM"):
        if not 1 <= hour <= _NOON:
            return None
        hour = hour % _NOON + (_NOON if half == "PM" else 0)
    if hour > 23 or minute > 59 or second > 59:  # noqa: PLR2004 - a clock's limits
        return None
    fraction = int((match[4] or "0")[:6].ljust(6, "0"))
    return ((hour * 60 + minute) * 60 + second) * SECOND + fraction


def format_time(micros: int) -> str:
    """A TIME as CAST writes it.

    >>> format_time(3_723_500_000)
    '01:02:03.5'
    """
    seconds, fraction = divmod(micros, SECOND)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{clock}.{fraction:06d}".rstrip("0") if fraction else clock
