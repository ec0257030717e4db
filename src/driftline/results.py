"""What a query has said: after one batch of its input, and in all."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from driftline.model.time import BEGINNING
from driftline.plan.types import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from driftline.engine.batch import Batch
    from driftline.engine.dead_letters import DeadLetters


@dataclass(frozen=True)
class Said:
    """What a query says after one batch of input.

    `dead_letters`: by stream, the events of this batch that are no part of it and the records that
    could not be read (`bad`), with reasons.
    `counters`: by operator, what it has done so far and what it holds: changes and ctis in,
    inserts, retracts and ctis out, rows and bytes of state, its output watermark. Every stream has
    two more, Finalize (with its `dead_letters`) and Align.
    """

    batch: Batch
    dead_letters: dict[str, DeadLetters]
    counters: dict[str, dict[str, int]]

    @property
    def final_up_to(self) -> int | None:
        """How far the answers have become final with this batch; None if no further than before."""
        return None if self.batch.cti == BEGINNING else self.batch.cti

    def table(self) -> pa.Table:
        """Inserts and retracts: kind, vs, ve, vn (null: ∞, none), and the columns; one that is
        called as these are has `row.` before its name."""
        from driftline.engine.local import changes_table

        return changes_table(_beside(self.batch, "kind", "vs", "ve", "vn").changes())


@dataclass
class Result:
    """What a query said in all. `loose`: only the snapshots of its answer have a meaning."""

    schema: Schema
    loose: bool = False
    said: list[Said] = field(default_factory=list)

    def add(self, said: Said) -> None:
        self.said.append(said)

    def history(self) -> pa.Table:
        """The canonical history of the answer: vs, ve (null: ∞), and the columns, in order; a
        column vs is here called `row.vs`."""
        from driftline.engine.local import history_table

        batches = [_beside(said.batch, "vs", "ve") for said in self.said]
        return history_table(batches, self.schema.arrow, loose=self.loose)

    def changes(self) -> pa.Table:
        """All inserts and retracts, batch after batch."""
        import pyarrow as pa

        return pa.concat_tables([said.table() for said in self.said])

    @property
    def final_up_to(self) -> int | None:
        """How far the answers are final; None if they are not at all."""
        reached = [said.final_up_to for said in self.said if said.final_up_to is not None]
        return max(reached, default=None)

    @property
    def dead_letters(self) -> dict[str, int]:
        """How many events of each stream were no part of it, or could not be read; `said` holds
        them with reasons."""
        counts: dict[str, int] = {}
        for said in self.said:
            for name, letters in said.dead_letters.items():
                counts[name] = counts.get(name, 0) + len(letters)
        return counts

    @property
    def counters(self) -> dict[str, dict[str, int]]:
        """What every operator did, and what it holds at the end."""
        return self.said[-1].counters if self.said else {}


def _beside(batch: Batch, *times: str) -> Batch:
    """A batch as it stands beside columns with times: one that is called as these are has `row.`
    before its name."""
    names = batch.payload.schema.names
    if not set(names) & set(times):
        return batch
    others = [f"row.{name}" if name in times else name for name in names]
    return replace(batch, payload=batch.payload.rename_columns(others))
