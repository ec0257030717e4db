"""Snapshot operators whose answer has a row for every row of its input, by places in an order.

    o(H), at every time:  ⋃ over the partitions of the snapshot of  {f(r, the partition in order)}

State: the rows of every partition with their lifetimes, in their order (`order_words`); and for
every row what was emitted of it. A cti evicts every row and every segment that ends at or before
it, and all of a partition that it closes.

A batch costs the rows that can see a change, and what they look at (`near_kernel`), not the
partition: of ROWS between two distances, LAG and LEAD some rows around each change; of a RANGE with
distances those within these; of a rank or a running aggregate the rows that come after, since what
comes before counts as a whole (`block_totals`), of array_agg and a few others also one look at each
row before; of the first k rows about k.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from driftline.engine.by_rows import block_kernels, near_kernel
from driftline.engine.by_rows.block_totals import NO_BLOCKS, BlockTotals, Totals
from driftline.engine.by_rows.kept_rows import KeptRows
from driftline.engine.by_rows.near_kernel import Blocks, NearEntries, Reach
from driftline.engine.by_rows.order_words import OrderBy, OrderWords, with_nulls
from driftline.engine.by_rows.place_kernels import FAR
from driftline.engine.core.batch import Batch
from driftline.engine.core.snapshot_operator import EAGER, NO_SLOTS, PERFECT
from driftline.engine.state.due_times import Due
from driftline.engine.state.emitted_rows import EmittedRows, pieces_of
from driftline.engine.state.fields import Fields, Stateful
from driftline.engine.state.fingerprints import Fingerprints, fingerprints
from driftline.engine.state.held_rows import (
    COPIES,
    END,
    HIGH,
    LOW,
    NOTHING_MERGED,
    PLACE,
    START,
    Merged,
)
from driftline.engine.state.slots import Slots
from driftline.model.arrays import Int64s, Mask
from driftline.model.level import Level
from driftline.model.time import BEGINNING, INFINITY


@dataclass(frozen=True)
class Rows:
    """The rows that are looked at, one for every copy, sorted by slot and order: those of the n-th
    slot are bounds[n] … bounds[n + 1] - 1, each alive during [begin, end). `wanted`: those whose
    answers can be other ones than before."""

    bounds: Int64s
    begin: Int64s
    end: Int64s
    wanted: Mask
    member: Int64s  # where it is among the members
    place: Int64s  # where its columns are
    before: Totals | None = None  # of each slot, of rows before these that count as a whole


@dataclass(frozen=True)
class Evaluated:
    """Answers: the row of each among those looked at, and when it holds."""

    row: Int64s
    start: Int64s
    end: Int64s
    rows: pa.RecordBatch


_ALL_COUNT = np.zeros(0, np.bool_)


class EmittedByRow(Stateful):
    """What was emitted of each row: `holders`, one for every row; `segments`: what was emitted of
    it; `ends`: the first end of these."""

    fields = Fields(keys="holders", by_key=("segments", "ends"), times=("segments",))

    def __init__(self, answer: pa.Schema) -> None:
        self.holders, self.segments, self.ends = Slots(), EmittedRows(answer), Due()

    def of(self, low: Int64s, high: Int64s) -> Int64s:
        """The holders of rows with some fingerprints."""
        low, high = np.ascontiguousarray(low), np.ascontiguousarray(high)
        prints = Fingerprints(low.view(np.uint64), high.view(np.uint64))
        holders, _ = self.holders.find_or_add(prints)
        self.make_slots()
        return holders

    def drop(self, holders: Int64s, final: int) -> None:
        """Drop the segments of some holders that end at or before a time."""
        self.segments.drop(holders, final)
        self.note_ends(holders)

    def drop_ended(self, final: int) -> None:
        """Drop all segments that end at or before a time."""
        self.drop(
            self.holders.live_slots() if final == INFINITY else self.ends.up_to(final), final
        )  # fmt: skip

    def note_ends(self, holders: Int64s) -> None:
        """Note when what is held of rows ends first, and forget those of which nothing is."""
        self.ends.set(holders, self.segments.first_ends(holders))
        self.remove_slots(holders[self.segments.sizes(holders) == 0])


class OrderedRows(KeptRows):
    """`ties`: the columns by which ties of the order are broken; in descending order, if
    `is_mirrored`: the rows are held from the last to the first of the order that was asked for."""

    fields = KeptRows.fields | Fields(parts=("emitted",))

    def __init__(
        self,
        schema: pa.Schema,
        partition: list[str],
        order: list[OrderBy],
        ties: list[str],
        answer: pa.Schema,
        level: Level,
        is_mirrored: bool = False,
    ) -> None:
        self.order = order
        self.ties = [OrderBy(name, descending=is_mirrored) for name in sorted(ties)]
        self.words = OrderWords(schema, order, self.ties)
        super().__init__(
            schema, partition, schema.names, answer, level, with_keys=False,
            order_words=self.words.width,
        )  # fmt: skip
        self.emitted = EmittedByRow(answer)
        self.reach = Reach(self.words.width)
        self.totals: BlockTotals | None = None  # where `reach` is `in_blocks`
        self._forget_changes()

    @abstractmethod
    def _evaluated(self, looked_at: Rows) -> Evaluated | None:
        """The answers of the wanted rows; None if what comes before cannot count as a whole."""

    def group_of(self, looked_at: Rows) -> Int64s:
        """The number of each row's order key."""
        rows = looked_at
        changes = np.zeros(len(rows.member), np.bool_)
        changes[rows.bounds[:-1][rows.bounds[:-1] < len(changes)]] = True
        if self.words.orders:
            words = self.members.arrays.ints[rows.member]
            keys = [words[:, word] for word in range(self.words.of_order)]
        else:
            names = list(dict.fromkeys(item.column for item in self.order))
            columns = self.members.rows.take_some(rows.place, names)
            keys = [
                key for item in self.order for key in with_nulls(columns.column(item.column), item)
            ]
        for key in keys:
            changes[1:] |= key[1:] != key[:-1]
        return np.cumsum(changes)

    def _sorted_by(self, rows: pa.RecordBatch) -> list[Int64s]:
        return self.words.of(rows)

    def _note_merged(self, merged: Merged) -> None:
        self._changes, slots = merged, merged.keys
        if self.totals is not None:
            first = block_kernels.first_changed(
                slots, merged.begin, merged.count, merged.order, merged.entries, self.members.arrays
            )
            self.totals.forget(slots, first)
        items, slot_of = merged.items()
        stale, due = self.stale.of(slots), self.due.of(slots)
        self._due_before = slots, due.copy()
        np.minimum.at(stale, slot_of, merged.entries[items, END])
        for column in (START, END):
            time = merged.entries[items, column]
            np.minimum.at(due, slot_of, np.where(time > self.watermark, time, INFINITY))
        self.stale.set(slots, stale)
        self.due.set(slots, due)

    def _quiet(self, limit: int) -> Mask:
        """Of each slot that the batch has changed, whether nothing else of it starts or ends after
        the watermark and up to a limit."""
        _, due = self._due_before
        return due > limit

    def _next_times(self, after: int) -> Int64s:
        """Of each slot that the batch has changed, the first time after another at which something
        may start or end, if nothing but what has changed did up to that."""
        items, slot_of = self._last_changes.items()
        times = self._due_before[1].copy()
        for column in (START, END):
            time = self._last_changes.entries[items, column]
            np.minimum.at(times, slot_of, np.where(time > after, time, INFINITY))
        return times

    def _greatest_endpoint(self, slots: Int64s, limit: int) -> int:
        quiet = self._changes.keys[self._quiet(limit)]
        greatest = super()._greatest_endpoint(slots[~np.isin(slots, quiet)], limit)
        items, slot_of = self._changes.items()
        items = items[self._quiet(limit)[slot_of]]
        times = self._changes.entries[items][:, [START, END]]
        return int(times[times <= limit].max(initial=greatest))

    def _forget_changes(self) -> None:
        self._due_before = NO_SLOTS, NO_SLOTS
        self._last_changes = self._changes = NOTHING_MERGED

    def _take_changes(self) -> Merged:
        """What has changed; it is not new any more."""
        self._last_changes, self._changes = self._changes, NOTHING_MERGED
        return self._last_changes

    def _update(self, slots: Int64s, earliest: Int64s, before: int) -> Batch:
        """Compute the answers that are affected, and emit by how much they change."""
        earliest, limit = self._affected(slots, earliest, before)
        changes = self._take_changes()
        none = np.zeros(len(slots) - len(changes.keys), np.int64)
        passed = np.concatenate([~self._quiet(limit), none == 0])

        def near(reach: Reach, blocks: Blocks) -> NearEntries:
            return near_kernel.entries(
                slots, earliest, limit, self.level == PERFECT,
                INFINITY if self.level == EAGER else before,
                np.concatenate([changes.begin, none]), np.concatenate([changes.count, none]),
                changes.order, changes.entries, self.members.arrays, reach, passed, self._counts(),
                blocks,
            )  # fmt: skip

        entries, looked_at, found = self._found(slots, near)
        holders, first, number = self._held(earliest, entries, looked_at, found, changes)
        order = np.argsort(number, kind="stable")
        bounds = np.searchsorted(number[order], np.arange(len(holders) + 1))
        rows = found.rows.take(pa.array(order))
        pieces = pieces_of(
            fingerprints(rows.columns, len(rows)), found.start[order], found.end[order]
        )  # fmt: skip
        since = np.where(first > limit, INFINITY, first)
        corrected = self.emitted.segments.correct(holders, since, bounds, pieces, rows)
        self.emitted.note_ends(holders)
        return self._output(corrected, corrected.key)

    def _counts(self) -> Mask:
        """By the place of its columns, whether a row counts (see `Reach`); empty: all do."""
        return _ALL_COUNT

    def _found(
        self, slots: Int64s, near: Callable[[Reach, Blocks], NearEntries]
    ) -> tuple[NearEntries, Rows, Evaluated]:
        """What is near the changes of some slots, and the answers: from the totals of what comes
        before, if that is possible."""
        if self.totals is not None and self.level != PERFECT:
            self.totals.bring_up(slots, self.members.arrays, self.members.rows)
            entries = near(self.reach, self.totals.blocks)
            before = self.totals.before(slots, entries, self.members.arrays, self.members.rows)
            if before is not None:
                looked_at = replace(self._in_order(entries), before=before)
                found = self._evaluated(looked_at)
                if found is not None:
                    return entries, looked_at, found
        reach = self.reach
        if reach.in_blocks:
            reach = reach._replace(sees_back=FAR, in_blocks=False)
        entries = near(reach, NO_BLOCKS)
        looked_at = self._in_order(entries)
        found = self._evaluated(looked_at)
        assert found is not None
        return entries, looked_at, found

    def _in_order(self, near: NearEntries) -> Rows:
        """The members in their order, also those that have the same words; one for each copy."""
        ints, member = self.members.arrays.ints, near.member
        number = np.repeat(np.arange(len(near.bounds) - 1), np.diff(near.bounds))
        row = np.arange(len(member))
        if not self.words.is_exact and self._has_ties(number, member):
            row = self._sorted(number, ints[member, PLACE])
        copies = ints[member[row], COPIES]
        if len(copies) and copies.max() > 1:
            row = np.repeat(row, copies)
        bounds = np.searchsorted(number[row], np.arange(len(near.bounds)))
        return Rows(
            bounds, near.begin[row], near.end[row], near.wanted[row], member[row],
            ints[member[row], PLACE],
        )  # fmt: skip

    def _has_ties(self, number: Int64s, member: Int64s) -> bool:
        """Whether different rows of a slot have the same words."""
        ints = self.members.arrays.ints[member]
        same = number[1:] == number[:-1]
        for word in range(self.words.width):
            same &= ints[1:, word] == ints[:-1, word]
        return bool((same & (ints[1:, LOW] != ints[:-1, LOW])).any())

    def _sorted(self, number: Int64s, places: Int64s) -> Int64s:
        """The order of rows of some slots."""
        rows = self.members.rows.take(places)
        keys: list[Int64s] = [number]
        for item in (*self.order, *self.ties):
            side, key = with_nulls(rows.column(item.column), item)
            keys += [side, ~key if item.descending else key]
        return np.lexsort(keys[::-1])

    def _held(
        self,
        earliest: Int64s,
        near: NearEntries,
        looked_at: Rows,
        found: Evaluated,
        changes: Merged,
    ) -> tuple[Int64s, Int64s, Int64s]:
        """The holders of what may have to be corrected, from when on for each; and which of them
        each answer belongs to."""
        slot_of = np.repeat(np.arange(len(looked_at.bounds) - 1), np.diff(looked_at.bounds))
        wanted = np.flatnonzero(looked_at.wanted)
        items, changed_slot = changes.items()
        members = np.concatenate([looked_at.member[wanted], near.over])
        members = self.members.arrays.ints[members]
        low = np.concatenate([members[:, LOW], changes.entries[items, LOW]])
        high = np.concatenate([members[:, HIGH], changes.entries[items, HIGH]])
        holders, number = np.unique(self.emitted.of(low, high), return_inverse=True)
        since = np.empty(len(holders), np.int64)
        since[number] = earliest[np.concatenate([slot_of[wanted], near.over_slot, changed_slot])]
        number_of = np.full(len(looked_at.member), -1, np.int64)
        number_of[wanted] = number[: len(wanted)]
        return holders, since, number_of[found.row]

    def _evict(self, slots: Int64s) -> None:
        """Drop what is final, and note when to look at these slots again."""
        final = self._settled()
        self._drop_members(slots[self.stale.of(slots) <= final], final)
        self.emitted.drop_ended(final)
        closed = self.closing.closed(self.cti)  # all endpoints of these have been passed
        if len(closed):
            self._close(closed)
        if self.level != EAGER:
            quiet = self._quiet(self.watermark)
            self.due.set(self._last_changes.keys[quiet], self._next_times(self.watermark)[quiet])
            passed = slots[self.due.of(slots) <= self.watermark]
            self.due.set(passed, self._endpoints(passed, BEGINNING)[0])
        self._forget_changes()
        self._remove(slots[self.members.sizes(slots) == 0])

    def _drop_members(self, slots: Int64s, final: int) -> None:
        if self.totals is not None:
            self.totals.forget(slots, block_kernels.first_ended(slots, self.members.arrays, final))
        self.members.drop(slots, final)
        self.stale.set(slots, self.members.first_ends(slots))

    def _close(self, slots: Int64s) -> None:
        """Drop all of some slots."""
        ints = self.members.of(slots)
        self.emitted.drop(np.unique(self.emitted.of(ints[:, LOW], ints[:, HIGH])), INFINITY)
        self._drop_members(slots, INFINITY)
        self.closing.clear(slots)

    def _remove(self, gone: Int64s) -> None:
        super()._remove(gone)
        if self.totals is not None:
            self.totals.clear(gone)
