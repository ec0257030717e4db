"""Alter lifetime: every kind of window over application time.

    Π_{start, duration}(H) = { (s, s + d, r) : (vs, ve, r) ∈ H, s = start(vs, ve),
                                               d = duration(vs, ve), s < s + d }

    sliding(d)       [vs, vs + d)             cti t goes on as t
    hopping(r, s)    from the first multiple of s after vs
                     to the first multiple of s after vs + r
                                              cti t goes on as the first multiple of s after t
    now()            [vs, vs + 1)             t
    unbounded()      [vs, ∞)                  t
    general          start and duration       what `linear.greatest_cti` says, or what is declared

A lifetime that would be empty vanishes; nothing goes past infinity. Each signed lifetime is
altered by itself: so a full retraction stays one, and where the new lifetime does not depend on
ve, the two halves of any other retraction become equal and cancel.

Hopping: what may still come has vs >= t, so its window starts at the first multiple of s after t
or later: a partial retraction changes nothing, a full one has vs >= t as well. And a row just
before that multiple may come, so no later cti would be right.

State: the latest cti emitted, because a cti goes on only when it moves output time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch, latest_start
from driftline.engine.core.operator import Operator
from driftline.engine.state.fields import Fields
from driftline.engine.state.progress import Progress
from driftline.engine.stateless.linear_times import Linear, greatest_cti
from driftline.kernels import compiled
from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING, INFINITY

TimeFunction = Callable[[Int64s, Int64s], Int64s]
"""Times or durations from the vs and the ve of lifetimes."""
CtiMapping = Callable[[int], int]
"""How far the output is final when the input is up to a time; BEGINNING: not at all."""


class AlterLifetime(Operator):
    """Gives every row another lifetime.

    `start` and `duration` are linear or any functions of the arrays vs and ve; `cti` says how far
    the output is final. Without it that follows from linear forms; for other functions nothing
    is final before everything is. `by_vs_alone` says that ve plays no part.
    """

    fields = Fields(parts=("progress",))
    uses_state = False
    sets_ends = True

    def __init__(
        self,
        schema: pa.Schema,
        start: Linear | TimeFunction,
        duration: Linear | TimeFunction,
        cti: CtiMapping | None = None,
        *,
        by_vs_alone: bool = False,
    ) -> None:
        super().__init__(schema)
        self.start = start.of if isinstance(start, Linear) else start
        self.duration = duration.of if isinstance(duration, Linear) else duration
        self.by_vs_alone = by_vs_alone
        self.progress = Progress()
        if cti is not None:
            self.cti = cti
        elif isinstance(start, Linear) and isinstance(duration, Linear):
            first, lasts = start, duration
            self.by_vs_alone = first.b == 0 and lasts.b == 0
            self.cti = lambda t: greatest_cti(first, lasts, t)
        else:
            self.cti = lambda t: BEGINNING

    @classmethod
    def sliding(cls, schema: pa.Schema, size: int) -> AlterLifetime:
        return cls(schema, Linear(1, 0, 0), Linear(0, 0, size))

    @classmethod
    def hopping(cls, schema: pa.Schema, size: int, slide: int) -> AlterLifetime:
        if slide <= 0:
            raise ValueError(f"a hopping window needs a slide of at least one tick, not {slide}")
        return _Hopping(schema, size, slide)

    @classmethod
    def within(cls, schema: pa.Schema, size: int) -> AlterLifetime:
        """[vs, vs + size), or to ve if that is sooner."""

        def shorter(vs: Int64s, ve: Int64s) -> Int64s:
            lasts = np.where(ve == INFINITY, INFINITY, ve - np.where(ve == INFINITY, 0, vs))
            return np.minimum(lasts, size)

        return cls(schema, Linear(1, 0, 0), shorter, lambda t: t)

    @classmethod
    def now(cls, schema: pa.Schema) -> AlterLifetime:
        return cls.sliding(schema, 1)

    @classmethod
    def unbounded(cls, schema: pa.Schema) -> AlterLifetime:
        return cls.sliding(schema, INFINITY)

    def process(self, port: int, batch: Batch) -> Batch:
        cti = self._advanced(batch.cti)
        if len(batch) == 0:
            return batch.promising(cti, self._high(BEGINNING, batch.high))
        start, end = self._altered(batch.vs, batch.ve)
        there = (start > BEGINNING) & (start < end)
        kept = batch
        if not there.all():
            kept, start, end = batch.take(there), start[there], end[there]
        latest = latest_start(batch.vs, batch.weight)
        high: int = latest_start(start, kept.weight)
        if batch.high != latest:
            high = self._high(high, batch.high)
        output = Batch(start, end, kept.weight, kept.payload, cti, high, batch.now, batch.label)
        return output.consolidated()

    def _altered(self, vs: Int64s, ve: Int64s) -> tuple[Int64s, Int64s]:
        start = self.start(vs, ve)
        return start, plus(start, self.duration(vs, ve))

    def _advanced(self, t: int) -> int:
        """The cti to emit after the input's cti t; BEGINNING if output time does not move."""
        if t == BEGINNING:
            return BEGINNING
        final = INFINITY if t == INFINITY else self.cti(t)
        return self.progress.promise(final)

    def _high(self, reached: int, high: int) -> int:
        """The greatest start, `reached` by the additions; also that of the last insert that was
        consolidated away before it came here, as far as its vs alone says where it would start."""
        if self.by_vs_alone and high != BEGINNING:
            start, end = self._altered(np.array([high]), np.array([INFINITY]))
            if BEGINNING < start[0] < end[0]:
                reached = max(reached, int(start[0]))
        return reached


