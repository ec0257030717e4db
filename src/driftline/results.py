"""What a query emits: after one batch of its input, and in all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from driftline.model.old_names import renamed
from driftline.model.time import BEGINNING, moment, show
from driftline.plan.errors import PlanError
from driftline.plan.types import Schema

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from driftline.drawings import Drawing
    from driftline.engine.core.batch import Batch
    from driftline.engine.ingest.dead_letters import DeadLetters
    from driftline.model.prefix import Prefix
    from driftline.plan.choices import Clock


@dataclass(frozen=True, repr=False)
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
    `timestamps`: whether times are TIMESTAMPs; as numbers they are then microseconds since 1970.
    """

    batch: Batch
    dead_letters: Mapping[str, DeadLetters]
    counters: Mapping[str, Mapping[str, int]]
    prefix: Prefix | None = None
    now: int = BEGINNING
    timestamps: bool = False

    def __repr__(self) -> str:
        return f"<Update: {_counted(len(self.batch), 'change')}{_final(self)}>"

    @property
    def final_up_to(self) -> int | datetime | None:
        """How far the answers have become final with this batch; None if no further than before.
        Of TIMESTAMP streams a datetime, or `INFINITY`."""
        cti = self.batch.cti
        return None if cti == BEGINNING else moment(cti, self.timestamps)

    def table(self) -> pa.Table:
        """Inserts and retracts: kind, vs, ve, vn (null: ∞, none), and the columns; one that is
        called as these are has `row.` before its name. Times of TIMESTAMP streams are TIMESTAMPs,
        here and in all other tables."""
        from driftline.engine.tables import changes_table

        changes = _beside(self.batch, "kind", "vs", "ve", "vn").changes()
        return changes_table(changes, timestamps=self.timestamps)


@dataclass(repr=False)
class Result:
    """All that a query emitted, update by update. `snapshots_only`: the answer is defined by its
    snapshots alone, and `history` puts the pieces of each row together. `timestamps`: whether times
    are TIMESTAMPs."""

    schema: Schema
    snapshots_only: bool = False
    updates: list[Update] = field(default_factory=list)
    timestamps: bool = False

    def __repr__(self) -> str:
        return f"<Result: {'; '.join([_counted(self.history().num_rows, 'row'), *self._notes()])}>"

    def _repr_html_(self) -> str:
        """The history as a table, how far it is final, and the dead letters."""
        from driftline.drawings import table_in_html

        return table_in_html(self.history(), self._notes())

    def _notes(self) -> list[str]:
        notes = [_final(self).removeprefix(", ") or "nothing is final"]
        notes += [
            f"{_counted(count, 'dead letter')} of {name}"
            for name, count in self.dead_letters.items()
            if count
        ]
        return notes

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
        return history_table(
            batches,
            self.schema.arrow,
            loose=self.snapshots_only,
            timestamps=self.timestamps,
        )

    def current(self) -> pa.Table:
        """The rows that are there in the end, those without an end, in the order of their columns.

        >>> import driftline as dl
        >>> rows = [{"k": "b", "ts": 1}, {"k": "a", "ts": 2}, {"k": "a", "ts": 3}]
        >>> s = dl.stream("s", {"k": "STRING", "ts": "BIGINT"}, time="ts")
        >>> s.group_by("k").agg("count(*) AS n").run({"s": rows}).current().to_pylist()
        [{'k': 'a', 'n': 2}, {'k': 'b', 'n': 1}]
        """
        from driftline.engine.tables import current_table

        return current_table([update.batch for update in self.updates], self.schema.arrow)

    def to_arrow(self) -> pa.Table:
        """The history as an Arrow table: vs, ve (null: ∞), and the columns."""
        return self.history()

    def to_pandas(self) -> pd.DataFrame:
        """The history as a DataFrame of pandas; a ve of ∞ is NaT, or NA of numbers."""
        import pandas as pd
        import pyarrow as pa

        return self.history().to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)

    def to_polars(self) -> pl.DataFrame:
        """The history as a DataFrame of Polars."""
        if find_spec("polars") is None:
            raise PlanError("to_polars needs Polars: pip install polars")
        import polars as pl

        return pl.DataFrame(self.history())

    def snapshot(self, at: int | str | datetime) -> pa.Table:
        """The rows that are there at a time: a number of ticks, or of TIMESTAMP streams a datetime
        or a text (of UTC, if it has no zone)."""
        import pyarrow as pa

        from driftline.engine.tables import history_table

        ticks = self._ticks(at)
        batches = [_beside(update.batch, "vs", "ve") for update in self.updates]
        alive = [each.take((each.vs <= ticks) & (ticks < each.ve)) for each in batches]
        schema = self.schema.arrow
        one = [replace(each, vs=each.vs * 0, ve=each.ve * 0 + 1) for each in alive]
        table = history_table(one, schema)
        rows = table.select(range(2, table.num_columns)).rename_columns(schema.names)
        return rows.cast(pa.schema(list(schema)))

    def _ticks(self, at: int | str | datetime) -> int:
        import pyarrow as pa

        if isinstance(at, int) and not isinstance(at, bool):
            return at
        if not self.timestamps or not isinstance(at, str | datetime):
            kind = "a number, a datetime or a text" if self.timestamps else "a number of ticks"
            raise PlanError(f"a snapshot is taken at a time, {kind}, not {at!r}")
        try:
            given = datetime.fromisoformat(at) if isinstance(at, str) else at
        except ValueError:
            raise PlanError(f"{at!r} is not a time, as '2026-01-01T10:00:00Z' is one") from None
        zoned = given if given.tzinfo is not None else given.replace(tzinfo=UTC)
        return int(pa.scalar(zoned, pa.timestamp("us", "UTC")).value)

    def timeline(self, rows: int = 24, **where: Any) -> Drawing:
        """A drawing of the lifetimes of each row, along application time. What was emitted once and
        has been corrected since is hatched; the ground is green as far as the answer is final.
        `rows`: how many are drawn at most; `where`: the values that some columns have,
        `timeline(symbol="A")`."""
        from driftline.drawings import timeline

        return timeline(self, where, rows)

    def plot_corrections(self, **where: Any) -> Drawing:
        """A drawing of what was held for true, and when: lifetimes along application time, from the
        update that has emitted each to the one that has corrected it (these are hatched). `where`:
        the values that some columns have, `plot_corrections(symbol="A")`."""
        from driftline.drawings import corrections

        return corrections(self, where)

    def changes(self) -> pa.Table:
        """All inserts and retracts, batch after batch."""
        import pyarrow as pa

        return pa.concat_tables([update.table() for update in self.updates])

    @property
    def cti(self) -> int:
        """How far the answers are final, as a number of ticks."""
        return max((each.batch.cti for each in self.updates), default=BEGINNING)

    @property
    def final_up_to(self) -> int | datetime | None:
        """How far the answers are final; None if they are not at all. Of TIMESTAMP streams a
        datetime, or `INFINITY`."""
        return None if self.cti == BEGINNING else moment(self.cti, self.timestamps)

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
    """A change of the answer as it is now: from `at` on (a datetime, if time is a TIMESTAMP, else a
    number) a row is there (+), or no longer (-)."""

    op: str
    at: Any
    row: dict[str, Any]


