"""The columnar form of one stream: its events in arrival order, as arrays.

Where the plain model holds a list of event objects, everything that must be fast holds these
arrays. The two correspond like this:

| kind         | vs   | ve | vn    | payload  |
|--------------|------|----|-------|----------|
| insert       | vs   | ve | 0     | the row  |
| retract      | vs   | ve | vn    | the row  |
| cti          | t    | 0  | 0     | nothing  |
| external cti | from | to | count | nothing  |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.model.arrays import Int64s, to_arrow
from driftline.model.event import Cti, Event, ExternalCti, Insert, Retract
from driftline.model.row import Row

INSERT, RETRACT, CTI, EXTERNAL_CTI = range(4)
KIND_NAMES = ("insert", "retract", "cti", "external_cti")

NO_CLOCK = -(2**63)
"""In `at`: the event came without an arrival clock."""


@dataclass(frozen=True, slots=True, eq=False)
class StreamColumns:
    """One stream's events in arrival order.

    >>> stream = StreamColumns.from_events("s", [Insert(1, 5, Row(a=1)), Cti(3)])
    >>> stream.sync().tolist(), stream.payload.column("a").to_pylist()
    ([1, 3], [1, None])
    >>> [str(event) for event in stream.to_events()]
    ["insert [1, 5) {'a': 1}", 'cti 3']
    """

    name: str
    timestamps: bool
    """A TIMESTAMP stream: some of its times were ISO strings, so all are shown as such."""
    kind: NDArray[np.int8]
    vs: Int64s
    ve: Int64s
    vn: Int64s
    at: Int64s | None
    """The arrival clock in milliseconds, NO_CLOCK where an event has none; None if none has one."""
    position: Int64s
    """Where in the whole log the event arrived, counted from 0 over all its streams."""
    line: Int64s
    """The line, counted from 1, in its source."""
    source: NDArray[np.int32]
    """Which of the log's sources it came from."""
    payload: pa.Table
    """A row for every event; unspecified for ctis. Without columns its length means nothing."""

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def changes(self) -> NDArray[np.bool_]:
        """Which events are inserts or retracts."""
        return self.kind <= RETRACT

    def sync(self) -> Int64s:
        """The sync time of each event (`from` of an external cti, which has none)."""
        return np.where(self.kind == RETRACT, self.vn, self.vs)

    def take(self, indices: NDArray[Any]) -> StreamColumns:
        """The events at these indices, or where a mask is true, in that order."""
        if indices.dtype == np.bool_:
            if indices.all():
                return self
            indices = np.flatnonzero(indices)
        return replace(
            self,
            kind=self.kind[indices],
            vs=self.vs[indices],
            ve=self.ve[indices],
            vn=self.vn[indices],
            at=None if self.at is None else self.at[indices],
            position=self.position[indices],
            line=self.line[indices],
            source=self.source[indices],
            payload=take_rows(self.payload, indices),
        )

    def to_events(self) -> list[Event]:
        """The events of the plain model: for tests and small streams."""
        rows = self.payload.to_pylist() if self.payload.num_columns else [{}] * len(self)
        events: list[Event] = []
        times = zip(self.vs.tolist(), self.ve.tolist(), self.vn.tolist(), strict=True)
        for kind, (vs, ve, vn), row in zip(self.kind.tolist(), times, rows, strict=True):
            match kind:
                case 0:
                    events.append(Insert(vs, ve, Row(row)))
                case 1:
                    events.append(Retract(vs, ve, vn, Row(row)))
                case 2:
                    events.append(Cti(vs))
                case _:
                    events.append(ExternalCti(vs, ve, vn))
        return events

    @classmethod
    def from_events(
        cls,
        name: str,
        events: Sequence[Event],
        *,
        timestamps: bool = False,
        schema: pa.Schema | None = None,
    ) -> StreamColumns:
        """The columns of plain events; the types of the payload are inferred unless given."""
        times = np.array([_times(event) for event in events], np.int64).reshape(-1, 4)
        whole = None if schema is None else pa.struct(list(schema))
        rows = [plain_value(getattr(event, "row", {}), whole) for event in events]
        if schema is None:
            names = list(dict.fromkeys(column for row in rows for column in row))
            payload = pa.table({column: [row.get(column) for row in rows] for column in names})
        else:
            payload = pa.Table.from_pylist(rows, schema)
        count = len(events)
        return cls(
            name=name,
            timestamps=timestamps,
            kind=times[:, 0].astype(np.int8),
            vs=times[:, 1].copy(),
            ve=times[:, 2].copy(),
            vn=times[:, 3].copy(),
            at=None,
            position=np.arange(count, dtype=np.int64),
            line=np.arange(1, count + 1, dtype=np.int64),
            source=np.zeros(count, np.int32),
            payload=payload,
        )


def take_rows(table: pa.Table, indices: NDArray[Any]) -> pa.Table:
    """The rows at these indices; a table without columns stays as it is."""
    return table.take(to_arrow(indices)) if table.num_columns else table


def _times(event: Event) -> tuple[int, int, int, int]:
    match event:
        case Insert(vs, ve):
            return INSERT, vs, ve, 0
        case Retract(vs, ve, vn):
            return RETRACT, vs, ve, vn
        case Cti(t):
            return CTI, t, 0, 0
        case ExternalCti(start, end, count):
            return EXTERNAL_CTI, start, end, count


def plain_value(value: Any, kind: pa.DataType | None = None) -> Any:
    """A value as the dicts and lists that Arrow takes, for a type if that is known: the entries of
    a map are pairs, and these are tuples."""
    if isinstance(value, Mapping):
        parts = kind if kind is not None and pa.types.is_struct(kind) else ()
        kinds = {part.name: part.type for part in parts}
        return {name: plain_value(item, kinds.get(name)) for name, item in value.items()}
    if isinstance(value, tuple) and kind is not None and pa.types.is_map(kind):
        return [
            (plain_value(key, kind.key_type), plain_value(item, kind.item_type))
            for key, item in value
        ]
    if isinstance(value, tuple):
        item_kind = kind.value_type if kind is not None and pa.types.is_list(kind) else None
        return [plain_value(item, item_kind) for item in value]
    return value
