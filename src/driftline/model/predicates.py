"""The classes of streams over columns: the predicates of `driftline.model.stream`, fast."""

from __future__ import annotations

import numpy as np

from driftline.model.columns import CTI, EXTERNAL_CTI, RETRACT, StreamColumns
from driftline.model.time import BEGINNING


def is_ordered(stream: StreamColumns) -> bool:
    """No event comes after one with a greater sync time."""
    syncs = stream.sync()[stream.kind != EXTERNAL_CTI]
    return bool((syncs[:-1] <= syncs[1:]).all())


def is_perfect(stream: StreamColumns) -> bool:
    """Ordered, and nothing is ever retracted."""
    return is_ordered(stream) and not bool((stream.kind == RETRACT).any())


def closed_up_to(stream: StreamColumns) -> int:
    """The greatest cti: the relation before it is final."""
    return int(stream.vs[stream.kind == CTI].max(initial=BEGINNING))


def is_closed(stream: StreamColumns) -> bool:
    """The last event is a cti, and later in application time than any other event."""
    if not len(stream) or stream.kind[-1] != CTI:
        return False
    others = stream.sync()[:-1][stream.kind[:-1] != EXTERNAL_CTI]
    return bool((others < stream.vs[-1]).all())


def late(stream: StreamColumns) -> tuple[int, int]:
    """How many changes came after one with a greater sync time, and the most ticks by which.

    >>> from driftline.model.event import Insert
    >>> from driftline.model.row import Row
    >>> events = [Insert(vs, 99, Row()) for vs in (5, 3, 4, 6)]
    >>> late(StreamColumns.from_events("s", events))
    (2, 2)
    """
    syncs = stream.sync()[stream.changes]
    greatest = np.maximum.accumulate(syncs)
    behind = greatest.view(np.uint64) - syncs.view(np.uint64)  # never overflows, as greatest >= it
    return int((behind > 0).sum()), int(behind.max(initial=0))
