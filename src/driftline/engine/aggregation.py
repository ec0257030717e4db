"""Which group-by computes some aggregates.

γ_{keys; aggregates}(H): additive when every aggregate is, else by the rows of every snapshot
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from driftline.engine.additive.aggregates import Aggregate
from driftline.engine.additive.group_by import GroupBy
from driftline.model.level import Level

if TYPE_CHECKING:
    from driftline.engine.by_rows.general_aggregates import GeneralGroupBy


def group_by(
    schema: pa.Schema,
    keys: list[str],
    aggregates: list[Aggregate],
    level: Level,
    *,
    only_grows: bool = False,
) -> GroupBy | GeneralGroupBy:
    """The fastest operator that computes the aggregates; `only_grows`: of its input nothing is ever
    taken back.

    >>> schema = pa.schema([("k", pa.string()), ("x", pa.int64())])
    >>> total = Aggregate("total", "sum", "x", pa.int64())
    >>> middle = Aggregate("middle", "median", "x", pa.float64())
    >>> type(group_by(schema, ["k"], [total], Level.ORDERED)).__name__
    'GroupBy'
    >>> type(group_by(schema, ["k"], [total, middle], Level.ORDERED)).__name__
    'GeneralGroupBy'
    """
    is_fast = all(aggregate.is_fast(schema) for aggregate in aggregates)
    if is_fast:
        return GroupBy(schema, keys, aggregates, level, only_grows=only_grows)
    from driftline.engine.by_rows.general_aggregates import GeneralGroupBy

    return GeneralGroupBy(schema, keys, aggregates, level)
