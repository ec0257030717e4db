"""What a query emits: after one batch of its input, and in all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from driftline.model.old_names import renamed
from driftline.model.time import BEGINNING
from driftline.plan.types import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from driftline.engine.core.batch import Batch
    from driftline.engine.ingest.dead_letters import DeadLetters
    from driftline.model.prefix import Prefix
    from driftline.plan.choices import Clock


@dataclass(frozen=True)
class Update:
    """What a query emits after one batch of input: the changes to its answer.

    `dead_letters`: by stream, the events of this batch that are no part of it and the records that
    could not be read (`bad`), with reasons.
    `counters`: by operator, what it has done so far and what it holds: changes and ctis in,
    inserts, retracts and ctis out, rows and bytes of state, its output watermark. Every stream has
    two more, Finalize (with its `dead_letters`) and Align; loops that run free have further ones.
    `prefix`: with `outputs` "marked" or "held", how many events of each input (`events`) all
    updates up to this one are the exact answer for; None where they are for no such prefix.
    `now`: with a `clock`, the time that has come.
    """

    batch: Batch
    dead_letters: Mapping[str, DeadLetters]
    counters: Mapping[str, Mapping[str, int]]
    prefix: Prefix | None = None
    now: int = BEGINNING

    @property
    def final_up_to(self) -> int | None:
        """How far the answers have become final with this batch; None if no further than before."""
        return None if self.batch.cti == BEGINNING else self.batch.cti

    def table(self) -> pa.Table:
        """Inserts and retracts: kind, vs, ve, vn (null: ∞, none), and the columns; one that is
        called as these are has `row.` before its name."""
        from driftline.engine.tables import changes_table

        return changes_table(_beside(self.batch, "kind", "vs", "ve", "vn").changes())


@dataclass
class Result:
    """All that a query emitted, update by update. `snapshots_only`: the answer is defined by its
    snapshots alone, and `history` puts the pieces of each row together."""

    schema: Schema
    snapshots_only: bool = False
    updates: list[Update] = field(default_factory=list)

    def add(self, update: Update) -> None:
        self.updates.append(update)

    @property
    def said(self) -> list[Update]:
        """The old name of `updates`."""
        renamed("Result.said", "Result.updates")
        return self.updates

    @property
    def loose(self) -> bool:
        """The old name of `snapshots_only`."""
        renamed("Result.loose", "Result.snapshots_only")
        return self.snapshots_only

    def history(self) -> pa.Table:
        """The canonical history of the answer: vs, ve (null: ∞), and the columns, in order; a
        column vs is here called `row.vs`."""
        from driftline.engine.tables import history_table

        batches = [_beside(update.batch, "vs", "ve") for update in self.updates]
        return history_table(batches, self.schema.arrow, loose=self.snapshots_only)

    def changes(self) -> pa.Table:
        """All inserts and retracts, batch after batch."""
        import pyarrow as pa

        return pa.concat_tables([update.table() for update in self.updates])

    @property
    def final_up_to(self) -> int | None:
        """How far the answers are final; None if they are not at all."""
        reached = [each.final_up_to for each in self.updates if each.final_up_to is not None]
        return max(reached, default=None)

    @property
    def dead_letters(self) -> dict[str, int]:
        """How many events of each stream were no part of it, or could not be read; `updates`
        holds them with reasons."""
        counts: dict[str, int] = {}
        for update in self.updates:
            for name, letters in update.dead_letters.items():
                counts[name] = counts.get(name, 0) + len(letters)
        return counts

    @property
    def counters(self) -> Mapping[str, Mapping[str, int]]:
        """What every operator did, and what it holds at the end."""
        return self.updates[-1].counters if self.updates else {}


class NowRow(NamedTuple):
    """A change of the answer as it is now: from `at` on a row is there (+), or no longer (-)."""

    op: str
    at: int
    row: dict[str, Any]


class Now:
    """The answer of a query as it is now, while the query runs: an iterator of its changes, one by
    one; `tables` gives them as they come, in tables, and `table` the answer itself.

    `clock`: the time that has come; `final_up_to`: how far the answer is final; `past`: how many
    changes came to lifetimes that had ended already, and did not show; `dead_letters`: how many
    events of each stream were no part of it, or could not be read.
    """

    def __init__(self, schema: Schema, clock: Clock, updates: Iterator[Update]) -> None:
        from driftline.engine.outputs.now_view import NowView

        self._view = NowView(schema.arrow, clock)
        self._updates = updates
        self._rows: Iterator[NowRow] = iter(())
        self.dead_letters: dict[str, int] = {}

    @property
    def clock(self) -> int | None:
        return None if self._view.clock == BEGINNING else self._view.clock

    @property
    def final_up_to(self) -> int | None:
        return None if self._view.cti == BEGINNING else self._view.cti

    @property
    def past(self) -> int:
        return self._view.past

    def __iter__(self) -> Iterator[NowRow]:
        return self

    def __next__(self) -> NowRow:
        while (row := next(self._rows, None)) is None:
            self._rows = self._one_by_one(next(self.tables()))
        return row

    def tables(self) -> Iterator[pa.Table]:
        """The changes that every batch of input leads to: op, at, and the columns; one that is
        called as these are has `row.` before its name."""
        from driftline.engine.tables import now_table

        for update in self._updates:
            for name, letters in update.dead_letters.items():
                self.dead_letters[name] = self.dead_letters.get(name, 0) + len(letters)
            yield now_table(self._view.update(update.batch, update.now))

    def _one_by_one(self, table: pa.Table) -> Iterator[NowRow]:
        names = self._view.schema.names
        for op, at, *row in zip(*(each.to_pylist() for each in table.columns), strict=True):
            yield NowRow(op, at, dict(zip(names, row, strict=True)))

    def table(self) -> pa.Table:
        """The rows that are there at the end of the inputs: what is left of them is read first."""
        import pyarrow as pa

        for _ in self:
            pass
        return pa.Table.from_batches([self._view.shown()])


def _beside(batch: Batch, *times: str) -> Batch:
    """A batch as it stands beside columns with times: one that is called as these are has `row.`
    before its name."""
    names = batch.payload.schema.names
    if not set(names) & set(times):
        return batch
    others = [f"row.{name}" if name in times else name for name in names]
    return replace(batch, payload=batch.payload.rename_columns(others))


def __getattr__(name: str) -> Any:
    if name == "Said":
        renamed("Said", "Update")
        return Update
    raise AttributeError(f"module {__name__} has no attribute {name}")
