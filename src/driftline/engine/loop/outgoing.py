"""What goes out of a loop: the rows of the last round, and not what changes from round to round.

    out(k)  =  the longest stretches of time in which the last round has the same of the key k

When all rounds are done, or before a cti cuts off what they have changed, the last round is
compared with what has gone out, from the cti on: of the keys that were changed by a round.

State: of every key what has gone out, as a trace that is corrected in the longest segments. A cti
evicts what ends before it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from driftline.engine.core.batch import Batch, joined
from driftline.engine.core.operator import Arrays
from driftline.engine.state.blocks import Blocks
from driftline.engine.state.growing import grown
from driftline.engine.state.longest import corrected, evict_each
from driftline.engine.state.trace import VALUE
from driftline.model.arrays import Int64s, Int64Table

LastRound = Callable[[Int64s], tuple[Int64Table, Int64s]]
"""What the last round has of some keys, from the cti on: pieces, and the bounds of each key's."""
Rows = Callable[[Int64Table], Batch]
"""The changes of a trace as a batch."""


class Outgoing:
    """`words`: how many the value of a segment has. `changed`: the keys that rounds have changed
    since they were compared, each once (`is_changed`); `ready`: what has not gone out yet."""

    def __init__(self, words: int) -> None:
        self.words = words
        self.ready: list[Batch] = []
        self.start_empty()

    def start_empty(self) -> None:
        """Forget everything but what is ready."""
        self.trace = Blocks(VALUE + self.words, smallest=1)
        self.is_changed = np.zeros(0, np.bool_)
        self.changed: list[Int64s] = []

    def add_changed(self, keys: Int64s) -> None:
        """Note that a round has changed something of some distinct keys."""
        if len(keys) == 0:
            return
        self.is_changed = grown(self.is_changed, int(keys.max()) + 1)
        new = keys[~self.is_changed[keys]]
        self.is_changed[new] = True
        self.changed.append(new)

    def compare(self, cti: int, last_round: LastRound, rows: Rows) -> None:
        """Compare the last round of the changed keys with what has gone out."""
        if not self.changed:
            return
        keys = self.changed[0] if len(self.changed) == 1 else np.concatenate(self.changed)
        self.is_changed[keys] = False
        self.changed = []
        changes = corrected(self.trace, keys, cti, *last_round(keys))
        if changes.shape[1]:
            self.ready.append(rows(changes))

    def take(self) -> Batch | None:
        """What is ready to go out."""
        ready, self.ready = self.ready, []
        return joined(ready) if ready else None

    def evict(self, keys: Int64s, cti: int, ends: Int64s) -> None:
        """Drop what ends at or before the cti. `ends` is lowered to the least end that is left."""
        self.trace.make_slots(int(keys.max(initial=-1)) + 1)
        evict_each(self.trace.arrays, keys, cti, ends)

    def clear(self, keys: Int64s) -> None:
        self.trace.clear(keys)

    def entries(self) -> int:
        return self.trace.entries()

    @property
    def nbytes(self) -> int:
        return self.trace.nbytes + self.is_changed.nbytes

    def snapshot(self, keys: Int64s) -> Arrays:
        return self.trace.snapshot(keys, "outgoing")

    def restore(self, keys: Int64s, arrays: Arrays) -> None:
        self.trace.restore(keys, arrays, "outgoing")
