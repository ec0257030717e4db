"""from_utc_timestamp and to_utc_timestamp: moments as the clocks of a time zone show them.

The clock of a zone is not shown twice, or not shown at all, where it is put forward or back: a time
that it shows twice is the first of both, and one that it does not show goes by the offset before,
as in Java.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions.arrays import Array, Value, as_array, is_scalar, per_distinct
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.types import TIMESTAMP

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?")
_SHORT = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
"""Short names of zones, as Java has them."""
_LONGEST_OFFSET = timedelta(hours=18)
_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1)
_CYCLE = 146_097 * 86_400_000_000
"""400 years, after which the calendar, and with it the rules of all zones, begins anew."""
_FIRST = (datetime(2, 1, 1) - _EPOCH) // _MICROSECOND
_LAST = (datetime(9999, 1, 1) - _EPOCH) // _MICROSECOND
_RULES = (datetime(2037, 1, 1) - _EPOCH) // _MICROSECOND
"""Up to here Arrow knows when clocks are changed."""


@lru_cache(maxsize=1000)
def zone_of(name: str) -> tzinfo:
    """The time zone of a name (Asia/Seoul) or an offset (+09:00, UTC+9)."""
    if name in ("UTC", "GMT", "UT", "Z"):
        return UTC
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        length = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        if length <= _LONGEST_OFFSET:
            return timezone(length if offset[1] == "+" else -length)
    try:
        return ZoneInfo(_SHORT.get(name, name))
    except (ValueError, OSError, KeyError):
        pass
    raise EvaluationError(
        "INVALID_TIMEZONE",
        f"there is no time zone {name!r}: give a name such as Europe/Berlin, or +02:00",
    )


@kernel("from_utc_timestamp to_utc_timestamp", scalars=True)
def _moved(call: Call, args: Sequence[Value]) -> Array:
    moments, zone = args
    to_utc = call.function == "to_utc_timestamp"
    if is_scalar(zone) and not is_scalar(moments):
        at_once = _at_once(moments, zone_of(zone.as_py()), to_utc=to_utc)
        if at_once is not None:
            return at_once
    length = next(len(arg) for arg in args if not is_scalar(arg))
    micros = as_array(moments, length).view(pa.int64())
    shift = _to_utc if to_utc else _from_utc
    return per_distinct(shift, [micros, as_array(zone, length)], pa.int64()).view(TIMESTAMP)


def _at_once(moments: Array, zone: tzinfo, *, to_utc: bool) -> Array | None:
    """All moments by Arrow; None if one of them is shown twice, or not at all."""
    if not isinstance(zone, ZoneInfo):
        length = zone.utcoffset(None)
        assert length is not None
        shift = pa.scalar(length // _MICROSECOND * (-1 if to_utc else 1), pa.int64())
        return pc.add_checked(moments.view(pa.int64()), shift).view(TIMESTAMP)
    bounds = pc.min_max(moments.view(pa.int64()))
    first, last = bounds["min"].as_py(), bounds["max"].as_py()
    if first is not None and not _FIRST <= first <= last < _RULES:
        return None
    try:
        if not to_utc:
            local = pc.local_timestamp(moments.cast(pa.timestamp("us", zone.key)))
            return local.view(pa.int64()).view(TIMESTAMP)
        clock = moments.view(pa.int64()).view(pa.timestamp("us"))
        return pc.assume_timezone(clock, zone.key).view(pa.int64()).view(TIMESTAMP)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _from_utc(micros: int, zone: str) -> int:
    there = _moment(micros).replace(tzinfo=UTC).astimezone(zone_of(zone))
    return micros + _offset(there)


def _to_utc(micros: int, zone: str) -> int:
    return micros - _offset(_moment(micros).replace(tzinfo=zone_of(zone)))


def _moment(micros: int) -> datetime:
    """A moment with the same rules in a year that Python has."""
    if micros < _FIRST:
        micros += -((micros - _FIRST) // _CYCLE) * _CYCLE
    elif micros >= _LAST:
        micros -= (1 + (micros - _LAST) // _CYCLE) * _CYCLE
    return _EPOCH + micros * _MICROSECOND


def _offset(moment: datetime) -> int:
    offset = moment.utcoffset()
    assert offset is not None
    return offset // _MICROSECOND
