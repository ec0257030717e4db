"""Snapshot operators that go by the rows of every snapshot.

    o(H), at every time:  ⋃ over the partitions of the snapshot of  ⊗(the rows of the partition)

State: see `kept_rows`; the segments of a partition are those of its slot. A cti evicts every row
and every segment that ends at or before it.

A batch costs the rows of the partitions it touches. For answers that are sums, see `additive`; for
those that have a row for every row, by its place in an order, `ordered`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from driftline.engine.by_rows import emit_kernel, snapshot_kernel
from driftline.engine.by_rows.kept_rows import KeptRows
from driftline.engine.core.batch import Batch
from driftline.engine.core.snapshot_operator import EAGER, NO_FLAGS, NO_SLOTS, ORDERED, PERFECT
from driftline.model.arrays import Int64s, Mask
from driftline.model.time import BEGINNING, INFINITY


class Answers(NamedTuple):
    """Rows of the answer: those of the n-th slot of the call are bounds[n] … bounds[n + 1] - 1;
    `lines`: the fingerprint and the start of each (see `emit_kernel`), `ends`: its end. `settled`,
    `same_from`, `keeps`: see `emit_kernel`; empty, where segments are never settled before they
    end."""

    bounds: Int64s
    lines: Int64s
    ends: Int64s
    rows: pa.RecordBatch
    settled: Int64s = NO_SLOTS
    same_from: Int64s = NO_SLOTS
    keeps: Mask = NO_FLAGS


class RowsOperator(KeptRows):
    """Answers are computed for all of a partition, from the earliest affected time on."""

    @abstractmethod
    def _answers(self, slots: Int64s, earliest: Int64s, limit: int) -> Answers:
        """The rows of the answer from the earliest affected times on, up to the limit."""

    def _update(self, slots: Int64s, earliest: Int64s, before: int) -> Batch:
        """Compute the answers that are affected, and emit by how much they change."""
        if self.level == ORDERED:
            earliest = np.minimum(earliest, self.due.of(slots))
        elif self.level == PERFECT:
            earliest = np.minimum(earliest, before)
        limit = INFINITY if self.level == EAGER else self.watermark
        bounds, lines, ends, rows, settled, same_from, keeps = self._answers(slots, earliest, limit)
        old = self.segments.sizes(slots)
        self.segments.reserve(slots, 2 * old + np.diff(bounds))
        corrections, new, freed = emit_kernel.correct(
            slots,
            earliest,
            limit,
            bounds,
            lines,
            ends,
            self.segments.arrays,
            self.answer_places.offered(len(ends) + int(old.sum())),
            settled,
            same_from,
            keeps,
        )
        output = self._output(corrections, rows)
        places = self.answer_places.take(len(new))
        self.answer_places.give_back(freed)
        self.answer_rows.forget(freed)
        if rows.num_columns:
            self.answer_rows.put(places, rows.take(pa.array(new)))
        return output

    def _evict(self, slots: Int64s) -> None:
        """Drop what is final, and note when to look at these slots again."""
        self._drop_final(slots)
        closed = self.closing.closed(self.cti)  # all endpoints of these have been passed
        if len(closed):
            self._drop_ended(closed, INFINITY)
            self.closing.gone(closed)
        self._look_again(slots)
        self._remove(slots[(self.members.sizes(slots) == 0) & (self.segments.sizes(slots) == 0)])

    def _drop_final(self, slots: Int64s) -> None:
        """Drop the rows and segments of slots that nothing can change."""
        self._drop_ended(slots, self._settled())

    def _look_again(self, slots: Int64s) -> None:
        """Note when slots are due, and when there is something to evict."""
        due, _ = snapshot_kernel.endpoints_around(
            slots, self.members.arrays, self.watermark, BEGINNING
        )
        stale = np.full(len(slots), INFINITY)
        snapshot_kernel.least_end(slots, self.members.arrays, stale)
        snapshot_kernel.least_end(slots, self.segments.arrays, stale)
        self.due.set(slots, due)
        self.stale.set(slots, stale)

    def _drop_ended(self, slots: Int64s, final: int) -> None:
        """Drop the rows and segments of slots that end at or before some time."""
        self._drop(self.members, slots, final)
        self._drop(self.segments, slots, final)
