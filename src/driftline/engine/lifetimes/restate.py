"""Retell: the same snapshots, emitted as a valid stream.

    retell(H), at every time:  the snapshot of H

After `coalesce`, and the window that follows it, a lifetime may become longer while its start is
final already. What such a batch changes it changes at or after the cti: only to emit it in a
stream, the lifetime must not be taken back as a whole. So what is new is emitted in a piece of its
own. And at the level `perfect` an outer, semi or anti join is retold, by the snapshots that have
ended: whether a row has a match is known only then. State: that of minus, with nothing to take
away.
"""

from __future__ import annotations

import pyarrow as pa

from driftline.engine.additive.set_operators import SetOperator
from driftline.model.level import Level


class Retell(SetOperator):
    ports = 1

    def __init__(self, schema: pa.Schema, level: Level = Level.EAGER) -> None:
        super().__init__(schema, "minus", distinct=False, level=level)
