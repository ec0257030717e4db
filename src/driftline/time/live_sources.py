"""Many sources that come and go: their greatest times, and the least of those that are live.

The greatest time of each source takes effect some time after its arrival (the latency), in units of
the clock as in `generator_kernel`. A heap holds the live sources by a time that is no later than
their greatest, and is set right only at the top: so an arrival costs O(1), and the least is found
in O(log n) for each source that moved. A source leaves the heap when it has been silent for the
timeout, or was retired, and comes back with its next arrival.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from driftline.kernels import in_place
from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING, INFINITY
from driftline.time.generator_kernel import NEVER, is_over
from driftline.time.rate import moved

NOW, UNIT, FIRST, LAST, HIGHEST, TOP, IN_FORCE, HEAP, HEAD, QUEUED, SEEN = range(11)
"""Places in `scalars`: the clock; the unit it is judged by; the first and the last arrival; the
greatest time that has arrived, and that has taken effect; the heartbeat in force; how many are
in the heap; the start and length of the queue; how many sources were seen."""

OUT = -1
"""The place in the heap of a source that is in none."""

SMALLEST = 16


class Sources(NamedTuple):
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
        scalars[[HIGHEST, TOP, IN_FORCE]] = BEGINNING
        empty = [np.zeros(0, np.int64) for _ in range(12)]
        return Sources(scalars, *empty)

    def with_room(self, highest: int, arrivals: int) -> Sources:
        """The state with room for sources up to this number and so many more times in the queue."""
        grown: dict[str, Int64s] = {}
        if highest >= len(self.effective):
            size = max(2 * len(self.effective), highest + 1, SMALLEST)
            for name, value in UNHEARD.items():
                grown[name] = np.full(size, value, np.int64)
                grown[name][: len(self.effective)] = getattr(self, name)
        head, queued = int(self.scalars[HEAD]), int(self.scalars[QUEUED])
        if queued + arrivals > len(self.due):
            size = 1 << max(queued + arrivals, SMALLEST).bit_length()  # places are found by bits
            order = np.arange(head, head + queued) % max(len(self.due), 1)
            slots = np.arange(head, head + queued) % size
            for name in ("due", "waiting", "waiting_source"):
                grown[name] = np.zeros(size, np.int64)
                grown[name][slots] = getattr(self, name)[order]
        return self._replace(**grown) if grown else self

    def snapshot(self) -> dict[str, Int64s]:
        return {name: array.copy() for name, array in self._asdict().items()}

    @staticmethod
    def restored(arrays: Mapping[str, Int64s]) -> Sources:
        return Sources(*(np.array(arrays[name]) for name in Sources._fields))

    def arrived(self) -> Int64s:
        """The numbers of the sources that have sent something."""
        return np.flatnonzero(self.arrivals)


UNHEARD = {
    "effective": BEGINNING,
    "greatest": BEGINNING,
    "last": NEVER,
    "arrivals": 0,
    "late": 0,
    "key": BEGINNING,
    "place": OUT,
    "heap": 0,
    "tail": OUT,
}
"""The state of a source that has sent nothing."""


@in_place
def hear(
    source: int, clock: int, time: int, shift: int, count: int, effect: int, of: Sources
) -> None:
    """Take in so many tuples of a source, and the greatest time it has reached by them, which takes
    effect at a unit, shifted by what a rate will add to it; the queue has room for it."""
    scalars = of.scalars
    if of.tail[source] == OUT:
        scalars[SEEN] += 1
    of.arrivals[source] += count
    of.greatest[source] = max(of.greatest[source], time)
    scalars[HIGHEST] = max(scalars[HIGHEST], time)
    of.last[source] = clock
    scalars[LAST] = clock
    slot = of.tail[source] & (len(of.due) - 1)
    time = moved(time, shift)
    if of.tail[source] >= scalars[HEAD] and of.due[slot] == effect:
        of.waiting[slot] = max(of.waiting[slot], time)
    else:
        of.tail[source] = scalars[HEAD] + scalars[QUEUED]
        slot = of.tail[source] & (len(of.due) - 1)
        of.due[slot], of.waiting[slot], of.waiting_source[slot] = effect, time, source
        scalars[QUEUED] += 1
    if of.place[source] == OUT:
        _join(source, of)


@in_place
def take_effect(b: int, of: Sources) -> None:
    """Let the times that are due by unit b take effect."""
    scalars = of.scalars
    while scalars[QUEUED] > 0:
        slot = scalars[HEAD] & (len(of.due) - 1)
        if of.due[slot] > b:
            break
        source, time = of.waiting_source[slot], of.waiting[slot]
        of.effective[source] = max(of.effective[source], time)
        scalars[TOP] = max(scalars[TOP], time)
        scalars[HEAD] += 1
        scalars[QUEUED] -= 1


@in_place
def _join(source: int, of: Sources) -> None:
    """Put a source that was out back into the heap."""
    key, place, heap = of.key, of.place, of.heap
    key[source] = of.effective[source]
    at = of.scalars[HEAP]
    of.scalars[HEAP] += 1
    while at > 0:
        parent = (at - 1) // 2
        if key[heap[parent]] <= key[source]:
            break
        heap[at] = heap[parent]
        place[heap[at]] = at
        at = parent
    heap[at] = source
    place[source] = at


@in_place
def _sink(at: int, of: Sources) -> None:
    key, place, heap, size = of.key, of.place, of.heap, of.scalars[HEAP]
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


@in_place
def least_live(b: int, unit: int, timeout: int, of: Sources) -> int:
    """The least effective time of the live sources at unit b, of which there are some; silent ones
    leave the heap."""
    scalars, key, last = of.scalars, of.key, of.last
    while scalars[HEAP] > 0:
        source = of.heap[0]
        if last[source] == NEVER or is_over(last[source], timeout, unit, b):
            of.place[source] = OUT
            scalars[HEAP] -= 1
            if scalars[HEAP] > 0:
                of.heap[0] = of.heap[scalars[HEAP]]
                _sink(0, of)
        elif key[source] < of.effective[source]:
            key[source] = of.effective[source]
            _sink(0, of)
        else:
            return int(key[source])
    return BEGINNING


@in_place
def least_heard(of: Sources) -> int:
    """The least effective time of all sources that have one, live or not."""
    least = INFINITY
    for time in of.effective:
        if time > BEGINNING:
            least = min(least, time)
    return BEGINNING if least == INFINITY else least
