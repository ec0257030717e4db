"""Group by, a snapshot operator; without keys, the global aggregate.

    γ_{keys; aggregates}(H), at every time:
        one row (keys, aggregates of the group) for every group of the snapshot that is not empty

Rows with equal keys are one group, and null is a key like any other. A snapshot with nothing in it
gives no row, grouped or not. HAVING is a select on the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from driftline.model.history import Bag, History, Lifetime
from driftline.model.reference.aggregates import Aggregate, Argument
from driftline.model.reference.snapshot_operator import snapshot_operator
from driftline.model.row import Row


def group_by(
    history: History, keys: Mapping[str, Argument], aggregates: Mapping[str, Aggregate]
) -> History:
    def operate(alive: Sequence[Lifetime]) -> Bag:
        groups: dict[Row, list[Lifetime]] = {}
        for lifetime in alive:
            key = Row({name: key(lifetime.row) for name, key in keys.items()})
            groups.setdefault(key, []).append(lifetime)
        return Counter(
            Row({**key, **{name: aggregate(group) for name, aggregate in aggregates.items()}})
            for key, group in groups.items()
        )

    return snapshot_operator(operate, history)
