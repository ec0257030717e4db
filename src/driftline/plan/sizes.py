"""The limits of a query as people write and read them: sizes of memory, numbers of steps."""

from __future__ import annotations

import re

from driftline.plan.errors import PlanError

DEFAULT_EXPANSION = "2GB"
DEFAULT_STEPS = "10000000"
ENDLESS = (1 << 63) - 1
_WITHOUT_END = ("inf", "infinite", "unbounded")
_UNITS = {"": 0, "B": 0, "KB": 1, "MB": 2, "GB": 3, "TB": 4}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?B?)", re.IGNORECASE)


def size_of(given: object) -> int:
    """The bytes of a size as it is written.

    >>> size_of("8GB"), size_of("1.5 MB"), size_of(4096), size_of("inf") == ENDLESS
    (8000000000, 1500000, 4096, True)
    >>> size_of("much")
    Traceback (most recent call last):
    driftline.plan.errors.PlanError: max_expansion is a number of bytes, such as '8GB' or '500MB', \
or inf, not 'much'
    """
    text = str(given).strip()
    if text.lower() in _WITHOUT_END:
        return ENDLESS
    found = _SIZE.fullmatch(text)
    if found is None or isinstance(given, bool) or float(found[1]) <= 0:
        raise PlanError(
            f"max_expansion is a number of bytes, such as '8GB' or '500MB', or inf, not {given!r}"
        )
    unit = found[2].upper()
    return int(float(found[1]) * 1000 ** _UNITS[unit if unit.endswith("B") else f"{unit}B"])


def steps_of(given: object) -> int:
    """A number of steps as it is written.

    >>> steps_of("1000"), steps_of(7), steps_of("inf") == ENDLESS
    (1000, 7, True)
    >>> steps_of("-1")
    Traceback (most recent call last):
    driftline.plan.errors.PlanError: max_steps is how many steps an attempt to match a pattern may \
take, a number from 1 on or inf, not '-1'
    """
    text = str(given).strip()
    if text.lower() in _WITHOUT_END:
        return ENDLESS
    if isinstance(given, bool) or not (text.isascii() and text.isdecimal()) or int(text) < 1:
        raise PlanError(
            "max_steps is how many steps an attempt to match a pattern may take, a number from 1 "
            f"on or inf, not {given!r}"
        )
    return min(int(text), ENDLESS)


def shown(nbytes: int) -> str:
    """A size for a person.

    >>> shown(950), shown(2_000_000_000), shown(9_600_000_000)
    ('950 bytes', '2 GB', '9.6 GB')
    """
    for unit, power in reversed(_UNITS.items()):
        if power and nbytes >= 1000**power:
            return f"{nbytes / 1000**power:.3g} {unit}"
    return f"{nbytes} bytes"


def next_size(nbytes: float) -> str:
    """A round size above another.

    >>> next_size(9_600_000_000)
    '10GB'
    """
    power = max((p for p in _UNITS.values() if nbytes >= 1000**p), default=0)
    unit = next(name for name, p in _UNITS.items() if p == power and (name or not power))
    return f"{int(nbytes // 1000**power) + 1}{unit}"
