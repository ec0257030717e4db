"""Minus, a snapshot operator.

with n copies of a row alive in L and m in R:
    minus all   max(0, n - m)
    minus       1 if n > 0 and m = 0
"""

from __future__ import annotations

from driftline.model.history import History, rows_of
from driftline.model.reference.distinct import distinct
from driftline.model.reference.snapshot_operator import snapshot_operator


def minus_all(left: History, right: History) -> History:
    return snapshot_operator(lambda one, other: rows_of(one) - rows_of(other), left, right)


def minus(left: History, right: History) -> History:
    return minus_all(distinct(left), distinct(right))
