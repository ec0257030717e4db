"""Session windows for aggregates by session: rows with the start of their session, and its end.

    session_members(H) = { ([vs, ve), r + {window_start: first, window_end: null}) :
                           (vs, ve, r) ∈ H, and its session begins at first }
                       ∪ { ([s, t), r + {window_start: first, window_end: end}) :
                           s is a start of a session, t the next one of it, or when the last of its
                           rows up to s has ended, r a row that starts at s,
                           and at s the session is [first, end) }

Which session a row is in depends on the starts up to its own, so that a later row changes the end
of the session alone: a row costs what it changes, and not its session. At every time a session has
one row with its end, as long as it has any other.

State: of every key its rows, in order of their start. Of rows that are only added a cti evicts all
that start before it but the last, and that with the end of its session; where rows may be
retracted, the sessions that have ended and all of whose rows have.
"""

from __future__ import annotations

import pyarrow as pa

from driftline.engine.core.batch import Batch
from driftline.engine.lifetimes import session_kernel
from driftline.engine.lifetimes import session_members_kernel as kernel
from driftline.engine.lifetimes.session import SessionColumns
from driftline.model.arrays import Int64s, to_arrow


class SessionMembers(SessionColumns):
    """See the top of this file; the end of a session is a BIGINT."""

    goes_by_ctis = False

    def _kinds(self, kind: pa.DataType) -> list[pa.DataType]:
        return [kind, pa.int64()]

    def _changed(self, batch: Batch) -> Batch:
        touched, earliest, latest = self._take_in(batch)
        begins, stops = kernel.find_sessions(
            touched, earliest, latest, self.gap, self.at_most, self.held, self.runs.arrays
        )
        made = kernel.changes(
            touched, begins, stops, self.gap, self.at_most, self.held, self.runs.arrays
        )
        payload = pa.RecordBatch.from_arrays(
            [
                *self.rows.take(made.member).columns,
                to_arrow(made.first).cast(self.schema.field(-2).type),
                pa.array(made.end, mask=made.end == session_kernel.UNKNOWN),
            ],
            schema=self.schema,
        )
        gone = session_kernel.settle(touched, begins, stops, self.held, self.runs.arrays, True)
        self._forget(gone, touched)
        return Batch(made.vs, made.ve, made.weight, payload)

    def _drop(self, ended: Int64s, cti: int) -> Int64s:
        return kernel.evict(
            ended, cti, self.gap, self.at_most, self._keeps_rows(), self.runs.arrays
        )

    def _next_ends(self, slots: Int64s) -> Int64s:
        return kernel.next_due(slots, self.gap, self.at_most, self._keeps_rows(), self.runs.arrays)
