"""Many sources that come and go: their greatest times, and the least of those that are live.

The greatest time of each source takes effect some time after its arrival (the latency), in units of
the clock as in `generator_kernel`. A heap holds the live sources by a time that is no later than
their greatest, and is set right only at the top: so an arrival costs O(1), and the least is found
in O(log n) for each source that moved. A source leaves the heap when it has been silent for the
timeout, or was retired, and comes back with its next arrival.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from driftline.model.compiled import njit
from driftline.model.time import BEGINNING
from driftline.time.bounds import Int64s
from driftline.time.generator_kernel import NEVER

NOW, UNIT, FIRST, LAST, HIGHEST, TOP, TOLD, HEAP, HEAD, QUEUED, SEEN = range(11)
"""Places in `scalars`: the clock; the unit it is judged by; the first and the last arrival; the
greatest time that has arrived, and that has taken effect; the heartbeat that was told; how many are
in the heap; the start and length of the queue; how many sources were seen."""

OUT = -1
"""The place in the heap of a source that is not in it."""

SMALLEST = 16


@dataclass
class Sources:
    """The state of all sources; every field is an array of the snapshot."""

    scalars: Int64s
    effective: Int64s
    """By source, the greatest time that has taken effect."""
    greatest: Int64s
    last: Int64s
    arrivals: Int64s
    late: Int64s
    key: Int64s
    place: Int64s
    heap: Int64s
    tail: Int64s
    """By source, where in the queue its latest time waits; counted from the start of all times."""
    due: Int64s
    waiting: Int64s
    waiting_source: Int64s

    @staticmethod
    def none() -> Sources:
        scalars = np.zeros(11, np.int64)
        scalars[[NOW, UNIT, FIRST, LAST]] = NEVER
        scalars[[HIGHEST, TOP, TOLD]] = BEGINNING
        empty = [np.zeros(0, np.int64) for _ in range(12)]
        return Sources(scalars, *empty)

    def make_room(self, highest: int, arrivals: int) -> None:
        """For sources up to this number, and so many more times in the queue."""
        if highest >= len(self.effective):
            size = max(2 * len(self.effective), highest + 1, SMALLEST)
            for name in ("effective", "greatest"):
                setattr(self, name, _grown(getattr(self, name), size, BEGINNING))
            self.key = _grown(self.key, size, BEGINNING)
            self.last = _grown(self.last, size, NEVER)
            self.place = _grown(self.place, size, OUT)
            self.tail = _grown(self.tail, size, OUT)
            for name in ("arrivals", "late", "heap"):
                setattr(self, name, _grown(getattr(self, name), size, 0))
        head, queued = int(self.scalars[HEAD]), int(self.scalars[QUEUED])
        if queued + arrivals > len(self.due):
            size = 1 << max(queued + arrivals, SMALLEST).bit_length()  # places are found by bits
            order = np.arange(head, head + queued) % max(len(self.due), 1)
            slots = np.arange(head, head + queued) % size
            for name in ("due", "waiting", "waiting_source"):
                grown = np.zeros(size, np.int64)
                grown[slots] = getattr(self, name)[order]
                setattr(self, name, grown)

    def snapshot(self) -> dict[str, NDArray[np.int64]]:
        return {each.name: getattr(self, each.name).copy() for each in fields(self)}

    @staticmethod
    def restored(arrays: Mapping[str, NDArray[np.int64]]) -> Sources:
        return Sources(**{each.name: np.array(arrays[each.name]) for each in fields(Sources)})

    def arrived(self) -> Int64s:
        """The numbers of the sources that have sent something."""
        return np.flatnonzero(self.arrivals)

    def arrays(self) -> tuple[Int64s, ...]:
        """In the order in which the kernels take them, one by one: of a tuple of arrays, compiled
        code counts the references at every use, which makes it seven times slower."""
        return tuple(getattr(self, each.name) for each in fields(self))


def _grown(array: Int64s, size: int, value: int) -> Int64s:
    grown = np.full(size, value, np.int64)
    grown[: len(array)] = array
    return grown


@njit(cache=True, nogil=True)
def enqueue(
    source: int,
    due: int,
    time: int,
    scalars: Int64s,
    tail: Int64s,
    dues: Int64s,
    waiting: Int64s,
    waiting_source: Int64s,
) -> None:
    """A time that takes effect at a unit, the first of its source for that unit."""
    tail[source] = scalars[HEAD] + scalars[QUEUED]
    slot = tail[source] & (len(dues) - 1)
    dues[slot], waiting[slot], waiting_source[slot] = due, time, source
    scalars[QUEUED] += 1


@njit(cache=True, nogil=True)
def take_effect(
    b: int,
    scalars: Int64s,
    effective: Int64s,
    dues: Int64s,
    waiting: Int64s,
    waiting_source: Int64s,
) -> None:
    """All that is due by unit b."""
    while scalars[QUEUED] > 0:
        slot = scalars[HEAD] & (len(dues) - 1)
        if dues[slot] > b:
            break
        source, time = waiting_source[slot], waiting[slot]
        effective[source] = max(effective[source], time)
        scalars[TOP] = max(scalars[TOP], time)
        scalars[HEAD] += 1
        scalars[QUEUED] -= 1


@njit(cache=True, nogil=True)
def join(source: int, scalars: Int64s, effective: Int64s, key: Int64s, place: Int64s,
         heap: Int64s) -> None:  # fmt: skip
    """The source, which was out, is live again."""
    key[source] = effective[source]
    at = scalars[HEAP]
    scalars[HEAP] += 1
    while at > 0:
        parent = (at - 1) // 2
        if key[heap[parent]] <= key[source]:
            break
        heap[at] = heap[parent]
        place[heap[at]] = at
        at = parent
    heap[at] = source
    place[source] = at


@njit(cache=True, nogil=True)
def _sink(at: int, size: int, key: Int64s, place: Int64s, heap: Int64s) -> None:
    source = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and key[heap[child + 1]] < key[heap[child]]:
            child += 1
        if key[heap[child]] >= key[source]:
            break
        heap[at] = heap[child]
        place[heap[at]] = at
        at = child
    heap[at] = source
    place[source] = at


@njit(cache=True, nogil=True)
def least_live(
    b: int,
    unit: int,
    timeout: int,
    scalars: Int64s,
    effective: Int64s,
    last: Int64s,
    key: Int64s,
    place: Int64s,
    heap: Int64s,
) -> int:
    """The least effective time of the live sources at unit b; the silent leave. Some must be."""
    while scalars[HEAP] > 0:
        source = heap[0]
        if last[source] == NEVER or (timeout >= 0 and -((-last[source] - timeout) // unit) <= b):
            place[source] = OUT
            scalars[HEAP] -= 1
            if scalars[HEAP] > 0:
                heap[0] = heap[scalars[HEAP]]
                _sink(0, scalars[HEAP], key, place, heap)
        elif key[source] < effective[source]:
            key[source] = effective[source]
            _sink(0, scalars[HEAP], key, place, heap)
        else:
            return int(key[source])
    return BEGINNING
