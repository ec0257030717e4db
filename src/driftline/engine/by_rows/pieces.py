"""Snapshot operators that compute an answer piece by piece.

A piece is the time between two neighbouring endpoints of a partition, in which its snapshot stays
the same. ⊗ is whatever an operator computes from the rows alive in a piece; it is asked once for
all the pieces that a batch affects. A piece costs the rows alive in it, or, where the operator can
go by changes, those that come and go.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import pyarrow as pa

from driftline.engine.by_rows import change_kernels, snapshot_kernel
from driftline.engine.by_rows.piece_values import ChangedPieces, Pieces
from driftline.engine.by_rows.rows_operator import Answers, RowsOperator
from driftline.engine.by_rows.snapshot_kernel import Cut
from driftline.engine.core.snapshot_operator import NO_SLOTS, PERFECT
from driftline.engine.state.emitted_rows import pieces_of
from driftline.engine.state.fingerprints import fingerprints
from driftline.model.arrays import Int64s

ROWS_AT_ONCE = 1 << 22
"""The evaluator is asked about so many rows of pieces at once, to bound the memory it takes."""


CHANGES_ARE_CHEAPER = 4
"""Pieces are given as changes if they have so many times more rows in all than the partitions."""


class PiecesOperator(RowsOperator):
    """`goes_by_changes`: whether `evaluate_changes` may be asked."""

    goes_by_changes = False

    @abstractmethod
    def evaluate(self, pieces: Pieces) -> tuple[Int64s, pa.RecordBatch]:
        """⊗ of every piece: the rows of the answer, and the piece of each, in order of these."""

    def evaluate_changes(self, pieces: ChangedPieces) -> tuple[Int64s, pa.RecordBatch] | None:
        """The same from the rows that come and go; None if all rows have to be looked at."""
        raise NotImplementedError

    def _answers(self, slots: Int64s, earliest: Int64s, limit: int) -> Answers:
        pieces = snapshot_kernel.cut(
            slots, earliest, limit, self.level == PERFECT, self.members.arrays
        )
        piece_of, rows = self._evaluated(slots, pieces)
        bounds = np.searchsorted(piece_of, pieces.bounds)
        prints = fingerprints(rows.columns, len(piece_of))
        found = pieces_of(prints, pieces.start[piece_of], pieces.end[piece_of])
        return Answers(bounds, found, rows)

    def _evaluated(self, slots: Int64s, cut: Cut) -> tuple[Int64s, pa.RecordBatch]:
        """⊗ of all pieces, asked for in portions."""
        found = [(NO_SLOTS, pa.RecordBatch.from_pylist([], schema=self.answer_schema))]
        slot_of = np.repeat(slots, np.diff(cut.bounds))
        reached = np.cumsum(cut.alive)
        few = int(self.members.sizes(slots).sum()) + len(reached)
        if self.goes_by_changes and len(reached) and reached[-1] > CHANGES_ARE_CHEAPER * few:
            steps, places, vs = change_kernels.steps(slot_of, cut.start, self.members.arrays)
            rows = self.members.rows.take(places)
            answer = self.evaluate_changes(ChangedPieces(steps, rows, vs))
            if answer is not None:
                return answer
        begin = 0
        while begin < len(cut.start):
            done = int(reached[begin - 1]) if begin else 0
            stop = max(begin + 1, int(np.searchsorted(reached, done + ROWS_AT_ONCE, "right")))
            offsets, members, places, vs = snapshot_kernel.fill(
                slot_of[begin:stop],
                cut.start[begin:stop],
                cut.alive[begin:stop],
                self.members.arrays,
            )
            rows = self.members.rows.take(places)
            piece_of, answers = self.evaluate(Pieces(offsets, members, rows, vs))
            found.append((piece_of + begin, answers))
            begin = stop
        if len(found) == 2:  # noqa: PLR2004 - the empty one, and the only portion
            return found[1]
        return (
            np.concatenate([piece_of for piece_of, _ in found]),
            pa.concat_batches([rows for _, rows in found]),
        )
