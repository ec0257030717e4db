"""Marks: what travels in the queues between batches, in FIFO order, and is no part of the data.

    token n    every event that its source let in before its n-th token stands before it
    now T      application time has come to T: what ends at or before T is over

A mark says something of the stream that it travels in; an operator that has several ports says it
of its output when it holds for all of them:

    merged(n₁, …, nₚ) = min nᵢ        over the latest mark of each port

A token also blocks: a port that is ahead of the merged number is not read until the others have
come as far. So when an operator hands a token on, its state and its output are what follows from
exactly the events before that token, and a token at an output says the same of the whole plan.

A now-mark promises nothing, and it need not travel alone: a batch has a field for it (`Batch.now`),
and a batch that says nothing else is the mark itself. So it is labelled, stored and queued as any
batch is, and can be put together with one (see `queues`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from driftline.model.time import BEGINNING, INFINITY


class Kind(IntEnum):
    """What a mark says. The numbers are stored in checkpoints."""

    TOKEN = 1
    NOW = 2


BLOCKING = frozenset({Kind.TOKEN})

NONE_YET = {Kind.TOKEN: 0, Kind.NOW: BEGINNING}
"""The number before the first mark of a kind."""


@dataclass(frozen=True, slots=True)
class Mark:
    kind: Kind
    number: int


LAST_TOKEN = Mark(Kind.TOKEN, INFINITY)
"""Of a source that has ended: no other has to wait for its tokens."""


class Merge:
    """How far the marks of every port have come, and what has been handed on."""

    def __init__(self, ports: int) -> None:
        self.latest = {kind: np.full(ports, NONE_YET[kind], np.int64) for kind in Kind}
        self.handed_on = dict(NONE_YET)

    def arrive(self, port: int, mark: Mark) -> Mark | None:
        """Take a mark in at a port; returns the one that is handed on, if there is one."""
        latest = self.latest[mark.kind]
        latest[port] = max(latest[port], mark.number)
        merged = int(latest.min())
        if merged <= self.handed_on[mark.kind]:
            return None
        self.handed_on[mark.kind] = merged
        return Mark(mark.kind, merged)

    def blocks(self, port: int) -> bool:
        """Whether a port has to wait for the others."""
        return any(self.latest[kind][port] > self.handed_on[kind] for kind in BLOCKING)

    @property
    def has_begun(self) -> bool:
        """Whether a mark has come at all."""
        return any((latest > NONE_YET[kind]).any() for kind, latest in self.latest.items())

    def snapshot(self) -> NDArray[np.int64]:
        """One row for each kind: what was handed on, then the latest of every port."""
        rows = [np.append(self.handed_on[kind], self.latest[kind]) for kind in Kind]
        return np.stack(rows).astype(np.int64)

    def restore(self, rows: NDArray[np.generic]) -> None:
        for kind, row in zip(Kind, rows.astype(np.int64), strict=True):
            self.handed_on[kind], self.latest[kind] = int(row[0]), row[1:].copy()
