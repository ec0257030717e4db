"""Operators that work level by level.

What such an operator receives it only takes in. A cti goes on at once: inside a loop it is about a
time before which nothing waits. When all lower levels are done the loop asks it for
one level: what it then emits has this level, or takes back what it had emitted at a later one. The
last column of its rows is the level.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch, empty
from driftline.engine.core.operator import Operator
from driftline.model.arrays import Int64s, to_arrow, to_numpy
from driftline.model.time import INFINITY

NEVER = INFINITY
"""The level of what is not derived."""


class Levelled(Operator):
    """`schema` has the level as its last column; `rows` is the schema without it. `keeps_outgoing`:
    what goes out of the loop is not what a turn emits, but what `take_outgoing` returns;
    `improves`: whether values may get better from level to level."""

    adds_up = True
    looks_again = True  # whether what a turn has looked at may wait for a higher level
    keeps_outgoing = False
    improves = False

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__(schema)
        self.rows = pa.schema(list(schema)[:-1])

    def process(self, port: int, batch: Batch) -> Batch:
        if len(batch):
            *columns, levels = batch.payload.columns
            self.take_in(batch, columns, to_numpy(levels).astype(np.int64))
        return empty(self.schema, batch.cti)

    def with_levels(
        self, vs: Int64s, ve: Int64s, weight: Int64s, columns: list[pa.Array], levels: Int64s
    ) -> Batch:
        payload = pa.RecordBatch.from_arrays([*columns, to_arrow(levels)], schema=self.schema)
        return Batch(vs, ve, weight, payload)

    @abstractmethod
    def take_in(self, batch: Batch, columns: list[pa.Array], levels: Int64s) -> None:
        """Make changes part of the state; `columns` are their rows without the levels."""

    @abstractmethod
    def due(self) -> int:
        """The lowest level at which there may be something to emit; NEVER if there is none."""

    @abstractmethod
    def turn(self, level: int) -> Batch | None:
        """What is to be emitted at a level, when all lower ones are done."""

    def take_outgoing(self) -> Batch | None:
        """What goes out after some turns, without levels."""
        raise NotImplementedError

    @abstractmethod
    def evict(self, cti: int) -> None:
        """Drop what a cti evicts; no level has anything left to do before it."""
