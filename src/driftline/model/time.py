"""Application time: 64-bit integer ticks, with infinity as the largest value.

A TIMESTAMP stream ticks in microseconds since 1970-01-01 UTC; an integer stream in its own
units. Nothing else in Driftline knows which of the two a stream is, except where times are read
from text or shown to people.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

INFINITY = 2**63 - 1
"""The time that never comes. The end of a lifetime that has no known end."""

BEGINNING = -(2**63)
"""Before every time; the watermark of a stream that has emitted nothing yet."""

ORIGIN = 0
"""Where application time starts, for external ctis."""

TICKS_PER_SECOND = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FINEST_FRACTION_DIGITS = 6
_ISO = re.compile(
    r"(?P<year>\d{4}|[+-]\d{4,6})-(?P<day>\d{2}-\d{2})"
    r"(?:[T ](?P<time>\d{2}:\d{2}(?::\d{2})?)(?:\.(?P<fraction>\d{1,9}))?"
    r"(?P<zone>Z|[+-]\d{2}:?\d{2})?)?",
    re.ASCII,
)


_ERA = 400
"""The calendar repeats after so many years."""
_ERA_DAYS = 146_097
_ERA_TICKS = _ERA_DAYS * 86_400 * TICKS_PER_SECOND
_LAST_SHORT_YEAR = 9999


def plus(time: int, duration: int) -> int:
    """`time + duration`, where infinity absorbs and nothing goes past it.

    >>> plus(3, 4), plus(INFINITY, -5) == INFINITY, plus(5, INFINITY) == INFINITY
    (7, True, True)
    """
    if INFINITY in (time, duration):
        return INFINITY
    return max(BEGINNING, min(INFINITY, time + duration))


def total(left: int, right: int) -> int:
    """`left + right`, of times that are computed: as `plus`, but the beginning, which is what is
    left of anything less infinity, stays it, too.

    >>> total(3, 4), total(BEGINNING, 5) == BEGINNING, total(BEGINNING, INFINITY) == INFINITY
    (7, True, True)
    """
    if BEGINNING in (left, right) and INFINITY not in (left, right):
        return BEGINNING
    return plus(left, right)


def opposite(time: int) -> int:
    """`-time`, where the opposite of infinity is the beginning; `a - b` is `total(a, opposite(b))`,
    so that infinity less infinity is infinity.

    >>> opposite(3), opposite(INFINITY) == BEGINNING, opposite(BEGINNING) == INFINITY
    (-3, True, True)
    """
    if time == INFINITY:
        return BEGINNING
    return INFINITY if time == BEGINNING else -time


def times(time: int, factor: int) -> int:
    """`time · factor`, where 0 times infinity is 0, and nothing goes past infinity: less than 0
    times infinity is the beginning.

    >>> times(3, 4), times(INFINITY, 2) == INFINITY, times(INFINITY, -1) == BEGINNING
    (12, True, True)
    """
    if {time, factor} & {INFINITY, BEGINNING} and time * factor != 0:
        return INFINITY if (time < 0) == (factor < 0) else BEGINNING
    return max(BEGINNING, min(INFINITY, time * factor))


def parse_timestamp(text: str) -> int:
    """The ticks of an ISO 8601 date or date and time; without a zone it is UTC.

    >>> parse_timestamp("1970-01-01T00:00:01.5Z")
    1500000
    >>> parse_timestamp("1970-01-02")
    86400000000

    A year before 0 or after 9999 has a sign.

    >>> parse_timestamp("+10000-01-01")
    253402300800000000
    """
    match = _ISO.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an ISO 8601 time such as 2024-05-01T09:30:00Z")
    fraction = match["fraction"] or ""
    if fraction[_FINEST_FRACTION_DIGITS:].strip("0"):
        raise ValueError(f"{text!r} is finer than a microsecond, the tick of a TIMESTAMP stream")
    year = int(match["year"])
    era, of_era = divmod(year, _ERA)
    try:
        # The same day of a year that Python knows, in the calendar's next era.
        day = f"{of_era + _ERA:04d}-{match['day']}"
        whole = datetime.fromisoformat(f"{day}T{match['time'] or '00:00:00'}")
        zone = (match["zone"] or "Z").replace(":", "")
        offset = timedelta() if zone == "Z" else _zone_offset(zone)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time: {error}") from None
    ticks = (whole.replace(tzinfo=UTC) - _EPOCH - offset) // _MICROSECOND + (era - 1) * _ERA_TICKS
    ticks += int(fraction[:_FINEST_FRACTION_DIGITS].ljust(_FINEST_FRACTION_DIGITS, "0"))
    if not BEGINNING < ticks < INFINITY:
        raise ValueError(f"{text!r} is farther away than 64 bits of microseconds reach")
    return ticks


def _zone_offset(zone: str) -> timedelta:
    hours, minutes = int(zone[1:3]), int(zone[3:5])
    if hours > 23 or minutes > 59:  # noqa: PLR2004 - the hours of a day, the minutes of an hour
        raise ValueError("the zone offset is out of range")
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if zone[0] == "-" else offset


def format_timestamp(ticks: int) -> str:
    """ISO 8601 in UTC, with as much of the fraction as is not zero.

    >>> format_timestamp(1_500_000), format_timestamp(0)
    ('1970-01-01T00:00:01.5Z', '1970-01-01T00:00:00Z')

    A year before 0 or after 9999 has a sign, as ISO 8601 and Spark have it.

    >>> format_timestamp(2**62)
    '+148108-07-06T14:00:27.387904Z'
    """
    era, of_era = divmod(ticks, _ERA_TICKS)
    moment = _EPOCH + timedelta(microseconds=of_era)
    fraction = f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else ""
    return f"{_year(moment.year + era * _ERA)}-{moment:%m-%dT%H:%M:%S}{fraction}Z"


def format_date(days: int) -> str:
    """ISO 8601 of so many days after 1970-01-01; a year before 0 or after 9999 has a sign.

    >>> format_date(0), format_date(2_932_897), format_date(-800_000)
    ('1970-01-01', '+10000-01-01', '-0221-09-04')
    """
    era, of_era = divmod(days, _ERA_DAYS)
    moment = _EPOCH + timedelta(days=of_era)
    return f"{_year(moment.year + era * _ERA)}-{moment:%m-%d}"


def _year(year: int) -> str:
    sign = "-" if year < 0 else "+" if year > _LAST_SHORT_YEAR else ""
    return f"{sign}{abs(year):04d}"


def moment(ticks: int, timestamps: bool) -> int | datetime:
    """A time as Python has it: a datetime, if it is a TIMESTAMP; ∞, and what is before the year 1
    or after 9999, are numbers.

    >>> moment(0, True), moment(5, False), moment(INFINITY, True) == INFINITY
    (datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), 5, True)
    """
    try:
        return _EPOCH + timedelta(microseconds=ticks) if timestamps else ticks
    except OverflowError:
        return ticks


def show(ticks: int, timestamps: bool = False) -> str:
    """A time as people read it.

    >>> show(5), show(INFINITY), show(0, timestamps=True)
    ('5', '∞', '1970-01-01T00:00:00Z')
    """
    if ticks == INFINITY:
        return "∞"
    if ticks == BEGINNING:
        return "-∞"
    return format_timestamp(ticks) if timestamps else str(ticks)
