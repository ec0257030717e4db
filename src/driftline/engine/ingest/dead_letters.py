"""Dead letters: the events that are not part of a stream, as columns, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.event_log.bad import BadEvent
from driftline.model.arrays import Int64s, once_for_each
from driftline.model.columns import EXTERNAL_CTI, INSERT, RETRACT
from driftline.model.event import Event, ExternalCti, Insert, Retract, malformed
from driftline.model.row import Row
from driftline.model.time import show

(FINE, MALFORMED, TOO_LATE, ONE_TOO_MANY, OVERLAPS, COUNTED_TOO_FEW, FORGOTTEN, NOT_DECLARED) = (
    range(8)
)
NEVER_FOUND = 8
REASONS = (
    "fine",
    "malformed",
    "too late",
    "one more than promised",
    "overlapping promise",
    "promise of too few",
    "promise about a forgotten past",
    "retract or count in a stream of inserts only",
    "retract without its insert",
)
"""A short name for each reason code."""


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Events in the order in which they died, and those that died of the same event in the order
    in which they came; vn and payload as in `StreamColumns`.

    `number`: which event of the stream it was, counted from 0 in order of arrival.
    `code`: why it is dead; `detail`: the numbers that the sentence about it needs.
    `bad`: records that could not be read, with file, line, column, value and reason.
    """

    number: Int64s
    kind: NDArray[np.int8]
    vs: Int64s
    ve: Int64s
    vn: Int64s
    payload: pa.RecordBatch
    code: NDArray[np.int8]
    detail: Int64s
    bad: tuple[BadEvent, ...] = ()

    def __len__(self) -> int:
        return len(self.kind) + len(self.bad)

    def with_more(self, others: Sequence[DeadLetters]) -> DeadLetters:
        """These and others, in the order in which the events came."""
        if not others:
            return self
        parts = [self, *others]
        number = np.concatenate([part.number for part in parts])
        order = np.argsort(number, kind="stable")
        return DeadLetters(
            number[order],
            np.concatenate([part.kind for part in parts])[order],
            np.concatenate([part.vs for part in parts])[order],
            np.concatenate([part.ve for part in parts])[order],
            np.concatenate([part.vn for part in parts])[order],
            pa.concat_batches([part.payload for part in parts]).take(pa.array(order)),
            np.concatenate([part.code for part in parts])[order],
            np.concatenate([part.detail for part in parts], axis=1)[:, order],
            tuple(bad for part in parts for bad in part.bad),
        )

    def reasons(self, timestamps: bool = False) -> list[str]:
        """Why each is dead, in words: the records that could not be read, then the events."""
        events = [self._reason(place, timestamps) for place in range(len(self.kind))]
        return [*(bad.reason for bad in self.bad), *events]

    def first(self, stream: str, timestamps: bool = False) -> BadEvent:
        """The first of them; of an event the number, as there is no line."""
        if self.bad:
            return self.bad[0]
        event = str(self.to_events()[0]).encode()
        reason = self._reason(0, timestamps)
        return BadEvent(f"<{stream}>", int(self.number[0]) + 1, reason, event)

    def to_events(self) -> list[Event]:
        """The events of the plain model: for tests and small numbers."""
        rows = self.payload.to_pylist() if self.payload.num_columns else [{}] * len(self.kind)
        return [self._event(place, Row(row)) for place, row in enumerate(rows)]

    def _event(self, place: int, row: Row) -> Event:
        vs, ve, vn = int(self.vs[place]), int(self.ve[place]), int(self.vn[place])
        if self.kind[place] == EXTERNAL_CTI:
            return ExternalCti(vs, ve, vn)
        return Insert(vs, ve, row) if self.kind[place] == INSERT else Retract(vs, ve, vn, row)

    def _reason(self, place: int, timestamps: bool) -> str:
        first, second, third = self.detail[:, place].tolist()
        match int(self.code[place]):
            case 1:
                return malformed(self._event(place, Row()), timestamps) or REASONS[MALFORMED]
            case 2:
                sync = self.vn[place] if self.kind[place] == RETRACT else self.vs[place]
                return (
                    f"too late: its sync time {show(int(sync), timestamps)} is before "
                    f"the watermark {show(first, timestamps)}"
                )
            case 3:
                return (
                    f"one more than promised by the external cti: {third} events in "
                    f"[{show(first, timestamps)}, {show(second, timestamps)})"
                )
            case 4:
                return "it overlaps an earlier external cti"
            case 5:
                return f"{first} events have come already"
            case 6:
                return (
                    "it counts events from before "
                    f"{show(first, timestamps)}, and these are forgotten"
                )
            case 7:
                return "a retract, but the stream was declared to have inserts only"
        return "no insert came for it before its time passed"


@once_for_each
def no_letters(schema: pa.Schema) -> DeadLetters:
    """None at all. Making them takes longer than a small batch."""
    return unreadable(schema, ())


def unreadable(schema: pa.Schema, bad: Iterable[BadEvent]) -> DeadLetters:
    """Records that could not be read."""
    nothing, codes = np.empty(0, np.int64), np.empty(0, np.int8)
    rows = schema.empty_table().combine_chunks().to_batches()
    payload = rows[0] if rows else pa.RecordBatch.from_pylist([], schema=schema)
    details = np.empty((3, 0), np.int64)
    return DeadLetters(
        nothing, codes, nothing, nothing, nothing, payload, codes, details, tuple(bad)
    )
