"""Holding a snapshot operator to its reference, snapshot by snapshot, after every batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from driftline.engine.core.operator import Operator
from driftline.model.event import CLOSE, Event
from driftline.model.history import History, canonical_history
from driftline.model.reference import Level, at_level, output_watermark
from driftline.model.stream import breaches
from driftline.testing.driving import drive

BATCH_SIZES = (1, 2, 3, 1000)


def hold(
    make: Callable[[], Operator],
    schema: pa.Schema,
    reference: Callable[[History], History],
    events: Sequence[Event],
    level: Level,
    size: int,
    renew_after: int | None = None,
) -> None:
    """After every batch what was emitted is valid, and is what the reference gives at the level;
    when the input is closed nothing is held. `renew_after` so many batches a new operator takes
    over the state."""
    operator = make()
    arrivals = [(0, event) for event in [*events, CLOSE]]
    for number, (came, emitted) in enumerate(drive(operator, arrivals, [schema], size)):
        so_far = [event for _, event in came]
        answer = reference(canonical_history(so_far))
        expected = at_level(level, answer, output_watermark(so_far)).coalesced()
        assert canonical_history(emitted).coalesced() == expected
        assert breaches(emitted) == []
        if number == renew_after:
            state = operator.snapshot()
            operator.__dict__.update(make().__dict__)  # forget everything
            operator.restore(state)
    assert operator.state_size()[0] == 0


def said_by(
    operator: Operator, events: Sequence[Event], schema: pa.Schema, size: int = 1
) -> list[Event]:
    """Everything that an operator says to some events."""
    arrivals = [(0, event) for event in events]
    steps = list(drive(operator, arrivals, [schema], size, restore=False))
    return steps[-1][1] if steps else []
