"""The answers of a query on Spark as they are now, micro-batch by micro-batch.

    DIR/now/000000012.log     what micro-batch 12 changed, and the time that had come
    DIR/now/000000012.state   the answers now after micro-batch 12
    DIR/now/states.json       the micro-batches of the last two states

The driver keeps the rows that are there, and those that will come. A micro-batch writes down what
it brings; when that has become more than the state itself, the state is written and the log begins
anew. A micro-batch that comes again after a crash starts from the state before it, and so changes
the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from driftline.engine.core.batch import Batch
from driftline.engine.core.operator import OperatorKey
from driftline.engine.options import Options
from driftline.engine.outputs.now_view import NowChanges, NowView
from driftline.engine.shards.long_lived import LEAST_BYTES, Peak
from driftline.engine.shards.stored import state_from_bytes, state_to_bytes
from driftline.engine.state.fields import Arrays
from driftline.engine.state.stored_rows import rows_from_bytes, rows_to_bytes
from driftline.model.level import Level
from driftline.plan.choices import Clock
from driftline.plan.errors import PlanError
from driftline.plan.nodes import Node
from driftline.running.notes import sealed, unsealed
from driftline.spark.views import MILLISECOND

if TYPE_CHECKING:
    from driftline.spark.places import Place
    from driftline.spark.update import SparkUpdate

STATES = "now/states.json"
BEFORE_THE_FIRST = -1


def for_now(options: Options, clock: Clock) -> Options:
    """The options of a query whose answer now is asked for: the ends of lifetimes are emitted in
    advance, so that rows leave on time although no shard hears that it has come."""
    return replace(options, level=Level.EAGER, clock=clock)


class NowAnswers:
    """`plans`: of the outputs whose answer now is asked for, and of no others: one that nobody asks
    for may grow for ever; `views`: by output, the answer now after micro-batch `number`; `logged`:
    bytes of the log since the last state, and `size` those of that."""

    def __init__(self, place: Place, plans: Mapping[str, Node], clock: Clock) -> None:
        self.place, self.plans, self.clock = place, plans, clock
        self.views = self._new()
        self.number: int | None = None
        self.states: list[int] = []
        self.logged, self.size = 0, 0
        self.received = Peak()

    def of(self, update: SparkUpdate) -> NowOf:
        """What a micro-batch changes in the answers now, worked out when it is asked for."""
        return NowOf(self, update)

    def advance(self, update: SparkUpdate) -> dict[str, NowChanges]:
        """Take a micro-batch in, and write it down."""
        number = update.batch_id
        if self.number != number - 1:
            self._restore(number - 1)
        now = update.latest if self.clock != "wall" else update.time * MILLISECOND
        changes = {
            name: view.update(update.batches[name], now) for name, view in self.views.items()
        }
        self.number = number
        entry = state_to_bytes(
            {OperatorKey(name): _entry(update.batches[name], now) for name in self.views}
        )
        self.place.write(_file(number, "log"), sealed(entry))
        self.logged += len(entry)
        self.received.take(len(entry))
        if self.logged > self.size or not self.states:
            self._write_state(number)
        return changes

    def _new(self) -> dict[str, NowView]:
        return {name: NowView(plan.schema.arrow, self.clock) for name, plan in self.plans.items()}

    def _write_state(self, number: int) -> None:
        state = {OperatorKey(name): view.snapshot() for name, view in self.views.items()}
        data = state_to_bytes(state)
        self.place.write(_file(number, "state"), sealed(data))
        self.states = [*self.states[-1:], number]
        self.place.write_note(STATES, {"states": self.states})
        self.logged, self.size = 0, len(data)
        self.place.clear("now", before=_file(self.states[0], ""))
        if self.received.is_over(max(LEAST_BYTES, len(data))):
            self.views = self._new()
            for name, arrays in self._of_views(data).items():
                self.views[name].restore(arrays)

    def _restore(self, number: int) -> None:
        """Become what the answers now were after a micro-batch."""
        self.views, self.logged, self.size = self._new(), 0, 0
        known = self.place.read_note(STATES) or {"states": []}
        self.states = [each for each in known["states"] if each <= number]
        self.number = self.states[-1] if self.states else BEFORE_THE_FIRST
        if self.states:
            data = self._needed(self.number, "state")
            self.size = len(data)
            for name, arrays in self._of_views(data).items():
                self.views[name].restore(arrays)
        while self.number < number:
            self.number += 1
            entry = self._needed(self.number, "log")
            self.logged += len(entry)
            for name, arrays in self._of_views(entry).items():
                cti, now = arrays["times"].tolist()
                vs, ve, weight = arrays["lifetimes"].astype(np.int64)
                batch = Batch(vs, ve, weight, rows_from_bytes(arrays["rows"]), cti)
                self.views[name].update(batch, now)

    def _of_views(self, data: bytes) -> dict[str, Arrays]:
        """What was written of the outputs whose answer now is asked for."""
        written = {key.operator: arrays for key, arrays in state_from_bytes(data).items()}
        if not self.views.keys() <= written.keys():
            raise self._unknown()
        return {name: written[name] for name in self.views}

    def _needed(self, number: int, kind: str) -> bytes:
        data = self.place.read(_file(number, kind))
        if data is None:
            raise self._unknown()
        return unsealed(data, f"{self.place}/{_file(number, kind)}")

    def _unknown(self) -> PlanError:
        return PlanError(
            f"{self.place} has not kept the answer now from its beginning, and cannot know it: "
            "give the query another checkpoint"
        )


@dataclass(frozen=True)
class NowOf:
    """The answers now of one micro-batch."""

    answers: NowAnswers
    update: SparkUpdate

    @cached_property
    def changes(self) -> dict[str, NowChanges]:
        return self.answers.advance(self.update)


def _entry(batch: Batch, now: int) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
    return {
        "times": np.array([batch.cti, now], np.int64),
        "lifetimes": np.stack([batch.vs, batch.ve, batch.weight]),
        "rows": rows_to_bytes(batch.payload),
    }


def _file(number: int, kind: str) -> str:
    return f"now/{number:09}.{kind}"
