"""Results in memory, for notebooks and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from driftline.model.time import BEGINNING
from driftline.plan.errors import PlanError
from driftline.plan.fragments import RESULT
from driftline.spark.views import ViewName, view_of

if TYPE_CHECKING:
    from driftline.engine.batch import Batch
    from driftline.spark.query import SparkSaid


class Memory:
    """Keeps everything that was said; `said`: by the number of the micro-batch."""

    def __init__(self) -> None:
        self.said: dict[int, SparkSaid] = {}

    def __call__(self, said: SparkSaid) -> None:
        self.said[said.batch_id] = said

    def table(self, output: str = RESULT, view: ViewName = "changes") -> pa.Table:
        """A view of a result, all micro-batches one after the other."""
        shown = view_of(view)
        self._batches(output)
        return pa.concat_tables(
            [shown(said.moment(output)) for _, said in sorted(self.said.items())]
        )

    def history(self, output: str = RESULT) -> pa.Table:
        """The canonical history of a result: vs, ve (null: without end), and the columns."""
        from driftline.engine.local import history_table

        batches = self._batches(output)
        return history_table(batches, batches[0].payload.schema)

    def final_up_to(self, output: str = RESULT) -> int | None:
        """How far a result is final; None if it is not at all."""
        reached = max(batch.cti for batch in self._batches(output))
        return None if reached == BEGINNING else reached

    def _batches(self, output: str) -> list[Batch]:
        if not self.said:
            raise PlanError("nothing has been said yet")
        known = next(iter(self.said.values())).batches
        if output not in known:
            raise PlanError(f"there is no result {output}; there are {', '.join(known)}")
        return [said.batches[output] for _, said in sorted(self.said.items())]
