from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given

from driftline.engine.core.batch import empty
from driftline.engine.stateless.project import Project
from driftline.model.event import Event
from driftline.model.reference import project
from driftline.model.row import Row
from driftline.testing import streams
from driftline.testing.driving import batch_of, events_of
from tests.build import cti, insert, retract
from tests.engine.held_to_reference import at_one_port, hold

P = pa.schema([("p", pa.int64())])
HALF = pa.schema([("half", pa.int64())])
NO_COLUMNS = pa.schema([])


def halved(rows: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pc.divide(rows.column(0), 2)], schema=HALF)


def test_every_row_becomes_another() -> None:
    batch = batch_of([insert(1, 9, 4), insert(2, 9, 5), cti(3)], P)
    output = Project(HALF, halved).receive(0, batch)
    assert events_of(output) == [insert(1, 9, {"half": 2}), insert(2, 9, {"half": 2}), cti(3)]
    assert output.high == 2


def test_one_row_goes_and_an_equal_one_comes_so_nothing_is_said() -> None:
    batch = batch_of([retract(1, 9, 1, 4), insert(1, 9, 5)], P)
    assert len(Project(HALF, halved).receive(0, batch)) == 0


def test_an_empty_batch_takes_the_new_schema() -> None:
    output = Project(HALF, halved).receive(0, empty(P, cti=7, high=3))
    assert (output.payload.schema, output.cti, output.high) == (HALF, 7, 3)


@given(streams())
def test_project_is_the_reference(events: list[Event]) -> None:
    def to_row(row: Row) -> Row:
        return Row(half=None if row["x"] is None else int(row["x"] / 2))

    hold(
        lambda: Project(HALF, lambda rows: halved(rows.select(["x"]))),
        lambda history: project(history, to_row),
        at_one_port(events),
    )


@given(streams())
def test_rows_without_columns(events: list[Event]) -> None:
    def nothing(rows: pa.RecordBatch) -> pa.RecordBatch:
        return rows.select([])

    hold(
        lambda: Project(NO_COLUMNS, nothing),
        lambda history: project(history, lambda row: Row()),
        at_one_port(events),
    )
