"""What a loop has in its last round, as lifetimes.

    restated(H) = a bag with the snapshots of H

Where a row of one round may be gone in a later one, what the rounds emit adds up to the fixed point
snapshot by snapshot, but not lifetime by lifetime: the row comes during [1, 9) in round 2 and goes
during [3, 5) in round 4. State: see `additive`.
"""

from __future__ import annotations

import pyarrow as pa

from driftline.engine.additive.set_operators import SetOperator
from driftline.model.level import Level


class Restated(SetOperator):
    """The rows minus none."""

    ports = 1

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__(schema, "minus", False, Level.EAGER)
