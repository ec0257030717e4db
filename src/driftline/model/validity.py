"""Stream validity over columns: the verdicts of `driftline.model.stream.Checker`, fast.

One pass of a kernel over the arrays finds which events break which rule; the sentences are made
only for those. An event that breaks a rule is left out of the stream, and checking goes on.
"""

from __future__ import annotations

import numpy as np

from driftline.kernels import compiled
from driftline.model.arrays import Int8s, Int64s
from driftline.model.columns import CTI, EXTERNAL_CTI, INSERT, RETRACT, StreamColumns
from driftline.model.event import ExternalCti, Insert, Retract, malformed
from driftline.model.lifetimes import number_lifetimes
from driftline.model.row import Row
from driftline.model.time import BEGINNING, show

(_FINE, _MALFORMED, _AFTER_CTI, _ONE_TOO_MANY, _NO_SUCH_LIFETIME, _OVERLAPS, _TOO_FEW_COUNTED) = (
    range(7)
)


def check_columns(stream: StreamColumns) -> list[tuple[int, str]]:
    """The index and the reason of every event that breaks a rule, in arrival order.

    >>> from driftline.model.event import Cti
    >>> events = [Cti(10), Insert(5, 9, Row(a=1))]
    >>> check_columns(StreamColumns.from_events("s", events))
    [(1, 'an insert with sync time 5 comes after cti 10')]
    """
    lifetimes = number_lifetimes(stream)
    sync = stream.sync()
    promises = bool((stream.kind == EXTERNAL_CTI).any())
    if promises:
        times, ranks = np.unique(sync, return_inverse=True)
    else:
        times, ranks = np.empty(0, np.int64), np.empty(0, np.int64)
    verdicts, details = _check(
        stream.kind,
        stream.vs,
        stream.ve,
        stream.vn,
        sync,
        lifetimes.gives,
        lifetimes.takes,
        np.zeros(len(lifetimes.vs), np.int64),
        times,
        ranks.astype(np.int64),
        promises,
    )
    return [
        (int(i), _reason(stream, int(i), int(verdicts[i]), int(details[i])))
        for i in np.flatnonzero(verdicts)
    ]


def _reason(stream: StreamColumns, i: int, verdict: int, detail: int) -> str:
    def time(ticks: int) -> str:
        return show(ticks, stream.timestamps)

    def interval(index: int) -> str:
        return f"[{time(int(stream.vs[index]))}, {time(int(stream.ve[index]))})"

    kind = "an insert" if stream.kind[i] == INSERT else "a retract"
    sync = (
        f"{kind} with sync time {time(int(stream.vs[i] if kind == 'an insert' else stream.vn[i]))}"
    )
    match verdict:
        case 1:
            return _malformed(stream, i)
        case 2:
            return f"{sync} comes after cti {time(detail)}"
        case 3:
            return (
                f"{sync} is one more than the {stream.vn[detail]} that an external cti promised "
                f"in {interval(detail)}"
            )
        case 4:
            return (
                f"a retract of the lifetime {interval(i)}, but no insert or earlier retract left "
                "this row with that lifetime"
            )
        case 5:
            return (
                f"an external cti for {interval(i)} overlaps an earlier one for {interval(detail)}"
            )
        case _:
            return (
                f"an external cti counts {stream.vn[i]} events in {interval(i)}, "
                f"but {detail} have come already"
            )


def _malformed(stream: StreamColumns, i: int) -> str:
    vs, ve, vn = int(stream.vs[i]), int(stream.ve[i]), int(stream.vn[i])
    event: Insert | Retract | ExternalCti
    if stream.kind[i] == INSERT:
        event = Insert(vs, ve, Row())
    elif stream.kind[i] == RETRACT:
        event = Retract(vs, ve, vn, Row())
    else:
        event = ExternalCti(vs, ve, vn)
    reason = malformed(event, stream.timestamps)
    assert reason is not None, "the kernel and the plain definition disagree"
    return reason


@compiled
def _check(
    kind: Int8s,
    vs: Int64s,
    ve: Int64s,
    vn: Int64s,
    sync: Int64s,
    gives: Int64s,
    takes: Int64s,
    alive: Int64s,
    times: Int64s,
    ranks: Int64s,
    counting: bool,
) -> tuple[Int8s, Int64s]:
    """The rule that each event breaks, and the number that the sentence about it needs.

    `alive` counts the copies of each lifetime. Only if there are external ctis: `times` are the
    distinct sync times, `ranks` says where each event's is in them.
    """
    verdicts = np.zeros(len(kind), np.int8)
    details = np.zeros(len(kind), np.int64)
    latest_cti = BEGINNING
    arrived = np.zeros(len(times) + 1, np.int64)  # a Fenwick tree: changes by rank of sync time
    promises = np.empty(np.sum(kind == EXTERNAL_CTI), np.int64)  # their events, in order of start
    received = np.zeros(len(promises), np.int64)  # how many changes came in each
    held = 0
    for i in range(len(kind)):
        if kind[i] == CTI:
            latest_cti = max(latest_cti, vs[i])
        elif kind[i] == EXTERNAL_CTI:
            if vs[i] >= ve[i] or vn[i] < 0:
                verdicts[i] = _MALFORMED
                continue
            after = _first_after(vs, promises, held, vs[i])
            first = after - 1 if after > 0 and ve[promises[after - 1]] > vs[i] else after
            last = first
            earliest = len(kind)
            while last < held and vs[promises[last]] < ve[i]:
                earliest = min(earliest, promises[last])
                last += 1
            if earliest < len(kind):
                verdicts[i], details[i] = _OVERLAPS, earliest
                continue
            already = _sum_before(arrived, np.searchsorted(times, ve[i])) - _sum_before(
                arrived, np.searchsorted(times, vs[i])
            )
            if already > vn[i]:
                verdicts[i], details[i] = _TOO_FEW_COUNTED, already
                continue
            for j in range(held, after, -1):
                promises[j], received[j] = promises[j - 1], received[j - 1]
            promises[after], received[after] = i, already
            held += 1
        else:
            if not BEGINNING < vs[i] < ve[i] or (kind[i] == RETRACT and not vs[i] <= vn[i] < ve[i]):
                verdicts[i] = _MALFORMED
                continue
            if sync[i] < latest_cti:
                verdicts[i], details[i] = _AFTER_CTI, latest_cti
                continue
            within = -1
            if held:
                within = _first_after(vs, promises, held, sync[i]) - 1
                if within >= 0 and sync[i] >= ve[promises[within]]:
                    within = -1
                if within >= 0 and received[within] == vn[promises[within]]:
                    verdicts[i], details[i] = _ONE_TOO_MANY, promises[within]
                    continue
            if takes[i] >= 0:
                if alive[takes[i]] <= 0:
                    verdicts[i] = _NO_SUCH_LIFETIME
                    continue
                alive[takes[i]] -= 1
            if gives[i] >= 0:
                alive[gives[i]] += 1
            if within >= 0:
                received[within] += 1
            if counting:
                node = ranks[i] + 1
                while node < len(arrived):
                    arrived[node] += 1
                    node += node & -node
    return verdicts, details


@compiled
def _first_after(vs: Int64s, promises: Int64s, held: int, time: int) -> int:
    """Where in `promises` the first one that starts after `time` is."""
    low, high = 0, held
    while low < high:
        middle = (low + high) // 2
        if vs[promises[middle]] <= time:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _sum_before(tree: Int64s, rank: int) -> int:
    """How many have come with a lower rank."""
    total = 0
    while rank > 0:
        total += tree[rank]
        rank -= rank & -rank
    return total
