"""Room for long chains and deep nests of operands.

Python counts the calls that wait for one another and stops at a thousand. Evaluating `x + x + …`
takes some for every operand; they are calls from Python to Python, which need no stack of the
machine, so the count is all that has to be raised.
"""

from __future__ import annotations

import sys

_USUAL = 1000


def make_room(calls: int) -> None:
    """Lets that many more calls wait for one another than are usual. It is never taken back, since
    another thread may need it."""
    if sys.getrecursionlimit() < calls + _USUAL:
        sys.setrecursionlimit(calls + _USUAL)
