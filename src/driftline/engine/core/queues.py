"""The queue of an operator: what it has received at its ports and not yet worked on.

What came in at one port is read in the order of arrival. A port that a token blocks is passed over;
what it holds is read first once the token goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np

from driftline.engine.core.batch import Batch
from driftline.engine.core.marks import Kind, Mark, Merge
from driftline.engine.core.operator import Arrays
from driftline.engine.state.stored_rows import rows_from_bytes, rows_to_bytes

Item = Batch | Mark


class Queue:
    """`items`: (port, item), to be read; `passed_over`: those of blocked ports, in their order."""

    def __init__(self, ports: int) -> None:
        self.items: deque[tuple[int, Item]] = deque()
        self.passed_over: deque[tuple[int, Item]] = deque()
        self.merge = Merge(ports)

    def __len__(self) -> int:
        """How much may be read, if nothing of it is blocked."""
        return len(self.items)

    def put(self, port: int, item: Item) -> None:
        self.items.append((port, item))

    def put_back(self, port: int, batches: Iterable[Batch]) -> None:
        """Let batches be the next that are read."""
        self.items.extendleft((port, batch) for batch in reversed(list(batches)))

    def take(self) -> tuple[int, Item] | None:
        """The next item of a port that is not blocked."""
        while self.items:
            port, item = self.items.popleft()
            if not self.merge.blocks(port):
                return port, item
            self.passed_over.append((port, item))
        return None

    def mark(self, port: int, mark: Mark) -> Mark | None:
        """A mark has been read; returns the one to hand on, if the other ports are as far."""
        merged = self.merge.arrive(port, mark)
        if merged is not None:
            self.items.extendleft(reversed(self.passed_over))
            self.passed_over.clear()
        return merged

    def waiting(self) -> list[tuple[int, Item]]:
        """All that has been received and not yet read, in order."""
        return [*self.passed_over, *self.items]

    def clear(self) -> None:
        self.items.clear()
        self.passed_over.clear()

    def snapshot(self) -> Arrays:
        """Everything that waits, with how far the marks have come; nothing, if nothing is there."""
        waiting = self.waiting()
        if not waiting and not self.merge.has_begun:
            return {}
        stored: Arrays = {
            "merge": self.merge.snapshot(),
            "ports": np.array([port for port, _ in waiting], np.int64),
        }
        for number, (_, item) in enumerate(waiting):
            if isinstance(item, Mark):
                stored[f"{number} mark"] = np.array([item.kind, item.number], np.int64)
            else:
                stored[f"{number} times"] = np.stack([item.vs, item.ve, item.weight])
                stored[f"{number} rows"] = rows_to_bytes(item.payload)
                stored[f"{number} promises"] = np.array([item.cti, item.high], np.int64)
        return stored

    def restore(self, stored: Arrays) -> None:
        self.clear()
        if not stored:
            return
        self.merge.restore(stored["merge"])
        for number, port in enumerate(stored["ports"].tolist()):
            if f"{number} mark" in stored:
                kind, value = stored[f"{number} mark"].tolist()
                self.items.append((port, Mark(Kind(kind), value)))
                continue
            vs, ve, weight = stored[f"{number} times"].astype(np.int64)
            cti, high = stored[f"{number} promises"].tolist()
            rows = rows_from_bytes(stored[f"{number} rows"])
            self.items.append((port, Batch(vs, ve, weight, rows, cti, high)))


def queue_after(mark: Mark, ports: int) -> Arrays:
    """The snapshot of a queue right after a mark has been handed on: nothing is in it."""
    queue = Queue(ports)
    for port in range(ports):
        queue.merge.arrive(port, mark)
    return queue.snapshot()
