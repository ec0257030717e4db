"""Session windows.

    session(H)         = { (vs, end of its session, r) : (vs, ve, r) ∈ H }
    session_columns(H) = { ([vs, ve) ∩ [a, b), r + {window_start: first, window_end: end}) :
                           (vs, ve, r) ∈ H, and in [a, b) the session of vs among the starts up to
                           then is [first, end) }

with the sessions of the starts of a key: a start that is not more than the gap after the one before
it is in the session of that one, unless the session would be longer than it may be.

State: of every key its rows, in order of their start. A change costs the rows of the sessions that
it touches. A cti C evicts every session that has ended before it: what starts later is in another
one. As columns, where rows may still be retracted, it is kept until its rows have ended, too.

A session that is open at C may become longer or shorter, but not shorter than C. Its rows began
before C, so what is new of them is emitted in a piece of its own: the answer is right snapshot by
snapshot, and C goes on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch, added_up, empty
from driftline.engine.core.operator import Operator
from driftline.engine.expressions import expansion
from driftline.engine.lifetimes import session_kernel as kernel
from driftline.engine.limits import limits
from driftline.engine.state.arrangement import insert, sort_each
from driftline.engine.state.bag import Bag
from driftline.engine.state.due_times import Due
from driftline.engine.state.fields import Fields
from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.growing import KeyColumn
from driftline.engine.state.progress import Progress
from driftline.engine.state.runs import Runs
from driftline.engine.state.slot_lists import by_slot
from driftline.engine.state.slots import Slots
from driftline.model.arrays import Int64s, to_arrow
from driftline.model.time import BEGINNING, INFINITY

_PIECE_BYTES, _FIELD_BYTES = 64, 8
"""About how many bytes a piece takes, and each of its columns."""


class Session(Operator):
    """`per`: the columns of the key; `at_most`: how long a session may be. `slots`: one for every
    key, with its `runs` of members, in order of their start; `members`: one for every row and
    start; `ends`: when the first session of a key ends."""

    fields = Fields(
        keys="slots",
        by_key=("runs",),
        derived=("ends",),
        parts=("members", "progress"),
        times=("runs",),
    )
    sets_ends = True
    keeps_labels = True
    goes_by_ctis = True  # in which pieces a row is emitted

    def __init__(
        self, schema: pa.Schema, gap: int, per: Sequence[str] = (), at_most: int | None = None
    ) -> None:
        super().__init__(schema)
        self.gap, self.per = gap, list(per)
        self.at_most = INFINITY if at_most is None else at_most
        self.progress = Progress()
        self.slots, self.runs, self.ends = Slots(), Runs(kernel.COLUMNS), Due()
        self.members = self._new_members(schema)

    def _new_members(self, schema: pa.Schema) -> SessionRows:
        return SessionRows(schema)

    @property
    def held(self) -> kernel.Members:
        members = self.members
        return kernel.Members(members.copies.values, members.emitted.values, members.ve.times)

    def process(self, port: int, batch: Batch) -> Batch:
        output = self._changed(self._by_start(batch)) if len(batch) else empty(self.schema)
        cti = self.progress.receive(port, batch.cti)
        if cti > BEGINNING:
            self._evict(cti)
        return Batch(output.vs, output.ve, output.weight, output.payload, cti, batch.high)

    def _by_start(self, batch: Batch) -> Batch:
        """Ends are of no interest: what only changes these cancels."""
        endless = np.full(len(batch), INFINITY)
        return Batch(batch.vs, endless, batch.weight, batch.payload).consolidated()

    def _changed(self, batch: Batch) -> Batch:
        touched, earliest, latest = self._take_in(batch)
        begins, stops = kernel.find_sessions(
            touched, earliest, latest, self.gap, self.at_most, self.held, self.runs.arrays
        )
        output = self._output(touched, begins, stops, earliest)
        gone = kernel.settle(touched, begins, stops, self.held, self.runs.arrays, False)
        self._forget(gone, touched)
        return output

    def _take_in(self, batch: Batch) -> tuple[Int64s, Int64s, Int64s]:
        """Make the changes part of the state. The slots of the rows, each once, with the first and
        the last start that changes."""
        prints = fingerprints([batch.payload.column(name) for name in self.per], len(batch))
        self.share(prints.low, self.slots.live)
        slots, _ = self.slots.find_or_add(prints)
        self.make_slots()
        members, new = self.members.count(batch)
        touched, bounds, order = self._by_slot(slots, batch.vs)
        first, last = batch.vs[order[bounds[:-1]]], batch.vs[order[bounds[1:] - 1]]
        grows = touched
        if len(new) < len(batch):
            grows, bounds, order = self._by_slot(slots[new], batch.vs[new])
            order = new[order]
        self.runs.reserve(grows, self.runs.sizes(grows) + np.diff(bounds))
        unknown = np.full(len(batch), kernel.UNKNOWN)
        entries = np.stack([batch.vs, members, unknown, unknown, batch.vs, batch.vs], axis=1)
        insert(grows, bounds, order, entries, kernel.ORDER, self.runs.arrays)
        return touched, first, last

    def _by_slot(self, slots: Int64s, starts: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        """The slots of rows, each once, and the rows slot by slot in order of their start; those of
        the n-th slot are bounds[n] … bounds[n + 1] - 1."""
        touched, counts, order = by_slot(slots, self.slots.used)
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        sort_each(bounds, order, starts[:, None].copy(), kernel.ORDER)
        return touched, bounds, order

    def _output(self, slots: Int64s, begins: Int64s, stops: Int64s, earliest: Int64s) -> Batch:
        made = kernel.lifetimes(
            slots, begins, stops, self.progress.time, self.held, self.runs.arrays
        )
        return Batch(made.vs, made.ve, made.weight, self.members.rows.take(made.member))

    def _evict(self, cti: int) -> None:
        if cti == INFINITY:
            self.remove_all()
            return
        ended = self.ends.up_to(cti - 1)
        self._forget(self._drop(ended, cti), ended)

    def _drop(self, ended: Int64s, cti: int) -> Int64s:
        """Drop what has ended of some slots. The members that are gone."""
        return kernel.evict(ended, cti, self.held, self._keeps_rows(), self.runs.arrays)

    def _keeps_rows(self) -> bool:
        """Whether rows may change after their session has ended."""
        return False

    def _forget(self, members: Int64s, slots: Int64s) -> None:
        """Drop members that are gone, and those of the slots that have none left."""
        self.members.remove(members)
        self.ends.set(slots, self._next_ends(slots))
        self.remove_slots(slots[self.runs.sizes(slots) == 0])

    def _next_ends(self, slots: Int64s) -> Int64s:
        return kernel.next_ends(slots, self.runs.arrays)

    def derive(self) -> None:
        live = self.slots.live_slots()
        self.ends.set(live, self._next_ends(live))

    def state_size(self) -> tuple[int, int]:
        _, taken = super().state_size()
        return len(self.members), taken


class SessionRows(Bag):
    """The rows of sessions. `emitted`: how many copies of each have come out."""

    fields = Bag.fields | Fields(derived=("emitted",))

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__(schema)
        self.emitted = KeyColumn(np.int64)

    def derive(self) -> None:
        self.emitted.values[: self.slots.used] = self.copies.values[: self.slots.used]


class SessionColumns(Session):
    """Sessions as columns, of rows that keep their lifetimes. `kind`: the type of a time;
    `only_grows`: no row is ever retracted."""

    def __init__(
        self,
        schema: pa.Schema,
        gap: int,
        per: Sequence[str] = (),
        at_most: int | None = None,
        *,
        names: Sequence[str] = ("window_start", "window_end"),
        kind: pa.DataType | None = None,
        only_grows: bool = False,
    ) -> None:
        super().__init__(schema, gap, per, at_most)
        self.only_grows, kind = only_grows, kind or pa.int64()
        self.schema = pa.schema([*schema, *map(pa.field, names, self._kinds(kind))])

    def _kinds(self, kind: pa.DataType) -> list[pa.DataType]:
        """The types of the columns of a window."""
        return [kind, kind]

    def _most_pieces(self) -> int:
        """How many pieces a batch may become."""
        return limits().max_expansion // self._piece_bytes

    @property
    def _piece_bytes(self) -> int:
        return _PIECE_BYTES + _FIELD_BYTES * len(self.schema)

    def _check(self, made: kernel.SessionPieces, what: str, advice: str) -> None:
        """Refuse more pieces than a batch may become."""
        with expansion.refused_at_once():
            expansion.check(what, self._piece_bytes * float(len(made.member)), advice)

    def _by_start(self, batch: Batch) -> Batch:
        return batch.consolidated()

    def _keeps_rows(self) -> bool:
        return not self.only_grows

    def _output(self, slots: Int64s, begins: Int64s, stops: Int64s, earliest: Int64s) -> Batch:
        most = self._most_pieces()
        made = kernel.columns(
            slots, begins, stops, earliest, self.gap, self.at_most, self.held, self.runs.arrays,
            most,
        )  # fmt: skip
        self._check(
            made,
            f"sessions as columns make more than {most:,} rows: one for every row and every later "
            "one of its session",
            "take a smaller gap, the lifetimes of sessions ([SESSION gap MAX d]), or smaller "
            "batches (--batch)",
        )
        numbers = fingerprints([], len(made.member)).with_numbers(*made[:3], *made[4:])
        rows, weight = added_up(numbers.low, numbers.high, made.weight)
        kinds = [self.schema.field(-2).type, self.schema.field(-1).type]
        payload = pa.RecordBatch.from_arrays(
            [
                *self.members.rows.take(made.member[rows]).columns,
                to_arrow(made.first[rows]).cast(kinds[0]),
                to_arrow(made.end[rows]).cast(kinds[1]),
            ],
            schema=self.schema,
        )
        return Batch(made.vs[rows], made.ve[rows], weight, payload)
