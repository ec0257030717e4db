"""Group by with any aggregates, by the rows of every snapshot; without keys, the global aggregate.

    γ_{keys; aggregates}(H), at every time:
        one row (keys, aggregates of the group) for every group of the snapshot that is not empty

Every aggregate is a function of the bag of its argument's values, and, for first, last and
array_agg, of their vs (see `aggregates`). HAVING is a select on the result.

State: see `operator`; of the rows only the arguments are kept. Where pieces share most of their
rows, aggregates follow from the rows that come and go.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from driftline.engine.additive.aggregates import OF_PAIRS, Aggregate
from driftline.engine.by_rows import exact_numbers
from driftline.engine.by_rows.aggregates import (
    FUNCTIONS,
    changed_columns,
    columns,
    goes_by_changes,
)
from driftline.engine.by_rows.piece_values import ChangedPieces, Pieces
from driftline.engine.by_rows.pieces import PiecesOperator
from driftline.model.arrays import Int64s
from driftline.model.level import Level
from driftline.model.user_defined import UserDefinedAggregate


class GeneralGroupBy(PiecesOperator):
    """`keys` are columns of the input; so are the arguments of the aggregates."""

    adds_up = True

    def __init__(
        self, schema: pa.Schema, keys: list[str], aggregates: list[Aggregate], level: Level
    ) -> None:
        for aggregate in aggregates:
            _check(aggregate, schema)
        used = [name for item in aggregates for name in (item.argument, item.only)]
        self.aggregates = aggregates
        self.goes_by_changes = all(map(goes_by_changes, aggregates))
        super().__init__(
            schema,
            keys,
            list(dict.fromkeys(name for name in used if name is not None)),
            pa.schema([pa.field(item.name, item.type) for item in aggregates]),
            level,
            with_keys=True,
        )

    def evaluate(self, pieces: Pieces) -> tuple[Int64s, pa.RecordBatch]:
        found = columns(pieces, self.aggregates)
        return np.arange(len(pieces)), pa.RecordBatch.from_arrays(found, schema=self.answer_schema)

    def evaluate_changes(self, pieces: ChangedPieces) -> tuple[Int64s, pa.RecordBatch] | None:
        found = changed_columns(pieces, self.aggregates)
        if found is None:
            return None
        rows = pa.RecordBatch.from_arrays(found, schema=self.answer_schema)
        return np.arange(len(pieces)), rows


OF_ANY = {"count", "min", "max", "first", "last", "array_agg", "mode", "user_defined"}


def _check(aggregate: Aggregate, schema: pa.Schema) -> None:
    """Refuse what cannot be computed, with the reason."""
    name, function = aggregate.name, aggregate.function
    if function not in FUNCTIONS:
        raise ValueError(f"{name}: there is no aggregate {function!r}")
    if aggregate.argument is None:
        if function != "count" or aggregate.distinct:
            raise ValueError(f"{name}: {function} needs an argument")
        return
    kind = schema.field(aggregate.argument).type
    if function in OF_PAIRS:
        if not pa.types.is_struct(kind) or [each.type for each in kind] != 2 * [pa.float64()]:
            raise ValueError(f"{name}: {function} needs pairs of doubles")
        return
    if function not in OF_ANY and not exact_numbers.is_number(kind):
        raise ValueError(f"{name}: {function} needs numbers, and {aggregate.argument} is {kind}")
    share = aggregate.parameter
    if function.startswith("percentile") and (share is None or not 0 <= share <= 1):
        raise ValueError(f"{name}: a percentile needs a share from 0 to 1, not {share}")
    if function == "user_defined" and not isinstance(aggregate.definition, UserDefinedAggregate):
        raise ValueError(f"{name}: its definition needs the methods initial, add and result")
