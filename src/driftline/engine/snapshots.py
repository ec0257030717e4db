"""Snapshot operators that go by the rows of every snapshot.

    o(H), at every time:  ⋃ over the partitions of the snapshot of  ⊗(the rows of the partition)

⊗ is whatever an evaluator computes from the rows alive in a piece, the time between two
neighbouring endpoints of a partition. It is asked once for all the pieces that a batch affects.

State: for every partition (slot) its key, its rows with their lifetimes (members), and what was
said of it (segments). A cti lets go every row and every segment that ends at or before it, every
partition that has neither, and every partition that it closes (`closing`), whose answer stays.

A batch costs the rows of the partitions it touches, and a piece the rows alive in it, or, where the
operator can go by changes, those that come and go. For answers that are sums, see `additive`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine import change_kernels, said_kernel, snapshot_kernel
from driftline.engine.additive import LEVELS, NO_SLOTS, by_slot
from driftline.engine.batch import Batch, empty
from driftline.engine.change_kernels import Steps
from driftline.engine.closing import Closing
from driftline.engine.due import Due
from driftline.engine.fingerprint import fingerprints
from driftline.engine.operator import Arrays, Operator, Span, joined_span, span_of
from driftline.engine.places import Places
from driftline.engine.rowstore import RowStore
from driftline.engine.runs import Runs
from driftline.engine.said_kernel import Corrections
from driftline.engine.slots import Slots
from driftline.engine.snapshot_kernel import EAGER, MEMBER_COLUMNS, ORDERED, PERFECT, PLACE, Cut
from driftline.engine.stored_rows import rows_from_bytes, rows_to_bytes
from driftline.model.reference.latency import Level
from driftline.model.time import BEGINNING, INFINITY

Int64s = NDArray[np.int64]

ROWS_AT_ONCE = 1 << 22
"""The evaluator is asked about so many rows of pieces at once, to bound the memory it takes."""


CHANGES_ARE_CHEAPER = 4
"""Pieces are told as changes if they have so many times more rows in all than the partitions."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces, and the rows alive in each: those of piece p are members[offsets[p]] …
    members[offsets[p + 1] - 1], one for every copy, each a number of a row in `rows` and `vs`."""

    offsets: Int64s
    members: Int64s
    rows: pa.RecordBatch
    vs: Int64s

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True, slots=True)
class ChangedPieces:
    """Pieces, and who comes and goes in each: numbers of rows in `rows` and `vs`."""

    steps: Steps
    rows: pa.RecordBatch
    vs: Int64s

    def __len__(self) -> int:
        return len(self.steps.fresh)


class SnapshotOperator(Operator):
    """`keys` are the columns that make a partition, `kept` those of the rows that ⊗ needs;
    `answer` is the schema of what it gives, to which `with_keys` adds the keys in front."""

    keeps_watermark = True
    goes_by_changes = False  # whether `evaluate_changes` may be asked

    def __init__(
        self,
        schema: pa.Schema,
        keys: list[str],
        kept: list[str],
        answer: pa.Schema,
        level: Level,
        with_keys: bool,
    ) -> None:
        key_schema = pa.schema([schema.field(name) for name in keys])
        super().__init__(pa.schema([*key_schema, *answer]) if with_keys else answer)
        self.keys, self.kept, self.with_keys = keys, kept, with_keys
        self.key_schema, self.answer_schema = key_schema, answer
        self.kept_schema = pa.schema([schema.field(name) for name in kept])
        self.level = LEVELS[level]
        self.closing = Closing()
        self.input_may_grow = False  # lifetimes of `coalesce` that end at the cti may become longer
        self._start_empty()

    def _start_empty(self) -> None:
        self.slots, self.key_rows = Slots(), RowStore(self.key_schema)
        self.members = Runs(MEMBER_COLUMNS, 0)
        self.member_rows, self.member_places = RowStore(self.kept_schema), Places()
        self.segments = Runs(snapshot_kernel.SEGMENT_COLUMNS, 0)
        self.answer_rows, self.answer_places = RowStore(self.answer_schema), Places()
        self.due = Due()  # the first endpoint of each slot after the watermark
        self.stale = Due()  # the first end of what each slot holds: a cti past it lets that go
        self.watermark = BEGINNING  # τ
        self.cti = BEGINNING
        self.promised = BEGINNING  # the latest cti of the output

    @abstractmethod
    def evaluate(self, pieces: Pieces) -> tuple[Int64s, pa.RecordBatch]:
        """⊗ of every piece: the rows of the answer, and the piece of each, in order of these."""

    def evaluate_changes(self, pieces: ChangedPieces) -> tuple[Int64s, pa.RecordBatch] | None:
        """The same from who comes and goes; None if these rows have to be looked at in full."""
        raise NotImplementedError

    def process(self, port: int, batch: Batch) -> Batch:
        touched, earliest = self._take_in(batch)
        self.cti = max(self.cti, batch.cti)
        before = self.watermark
        self.watermark = max(before, batch.high)
        if batch.cti > BEGINNING:
            self.watermark = self._reached(touched, self.watermark)
        self.counters.watermark = self.watermark
        idle = self._idle(touched, before)
        slots = np.concatenate([touched, idle])
        earliest = np.concatenate([earliest, np.full(len(idle), INFINITY)])
        if self.level == ORDERED:
            earliest = np.minimum(earliest, self.due.of(slots))
        elif self.level == PERFECT:
            earliest = np.minimum(earliest, before)
        said = self._correct(slots, earliest)
        self._settle(slots)
        return said

    def _take_in(self, batch: Batch) -> tuple[Int64s, Int64s]:
        """Make the changes part of the members; the slots touched, and from when on."""
        if len(batch) == 0:
            return NO_SLOTS, NO_SLOTS
        keys = [batch.payload.column(name) for name in self.keys]
        slots, new = self.slots.find_or_add(fingerprints(keys, len(batch)))
        if len(new) and keys:
            rows = [column.take(pa.array(new)) for column in keys]
            self.key_rows.put(slots[new], pa.RecordBatch.from_arrays(rows, schema=self.key_schema))
            self.closing.opened(slots[new], rows)
        touched, counts, order = by_slot(slots, self.slots.used)
        self.members.reserve(touched, self.members.sizes(touched) + counts)
        self.segments.reserve(touched, self.segments.sizes(touched))
        kept = [batch.payload.column(name) for name in self.kept]
        prints = fingerprints(kept, len(batch))
        low, high = prints.low.view(np.int64), prints.high.view(np.int64)
        earliest, changes, freed, strays = snapshot_kernel.take_in(
            touched,
            np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]),
            order,
            np.stack([batch.vs, low, high, batch.ve], axis=1),
            batch.weight.copy(),
            self.members.arrays,
            self.member_places.offered(len(batch)),
        )
        if strays:
            raise ValueError(
                f"{type(self).__name__}: {strays} lifetimes were retracted that are not there"
            )
        places = self.member_places.take(len(changes))
        self.member_places.give_back(freed)
        self.member_rows.forget(freed)
        taken = [column.take(pa.array(changes)) for column in kept]
        if taken:
            self.member_rows.put(places, pa.RecordBatch.from_arrays(taken, schema=self.kept_schema))
        return touched, earliest

    def _reached(self, touched: Int64s, watermark: int) -> int:
        """τ: it grows to the greatest endpoint at or before the cti."""
        if self.cti == INFINITY:
            return INFINITY
        if self.level == EAGER or self.cti <= watermark:
            return watermark
        slots = np.union1d(touched, self.due.up_to(self.cti))
        _, greatest = snapshot_kernel.endpoints_around(
            slots, self.members.arrays, watermark, self.cti
        )
        return int(greatest)

    def _idle(self, touched: Int64s, before: int) -> Int64s:
        """The slots that no change touches, but time does."""
        concerned = NO_SLOTS
        if self.level == PERFECT and self.watermark > before:
            concerned = self.slots.live_slots()
        elif self.level == ORDERED:
            concerned = self.due.up_to(min(self.watermark, INFINITY - 1))
        final = self._settled()
        stale = self.slots.live_slots() if final == INFINITY else self.stale.up_to(final)
        closed = self.closing.closed(self.cti)
        return np.setdiff1d(np.concatenate([concerned, stale, closed]), touched)

    def _correct(self, slots: Int64s, earliest: Int64s) -> Batch:
        """Evaluate what is affected, and say by how much the answer changes."""
        limit = INFINITY if self.level == EAGER else self.watermark
        bounds, lines, ends, rows = self._lines(slots, earliest, limit)
        old = self.segments.sizes(slots)
        self.segments.reserve(slots, 2 * old + np.diff(bounds))
        said, new, freed = said_kernel.correct(
            slots,
            earliest,
            limit,
            bounds,
            lines,
            ends,
            self.segments.arrays,
            self.answer_places.offered(len(ends) + int(old.sum())),
        )
        output = self._output(said, rows)
        places = self.answer_places.take(len(new))
        self.answer_places.give_back(freed)
        self.answer_rows.forget(freed)
        if rows.num_columns:
            self.answer_rows.put(places, rows.take(pa.array(new)))
        return output

    def _lines(
        self, slots: Int64s, earliest: Int64s, limit: int
    ) -> tuple[Int64s, Int64s, Int64s, pa.RecordBatch]:
        """The rows of the answer from the earliest affected times on: where those of each slot
        begin, the fingerprint and start of each (see `said_kernel`), its end, and the rows."""
        pieces = snapshot_kernel.cut(
            slots, earliest, limit, self.level == PERFECT, self.members.arrays
        )
        piece_of, rows = self._answers(slots, pieces)
        bounds = np.searchsorted(piece_of, pieces.bounds)
        prints = fingerprints(rows.columns, len(piece_of))
        lines = [prints.low.view(np.int64), prints.high.view(np.int64), pieces.start[piece_of]]
        return bounds, np.stack(lines, axis=1), pieces.end[piece_of], rows

    def _answers(self, slots: Int64s, cut: Cut) -> tuple[Int64s, pa.RecordBatch]:
        """⊗ of all pieces, asked for in portions."""
        found = [(NO_SLOTS, pa.RecordBatch.from_pylist([], schema=self.answer_schema))]
        slot_of = np.repeat(slots, np.diff(cut.bounds))
        reached = np.cumsum(cut.alive)
        few = int(self.members.sizes(slots).sum()) + len(reached)
        if self.goes_by_changes and len(reached) and reached[-1] > CHANGES_ARE_CHEAPER * few:
            steps, places, vs = change_kernels.steps(slot_of, cut.start, self.members.arrays)
            rows = self.member_rows.take(places)
            answer = self.evaluate_changes(ChangedPieces(steps, rows, vs))
            if answer is not None:
                return answer
        begin = 0
        while begin < len(cut.start):
            done = int(reached[begin - 1]) if begin else 0
            stop = max(begin + 1, int(np.searchsorted(reached, done + ROWS_AT_ONCE, "right")))
            offsets, members, places, vs = snapshot_kernel.fill(
                slot_of[begin:stop],
                cut.start[begin:stop],
                cut.alive[begin:stop],
                self.members.arrays,
            )
            rows = self.member_rows.take(places)
            piece_of, answers = self.evaluate(Pieces(offsets, members, rows, vs))
            found.append((piece_of + begin, answers))
            begin = stop
        if len(found) == 2:  # noqa: PLR2004 - the empty one, and the only portion
            return found[1]
        return (
            np.concatenate([piece_of for piece_of, _ in found]),
            pa.concat_batches([rows for _, rows in found]),
        )

    def _output(self, said: Corrections, rows: pa.RecordBatch) -> Batch:
        cti = self._promise()
        if len(said.slot) == 0:
            return empty(self.schema, cti)
        is_old = said.row < 0
        answers = rows.take(pa.array(said.row[~is_old]))
        if is_old.any():
            # The rows said before come first; put both back in the order in which they are said.
            before = self.answer_rows.take(~said.row[is_old])
            place = np.where(is_old, np.cumsum(is_old), is_old.sum() + np.cumsum(~is_old)) - 1
            answers = pa.concat_batches([before, answers]).take(pa.array(place))
        columns = answers.columns
        if self.with_keys:
            columns = [*self.key_rows.take(said.slot).columns, *columns]
        added = said.weight > 0
        high = int(said.vs[added].max()) if added.any() else BEGINNING
        payload = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        return Batch(said.vs, said.ve, said.weight, payload, cti, high)

    def _settle(self, slots: Int64s) -> None:
        """Let go what is final, and say when to look at these slots again."""
        self._let_go(slots, self._settled())
        closed = self.closing.closed(self.cti)  # all endpoints of these have been passed
        if len(closed):
            self._let_go(closed, INFINITY)
            self.closing.gone(closed)
        due, _ = snapshot_kernel.endpoints_around(
            slots, self.members.arrays, self.watermark, BEGINNING
        )
        stale = np.full(len(slots), INFINITY)
        snapshot_kernel.least_end(slots, self.members.arrays, stale)
        snapshot_kernel.least_end(slots, self.segments.arrays, stale)
        self.due.set(slots, due)
        self.stale.set(slots, stale)
        gone = slots[(self.members.sizes(slots) == 0) & (self.segments.sizes(slots) == 0)]
        self.slots.remove(gone)
        self.key_rows.forget(gone)
        for runs in (self.members, self.segments):
            runs.clear(gone)

    def _let_go(self, slots: Int64s, final: int) -> None:
        """Forget the rows and segments of slots that end at or before some time."""
        for runs, rows, places in (
            (self.members, self.member_rows, self.member_places),
            (self.segments, self.answer_rows, self.answer_places),
        ):
            freed = np.empty(int(runs.sizes(slots).sum()), np.int64)
            gone = freed[: snapshot_kernel.settle(slots, runs.arrays, final, freed)]
            places.give_back(gone)
            rows.forget(gone)

    def _settled(self) -> int:
        """What ends at or before this has been said as it is, and stays so. (A retraction can put
        an end between the watermark and the cti: it is said when the watermark comes there.)"""
        cti = self.cti
        if self.input_may_grow and BEGINNING < cti < INFINITY:
            cti -= 1
        return cti if self.level == EAGER else min(cti, self.watermark)

    def _final(self) -> int:
        """Before this nothing is said any more: at `perfect`, what is alive at the watermark is
        still to be said from there on."""
        return min(self.cti, self.watermark) if self.level == PERFECT else self.cti

    def _promise(self) -> int:
        """The output's cti, if it advances."""
        cti = self._final()
        if cti <= self.promised:
            return BEGINNING
        self.promised = cti
        return cti

    def state_size(self) -> tuple[int, int]:
        runs, rows = (self.members, self.segments), (self.member_rows, self.answer_rows)
        held = sum(run.nbytes for run in runs) + sum(store.nbytes for store in rows)
        return sum(run.entries() for run in runs), held + self.key_rows.nbytes

    def state_span(self) -> Span:
        return joined_span(*(span_of(run.ends()) for run in (self.members, self.segments)))

    def snapshot(self) -> Arrays:
        live = self.slots.live_slots()
        arrays: Arrays = self.slots.snapshot()
        arrays |= self.members.snapshot(live, "members")
        arrays |= self.segments.snapshot(live, "segments")
        rows = self.member_rows.take(arrays["members.ints"][:, PLACE].astype(np.int64))
        answers = self.answer_rows.take(arrays["segments.ints"][:, PLACE].astype(np.int64))
        arrays |= {
            "keys": rows_to_bytes(self.key_rows.take(live)),
            "rows": rows_to_bytes(rows),
            "answers": rows_to_bytes(answers),
            "due": self.due.of(live),
            "stale": self.stale.of(live),
            "times": np.array([self.watermark, self.cti, self.promised]),
        }
        return arrays

    def restore(self, arrays: Arrays) -> None:
        self._start_empty()
        self.slots.restore(arrays)
        live = self.slots.live_slots()
        self.key_rows.put(live, rows_from_bytes(arrays["keys"]))
        for name, runs, rows, places, stored in (
            ("members", self.members, self.member_rows, self.member_places, "rows"),
            ("segments", self.segments, self.answer_rows, self.answer_places, "answers"),
        ):
            ints = arrays[f"{name}.ints"].astype(np.int64)
            ints[:, PLACE] = places.take(len(ints))
            runs.restore(live, arrays | {f"{name}.ints": ints}, name)
            rows.put(ints[:, PLACE], rows_from_bytes(arrays[stored]))
        self.closing = Closing(self.closing.key)
        if self.keys:
            self.closing.opened(live, self.key_rows.take(live).columns)
        self.due.set(live, arrays["due"].astype(np.int64))
        self.stale.set(live, arrays["stale"].astype(np.int64))
        self.watermark, self.cti, self.promised = map(int, arrays["times"].tolist())
