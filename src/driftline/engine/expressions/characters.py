"""Numbers written as digits, a whole column at a time: a table of characters, one row for each
text, from which the texts are cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from driftline.engine.expressions.arrays import Array, Mask, Numbers
from driftline.plan.types import STRING

Characters = npt.NDArray[np.uint8]
"""A row of ASCII characters for each text."""

_ZERO = ord("0")


def digits(values: Numbers, width: int) -> Characters:
    """Numbers from 0 as decimal digits, filled up with zeros.

    >>> digits(np.array([7, 42]), 3).tobytes()
    b'007042'
    """
    table = np.empty((len(values), width), dtype=np.uint8)
    rest = np.asarray(values, dtype=np.int64)
    for place in range(width - 1, -1, -1):
        rest, digit = rest // 10, rest % 10
        table[:, place] = digit + _ZERO
    return table


def joined(parts: list[Characters | str], length: int) -> Characters:
    """Tables side by side; a text stands in every row."""
    tables = [
        np.broadcast_to(np.frombuffer(part.encode("ascii"), dtype=np.uint8), (length, len(part)))
        if isinstance(part, str)
        else part
        for part in parts
    ]
    return np.concatenate(tables, axis=1)


def from_characters(table: Characters, written: Numbers | None, valid: Mask | None) -> Array:
    """The texts of a table: all of each row, or as many characters as `written` says."""
    length, width = table.shape
    if written is None:
        lengths: Numbers = np.full(length, width)
        data = table.tobytes()
    else:
        lengths = written
        data = table[np.arange(width)[None, :] < written[:, None]].tobytes()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    validity: Any = None
    if valid is not None and not valid.all():
        validity = pa.array(valid).buffers()[1]
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(STRING, length, buffers)


def date_characters(days: Numbers) -> Characters:
    """Days since 1970-01-01 as yyyy-MM-dd, for the years 0 to 9999."""
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    years = months.astype("datetime64[Y]").astype(np.int64) + 1970
    month = months.astype(np.int64) % 12 + 1
    day = (dates - months.astype("datetime64[D]")).astype(np.int64) + 1
    return joined([digits(years, 4), "-", digits(month, 2), "-", digits(day, 2)], len(days))


def clock_characters(seconds: Numbers) -> list[Characters | str]:
    """Seconds of the day as HH:mm:ss, in parts."""
    hours, minutes = seconds // 3600, seconds // 60 % 60
    return [digits(hours, 2), ":", digits(minutes, 2), ":", digits(seconds % 60, 2)]
