"""Union.

    union all:   L ∪ R as bags of lifetimes
    union:       distinct(L ∪ R)

Union all keeps every lifetime as it is.
"""

from __future__ import annotations

from driftline.model.history import History
from driftline.model.reference.distinct import distinct


def union_all(left: History, right: History) -> History:
    return left + right


def union(left: History, right: History) -> History:
    return distinct(union_all(left, right))
