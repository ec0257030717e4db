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
from driftline.engine.state.allotted import Allotted
from driftline.engine.state.growing import grown
from driftline.engine.state.longest import corrected, evict
from driftline.engine.state.trace import VALUE
from driftline.kernels import in_place
from driftline.model.arrays import Int64s, Int64Table, Mask

LastRound = Callable[[Int64s], tuple[Int64Table, Int64s]]
"""What the last round has of some keys, from the cti on: pieces, and the bounds of each key's."""
Rows = Callable[[Int64Table], Batch]
"""The changes of a trace as a batch."""


class Outgoing:
    """`words`: how many the value of a segment has. `changed`: the keys that rounds have changed
    since they were compared; `seen`: room to find each of them once; `ready`: what has not gone out
    yet."""

    def __init__(self, words: int) -> None:
        self.words = words
        self.ready: list[Batch] = []
        self.start_empty()

    def start_empty(self) -> None:
        """Forget everything but what is ready."""
        self.trace = Allotted(VALUE + self.words)
        self.seen = np.zeros(0, np.bool_)
        self.changed: list[Int64s] = []

    def compare(self, cti: int, last_round: LastRound, rows: Rows) -> None:
        """Compare the last round of the changed keys with what has gone out."""
        if not self.changed:
            return
        keys = np.concatenate(self.changed)
        self.changed = []
        self.seen = grown(self.seen, int(keys.max(initial=-1)) + 1)
        keys = keys[: _each_once(keys, self.seen)]
        changes = corrected(self.trace, keys, cti, *last_round(keys))
        if changes.shape[1]:
            self.ready.append(rows(changes))

    def take(self) -> Batch | None:
        """What is ready to go out."""
        ready, self.ready = self.ready, []
        return joined(ready) if ready else None

    def evict(self, keys: Int64s, cti: int, ends: Int64s | None = None) -> None:
        """Drop what ends at or before the cti. `ends` is lowered to the least end that is left."""
        evict(self.trace, keys, cti, ends)

    def clear(self, keys: Int64s) -> None:
        self.trace.clear(keys)

    def entries(self) -> int:
        return self.trace.entries()

    @property
    def nbytes(self) -> int:
        return self.trace.nbytes + self.seen.nbytes


@in_place
def _each_once(keys: Int64s, seen: Mask) -> int:
    """Move each key to the front once, in the order of appearance; returns how many these are."""
    count = 0
    for key in keys:
        if not seen[key]:
            seen[key] = True
            keys[count] = key
            count += 1
    for number in range(count):
        seen[keys[number]] = False
    return count
