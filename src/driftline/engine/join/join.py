"""Join: pairs of rows that are alive at the same time, have the same keys and fulfil a condition.

    L ⋈ R      = { (max vs, min ve, l + r) : l ∈ L, r ∈ R, on(l, r), max vs < min ve }
    L ⟕ R      = L ⋈ R  ∪  (L ▷ R) padded with nulls;  L ⟖ R and L ⟗ R likewise
    L ⋉ R, L ▷ R = every lifetime of L, cut to the longest stretches with, or without, a match in R

The join is linear in its changes: a signed lifetime of one side is paired with what is held of the
other, and the weights are multiplied. Where a side is preserved, the changes of that side come out
cut to their runs, and what came out of the lifetimes that the other side's changes match is
corrected.

State: both sides' lifetimes, by key. Let C be the cti of a lifetime's own side, D the other's, F
the lesser of the two, and [vs, ve) the lifetime. What the other side changes it changes at or
after D, and what is taken back of the own side is cut at or after C.
- Inner: it may go when ve ≤ D, or vs + s ≤ D, if the condition lets it match nothing that starts
  later (`spans`, see `plan.bands`). Nothing new can match it. It may itself still be taken back, if
  C < ve; but a removal brings its row and lifetime along and needs only what is held of the other
  side; pairs with what has gone there, ended by C, would come and go in the same batch.
- On a preserved side it is needed longer, until ve ≤ F: a removal has to know what came out.
- Opposite a preserved side it may go when ve ≤ F: until then it may be taken back, and what came
  out of those it matches be corrected.
- On both sides of such a join it may go when vs + s ≤ F, if after that neither it nor any that it
  matches can change.
- On the right of a join `for_good` it may go when vs < F: those it matches are over, and go, too.
When both sides are closed, everything goes. Rows with a null key match nothing and are never held.
Lifetimes are dropped when they are half of a run of the index, so at most about twice as many are
held as are needed.

The output's cti is F. Pairs match the reference lifetime by lifetime, what is preserved snapshot by
snapshot: a run that grows after some of it was final goes on in another segment, see `emitted`. At
the level `perfect` what comes out is retold by snapshots (see `retell`), up to the watermark of the
inputs (`high_of_inputs`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.core.batch import Batch, empty, has_removals, latest_start
from driftline.engine.core.labels import greatest, raise_to
from driftline.engine.core.operator import Operator
from driftline.engine.expressions import expansion
from driftline.engine.join.coverage import Matches
from driftline.engine.join.preserved import Preserved
from driftline.engine.join.side import KeyedLifetimes, Side
from driftline.engine.limits import limits
from driftline.engine.state.end_times import EndTimes
from driftline.engine.state.fields import Fields
from driftline.engine.state.progress import Progress
from driftline.kernels import compiled
from driftline.model.arrays import Int64s, rows_at, without_columns
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.bands import Spans

How = Literal["inner", "left", "right", "full", "semi", "anti"]
Residual = Callable[[pa.RecordBatch], NDArray[np.bool_]]
Rows = Callable[[Int64s], pa.RecordBatch]

_LEFT, _RIGHT = 0, 1
_PAIR_BYTES, _FIELD_BYTES = 40, 12
"""About how many bytes a pair has, and each of its columns."""
_PIECE = 4_000_000
"""So many pairs are held against a residual condition at once."""
_PRESERVED: dict[How, tuple[bool, bool]] = {
    "inner": (False, False),
    "left": (True, False),
    "right": (False, True),
    "full": (True, True),
    "semi": (True, False),
    "anti": (True, False),
}


@dataclass(slots=True)
class _Pairs:
    """Lifetimes of one side (`one`: their numbers) and the places of their matches on the other;
    `joined`: their rows, where a residual condition wanted to see them."""

    one: Int64s
    place: Int64s
    joined: pa.RecordBatch | None


@dataclass(slots=True)
class _Part:
    """Some changes of the output."""

    vs: Int64s
    ve: Int64s
    weight: Int64s
    payload: pa.RecordBatch


class Join(Operator):
    """Joins port 0 (left) with port 1 (right) on equal keys, and on `residual`: a function that
    finds which of some joined rows fulfil the rest of the condition. `spans`: how long
    after its vs a lifetime of either side can match, see `plan.bands`. `for_good`: what the left
    matches it matches for ever, and what starts later does not, see `plan.until`."""

    ports = 2
    fields = Fields(parts=("progress", "ends", "left", "right"))
    expands = True
    knows_ends = True
    keeps_labels = True

    def __init__(
        self,
        left: pa.Schema,
        right: pa.Schema,
        how: How,
        left_keys: list[str],
        right_keys: list[str],
        residual: Residual | None = None,
        spans: Spans = Spans(),  # noqa: B008
        *,
        high_of_inputs: bool = False,
        for_good: bool = False,
    ) -> None:
        if len(left_keys) != len(right_keys):
            raise ValueError(f"{left_keys} and {right_keys} are not equally many keys")
        preserved = _PRESERVED[how]
        self.both = pa.schema([*left, *right])  # what a residual condition sees
        super().__init__(_output_schema(left, right, how))
        self.wanted = list(range(len(self.both)))  # the columns of pairs that are put out
        self.consolidates = True  # not needed before an operator that adds up what it gets
        self.pairs_come_out = how not in ("semi", "anti")
        self.residual = residual
        self.high_of_inputs = high_of_inputs
        self.left, self.right = self.sides = tuple(
            Side(schema, keys, kept, *lasts)
            for schema, keys, kept, lasts in zip(
                (left, right),
                (left_keys, right_keys),
                preserved,
                _lasting(how, spans, for_good),
                strict=True,
            )
        )
        self.progress = Progress(ports=2)
        self.ends: EndTimes | None = None  # of what has been emitted, if expiry goes by it
        self.preserved = tuple(
            Preserved(
                self.sides[port],
                partial(self._matches_within, port),
                how == "semi",
                for_good,
            )
            if kept
            else None
            for port, kept in enumerate(preserved)
        )
        self.preserves = any(preserved)

    def pass_on(self, *, every: bool) -> None:
        self.ends = None if every else EndTimes()

    def is_due(self, time: int) -> bool:
        return self.ends is None or self.ends.reached(time)

    def process(self, port: int, batch: Batch) -> Batch:
        output = self._worked_on(port, batch)
        if self.ends is not None:
            self.ends.add(output.ve, output.weight)
        return output

    def _worked_on(self, port: int, batch: Batch) -> Batch:
        parts = self._changed(port, batch) if len(batch) else []
        self.progress.receive(port, batch.cti)
        for either in (_LEFT, _RIGHT):
            self._evict(either)
        cti = self.progress.promise(self.progress.time)
        high = batch.high if self.high_of_inputs else BEGINNING
        if not parts:
            return empty(self.schema, cti, high)
        output = _gathered(parts, cti)
        # Without removals in the input, what goes and what comes are different lifetimes.
        output = (
            output.consolidated() if self.consolidates and has_removals(batch.weight) else output
        )
        if not self.high_of_inputs:
            high = latest_start(output.vs, output.weight)
        return output.promising(output.cti, high)

    def _changed(self, port: int, batch: Batch) -> list[_Part]:
        """What the changes of one side change; they become part of the state."""
        own, other = self.sides[port], self.sides[1 - port]
        rows, keyed = own.keyed(batch)
        preserved = self.preserved[port]
        if preserved is not None and preserved.for_good:
            known, batch = batch, preserved.unsettled(batch, rows, self.progress.time)
            rows, keyed = (rows, keyed) if batch is known else own.keyed(batch)
        pairs = self._pairs(port, keyed, lambda some: rows_at(batch.payload, rows[some]))
        pairs.one = rows[pairs.one]
        if self.label is not None:
            self._share(other, keyed, pairs.place)
        start, end, weight = _times(
            pairs.one, pairs.place, batch.vs, batch.ve, batch.weight,
            other.vs.values, other.ve.values, other.weight.values,
        )  # fmt: skip
        parts: list[_Part] = []
        if self.pairs_come_out and len(pairs.one):
            parts.append(_Part(start, end, weight, self._paired(port, batch.payload, pairs)))
        if not self.preserves:
            self._hold(port, batch, rows, keyed)
            return parts
        matches = Matches(pairs.one, start, end, other.weight.values[pairs.place])
        preserved = self.preserved[1 - port]
        if preserved is not None and len(pairs.one):
            changed = replace(matches, weight=batch.weight[pairs.one])
            place, start, end, sign = preserved.correct(pairs.place, changed, self.progress.time)
            alone = self._alone(1 - port, other.rows.take(place))
            parts.append(_Part(start, end, sign * other.weight.values[place], alone))
        preserved = self.preserved[port]
        if preserved is None:
            self._hold(port, batch, rows, keyed)
        else:
            cut = preserved.cut(batch, matches, self.progress.time)
            one, start, end = cut.changes()
            alone = self._alone(port, rows_at(batch.payload, one))
            parts.append(_Part(start, end, batch.weight[one], alone))
            new, places = self._hold(port, batch, rows, keyed)
            preserved.note(places, new, cut)
        return [part for part in parts if len(part.vs)]

    def _share(self, other: Side, keyed: KeyedLifetimes, partners: Int64s) -> None:
        """What takes part in the work on some lifetimes: of an inner join their partners, and rows
        that were taken back and would be; where a side is preserved, whatever has their keys."""
        if self.preserves:
            self.share(keyed.low, sum(side.places.live for side in self.sides))
            return
        assert self.participants is not None
        if len(other.most) and len(partners):
            found = np.array(self.label, np.int64)
            raise_to(other.labels.values, partners, found, other.most)
            self.participants = tuple(found.tolist())
        if other.removed is not None:
            self.participants = greatest(self.participants, other.removed.of(keyed.low))

    def _hold(
        self, port: int, batch: Batch, rows: Int64s, keyed: KeyedLifetimes
    ) -> tuple[Int64s, Int64s]:
        """Add changes to the state, but for those that are not needed there. Returns which of the
        batch's lifetimes are new, and their places."""
        is_needed = self.sides[port].ends(keyed.vs, keyed.ve) > self._bound(port)
        if not is_needed.all():
            needed = np.flatnonzero(is_needed)
            keyed, rows = keyed.take(needed), rows[needed]
        payload, weight = batch.payload, batch.weight
        if len(rows) < len(batch):
            payload, weight = rows_at(payload, rows), weight[rows]
        new, places = self.sides[port].add(keyed, weight, payload, self.label)
        return rows[new], places

    def _matches_within(self, port: int, places: Int64s, start: Int64s, end: Int64s) -> Matches:
        """What held lifetimes of one side match of the other."""
        side, other = self.sides[port], self.sides[1 - port]
        keyed = KeyedLifetimes(side.low.values[places], side.high.values[places], start, end)
        with expansion.refused_at_once():
            pairs = self._pairs(port, keyed, lambda some: side.rows.take(places[some]))
        return Matches(
            pairs.one,
            np.maximum(start[pairs.one], other.vs.values[pairs.place]),
            np.minimum(end[pairs.one], other.ve.values[pairs.place]),
            other.weight.values[pairs.place],
        )

    def _pairs(self, port: int, keyed: KeyedLifetimes, rows: Rows) -> _Pairs:
        """The matches of some lifetimes of one side in what is held of the other."""
        other = self.sides[1 - port]
        width = _PAIR_BYTES + _FIELD_BYTES * len(self.both)
        most = limits().max_expansion // width
        piece = most if self.residual is None else min(most, _PIECE)
        one, place = other.overlapping(keyed, piece)
        if len(one) > piece and piece < most and len(keyed.vs) > 1:
            return self._pairs_in_parts(port, keyed, rows)
        if len(one) > most:
            expansion.check(
                f"a join makes more than {most:,} pairs of {len(keyed.vs):,} rows with what is "
                "held of the other side",
                (len(one) + 1.0) * width,
                "compare more columns with =, bound the lifetimes with a window, or take smaller "
                "batches (--batch)",
            )
        if self.residual is None or len(one) == 0:
            return _Pairs(one, place, None)
        joined = self._joined(port, rows(one), other.rows.take(place))
        fulfilled = self.residual(joined)
        if fulfilled.all():
            return _Pairs(one, place, joined)
        return _Pairs(one[fulfilled], place[fulfilled], rows_at(joined, np.flatnonzero(fulfilled)))

    def _pairs_in_parts(self, port: int, keyed: KeyedLifetimes, rows: Rows) -> _Pairs:
        """The matches of some lifetimes, half of them at a time: a condition may leave few."""
        half = len(keyed.vs) // 2
        parts, start = [], 0
        for some in (slice(None, half), slice(half, None)):
            few = KeyedLifetimes(keyed.low[some], keyed.high[some], keyed.vs[some], keyed.ve[some])
            found = self._pairs(port, few, partial(_shifted, rows, start))
            parts.append(_Pairs(found.one + start, found.place, found.joined))
            start = half
        joined = [part.joined for part in parts if part.joined is not None]
        return _Pairs(
            np.concatenate([part.one for part in parts]),
            np.concatenate([part.place for part in parts]),
            pa.concat_batches(joined) if joined else None,
        )

    def _bound(self, port: int) -> int:
        """The lifetimes of a side that end at or before this time may go."""
        return self.progress.time if self.preserves else self.progress.latest[1 - port]

    def _evict(self, port: int) -> None:
        """Drop what is no longer needed of a side."""
        side, bound = self.sides[port], self._bound(port)
        numbers, places = side.evictable(bound)
        if not numbers:
            return
        other = self.preserved[1 - port]
        if other is not None and other.for_good and bound < INFINITY:
            going = places[side.weight.values[places] != 0]
            with expansion.refused_at_once():
                pairs = self._pairs(
                    port, side.held(going), lambda some: side.rows.take(going[some])
                )
            other.settle(pairs.place, self.progress.time)
        side.drop(numbers, bound)

    def _paired(self, port: int, own: pa.RecordBatch, pairs: _Pairs) -> pa.RecordBatch:
        """The rows of pairs, with the columns that are read downstream."""
        if pairs.joined is not None:
            columns = [pairs.joined.column(place) for place in self.wanted]
        else:
            width = len(self.sides[_LEFT].schema)
            left = [place for place in self.wanted if place < width]
            right = [place - width for place in self.wanted if place >= width]
            mine, theirs = (left, right) if port == _LEFT else (right, left)
            other = self.sides[1 - port]
            names = [other.schema.field(place).name for place in theirs]
            taken = rows_at(own.select(mine), pairs.one).columns if mine else []
            found = other.rows.take_some(pairs.place, names).columns if names else []
            columns = [*taken, *found] if port == _LEFT else [*found, *taken]
        return _rows(columns, self.schema, len(pairs.one))

    def build_only(self, names: frozenset[str]) -> None:
        if not self.pairs_come_out or self.preserves:
            return
        self.wanted = [place for place in self.wanted if self.both.field(place).name in names]
        self.schema = pa.schema([self.both.field(place) for place in self.wanted])

    def _joined(self, port: int, own: pa.RecordBatch, other: pa.RecordBatch) -> pa.RecordBatch:
        """Rows of one side next to rows of the other: left columns, then right columns."""
        left, right = (own, other) if port == _LEFT else (other, own)
        return _rows([*left.columns, *right.columns], self.both, len(own))

    def _alone(self, port: int, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows of a preserved side without a match, or cut to their matches."""
        if not self.pairs_come_out:
            return _as(self.schema, rows)
        nulls = [pa.nulls(len(rows), field.type) for field in self.sides[1 - port].schema]
        columns = [*rows.columns, *nulls] if port == _LEFT else [*nulls, *rows.columns]
        return _rows(columns, self.schema, len(rows))


@compiled
def _times(
    one: Int64s,
    place: Int64s,
    vs: Int64s,
    ve: Int64s,
    weight: Int64s,
    other_vs: Int64s,
    other_ve: Int64s,
    other_weight: Int64s,
) -> tuple[Int64s, Int64s, Int64s]:
    """When both lifetimes of each pair are alive, and the product of their weights."""
    start, end = np.empty(len(one), np.int64), np.empty(len(one), np.int64)
    product = np.empty(len(one), np.int64)
    for pair in range(len(one)):
        mine, theirs = one[pair], place[pair]
        start[pair] = max(vs[mine], other_vs[theirs])
        end[pair] = min(ve[mine], other_ve[theirs])
        product[pair] = weight[mine] * other_weight[theirs]
    return start, end, product


def _shifted(rows: Rows, start: int, which: Int64s) -> pa.RecordBatch:
    return rows(which + start)


def _lasting(how: How, spans: Spans, for_good: bool) -> tuple[tuple[int, int], tuple[int, int]]:
    """Of either side, how long its lifetimes can match, and how long anything can change."""
    if how == "inner":
        return (spans.left, INFINITY), (spans.right, INFINITY)
    return (INFINITY, spans.both), (INFINITY, 1 if for_good else spans.both)


def _output_schema(left: pa.Schema, right: pa.Schema, how: How) -> pa.Schema:
    if how in ("semi", "anti"):
        return left
    left_preserved, right_preserved = _PRESERVED[how]
    fields = [field.with_nullable(True) if right_preserved else field for field in left]
    fields += [field.with_nullable(True) if left_preserved else field for field in right]
    return pa.schema(fields)


def _rows(columns: list[pa.Array], schema: pa.Schema, length: int) -> pa.RecordBatch:
    if not columns:
        return without_columns(length)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _as(schema: pa.Schema, rows: pa.RecordBatch) -> pa.RecordBatch:
    return _rows(rows.columns, schema, len(rows))


def _gathered(parts: list[_Part], cti: int) -> Batch:
    payloads = [part.payload for part in parts]
    if len(parts) == 1:
        return Batch(parts[0].vs, parts[0].ve, parts[0].weight, payloads[0], cti)
    return Batch(
        np.concatenate([part.vs for part in parts]),
        np.concatenate([part.ve for part in parts]),
        np.concatenate([part.weight for part in parts]),
        pa.concat_batches(payloads),
        cti,
    )