class _Hopping(AlterLifetime):
    """From the first multiple of `slide` after vs to the first one after vs + `size`."""

    def __init__(self, schema: pa.Schema, size: int, slide: int) -> None:
        super().__init__(schema, self._multiples, self._multiples, by_vs_alone=True)
        self.size = size
        self.slide = slide
        self.cti = lambda t: int(multiples_after(np.array([t]), slide)[0])

    def _multiples(self, vs: Int64s, ve: Int64s) -> Int64s:
        return multiples_after(vs, self.slide)

    def _altered(self, vs: Int64s, ve: Int64s) -> tuple[Int64s, Int64s]:
        if self.size == INFINITY:
            return multiples_after(vs, self.slide), np.full(len(vs), INFINITY, np.int64)
        return _hops(vs, max(self.size, 0), self.slide)


@compiled
def plus(times: Int64s, durations: Int64s) -> Int64s:
    """`time + duration` for arrays, where infinity absorbs and nothing goes past it."""
    result = np.empty(len(times), np.int64)
    for row in range(len(times)):
        time, duration = times[row], durations[row]
        endless = time == INFINITY or duration == INFINITY
        if endless or (duration > 0 and time > INFINITY - duration):
            result[row] = INFINITY
        elif duration < 0 and time < BEGINNING - duration:
            result[row] = BEGINNING
        else:
            result[row] = time + duration
    return result


@compiled
def _hops(vs: Int64s, size: int, slide: int) -> tuple[Int64s, Int64s]:
    """The least multiples of `slide` after each time, and after each time plus `size`."""
    start, end = multiples_after(vs, slide), np.empty(len(vs), np.int64)
    if size % slide:
        for row in range(len(vs)):
            end[row] = INFINITY if vs[row] > INFINITY - size else vs[row] + size
        return start, multiples_after(end, slide)
    for row in range(len(vs)):
        end[row] = INFINITY if start[row] > INFINITY - size else start[row] + size
    return start, end


@compiled
def multiples_after(times: Int64s, step: int) -> Int64s:
    """The least multiple of `step` after each time; infinity past the last one."""
    result = np.empty(len(times), np.int64)
    last = INFINITY // step
    before, after = 0, 0  # neighbouring multiples: times often have the same, and dividing is slow
    for row in range(len(times)):
        if not before <= times[row] < after:
            number = times[row] // step
            if number >= last:
                result[row] = INFINITY
                continue
            before, after = number * step, (number + 1) * step
        result[row] = after
    return result
