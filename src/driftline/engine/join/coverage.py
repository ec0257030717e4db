"""When does a lifetime have a match? Its runs: the longest stretches with or without one.

    matched(l, t)  =  there is an r on the other side with on(l, r) and r.vs ≤ t < r.ve
    runs(l)        =  the longest [a, b) ⊆ [l.vs, l.ve) in which matched(l, ·) does not change

A semi join keeps the matched runs of the left, an anti join the others, and these are what an
outer join pads with nulls. Of a past that was evicted a lifetime remembers its last run only, see
`Past`: the earlier ones are final.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftline.kernels import compiled
from driftline.model.arrays import Int64s, Mask

Bools = NDArray[np.bool_]

_SHORT = 24
"""Up to so many endpoints are sorted by insertion."""


@dataclass(slots=True)
class Past:
    """Of each lifetime: just before `upto` a run was under way, `matched` or not, since `since`.
    Where all three times are vs, there is no past."""

    since: Int64s
    upto: Int64s
    matched: Bools

    @staticmethod
    def none(vs: Int64s) -> Past:
        return Past(vs.copy(), vs.copy(), np.zeros(len(vs), np.bool_))

    def of(self, items: Int64s) -> Past:
        return Past(self.since[items], self.upto[items], self.matched[items])

    def at(self, times: Int64s) -> Past:
        """The past of the lifetimes when each is cut off before a time: where that is just what the
        past reaches up to, it stays as it is; elsewhere nothing is known, and it begins there."""
        known = self.upto == times
        return Past(np.where(known, self.since, times), times, known & self.matched)


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


@dataclass(slots=True)
class Runs:
    """The runs of lifetime i are those from `first[i]` up to `first[i + 1]`, in order of time."""

    first: Int64s
    start: Int64s
    end: Int64s
    matched: Bools

    def stretches(self, matched: bool) -> tuple[Int64s, Int64s, Int64s]:
        """The runs with a match, or those without: the number of the lifetime, start, end."""
        wanted = np.flatnonzero(self.matched == matched)
        one = np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))
        return one[wanted], self.start[wanted], self.end[wanted]

    def at(self, time: int) -> tuple[Int64s, Bools]:
        """Since when the run just before a time has lasted, and whether it is a matched one."""
        return _at(self.first, self.start, self.end, self.matched, time)


def runs(ve: Int64s, past: Past, matches: Matches) -> Runs:
    """The runs of some lifetimes, the last past one included, given all matches since the past."""
    return Runs(
        *_runs(
            ve,
            past.since,
            past.upto,
            past.matched,
            matches.one,
            matches.start,
            matches.end,
            matches.weight,
        )
    )


def differences(before: Runs, after: Runs, matched: bool) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """What the runs of a sort change by: the number of the lifetime, start, end, and 1 or -1."""
    return _differences(
        before.first,
        before.start,
        before.end,
        before.matched,
        after.first,
        after.start,
        after.end,
        after.matched,
        matched,
    )


@compiled
def _runs(
    ve: Int64s,
    since: Int64s,
    upto: Int64s,
    matched: Mask,
    one: Int64s,
    start: Int64s,
    end: Int64s,
    weight: Int64s,
) -> tuple[Int64s, Int64s, Int64s, Mask]:
    begin, time, change = _endpoints(upto, one, start, end, weight)
    room = len(ve) + len(time) + len(ve)
    first = np.zeros(len(ve) + 1, np.int64)
    run_start, run_end = np.empty(room, np.int64), np.empty(room, np.int64)
    run_matched = np.empty(room, np.bool_)
    made = 0
    for item in range(len(ve)):
        running_since, running, now, count = since[item], matched[item], upto[item], 0
        for point in range(begin[item], begin[item + 1] + 1):
            last = point == begin[item + 1]
            until = ve[item] if last else min(time[point], ve[item])
            if until > now:
                if running != (count > 0):
                    if running_since < now:
                        run_start[made], run_end[made] = running_since, now
                        run_matched[made] = running
                        made += 1
                    running_since, running = now, count > 0
                now = until
            if not last:
                count += change[point]
        if running_since < ve[item]:
            run_start[made], run_end[made] = running_since, ve[item]
            run_matched[made] = running
            made += 1
        first[item + 1] = made
    return first, run_start[:made].copy(), run_end[:made].copy(), run_matched[:made].copy()


@compiled
def _endpoints(
    upto: Int64s, one: Int64s, start: Int64s, end: Int64s, weight: Int64s
) -> tuple[Int64s, Int64s, Int64s]:
    """The starts and ends of all matches after the past, by lifetime and in order of time."""
    begin = np.zeros(len(upto) + 1, np.int64)
    for match in range(len(one)):
        if end[match] > upto[one[match]]:
            begin[one[match] + 1] += 2
    for item in range(len(upto)):
        begin[item + 1] += begin[item]
    filled = begin.copy()
    time, change = np.empty(begin[-1], np.int64), np.empty(begin[-1], np.int64)
    for match in range(len(one)):
        item = one[match]
        if end[match] > upto[item]:
            place = filled[item]
            filled[item] += 2
            time[place], change[place] = max(start[match], upto[item]), weight[match]
            time[place + 1], change[place + 1] = end[match], -weight[match]
    for item in range(len(upto)):
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


@compiled
def _differences(
    old_first: Int64s,
    old_start: Int64s,
    old_end: Int64s,
    old_matched: Mask,
    new_first: Int64s,
    new_start: Int64s,
    new_end: Int64s,
    new_matched: Mask,
    matched: bool,
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    room = len(old_start) + len(new_start)
    one, sign = np.empty(room, np.int64), np.empty(room, np.int64)
    start, end = np.empty(room, np.int64), np.empty(room, np.int64)
    made = 0
    for item in range(len(old_first) - 1):
        old, new = old_first[item], new_first[item]
        while old < old_first[item + 1] or new < new_first[item + 1]:
            if old < old_first[item + 1] and old_matched[old] != matched:
                old += 1
                continue
            if new < new_first[item + 1] and new_matched[new] != matched:
                new += 1
                continue
            has_old, has_new = old < old_first[item + 1], new < new_first[item + 1]
            same_start = has_old and has_new and old_start[old] == new_start[new]
            if same_start and old_end[old] == new_end[new]:
                old += 1
                new += 1
                continue
            one[made] = item
            if has_old and (not has_new or old_start[old] <= new_start[new]):
                start[made], end[made], sign[made] = old_start[old], old_end[old], -1
                old += 1
            else:
                start[made], end[made], sign[made] = new_start[new], new_end[new], 1
                new += 1
            made += 1
    return one[:made].copy(), start[:made].copy(), end[:made].copy(), sign[:made].copy()


@compiled
def _at(first: Int64s, start: Int64s, end: Int64s, matched: Mask, time: int) -> tuple[Int64s, Mask]:
    since, status = np.zeros(len(first) - 1, np.int64), np.zeros(len(first) - 1, np.bool_)
    for item in range(len(first) - 1):
        for run in range(first[item], first[item + 1]):
            if start[run] < time <= end[run]:
                since[item], status[item] = start[run], matched[run]
    return since, status
