"""Labels for shards, so that Spark's shuffle puts each into a partition of its own.

Spark sends a row to the partition  hash(label) mod partitions,  where hash is Murmur3. The label of
shard i is the least integer that goes to partition i.

A query has as many shards as its state has partitions. Spark keeps that number in the checkpoint,
whatever the session says when the query goes on, and tells it to every task.
"""

from __future__ import annotations

from functools import cache

STATE_PARTITIONS = (
    "spark.sql.streaming.internal.stateStore.partitions",
    "spark.sql.shuffle.partitions",  # of a Spark that has one number for state and shuffles
)
"""Settings of a running query, the first that is there: how many partitions its state has."""

_SEED = 42
_WORD = 0xFFFFFFFF


def state_partitions(otherwise: int) -> int:
    """How many partitions the state of the query has whose task this is; outside of tasks, as many
    as are given."""
    from pyspark import TaskContext

    context = TaskContext.get()
    found = [context.getLocalProperty(name) for name in STATE_PARTITIONS] if context else []
    return next((int(each) for each in found if each is not None), otherwise)


@cache
def labels(partitions: int) -> tuple[int, ...]:
    """One label for each partition.

    >>> [murmur3(label) % 4 for label in labels(4)]
    [0, 1, 2, 3]
    """
    found: dict[int, int] = {}
    label = 0
    while len(found) < partitions:
        found.setdefault(murmur3(label) % partitions, label)
        label += 1
    return tuple(found[partition] for partition in range(partitions))


def murmur3(value: int) -> int:
    """Spark's hash of a 32-bit integer.

    >>> murmur3(1), murmur3(0)
    (-559580957, 933211791)
    """
    mixed = _times(_rotated(_times(value & _WORD, 0xCC9E2D51), 15), 0x1B873593)
    state = _rotated(_SEED ^ mixed, 13)
    state = (_times(state, 5) + 0xE6546B64) & _WORD
    state ^= 4  # the length in bytes
    state = _times(state ^ state >> 16, 0x85EBCA6B)
    state = _times(state ^ state >> 13, 0xC2B2AE35)
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def _times(value: int, factor: int) -> int:
    return value * factor & _WORD


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> 32 - by) & _WORD
