"""Snapshot operators that go by the rows of every snapshot.

    o(H), at every time:  ⋃ over the partitions of the snapshot of  ⊗(the rows of the partition)

State     segments   by partition: what was emitted
See `kept_rows` for the rest. A cti evicts every row and every segment that ends at or before it.

A batch costs the rows of the partitions it touches. For answers that are sums, see `additive`; for
those that have a row for every row, by its place in an order, `ordered`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from driftline.engine.by_rows.kept_rows import KeptRows
from driftline.engine.core.batch import Batch
from driftline.engine.state.emitted_rows import AnswerChanges, EmittedRows
from driftline.engine.state.fields import Fields
from driftline.model.arrays import Int64s, Int64Table
from driftline.model.level import Level
from driftline.model.time import BEGINNING, INFINITY


@dataclass(frozen=True)
class Answers:
    """Rows of the answer, and their pieces (see `emitted_rows`): those of the n-th slot of the call
    are bounds[n] … bounds[n + 1] - 1."""

    bounds: Int64s
    pieces: Int64Table
    rows: pa.RecordBatch


class RowsOperator(KeptRows):
    """Answers are computed for all of a partition, from the earliest affected time on."""

    fields = KeptRows.fields | Fields(by_key=("segments",), times=("segments",))

    def __init__(
        self,
        schema: pa.Schema,
        keys: list[str],
        kept: list[str],
        answer: pa.Schema,
        level: Level,
        with_keys: bool,
    ) -> None:
        super().__init__(schema, keys, kept, answer, level, with_keys)
        self.segments = EmittedRows(answer)

    @abstractmethod
    def _answers(self, slots: Int64s, earliest: Int64s, limit: int) -> Answers:
        """The rows of the answer from the earliest affected times on, up to the limit."""

    def _update(self, slots: Int64s, earliest: Int64s, before: int) -> Batch:
        """Compute the answers that are affected, and emit by how much they change."""
        earliest, limit = self._affected(slots, earliest, before)
        answers = self._answers(slots, earliest, limit)
        since = np.where(earliest > limit, INFINITY, earliest)
        changes = self._corrected(slots, since, answers)
        return self._output(changes, changes.key)

    def _corrected(self, slots: Int64s, since: Int64s, answers: Answers) -> AnswerChanges:
        """By how much the answers change what was emitted."""
        return self.segments.correct(slots, since, answers.bounds, answers.pieces, answers.rows)

    def _evict(self, slots: Int64s) -> None:
        """Drop what is final, and note when to look at these slots again."""
        self._drop_final(slots)
        closed = self.closing.closed(self.cti)  # all endpoints of these have been passed
        if len(closed):
            self._drop_ended(closed, INFINITY)
            self.closing.clear(closed)
        self._look_again(slots)
        self._remove(slots[(self.members.sizes(slots) == 0) & (self.segments.sizes(slots) == 0)])

    def _drop_final(self, slots: Int64s) -> None:
        """Drop the rows and segments of slots that nothing can change."""
        self._drop_ended(slots, self._settled())

    def _look_again(self, slots: Int64s) -> None:
        """Note when slots are due, and when there is something to evict."""
        self.due.set(slots, self._endpoints(slots, BEGINNING)[0])
        ends = np.minimum(self.members.first_ends(slots), self.segments.first_ends(slots))
        self.stale.set(slots, ends)

    def _drop_ended(self, slots: Int64s, final: int) -> None:
        """Drop the rows and segments of slots that end at or before some time."""
        self.members.drop(slots, final)
        self.segments.drop(slots, final)
