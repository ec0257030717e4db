"""Distinct, a snapshot operator.

    with n copies of a row alive:   1 if n > 0

Nulls are equal to each other here, as SQL's set operators have it.
"""

from __future__ import annotations

from collections import Counter

from driftline.model.history import History, rows_of
from driftline.model.reference.snapshot_operator import snapshot_operator


def distinct(history: History) -> History:
    return snapshot_operator(lambda alive: Counter(rows_of(alive).keys()), history)
