"""Sources in groups, each treated as one source (section 5.2): less state, later heartbeats.

    B̂[a, b] = ⊔ over i in a, j in b of B*[i, j]⁺      L[a] = max over i in a of L[i]

S⁺ names the strongest guarantee of S at every wait, and ⊔ takes at every wait the weaker one: B̂
holds whichever member of a emitted, and for every member of b. An entry that is empty for one pair
of members is empty for their groups. Only the waits where some S⁺ changes are looked at.

Pairs that count tuples are left out: tuples of the group are not tuples of each of its members.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING
from driftline.time.bounds import LONGEST, Bounds
from driftline.time.heartbeats import HeartbeatGenerator
from driftline.time.presets import Numbers, sensors

NOTHING = LONGEST + 1
"""The lag of a missing pair."""


def grouped(closed: Bounds, group_of: Numbers) -> Bounds:
    """B̂ and its latencies from B*; `group_of` has the group of each source, numbers from 0.

    >>> from driftline.time.bounds import timed
    >>> entries = {(0, 2): [timed(1, 2), timed(3, 1)], (1, 2): [timed(2, 2)]}
    >>> str(grouped(Bounds.of(entries, [0, 0, 7]), [0, 0, 1])).splitlines()
    ['0 → 1: (2, 2)', 'latency: 0, 7']
    """
    group = np.asarray(group_of, np.int64)
    if len(group) != closed.sources:
        raise ValueError(f"{closed.sources} sources have {len(group)} groups: give one for each")
    groups = int(group.max(initial=-1)) + 1
    sizes = np.bincount(group, minlength=groups)
    rank = _rank_in_group(group, sizes)
    latency = np.zeros(groups, np.int64)
    np.maximum.at(latency, group, closed.latency)
    timed = closed.tuples == 0
    origin, target = closed.origin[timed], closed.target[timed]
    wait, lag = closed.wait[timed], closed.lag[timed]
    entry = group[origin] * groups + group[target]
    order = np.lexsort((wait, entry))
    ends = np.searchsorted(entry[order], np.arange(groups * groups + 1))
    found: list[tuple[int, int, int, int]] = []
    for each in range(groups * groups):
        a, b = divmod(each, groups)
        pairs = order[ends[each] : ends[each + 1]]
        if not len(pairs):
            continue
        waits, column = np.unique(wait[pairs], return_inverse=True)
        members = rank[origin[pairs]] * sizes[b] + rank[target[pairs]]
        plus = np.full((sizes[a] * sizes[b], len(waits)), NOTHING, np.int64)
        np.minimum.at(plus, (members, column), lag[pairs])
        weakest = np.minimum.accumulate(plus, axis=1).max(axis=0)
        found += [(a, b, int(w), int(d)) for w, d in zip(waits, weakest, strict=True)
                  if d < NOTHING]  # fmt: skip
    columns = np.array(found, np.int64).reshape(-1, 4).T
    none = np.zeros(len(found), np.int64)
    return Bounds.from_pairs(columns[0], columns[1], columns[2], none, columns[3], latency=latency)


def grouped_sensors(deviation: Numbers, latency: Numbers, group_of: Numbers) -> Bounds:
    """B̂ of `presets.sensors` straight from the deviations, for very many sensors.

    >>> str(grouped_sensors([1, 5, 2], [0, 0, 0], [0, 0, 1])).splitlines()[:2]
    ['0 → 0: (0, 7)', '0 → 1: (0, 8)']
    """
    away, group = np.asarray(deviation, np.int64), np.asarray(group_of, np.int64)
    groups = int(group.max(initial=-1)) + 1
    slowest = np.zeros(groups, np.int64)
    np.maximum.at(slowest, group, np.asarray(latency, np.int64))
    order = np.lexsort((-away, group))
    starts = np.searchsorted(group[order], np.arange(groups))
    sizes = np.bincount(group, minlength=groups)
    most = away[order[starts]]
    second = np.where(sizes > 1, away[order[np.minimum(starts + 1, len(order) - 1)]], 0)
    return sensors(most, slowest, set_back=most + second)


def _rank_in_group(group: Int64s, sizes: Int64s) -> Int64s:
    order = np.argsort(group, kind="stable")
    rank = np.empty(len(group), np.int64)
    rank[order] = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rank


class GroupedHeartbeats:
    """A heartbeat generator over groups, with the interface of one over sources."""

    def __init__(
        self, bounds: Bounds, group_of: Numbers, *, unit: int = 1, timeout: int | None = None
    ) -> None:
        """`bounds` are those of the groups: from `grouped` or `grouped_sensors`."""
        self.group_of = np.array(group_of, np.int64)
        self.groups = HeartbeatGenerator(bounds, unit=unit, timeout=timeout, close=False)

    def arrive(self, clock: object, sources: object, times: object) -> Int64s:
        return self.groups.arrive(clock, self.group_of[np.asarray(sources, np.int64)], times)

    def at(self, clock: int) -> Int64s:
        """The heartbeat of each source: that of its group."""
        heartbeats: Int64s = self.groups.at(clock)[self.group_of]
        return heartbeats

    def heartbeat(self, clock: int) -> int:
        return self.groups.heartbeat(clock)

    @property
    def violations(self) -> Int64s:
        """By group."""
        return self.groups.violations

    def snapshot(self) -> dict[str, Int64s]:
        return self.groups.snapshot()

    def restore(self, arrays: Mapping[str, Int64s]) -> None:
        self.groups.restore(arrays)


@dataclass(frozen=True)
class Delay:
    """By how many ticks heartbeats of groups are behind those of sources."""

    mean: float
    greatest: int
    stream_mean: float
    """The same for the heartbeat of all together."""


def grouping_delay(
    closed: Bounds, group_of: Numbers, clocks: Int64s, sources: Int64s, times: Int64s, unit: int = 1
) -> Delay:
    """What grouping costs on these arrivals, seen at the end of every unit that has some."""
    alone = HeartbeatGenerator(closed, unit=unit, close=False)
    together = GroupedHeartbeats(grouped(closed, group_of), group_of, unit=unit)
    moments = -(-clocks // unit) * unit
    behind: list[Int64s] = []
    behind_all: list[int] = []
    starts = np.flatnonzero(np.diff(moments, prepend=moments[:1] - 1))
    for first, last in zip(starts, np.append(starts[1:], len(clocks)), strict=True):
        for generator in (alone, together):
            generator.arrive(clocks[first:last], sources[first:last], times[first:last])
        now = int(moments[first])
        own, shared = alone.at(now), together.at(now)
        known = (own > BEGINNING) & (shared > BEGINNING)
        behind.append((own - shared)[known])
        if known.all():
            behind_all.append(int(own.min() - shared.min()))
    every = np.concatenate(behind) if behind else np.zeros(0, np.int64)
    if not len(every):
        return Delay(0.0, 0, 0.0)
    stream = float(np.mean(behind_all)) if behind_all else 0.0
    return Delay(float(every.mean()), int(every.max()), stream)
