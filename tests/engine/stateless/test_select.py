from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given
from numpy.typing import NDArray

from driftline.engine.stateless.select import Select
from driftline.model.event import Event
from driftline.model.reference import select
from driftline.model.row import Row
from driftline.model.time import BEGINNING
from driftline.testing import streams
from driftline.testing.driving import batch_of, events_of
from tests.build import cti, insert, retract
from tests.engine.held_to_reference import KX, at_one_port, hold

P = pa.schema([("p", pa.int64())])


def positive(rows: pa.RecordBatch) -> NDArray[np.bool_]:
    chosen = pc.fill_null(pc.greater(rows.column(0), 0), False)
    return chosen.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def test_inserts_and_retracts_of_a_chosen_row_pass() -> None:
    operator = Select(P, positive)
    first = batch_of([insert(1, None, 5), insert(2, None, -5), cti(2)], P)
    assert events_of(operator.receive(0, first)) == [insert(1, None, 5), cti(2)]
    second = batch_of([retract(1, None, 4, 5), retract(2, None, 4, -5)], P)
    assert events_of(operator.receive(0, second)) == [retract(1, None, 4, 5)]


def test_a_null_does_not_select() -> None:
    batch = batch_of([insert(1, None, {"p": None})], P)
    assert events_of(Select(P, positive).receive(0, batch)) == []


def test_what_is_left_out_does_not_move_the_watermark() -> None:
    operator = Select(P, positive)
    assert operator.receive(0, batch_of([insert(1, None, 5), insert(9, None, -5)], P)).high == 1
    assert operator.receive(0, batch_of([insert(9, None, -5)], P)).high == BEGINNING


@given(streams())
def test_select_is_the_reference(events: list[Event]) -> None:
    def chosen(row: Row) -> bool | None:
        return None if row["x"] is None else row["x"] > 0

    hold(
        lambda: Select(KX, lambda rows: positive(rows.select(["x"]))),
        lambda history: select(history, chosen),
        at_one_port(events),
    )
