"""Bags: every derivation of a row, at its level.

    s = base + step(s):  the level of a derivation is one more than the greatest that it is made of

State: the changes whose level has not come; none, when the loop has come to its fixed point.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch, joined
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.loop.levelled import NEVER, Levelled
from driftline.engine.state.fields import Arrays
from driftline.engine.state.stored_rows import rows_from_bytes, rows_to_bytes
from driftline.model.arrays import Int64s

MOST = 1 << 31
"""A row with more derivations than this is taken for one that has no finite number of them."""


class Derivations(Levelled):
    """`waiting`: by level, the changes that wait for it."""

    uses_state = False
    looks_again = False

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__(schema)
        self.waiting: dict[int, list[Batch]] = {}

    def take_in(self, batch: Batch, columns: list[pa.Array], levels: Int64s) -> None:
        for level in np.unique(levels).tolist():
            self.waiting.setdefault(level, []).append(batch.take(levels == level))

    def due(self) -> int:
        return min(self.waiting, default=NEVER)

    def turn(self, level: int) -> Batch | None:
        ready = [each for at in sorted(self.waiting) if at <= level for each in self.waiting[at]]
        self.waiting = {at: each for at, each in self.waiting.items() if at > level}
        if not ready:
            return None
        output = joined(ready).added_up()
        if len(output) and int(np.abs(output.weight).max()) > MOST:
            raise EvaluationError(
                "RECURSION_LEVEL_LIMIT_EXCEEDED",
                f"a row has more than {MOST:,} derivations at level {level} of the recursion: "
                "UNION ALL counts every one, and has no end where rows lead back to themselves; "
                "write UNION",
            )
        return output if len(output) else None

    def evict(self, cti: int) -> None:
        """What waits is not before the cti."""

    def snapshot(self) -> Arrays:
        if not self.waiting:
            return {}
        left = joined([each for some in self.waiting.values() for each in some])
        return {
            "times": np.stack([left.vs, left.ve, left.weight]),
            "rows": rows_to_bytes(left.payload),
        }

    def restore(self, arrays: Arrays) -> None:
        self.waiting = {}
        if arrays:
            vs, ve, weight = arrays["times"].astype(np.int64)
            self.process(0, Batch(vs, ve, weight, rows_from_bytes(arrays["rows"])))