class Now:
    """The answer of a query as it is now, while the query runs: an iterator of its changes, one by
    one; `tables` gives them as they come, in tables, and `table` the answer itself.

    `clock`: the time that has come; `final_up_to`: how far the answer is final (both are datetimes
    if the time is a TIMESTAMP); `past`: how many changes came to lifetimes that had ended already,
    and did not show; `dead_letters`: how many events of each stream were no part of it, or could
    not be read.
    """

    def __init__(
        self,
        schema: Schema,
        clock: Clock,
        updates: Iterator[Update],
        *,
        timestamps: bool = False,
    ) -> None:
        from driftline.engine.outputs.now_view import NowView

        self._timestamps = timestamps
        self._view = NowView(schema.arrow, clock)
        self._updates = updates
        self._rows: Iterator[NowRow] = iter(())
        self.dead_letters: dict[str, int] = {}

    def __repr__(self) -> str:
        clock = "not begun"
        if self._view.clock != BEGINNING:
            clock = f"at {show(self._view.clock, self._timestamps)}"
        return f"<Now: {', '.join(self._view.schema.names)}; {clock}>"

    @property
    def clock(self) -> int | datetime | None:
        return self._moment(self._view.clock)

    @property
    def final_up_to(self) -> int | datetime | None:
        return self._moment(self._view.cti)

    def _moment(self, ticks: int) -> int | datetime | None:
        return None if ticks == BEGINNING else moment(ticks, self._timestamps)

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
            changes = self._view.update(update.batch, update.now)
            yield now_table(changes, timestamps=self._timestamps)

    def _one_by_one(self, table: pa.Table) -> Iterator[NowRow]:
        names = self._view.schema.names
        from driftline.engine.tables import python_values

        for op, at, *row in zip(*map(python_values, table.columns), strict=True):
            yield NowRow(op, at, dict(zip(names, row, strict=True)))

    def table(self) -> pa.Table:
        """The rows that are there at the end of the inputs: what is left of them is read first."""
        import pyarrow as pa

        for _ in self:
            pass
        return pa.Table.from_batches([self._view.shown()])


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _final(of: Update | Result) -> str:
    cti = of.batch.cti if isinstance(of, Update) else of.cti
    return "" if cti == BEGINNING else f", final up to {show(cti, of.timestamps)}"


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
