"""What all snapshot operators have in common: slots, the watermark, ctis and what they evict.

    o(H₁, …, Hₙ), at every time: ⋃ over the slots of a function of the slot's rows that are alive

A slot is a group, a partition or a distinct row. Operators differ in what they keep of its rows
(`additive`: sums; `by_rows`: the rows themselves), and in how they compute an answer from that.

State: for every slot its key, what was emitted of it, and when it is due. A cti evicts what ends
before it, every slot that has nothing left, and every slot that it closes (`closing`): what was
emitted of that one without an end holds for ever.

What takes part in a batch (see `labels`): at `eager`, where ctis only evict, all that has ever
touched its slots. At the other levels a batch that moves the watermark, or brings a cti and so may,
can change the answer of any slot: everything received takes part. In a batch between two of these
what has touched its slots does, and everything received up to the first of the two.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch
from driftline.engine.core.labels import Vector, greatest
from driftline.engine.core.operator import Operator
from driftline.engine.state.closing import Closing
from driftline.engine.state.due_times import Due
from driftline.engine.state.fields import Fields
from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.progress import Progress
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.slot_lists import without
from driftline.engine.state.slots import Slots
from driftline.model.arrays import Int64s
from driftline.model.level import Level
from driftline.model.time import BEGINNING, INFINITY

PERFECT, ORDERED, EAGER = range(3)
LEVELS = {Level.PERFECT: PERFECT, Level.ORDERED: ORDERED, Level.EAGER: EAGER}
NO_SLOTS = np.empty(0, np.int64)
NO_FLAGS = np.zeros(0, np.bool_)


class SnapshotOperator(Operator):
    """`keys` is the schema of the columns that make a slot."""

    fields = Fields(
        keys="slots",
        by_key=("key_rows", "due", "closing"),
        numbers=("watermark",),
        parts=("progress",),
    )
    keeps_watermark = True
    keeps_labels = True
    is_whole = True  # whether it has all slots, and not those of one shard

    def __init__(self, schema: pa.Schema, keys: pa.Schema, level: Level) -> None:
        super().__init__(schema)
        self.key_schema, self.level = keys, LEVELS[level]
        self.goes_by_ctis = self.level != EAGER
        self.closing = Closing()
        self.slots, self.key_rows = Slots(), RowStore(keys)
        self.due = Due()  # the first endpoint of each slot after the watermark
        self.watermark = BEGINNING  # τ
        self.progress = Progress(self.ports)
        self.received: Vector | None = None  # what has come at all, if outputs are heeded
        self.timely: Vector | None = None  # what had come when time last moved

    @abstractmethod
    def _take_in(self, port: int, batch: Batch) -> tuple[Int64s, Int64s]:
        """Make the changes part of the state: the slots touched, and from when on each is."""

    @abstractmethod
    def _greatest_endpoint(self, slots: Int64s, limit: int) -> int:
        """The greatest endpoint of some slots after the watermark and up to a limit; the watermark
        if there is none."""

    @abstractmethod
    def _ended(self) -> Int64s:
        """The slots that hold something that the cti evicts."""

    @abstractmethod
    def _update(self, slots: Int64s, earliest: Int64s, before: int) -> Batch:
        """Bring the answers of slots up to the watermark, which was at `before`; each is affected
        from some time on."""

    @abstractmethod
    def _evict(self, slots: Int64s) -> None:
        """Drop what is final of the slots that this batch has updated."""

    @property
    def cti(self) -> int:
        """How far all inputs are final."""
        return self.progress.time

    def process(self, port: int, batch: Batch) -> Batch:
        touched, earliest = NO_SLOTS, NO_SLOTS
        if len(batch):
            touched, earliest = self._take_in(port, batch)
        self.progress.receive(port, batch.cti)
        before, self.watermark = self.watermark, max(self.watermark, batch.high)
        final = self.cti if batch.cti > BEGINNING else BEGINNING
        return self._brought_up(touched, earliest, before, max(final, batch.now))

    def advance(self, time: int) -> Batch:
        return self._brought_up(NO_SLOTS, NO_SLOTS, self.watermark, time)

    def _brought_up(self, touched: Int64s, earliest: Int64s, before: int, time: int) -> Batch:
        """Bring the answers up to a time: slots were touched, each from some time on, and the
        watermark was at `before`."""
        self.watermark = self._reached(touched, time)
        self.counters.watermark = self.watermark
        if self.label is not None and self.level != EAGER:
            self._share_time(self.label, moves=self.watermark > before or time > BEGINNING)
        idle = self._idle(touched, before)
        slots = touched
        if len(idle):
            slots = np.concatenate([touched, idle])
            earliest = np.concatenate([earliest, np.full(len(idle), INFINITY)])
        output = self._update(slots, earliest, before)
        self._evict(slots)
        return output

    def _share_time(self, label: Vector, *, moves: bool) -> None:
        """What moves time takes part in a batch, and everything in one that does so itself."""
        self.received = greatest(self.received or label, label)
        if moves:
            self.timely = self.participants = self.received
        elif self.timely is not None:
            self.participants = greatest(self.participants or label, self.timely)

    def _slots_of(self, keys: list[pa.Array], length: int) -> Int64s:
        """The slots of rows with some keys; new ones keep theirs."""
        prints = fingerprints(keys, length)
        slots, new = self.slots.find_or_add(prints)
        self.make_slots()
        self.share(prints.low, self.slots.live)
        if len(new) and keys:
            rows = [column.take(pa.array(new)) for column in keys]
            self.key_rows.put(slots[new], pa.RecordBatch.from_arrays(rows, schema=self.key_schema))
            self.closing.opened(slots[new], rows)
        return slots

    def _reached(self, touched: Int64s, time: int) -> int:
        """τ: it grows to the greatest endpoint at or before a cti, or a now-mark. A shard does not
        know the endpoints of others: at `perfect` it would wait for one of its own, for which the
        output of all would wait, so that its τ grows to the cti, before which nothing changes."""
        if time in (BEGINNING, INFINITY):
            return max(self.watermark, time)
        if self.level == EAGER or time <= self.watermark:
            return self.watermark
        if self.level == PERFECT and not self.is_whole:
            return time
        slots = np.concatenate([touched, self.due.up_to(time)])
        return self._greatest_endpoint(slots, time)

    def _idle(self, touched: Int64s, before: int) -> Int64s:
        """The slots that no change touches, but time does."""
        concerned = NO_SLOTS
        if self.level == PERFECT and self.watermark > before:
            concerned = self.slots.live_slots()
        elif self.level == ORDERED:
            concerned = self.due.up_to(min(self.watermark, INFINITY - 1))
        closed = self.closing.closed(self.cti)
        concerned = np.concatenate([concerned, self._ended(), closed])
        return without(concerned, touched, self.slots.used) if len(concerned) else concerned

    def _remove(self, gone: Int64s) -> None:
        """Give back slots that hold nothing any more."""
        self.remove_slots(gone)

    def _final(self) -> int:
        """Before this nothing is emitted any more: at `perfect`, what is alive at the watermark is
        still to be emitted from there on."""
        return min(self.cti, self.watermark) if self.level == PERFECT else self.cti

    def _promise(self) -> int:
        """The output's cti, if it advances."""
        return self.progress.promise(self._final())
