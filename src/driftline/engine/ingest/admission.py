"""Which events come in time, and how far the past is closed: the part of Finalize that knows only
times.

    latest_cti  after a cti t: at least t; after an external cti whose events have all come, and
                when nothing before it can come any more: at least its end; always at least the
                clock less `remember`, and what the bounds of the source promise (`source_time`).
                The clock is the greatest vs and t so far.
    closed      the same without external ctis, which promise the times of events alone: chains of
                retracts may still be in parts (`chains`)
    an event    is in time if its sync time is not before the latest cti when it comes

State: the clock, these two times, the external ctis, and the sync time of the changes that came,
which an external cti that comes after them counts. A cti lets external ctis go that are before it
(only the time they cover is remembered, so that none is promised twice). Of the sync times before
the latest cti the last COUNTS_KEPT to arrive are kept: an external cti that reaches farther back
cannot be checked any more, and is a dead letter. Plain records (`inserts_only`) are never counted,
and none of their times is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftline.engine.ingest.dead_letters import (
    COUNTED_TOO_FEW,
    FINE,
    FORGOTTEN,
    MALFORMED,
    NOT_DECLARED,
    ONE_TOO_MANY,
    OVERLAPS,
    TOO_LATE,
)
from driftline.engine.state.fields import Fields, Stateful
from driftline.kernels import compiled, in_place
from driftline.model.arrays import Int8s, Int64s, Int64Table
from driftline.model.columns import CTI, EXTERNAL_CTI, INSERT, RETRACT
from driftline.model.time import BEGINNING, INFINITY, ORIGIN

COUNTS_KEPT = 1 << 16
"""How many sync times before the latest cti are kept for external ctis that come late."""

NO_PROMISES = np.empty(0, np.int64)

NO_DETAILS = np.zeros((3, 0), np.int64)

_START, _END, _COUNT, _RECEIVED = range(4)
_FIELDS = 4


@dataclass(frozen=True, slots=True)
class Verdicts:
    """For each event of a batch its code (FINE or why it is dead), the numbers a sentence about it
    needs, and the latest cti and `closed` after it."""

    code: NDArray[np.int8]
    detail: Int64s
    latest_cti: Int64s
    closed: Int64s

    def of(self, events: Int64s) -> Verdicts:
        """Those on some of the events, in order."""
        of_dead = np.isin(np.flatnonzero(self.code), events, assume_unique=True)
        return Verdicts(
            self.code[events],
            self.detail[:, of_dead],
            self.latest_cti[events],
            self.closed[events],
        )


class Admission(Stateful):
    """Takes the times of events in order of arrival, and says which are in time.

    `clock`, `latest_cti`, `closed`: as above; `promises`: the external ctis (start, end, count, how
    many have come), in order of start; `received`: room for sync times in order of arrival, of
    which the first `kept` are in use (`sync_times`); `horizon`: some sync times before it are
    forgotten.
    """

    fields = Fields(
        numbers=("clock", "latest_cti", "closed", "horizon"), arrays=("promises", "sync_times")
    )

    def __init__(self, remember: int, inserts_only: bool) -> None:
        self.remember = remember
        self.inserts_only = inserts_only
        self.clock = BEGINNING
        self.latest_cti = BEGINNING
        self.closed = BEGINNING
        self.horizon = BEGINNING
        self.promises = np.empty((_FIELDS, 0), np.int64)
        self.received = np.empty(0, np.int64)
        self.kept = 0

    @property
    def sync_times(self) -> Int64s:
        return self.received[: self.kept]

    @sync_times.setter
    def sync_times(self, times: Int64s) -> None:
        self.received, self.kept = times, len(times)

    def state_size(self) -> tuple[int, int]:
        return self.kept, self.promises.nbytes + self.received.nbytes

    def take(
        self,
        kind: NDArray[np.int8],
        vs: Int64s,
        ve: Int64s,
        vn: Int64s,
        clock: int | None = None,
        promised: Int64s | None = None,
    ) -> Verdicts:
        """Events in order of arrival; or, with what the clock shows after them, events that have
        come at one moment: all are judged by the cti before it. `promised`: the cti that a promise
        had put in force when each came."""
        if not self.inserts_only:
            self._make_room(len(kind))
        held = self.promises.shape[1]
        promises = self.promises
        if held or np.count_nonzero(kind):  # there may be external ctis
            external = int(np.count_nonzero(kind == EXTERNAL_CTI))
            promises = np.concatenate([promises, np.empty((_FIELDS, external), np.int64)], axis=1)
        code = np.zeros(len(kind), np.int8)
        detail = np.zeros(len(kind), np.int64)
        latest_cti = np.empty(len(kind), np.int64)
        closed = np.empty(len(kind), np.int64)
        self.clock, self.latest_cti, self.closed, self.kept, held = _admit(
            kind,
            vs,
            ve,
            vn,
            self.remember if clock is None else INFINITY,
            self.inserts_only,
            self.clock,
            self.latest_cti,
            self.closed,
            self.horizon,
            promises,
            held,
            self.received,
            self.kept,
            NO_PROMISES if promised is None else promised,
            code,
            detail,
            latest_cti,
            closed,
        )
        self.promises = promises[:, :held]
        if clock is not None:
            self.clock = max(self.clock, clock)
            self.promise(_closed(self.clock, self.remember))
        details = self._details(code, detail)
        self._merge_ended()
        return Verdicts(code, details, latest_cti, closed)

    def promise(self, cti: int) -> None:
        """Nothing before a cti comes any more."""
        self.closed = max(self.closed, cti)
        self.latest_cti = max(self.latest_cti, cti)

    def _details(self, code: NDArray[np.int8], detail: Int64s) -> Int64s:
        """The numbers for the sentences about the dead events: for one more than promised, the
        promise."""
        if not np.count_nonzero(code):
            return NO_DETAILS
        dead = np.flatnonzero(code)
        details = np.zeros((3, len(dead)), np.int64)
        details[0] = detail[dead]
        more = code[dead] == ONE_TOO_MANY
        place = np.searchsorted(self.promises[_START], detail[dead[more]])
        details[:, more] = self.promises[:3, place]
        return details

    def _merge_ended(self) -> None:
        """Joins the external ctis that are over, where they touch."""
        if not self.promises.shape[1]:
            return
        over = int(np.searchsorted(self.promises[_END], self.latest_cti, side="right"))
        if over > 1:
            start, end = self.promises[_START, :over], self.promises[_END, :over]
            first = np.concatenate([[True], start[1:] != end[:-1]])
            last = np.concatenate([first[1:], [True]])
            joined = np.zeros((_FIELDS, int(first.sum())), np.int64)
            joined[_START], joined[_END] = start[first], end[last]
            self.promises = np.concatenate([joined, self.promises[:, over:]], axis=1)

    def _make_room(self, more: int) -> None:
        if self.kept + more <= len(self.received):
            return
        self.kept, self.horizon = _forget(
            self.received, self.kept, self.latest_cti, self.horizon, COUNTS_KEPT
        )
        if 2 * (self.kept + more) > len(self.received):
            received = np.empty(2 * (self.kept + more), np.int64)
            received[: self.kept] = self.received[: self.kept]
            self.received = received


@in_place
def _forget(received: Int64s, kept: int, latest: int, horizon: int, always: int) -> tuple[int, int]:
    """Keep the sync times from the latest cti on, and always so many of the last; returns how many
    that leaves, and the horizon."""
    left = 0
    for place in range(kept):
        if received[place] >= latest or place >= kept - always:
            received[left] = received[place]
            left += 1
        else:
            horizon = max(horizon, received[place] + 1)
    return left, horizon


@compiled
def _admit(
    kind: Int8s,
    vs: Int64s,
    ve: Int64s,
    vn: Int64s,
    remember: int,
    inserts_only: bool,
    clock: int,
    latest: int,
    closed: int,
    horizon: int,
    promises: Int64Table,
    held: int,
    received: Int64s,
    kept: int,
    promised: Int64s,
    code: Int8s,
    detail: Int64s,
    latest_cti: Int64s,
    closed_up_to: Int64s,
) -> tuple[int, int, int, int, int]:
    """One event after the other. What is dead moves nothing: neither the clock nor a cti."""
    moved = True  # something has changed that may complete external ctis
    for i in range(len(kind)):
        if len(promised) and promised[i] > closed:
            closed = promised[i]
        if kind[i] == CTI:
            clock, closed = max(clock, vs[i]), max(closed, vs[i])
        if closed > latest:
            latest = closed
            moved = True
        latest_cti[i], closed_up_to[i] = latest, closed
        if kind[i] == CTI:
            pass
        elif inserts_only and kind[i] != INSERT:
            code[i] = NOT_DECLARED
            continue
        elif kind[i] == EXTERNAL_CTI:
            if vs[i] >= ve[i] or vn[i] < 0:
                code[i] = MALFORMED
                continue
            place = _first_after(promises[_START], held, vs[i])
            if (place > 0 and promises[_END, place - 1] > vs[i]) or (
                place < held and promises[_START, place] < ve[i]
            ):
                code[i] = OVERLAPS
                continue
            if vs[i] < horizon:
                code[i], detail[i] = FORGOTTEN, horizon
                continue
            already = 0
            for j in range(kept):
                already += vs[i] <= received[j] < ve[i]
            if already > vn[i]:
                code[i], detail[i] = COUNTED_TOO_FEW, already
                continue
            for j in range(held, place, -1):
                promises[:, j] = promises[:, j - 1]
            promises[_START, place], promises[_END, place] = vs[i], ve[i]
            promises[_COUNT, place], promises[_RECEIVED, place] = vn[i], already
            held += 1
            moved = True
        else:
            if not BEGINNING < vs[i] < ve[i] or (kind[i] == RETRACT and not vs[i] <= vn[i] < ve[i]):
                code[i] = MALFORMED
                continue
            sync = vs[i] if kind[i] == INSERT else vn[i]
            if sync < latest:
                code[i], detail[i] = TOO_LATE, latest
                continue
            if held:
                place = _first_after(promises[_START], held, sync) - 1
                if place >= 0 and sync < promises[_END, place]:
                    if promises[_RECEIVED, place] == promises[_COUNT, place]:
                        code[i], detail[i] = ONE_TOO_MANY, promises[_START, place]
                        continue
                    promises[_RECEIVED, place] += 1
                    moved = moved or promises[_RECEIVED, place] == promises[_COUNT, place]
            code[i] = FINE
            if not inserts_only:
                received[kept] = sync
                kept += 1
            if kind[i] == INSERT:
                clock = max(clock, vs[i])
        if moved:
            latest = _counted(promises, held, latest)
            moved = False
        closed = max(closed, _closed(clock, remember))
        if closed > latest:
            latest = closed
            moved = held > 0  # seen by the next event, as event by event
        latest_cti[i], closed_up_to[i] = latest, closed
    return clock, latest, closed, kept, held


@compiled
def _closed(clock: int, remember: int) -> int:
    """How far `remember` closes the past."""
    if remember == INFINITY or clock < BEGINNING + remember:
        return BEGINNING
    return clock if clock == INFINITY else clock - remember


@compiled
def _counted(promises: Int64Table, held: int, reached: int) -> int:
    """How far complete external ctis, one after the other, close the past."""
    place = _first_after(promises[_END], held, reached)
    while place < held and promises[_START, place] <= max(reached, ORIGIN):
        if promises[_RECEIVED, place] == promises[_COUNT, place]:
            reached = max(reached, promises[_END, place])
        place += 1
    return reached


@compiled
def _first_after(times: Int64s, held: int, time: int) -> int:
    """The place of the first of the sorted times that is after `time`."""
    low, high = 0, held
    while low < high:
        middle = (low + high) // 2
        if times[middle] <= time:
            low = middle + 1
        else:
            high = middle
    return low
