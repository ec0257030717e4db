"""Select.

    σ_p(H) = { (vs, ve, r) ∈ H : p(r) is true }

A predicate that is null does not select, as in SQL.
"""

from __future__ import annotations

from collections.abc import Callable

from driftline.model.history import History
from driftline.model.row import Row


def select(history: History, predicate: Callable[[Row], bool | None]) -> History:
    return History(lifetime for lifetime in history if predicate(lifetime.row) is True)
