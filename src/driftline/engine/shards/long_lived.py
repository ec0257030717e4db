"""Shards that live for long: what a large micro-batch has taken is given back when it is over.

The arrays of operators grow with what they hold, and do not become smaller. Most of all the first
micro-batch after a pause is many times as large as those that follow, and so would be the memory,
until the process ends. A state that is restored from its snapshot has arrays of its own size: so
when micro-batches, or the state, have become much smaller, the shard is made anew from a snapshot.
"""

from __future__ import annotations

import ctypes
import sys
from collections import deque
from collections.abc import Sequence

import pyarrow as pa

from driftline.engine.core.operator import OperatorKey
from driftline.engine.shards.messages import Message
from driftline.engine.shards.stored import Stepped, Stepping
from driftline.engine.state.fields import Arrays

MUCH = 4
"""So many times smaller is much smaller."""

LATELY = 8
"""The last so many micro-batches are looked at."""

LEAST_BYTES, LEAST_ROWS = 1 << 18, 100_000
"""A micro-batch of fewer bytes (compressed, as messages are), or a state of fewer rows, has taken
little."""

BYTES_A_ROW = 1
"""A micro-batch with so many bytes for every row of the state has taken much beside it: to make the
shard anew costs no more than that micro-batch did."""


class Peak:
    """The largest of some sizes, and the last of them."""

    def __init__(self) -> None:
        self.largest = 0
        self.last: deque[int] = deque(maxlen=LATELY)

    def take(self, size: int) -> None:
        self.largest = max(self.largest, size)
        self.last.append(size)

    def is_over(self, least: int) -> bool:
        """Whether sizes have become much smaller than one that was no less than the least. If they
        have, the peak is forgotten.

        >>> peak = Peak()
        >>> for number, size in enumerate([90, *[20] * 40]):
        ...     peak.take(size)
        ...     if peak.is_over(least=50):
        ...         print(number, peak.largest)
        8 20
        """
        lately = max(self.last, default=0)
        over = len(self.last) == LATELY and self.largest > max(MUCH * lately, least)
        if over:
            self.largest = lately
        return over


class LongLived:
    """A shard as `stage.shard(number)` makes it, which is made anew when it has become much
    smaller."""

    def __init__(self, stage: Stepped, number: int) -> None:
        self.shard: Stepping = stage.shard(number)
        self.number = number
        self.received, self.held = Peak(), Peak()

    @property
    def stage(self) -> Stepped:
        return self.shard.stage

    def step(self, messages: Sequence[Message]) -> list[Message]:
        self.received.take(sum(len(message.data) for message in messages))
        sent = self.shard.step(messages)
        rows = self.held.last[-1] if self.held.last else 0
        least = max(LEAST_BYTES, BYTES_A_ROW * rows)
        if self.received.is_over(least) or self.held.is_over(LEAST_ROWS):
            self._make_anew()
        return sent

    def _make_anew(self) -> None:
        # Copies, and no views of the arrays that are to go.
        state = {key: _copied(arrays) for key, arrays in self.shard.snapshot().items()}
        self.shard = self.stage.shard(self.number)
        self.shard.restore(state)
        give_back()

    def counters(self) -> dict[OperatorKey, dict[str, int]]:
        found = self.shard.counters()
        self.held.take(sum(counted.get("state_rows", 0) for counted in found.values()))
        return found

    def snapshot(self) -> dict[OperatorKey, Arrays]:
        return self.shard.snapshot()

    def restore(self, state: dict[OperatorKey, Arrays]) -> None:
        self.shard.restore(state)


def _copied(arrays: Arrays) -> Arrays:
    return {name: array.copy() for name, array in arrays.items()}


def give_back() -> None:
    """Give memory that is free in this process back to the system."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc
        if trim is not None:
            trim(0)
