"""Holding an operator that answers lifetime by lifetime to its reference, after every batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from driftline.engine.core.operator import Operator
from driftline.model.event import Event
from driftline.model.history import History, canonical_history
from driftline.model.stream import breaches
from driftline.testing.driving import drive

KX = pa.schema([("k", pa.string()), ("x", pa.int64())])
BATCH_SIZES = (1, 2, 3, 1000)

Arrivals = Sequence[tuple[int, Event]]


def at_one_port(events: Sequence[Event]) -> Arrivals:
    return [(0, event) for event in events]


def hold(
    make: Callable[[], Operator],
    reference: Callable[..., History],
    arrivals: Arrivals,
    renew_after: int | None = None,
) -> None:
    """At every batch size: what was emitted is valid, and its history is the reference's of the
    input's histories. `renew_after` so many batches a new operator takes over the state."""
    for size in BATCH_SIZES:
        operator = make()
        schemas = [KX] * operator.ports
        for number, (came, emitted) in enumerate(drive(operator, arrivals, schemas, size)):
            inputs = [
                canonical_history(event for port, event in came if port == wanted)
                for wanted in range(operator.ports)
            ]
            assert breaches(emitted) == []
            assert canonical_history(emitted) == reference(*inputs)
            if number == renew_after:
                state = operator.snapshot()
                operator.__dict__.update(make().__dict__)  # forget everything
                operator.restore(state)
