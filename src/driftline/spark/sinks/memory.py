"""Results in memory, for notebooks and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from driftline.model.old_names import renamed
from driftline.model.time import BEGINNING, moment
from driftline.plan.errors import PlanError
from driftline.plan.fragments import RESULT
from driftline.spark.views import ViewName, view_of

if TYPE_CHECKING:
    from datetime import datetime

    from driftline.engine.core.batch import Batch
    from driftline.model.prefix import Prefix
    from driftline.spark.update import SparkUpdate


class Memory:
    """Keeps all updates; `updates`: by the number of the micro-batch; `view`: what `table` gives,
    unless it is asked for another ("now" has to be given here)."""

    def __init__(self, view: ViewName = "changes") -> None:
        view_of(view)
        self.view = view
        self.updates: dict[int, SparkUpdate] = {}

    @property
    def said(self) -> dict[int, SparkUpdate]:
        """The old name of `updates`."""
        renamed("Memory.said", "Memory.updates")
        return self.updates

    def __call__(self, update: SparkUpdate) -> None:
        if self.view == "now":
            for output in update.batches:
                update.micro_batch(output)  # which depends on the micro-batches before
        self.updates[update.batch_id] = update

    def table(self, output: str = RESULT, view: ViewName | None = None) -> pa.Table:
        """A view of a result, all micro-batches one after the other."""
        shown = view_of(view or self.view)
        self._batches(output)
        return pa.concat_tables(
            [shown(update.micro_batch(output)) for _, update in sorted(self.updates.items())]
        )

    def history(self, output: str = RESULT) -> pa.Table:
        """The canonical history of a result: vs, ve (null: without end), and the columns."""
        from driftline.engine.tables import history_table

        batches, stamps = self._batches(output), self._are_timestamps(output)
        return history_table(batches, batches[0].payload.schema, timestamps=stamps)

    def _are_timestamps(self, output: str) -> bool:
        return any(output in update.timestamps for update in self.updates.values())

    def final_up_to(self, output: str = RESULT) -> int | datetime | None:
        """How far a result is final; None if it is not at all. Of TIMESTAMP streams a datetime, or
        `INFINITY`."""
        reached = max(batch.cti for batch in self._batches(output))
        return None if reached == BEGINNING else moment(reached, self._are_timestamps(output))

    def prefix(self) -> Prefix | None:
        """The prefix of the inputs that the results are the exact answer for, if outputs are
        marked."""
        return self.updates[max(self.updates)].prefix if self.updates else None

    def _batches(self, output: str) -> list[Batch]:
        if not self.updates:
            raise PlanError("no micro-batch has come yet")
        known = next(iter(self.updates.values())).batches
        if output not in known:
            raise PlanError(f"there is no result {output}; there are {', '.join(known)}")
        return [update.batches[output] for _, update in sorted(self.updates.items())]
