"""When does a lifetime have a match? Its runs: the longest stretches with or without one.

    matched(l, t)  =  there is an r on the other side with on(l, r) and r.vs ≤ t < r.ve
    runs(l)        =  the longest [a, b) ⊆ [l.vs, l.ve) in which matched(l, ·) does not change

A semi join keeps the matched runs of the left, an anti join the others, and these are what an
outer join pads with nulls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftline.engine.state.trace import END, START, VALUE
from driftline.kernels import compiled
from driftline.model.arrays import Int64s, Int64Table

_SHORT = 24
"""Up to so many endpoints are sorted by insertion."""


@dataclass(slots=True)
class Matches:
    """Stretches in which lifetimes have matches: `one` is the number of the lifetime, `weight` how
    many matches there are."""

    one: Int64s
    start: Int64s
    end: Int64s
    weight: Int64s

    def __add__(self, other: Matches) -> Matches:
        return Matches(
            np.concatenate([self.one, other.one]),
            np.concatenate([self.start, other.start]),
            np.concatenate([self.end, other.end]),
            np.concatenate([self.weight, other.weight]),
        )


def runs(
    since: Int64s, until: Int64s, matches: Matches, matched: bool
) -> tuple[Int64Table, Int64s]:
    """The runs of one sort, matched or not, between some times of each lifetime, given all its
    matches between these: those of the n-th are the rows bounds[n] … bounds[n + 1] - 1."""
    return _runs(since, until, matches.one, matches.start, matches.end, matches.weight, matched)


@compiled
def _runs(
    since: Int64s,
    until: Int64s,
    one: Int64s,
    start: Int64s,
    end: Int64s,
    weight: Int64s,
    matched: bool,
) -> tuple[Int64Table, Int64s]:
    begin, time, change = _endpoints(since, one, start, end, weight)
    found, made = np.empty((len(since) + len(time), VALUE), np.int64), 0
    bounds = np.zeros(len(since) + 1, np.int64)
    for item in range(len(since)):
        now, count, first = since[item], 0, made
        for point in range(begin[item], begin[item + 1] + 1):
            is_last = point == begin[item + 1]
            then = until[item] if is_last else min(time[point], until[item])
            if then > now:
                if (count > 0) == matched:
                    if made == first or found[made - 1, END] < now:
                        found[made, START] = now
                        made += 1
                    found[made - 1, END] = then
                now = then
            if not is_last:
                count += change[point]
        bounds[item + 1] = made
    return found[:made].copy(), bounds


@compiled
def _endpoints(
    since: Int64s, one: Int64s, start: Int64s, end: Int64s, weight: Int64s
) -> tuple[Int64s, Int64s, Int64s]:
    """The starts and ends of all matches from some times on, by lifetime and in order of time."""
    begin = np.zeros(len(since) + 1, np.int64)
    for match in range(len(one)):
        if end[match] > since[one[match]]:
            begin[one[match] + 1] += 2
    for item in range(len(since)):
        begin[item + 1] += begin[item]
    filled = begin.copy()
    time, change = np.empty(begin[-1], np.int64), np.empty(begin[-1], np.int64)
    for match in range(len(one)):
        item = one[match]
        if end[match] > since[item]:
            place = filled[item]
            filled[item] += 2
            time[place], change[place] = max(start[match], since[item]), weight[match]
            time[place + 1], change[place + 1] = end[match], -weight[match]
    for item in range(len(since)):
        _sort(time[begin[item] : begin[item + 1]], change[begin[item] : begin[item + 1]])
    return begin, time, change


@compiled
def _sort(time: Int64s, change: Int64s) -> None:
    if len(time) > _SHORT:
        order = np.argsort(time)
        time[:], change[:] = time[order], change[order]
        return
    for place in range(1, len(time)):
        moved_time, moved_change, to = time[place], change[place], place
        while to > 0 and moved_time < time[to - 1]:
            time[to], change[to] = time[to - 1], change[to - 1]
            to -= 1
        time[to], change[to] = moved_time, moved_change
