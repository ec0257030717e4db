"""Session windows for aggregates by session: rows with the start of their session, and its end.

    session_members(H) = { ([vs, ve), r + {window_start: first, window_end: null}) :
                           (vs, ve, r) ∈ H, and its session begins at first }
                       ∪ { ([s, t), r + {window_start: first, window_end: end}) :
                           s is a start of a session, t the next one of it, or when the last of its
                           rows up to s has ended, r the last row up to s of a part of the session,
                           and at s the session is [first, end) }

A part are the rows that agree in further columns, which an aggregate goes by besides the session;
without such columns a session is one. Which session a row is in depends on the starts up to its
own, so that a later row changes the ends of the parts alone: a row costs what it changes, and not
its session. At every time each part of a session has one row with its end, as long as the session
has any other.

State: of every key its rows, in order of their start. Of rows that are only added a cti evicts all
that start before it but the last of each part, and these with the end of their session; where rows
may be retracted, the sessions that have ended and all of whose rows have.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch
from driftline.engine.lifetimes import session_kernel
from driftline.engine.lifetimes import session_members_kernel as kernel
from driftline.engine.lifetimes.session import SessionColumns, SessionRows
from driftline.engine.state.bag import Lifetimes
from driftline.engine.state.fields import Fields
from driftline.engine.state.fingerprints import Fingerprints, fingerprints
from driftline.engine.state.growing import KeyColumn
from driftline.model.arrays import Int64s, to_arrow

_NONE = np.empty(0, np.int64)


class SessionMembers(SessionColumns):
    """See the top of this file; the end of a session is a BIGINT. `further`: the columns that tell
    the parts of a session."""

    goes_by_ctis = False

    def __init__(
        self,
        schema: pa.Schema,
        gap: int,
        per: Sequence[str] = (),
        at_most: int | None = None,
        *,
        further: Sequence[str] = (),
        kind: pa.DataType | None = None,
        only_grows: bool = False,
    ) -> None:
        self.further = list(further)
        super().__init__(schema, gap, per, at_most, kind=kind, only_grows=only_grows)

    def _new_members(self, schema: pa.Schema) -> SessionRows:
        return RowsOfParts(schema, self.further) if self.further else super()._new_members(schema)

    @property
    def parts(self) -> kernel.Parts:
        members = self.members
        if isinstance(members, RowsOfParts):
            return kernel.Parts(members.low.values, members.high.values, True)
        return kernel.Parts(_NONE, _NONE, False)

    def _kinds(self, kind: pa.DataType) -> list[pa.DataType]:
        return [kind, pa.int64()]

    def _changed(self, batch: Batch) -> Batch:
        touched, earliest, latest = self._take_in(batch)
        state = self.gap, self.at_most, self.held, self.parts, self.runs.arrays
        begins, stops = kernel.find_sessions(touched, earliest, latest, *state)
        most = self._most_pieces()
        made = kernel.changes(touched, begins, stops, *state, most)
        self._check(
            made,
            f"sessions in parts make more than {most:,} rows: one for every row and every part of "
            "its session",
            "group by fewer columns, take a smaller gap, or smaller batches (--batch)",
        )
        payload = pa.RecordBatch.from_arrays(
            [
                *self.members.rows.take(made.member).columns,
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
            ended, cti, self.gap, self.at_most, self._keeps_rows(), self.parts, self.runs.arrays
        )

    def _next_ends(self, slots: Int64s) -> Int64s:
        return kernel.next_due(
            slots, self.gap, self.at_most, self._keeps_rows(), self.parts, self.runs.arrays
        )


class RowsOfParts(SessionRows):
    """`low`, `high`: the fingerprint of the part of each row."""

    fields = SessionRows.fields | Fields(derived=("low", "high"))

    def __init__(self, schema: pa.Schema, further: Sequence[str]) -> None:
        super().__init__(schema)
        self.further = further
        self.low, self.high = KeyColumn(np.int64, fill=None), KeyColumn(np.int64, fill=None)

    def count(self, batch: Lifetimes, prints: Fingerprints | None = None) -> tuple[Int64s, Int64s]:
        slots, new = super().count(batch, prints)
        self._note_parts(slots[new], batch.payload.take(to_arrow(new)))
        return slots, new

    def derive(self) -> None:
        super().derive()
        live = self.slots.live_slots()
        self._note_parts(live, self.rows.take(live))

    def _note_parts(self, members: Int64s, rows: pa.RecordBatch) -> None:
        prints = fingerprints([rows.column(name) for name in self.further], len(members))
        self.low.values[members] = prints.low.view(np.int64)
        self.high.values[members] = prints.high.view(np.int64)
