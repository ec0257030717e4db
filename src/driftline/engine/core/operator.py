"""What every physical operator is.

An operator has ports. It receives a batch at one of them and returns a batch: what its output
changes by, and how far that is final. It is right if after every batch the sum of what it has
returned is what the reference gives for the sum of what it has received, at its latency level.

State is fields that the operator declares (see `state.fields`): `snapshot` gives them as arrays
with names, `restore` takes them, and an operator restored from a snapshot goes on as if nothing had
happened.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from driftline.engine.core.batch import Batch, added_and_removed, empty
from driftline.engine.core.labels import KeyLabels, Vector, greatest
from driftline.engine.state.fields import (
    Stateful,
)
from driftline.model.arrays import UInt64s
from driftline.model.time import BEGINNING


@dataclass
class Counters:
    """What an operator has done so far, and what it holds.

    A retract that shortens a lifetime counts as one retract. `marks_in`: now-marks that came by
    themselves, and not with a batch. `watermark`: how far its output has
    come in application time.
    """

    changes_in: int = 0
    inserts_out: int = 0
    retracts_out: int = 0
    ctis_in: int = 0
    ctis_out: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    watermark: int = BEGINNING
    marks_in: int = 0

    def as_dict(self) -> dict[str, int]:
        return dict(vars(self))


class OperatorKey(NamedTuple):
    """Which operator of a run is meant. `operator`: its number and name in its graph, or one of
    those at a source; `port`: the fragment it belongs to, or the port that it stands behind;
    `source`: the stream that comes in there; `run`, `level`, `shard`: where it runs."""

    operator: str
    port: str = ""
    source: str = ""
    run: int = 0
    level: int = 0
    shard: int = 0

    def __str__(self) -> str:
        return f"{self.port}: {self.operator}" if self.port else self.operator


class Component(Stateful):
    """A part of a running query: it counts what it does, and its state, which are its `fields`, can
    be stored; `schema` is that of its output's payload."""

    keeps_watermark = False  # whether it says itself how far the output has come

    uses_state = True  # whether the output depends on more than the batch that is worked on

    keeps_labels = False  # whether it keeps labels beside its state (see `labels`)

    goes_by_ctis = False  # whether more than what it evicts depends on ctis

    reports_state = True  # whether its counters say what it holds; inside a loop, the loop's do

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        # If outputs are heeded, the label of the batch that is worked on, and the greatest of that
        # and of the labels of the stored rows that take part; None: anything received may.
        self.label: Vector | None = None
        self.participants: Vector | None = None
        self.key_labels: KeyLabels | None = None
        self.counters = Counters()

    def counted(self, output: Batch, changes: int, ctis: int) -> Batch:
        """The output, after it was counted with the changes and ctis that came in for it."""
        counters = self.counters
        counters.changes_in += changes
        counters.ctis_in += ctis
        added, removed = added_and_removed(output.weight)
        counters.inserts_out += max(0, added - removed)
        counters.retracts_out += removed
        counters.ctis_out += output.cti != BEGINNING
        if not self.keeps_watermark:
            counters.watermark = max(counters.watermark, output.high, output.cti)
        return output

    def counts(self) -> dict[str, int]:
        """The counters, and what is held now, which is found out only when it is asked for."""
        if self.reports_state:
            self.counters.state_rows, self.counters.state_bytes = self.state_size()
        return self.counters.as_dict()

    def share(self, keys: UInt64s, held: int) -> None:
        """What has touched some of the keys held (their hashes) takes part in the batch, and the
        batch has touched them now; if outputs are heeded."""
        if self.label is None or self.participants is None:
            return
        if self.key_labels is None:
            self.key_labels = KeyLabels(len(self.label))
        before = self.key_labels.touch(keys, self.label, held)
        self.participants = greatest(self.participants, before)


class Operator(Component, ABC):
    """A physical operator: batches come in at its ports."""

    ports = 1
    adds_up = False  # whether it adds up what it receives, consolidated or not
    consolidates = False  # whether it consolidates its output
    maps_rows = False  # whether changes that cancel before it cancel as well after it, one by one
    sets_ends = False  # whether lifetimes of its output end at other times than its input's
    knows_ends = False  # whether it keeps when what it has put out ends (see `pass_on`)
    expands = False  # whether it refuses what would become too large before it changes its state

    runs_free = False  # whether it may have work left when it has returned (see `work`)

    def receive(self, port: int, batch: Batch) -> Batch:
        """Take a batch in at a port, and return what the output changes by."""
        output = self.process(port, batch)
        return self.counted(output, len(batch), int(batch.cti != BEGINNING))

    @abstractmethod
    def process(self, port: int, batch: Batch) -> Batch:
        """What `receive` does, without the counting. `batch.now` is how far time has come at all
        ports, after this batch."""

    def has_work(self) -> bool:
        """Whether there is work left, of an operator that runs free."""
        return False

    def work(self) -> Batch:
        """Do some of the work that is left; returns what the output changes by."""
        return empty(self.schema)

    def finish(self) -> Batch:
        """Do all of it."""
        return empty(self.schema)

    def build_only(self, names: frozenset[str]) -> None:
        """No other columns of the output are read: others need not be built."""

    def receive_now(self, time: int) -> Batch:
        """Time has come so far at all ports, and no batch came with it."""
        self.counters.marks_in += 1
        return self.counted(self.advance(time), 0, 0)

    def advance(self, time: int) -> Batch:
        """What the output changes by as time comes so far. Nothing, of an operator that emits the
        ends of its lifetimes in advance."""
        return empty(self.schema)

    def pass_on(self, *, every: bool) -> None:
        """Which now-marks go on: every one, or those that end something that was put out."""
        raise NotImplementedError

    def is_due(self, time: int) -> bool:
        """Whether the operators behind have to hear that time has come so far."""
        return True
